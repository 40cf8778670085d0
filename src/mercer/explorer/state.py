"""The state of the page: one immutable object, read from the query of the address.

The views and the exported code are computed from the same object. All values are checked here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any
from urllib.parse import urlencode

__all__ = ["KERNELS", "MAX_COMPONENTS", "MAX_RANK", "State", "parse_state"]

#: Available kernels and the parameters that the page shows for them.
KERNELS: dict[str, tuple[str, ...]] = {
    "gaussian": ("bandwidth",),
    "laplacian": ("bandwidth",),
    "matern": ("bandwidth", "nu"),
    "epanechnikov": ("bandwidth",),
    "polynomial": ("degree", "constant"),
    "linear": ("constant",),
    "cosine": (),
}
MAX_COMPONENTS = 12
MAX_RANK = 400  # of a component that is picked by hand
_MAX_NAMES = 500


@dataclass(frozen=True)
class State:
    """The state of the page."""

    data: str = "rings"  # embedded data set, "given" (on the command line) or key of an upload
    label: str | None = None  # None for the default of the data set, "" for no classes
    ignore: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    missing: str = "auto"
    scale: bool | None = None  # None standardizes all tables except the planar examples
    kernel: str = "gaussian"
    bandwidth: float | None = None  # None for the rule "auto"
    nu: float = 1.5
    degree: int = 2
    constant: float = 1.0
    components: int = 3  # selected by ``order``
    clusters: int | None = None  # None for the number of selected components
    method: str = "entropy"  # "spectral" does not depend on the kernel of the view
    order: str = "entropy"
    picks: tuple[int, ...] = ()  # ranks, from 1, of components picked by hand instead
    center: bool = True  # of kernel PCA
    terms: str = "selected"  # of the density
    x: str = ""  # column of the data view; "" for a principal axis
    y: str = ""
    dimensions: int = 3  # of the embedding views
    rotation: tuple[int, int] = (30, 20)  # azimuth and elevation in degrees
    color: str = "label"

    @property
    def has_bandwidth(self) -> bool:
        """Whether the kernel has a bandwidth."""
        return "bandwidth" in KERNELS[self.kernel]

    @property
    def n_selected(self) -> int:
        """Number of selected components."""
        return len(self.picks) or self.components

    @property
    def n_clusters(self) -> int:
        """Number of clusters, at most the number of selected components."""
        return min(self.clusters or self.n_selected, self.n_selected)

    def query(self) -> str:
        """Return the query of the address: all values that differ from the defaults."""
        pairs: list[tuple[str, str]] = []
        for field in fields(self):
            value = getattr(self, field.name)
            if value == field.default:
                continue
            if field.name in ("ignore", "categorical"):
                pairs += [(field.name, name) for name in value]
            elif isinstance(value, tuple):
                pairs.append((field.name, ",".join(map(str, value))))
            elif isinstance(value, bool):
                pairs.append((field.name, str(int(value))))
            else:
                pairs.append((field.name, repr(value) if isinstance(value, float) else str(value)))
        return urlencode(pairs)


def parse_state(pairs: Iterable[tuple[str, str]]) -> State:
    """Read the state from the pairs of a query; unknown names are ignored.

    >>> parse_state([("data", "wine"), ("bandwidth", "2"), ("picks", "1,3")]).picks
    (1, 3)
    """
    known = {field.name for field in fields(State)}
    single: dict[str, str] = {}
    lists: dict[str, list[str]] = {"ignore": [], "categorical": []}
    for name, value in pairs:
        if name in lists:
            lists[name].append(_name(name, value))
            if len(lists[name]) > _MAX_NAMES:
                raise ValueError(f"{name} must name at most {_MAX_NAMES} columns. Name fewer.")
        elif name in known:
            single[name] = value
    read: dict[str, Callable[[str], Any]] = {
        "data": lambda v: _matching("data", v, r"[a-z0-9_-]{1,64}"),
        "label": lambda v: _name("label", v),
        "missing": lambda v: _choice("missing", v, ("auto", "drop", "keep")),
        "scale": lambda v: _flag("scale", v),
        "kernel": lambda v: _choice("kernel", v, tuple(KERNELS)),
        "bandwidth": lambda v: _number("bandwidth", v, 1e-12, 1e12),
        "nu": lambda v: _number("nu", v, 0.1, 50),
        "degree": lambda v: _integer("degree", v, 1, 10),
        "constant": lambda v: _number("constant", v, 0, 1e6),
        "components": lambda v: _integer("components", v, 1, MAX_COMPONENTS),
        "clusters": lambda v: _integer("clusters", v, 1, MAX_COMPONENTS),
        "method": lambda v: _choice("method", v, ("entropy", "spectral")),
        "order": lambda v: _choice("order", v, ("entropy", "variance")),
        "picks": _picks,
        "center": lambda v: _flag("center", v),
        "terms": lambda v: _choice("terms", v, ("selected", "kronmal-tarter", "all")),
        "x": lambda v: _name("x", v),
        "y": lambda v: _name("y", v),
        "dimensions": lambda v: _integer("dimensions", v, 2, 3),
        "rotation": _rotation,
        "color": lambda v: _choice("color", v, ("label", "cluster")),
    }
    values = {name: read[name](value) for name, value in single.items()}
    values |= {name: tuple(names) for name, names in lists.items()}
    return State(**values)


def _name(what: str, text: str) -> str:
    if len(text) > 200:
        raise ValueError(f"{what} has {len(text)} characters; at most 200 are allowed.")
    return text


def _matching(what: str, text: str, pattern: str) -> str:
    if not re.fullmatch(pattern, text):
        raise ValueError(f"{what}={text[:80]!r} is not the name of a data set.")
    return text


def _choice(what: str, text: str, choices: tuple[str, ...]) -> str:
    if text not in choices:
        raise ValueError(f"{what}={text[:80]!r} must be one of {', '.join(choices)}.")
    return text


def _flag(what: str, text: str) -> bool:
    return _choice(what, text, ("0", "1")) == "1"


def _number(what: str, text: str, low: float, high: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not (isfinite(value) and low <= value <= high):
        raise ValueError(f"{what}={text[:80]!r} must be a number from {low:g} to {high:g}.")
    return value


def _integer(what: str, text: str, low: int, high: int) -> int:
    if not re.fullmatch(r"-?[0-9]{1,6}", text) or not low <= int(text) <= high:
        raise ValueError(f"{what}={text[:80]!r} must be an integer from {low} to {high}.")
    return int(text)


def _picks(text: str) -> tuple[int, ...]:
    parts = text.split(",") if text else []
    if len(parts) > MAX_COMPONENTS:
        raise ValueError(
            f"picks names {len(parts)} components; at most {MAX_COMPONENTS} are allowed."
        )
    return tuple(sorted({_integer("picks", part, 1, MAX_RANK) for part in parts}))


def _rotation(text: str) -> tuple[int, int]:
    azimuth, _, elevation = text.partition(",")
    return _integer("rotation", azimuth, -360, 360), _integer("rotation", elevation, -90, 90)
