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
_MISSING = ("auto", "drop", "keep")
_ORDERS = ("entropy", "variance")
_TERMS = ("selected", "kronmal-tarter", "all")
_COLORS = ("label", "cluster")
_METHODS = ("entropy", "spectral")
_MAX_NAMES = 500
_MAX_LENGTH = 200  # characters of a name


@dataclass(frozen=True)
class State:
    """The state of the page.

    Attributes
    ----------
    data : str
        An embedded data set, "given" (the file named on the command line) or the key of an upload.
    label : str or None
        Column with classes; None for the default of the data set, "" for no classes.
    ignore, categorical : tuple of str
        Ignored columns; numeric columns that hold categories.
    missing : {"auto", "drop", "keep"}
        Rows with missing values; see :func:`mercer.tables.read_table`.
    scale : bool or None
        Standardize the columns; None standardizes all tables except the planar examples.
    kernel : str
        A key of :data:`KERNELS`.
    bandwidth : float or None
        None for the rule "auto".
    nu, constant : float
    degree : int
        Other parameters of the kernel.
    components : int
        Number of components that are selected by ``order``.
    clusters : int or None
        None: the number of selected components.
    method : {"entropy", "spectral"}
        Clusters by angle between the selected components, or spectral clustering, which does not
        depend on the kernel of the view.
    order : {"entropy", "variance"}
    picks : tuple of int
        1-based ranks of components picked by hand; if empty, ``order`` selects them.
    center : bool
        Whether kernel PCA centers the kernel.
    terms : {"selected", "kronmal-tarter", "all"}
        Terms of the density.
    x, y : str
        Columns of the data view; "" for the principal axes.
    dimensions : {2, 3}
        Dimensions of the embedding views.
    rotation : tuple of two int
        Azimuth and elevation of the three-dimensional views in degrees.
    color : {"label", "cluster"}
    """

    data: str = "rings"
    label: str | None = None
    ignore: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    missing: str = "auto"
    scale: bool | None = None
    kernel: str = "gaussian"
    bandwidth: float | None = None
    nu: float = 1.5
    degree: int = 2
    constant: float = 1.0
    components: int = 3
    clusters: int | None = None
    method: str = "entropy"
    order: str = "entropy"
    picks: tuple[int, ...] = ()
    center: bool = True
    terms: str = "selected"
    x: str = ""
    y: str = ""
    dimensions: int = 3
    rotation: tuple[int, int] = (30, 20)
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
    """Read the state from the pairs of a query. Unknown names are ignored.

    Raises
    ------
    ValueError
        If a value is not allowed.

    Examples
    --------
    >>> from mercer.explorer.state import parse_state
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
        "missing": lambda v: _choice("missing", v, _MISSING),
        "scale": lambda v: _flag("scale", v),
        "kernel": lambda v: _choice("kernel", v, tuple(KERNELS)),
        "bandwidth": lambda v: _number("bandwidth", v, 1e-12, 1e12),
        "nu": lambda v: _number("nu", v, 0.1, 50),
        "degree": lambda v: _integer("degree", v, 1, 10),
        "constant": lambda v: _number("constant", v, 0, 1e6),
        "components": lambda v: _integer("components", v, 1, MAX_COMPONENTS),
        "clusters": lambda v: _integer("clusters", v, 1, MAX_COMPONENTS),
        "method": lambda v: _choice("method", v, _METHODS),
        "order": lambda v: _choice("order", v, _ORDERS),
        "picks": _picks,
        "center": lambda v: _flag("center", v),
        "terms": lambda v: _choice("terms", v, _TERMS),
        "x": lambda v: _name("x", v),
        "y": lambda v: _name("y", v),
        "dimensions": lambda v: _integer("dimensions", v, 2, 3),
        "rotation": _rotation,
        "color": lambda v: _choice("color", v, _COLORS),
    }
    values = {name: read[name](value) for name, value in single.items()}
    values |= {name: tuple(names) for name, names in lists.items()}
    return State(**values)


def _name(what: str, text: str) -> str:
    if len(text) > _MAX_LENGTH:
        raise ValueError(f"{what} has {len(text)} characters; at most {_MAX_LENGTH} are allowed.")
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
