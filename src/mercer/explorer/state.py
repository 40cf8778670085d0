"""What a view shows: one immutable object, read from the address of the page and nowhere else.

The same object makes the pictures and the Python code, so that they cannot disagree. Everything is
checked here; whatever passes is safe to compute with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any
from urllib.parse import urlencode

__all__ = ["KERNELS", "LARGEST_PLACE", "MOST_COMPONENTS", "State", "parse_state"]

#: Kernels on offer, and which of their parameters the page shows.
KERNELS: dict[str, tuple[str, ...]] = {
    "gaussian": ("bandwidth",),
    "laplacian": ("bandwidth",),
    "matern": ("bandwidth", "nu"),
    "epanechnikov": ("bandwidth",),
    "polynomial": ("degree", "constant"),
    "linear": ("constant",),
    "cosine": (),
}
MOST_COMPONENTS = 12
LARGEST_PLACE = 400  # of a component that is picked by hand
_ORDERS = ("entropy", "variance")
_TERMS = ("selected", "kronmal-tarter", "all")
_COLOURS = ("label", "cluster")
_MOST_NAMES = 500
_LONGEST = 200  # characters of a name


@dataclass(frozen=True)
class State:
    """A view.

    Attributes
    ----------
    data : str
        An embedded set, "given" (the one named when the explorer was started) or an upload.
    label : str or None
        Column of classes; None for the set's own, "" for none.
    ignore, categorical : tuple of str
        Columns left out; columns of numbers that are names of categories.
    scale : bool or None
        Standardise columns; None: unless the set is one of the plane.
    kernel : str
        A key of :data:`KERNELS`.
    bandwidth : float or None
        None for the rule "auto".
    nu, constant : float
    degree : int
        Further parameters of the kernels that have them.
    components : int
        How many components the order chooses.
    clusters : int or None
        None: as many as there are components.
    order : {"entropy", "variance"}
    picks : tuple of int
        Components chosen by hand, 1-based places; empty: chosen by the order.
    center : bool
        Whether kernel PCA centres.
    terms : {"selected", "kronmal-tarter", "all"}
        Terms of the density.
    x, y : str
        Columns of the data view; "" for principal axes.
    dimensions : {2, 3}
        Of the embeddings.
    turn : tuple of two int
        Degrees of the embeddings' rotation.
    colour : {"label", "cluster"}
    """

    data: str = "rings"
    label: str | None = None
    ignore: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    scale: bool | None = None
    kernel: str = "gaussian"
    bandwidth: float | None = None
    nu: float = 1.5
    degree: int = 2
    constant: float = 1.0
    components: int = 3
    clusters: int | None = None
    order: str = "entropy"
    picks: tuple[int, ...] = ()
    center: bool = True
    terms: str = "selected"
    x: str = ""
    y: str = ""
    dimensions: int = 3
    turn: tuple[int, int] = (30, 20)
    colour: str = "label"

    @property
    def has_bandwidth(self) -> bool:
        """Whether the kernel has one."""
        return "bandwidth" in KERNELS[self.kernel]

    @property
    def n_selected(self) -> int:
        """How many components are selected."""
        return len(self.picks) or self.components

    @property
    def n_clusters(self) -> int:
        """How many clusters: at most one for each selected component."""
        return min(self.clusters or self.n_selected, self.n_selected)

    def query(self) -> str:
        """The address of this view: what differs from the defaults."""
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
    """Read a view from the pairs of a query; names that are no part of a view are passed over.

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
            if len(lists[name]) > _MOST_NAMES:
                raise ValueError(f"{name}: more than {_MOST_NAMES} columns; name fewer.")
        elif name in known:
            single[name] = value
    read: dict[str, Callable[[str], Any]] = {
        "data": lambda v: _matching("data", v, r"[a-z0-9_-]{1,64}"),
        "label": lambda v: _name("label", v),
        "scale": lambda v: _flag("scale", v),
        "kernel": lambda v: _choice("kernel", v, tuple(KERNELS)),
        "bandwidth": lambda v: _number("bandwidth", v, 1e-12, 1e12),
        "nu": lambda v: _number("nu", v, 0.1, 50),
        "degree": lambda v: _whole("degree", v, 1, 10),
        "constant": lambda v: _number("constant", v, 0, 1e6),
        "components": lambda v: _whole("components", v, 1, MOST_COMPONENTS),
        "clusters": lambda v: _whole("clusters", v, 1, MOST_COMPONENTS),
        "order": lambda v: _choice("order", v, _ORDERS),
        "picks": _picks,
        "center": lambda v: _flag("center", v),
        "terms": lambda v: _choice("terms", v, _TERMS),
        "x": lambda v: _name("x", v),
        "y": lambda v: _name("y", v),
        "dimensions": lambda v: _whole("dimensions", v, 2, 3),
        "turn": _turn,
        "colour": lambda v: _choice("colour", v, _COLOURS),
    }
    values = {name: read[name](value) for name, value in single.items()}
    values |= {name: tuple(names) for name, names in lists.items()}
    return State(**values)


def _name(what: str, text: str) -> str:
    if len(text) > _LONGEST:
        raise ValueError(f"{what}: {len(text)} characters; at most {_LONGEST}.")
    return text


def _matching(what: str, text: str, pattern: str) -> str:
    if not re.fullmatch(pattern, text):
        raise ValueError(f"{what}={text[:80]!r} is no name of a data set.")
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


def _whole(what: str, text: str, low: int, high: int) -> int:
    if not re.fullmatch(r"-?[0-9]{1,6}", text) or not low <= int(text) <= high:
        raise ValueError(f"{what}={text[:80]!r} must be a whole number from {low} to {high}.")
    return int(text)


def _picks(text: str) -> tuple[int, ...]:
    parts = text.split(",") if text else []
    if len(parts) > MOST_COMPONENTS:
        raise ValueError(f"picks: {len(parts)} components; at most {MOST_COMPONENTS}.")
    return tuple(sorted({_whole("picks", part, 1, LARGEST_PLACE) for part in parts}))


def _turn(text: str) -> tuple[int, int]:
    around, _, up = text.partition(",")
    return _whole("turn", around, -360, 360), _whole("turn", up, -90, 90)
