"""Rows that set a number of a paper beside ours, and judge it by a range fixed beforehand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal, Protocol

__all__ = [
    "AtLeast",
    "AtMost",
    "Fair",
    "Picture",
    "Row",
    "Same",
    "Table",
    "Verdict",
    "Within",
    "count_verdicts",
    "show",
]

Verdict = Literal["inside", "outside", "not judged"]


class Fair(Protocol):
    """What a result may be and still count as reproduced."""

    def holds(self, value: Any) -> bool:
        """Whether a result is inside."""

    def describe(self, unit: str) -> str:
        """The range in words."""


@dataclass(frozen=True)
class Within:
    """From ``low`` to ``high``, both included."""

    low: float
    high: float

    def holds(self, value: Any) -> bool:
        """Whether a number lies between the two."""
        return bool(self.low <= value <= self.high)

    def describe(self, unit: str) -> str:
        """Both ends."""
        return f"{self.low:g} to {self.high:g}{unit}"


@dataclass(frozen=True)
class AtMost:
    """Up to ``high``."""

    high: float

    def holds(self, value: Any) -> bool:
        """Whether a number is not above the limit."""
        return bool(value <= self.high)

    def describe(self, unit: str) -> str:
        """The limit."""
        return f"≤ {self.high:g}{unit}"


@dataclass(frozen=True)
class AtLeast:
    """From ``low`` on."""

    low: float

    def holds(self, value: Any) -> bool:
        """Whether a number is not below the limit."""
        return bool(value >= self.low)

    def describe(self, unit: str) -> str:
        """The limit."""
        return f"≥ {self.low:g}{unit}"


@dataclass(frozen=True)
class Same:
    """Exactly this value: a count, a set of components, a list of ranks."""

    value: Any

    def holds(self, value: Any) -> bool:
        """Whether a result is equal."""
        return bool(value == self.value)

    def describe(self, unit: str) -> str:
        """The value."""
        return show(self.value, unit)


@dataclass(frozen=True)
class Row:
    """One result.

    Attributes
    ----------
    item : str
        What was measured.
    paper : str
        What the paper prints; "" where it prints nothing.
    ours : number, set, tuple or str
        What we measure.
    fair : Fair or None
        Fixed before the measurement; None where nothing can fairly be asked, and `remark` then
        says why.
    unit : str
        Follows numbers, with its space if there is to be one.
    spread : float or None
        Standard deviation of `ours` over repetitions.
    remark : str
        What a reader has to know to understand the numbers.
    """

    item: str
    paper: str
    ours: Any
    fair: Fair | None = None
    unit: str = ""
    spread: float | None = None
    remark: str = ""

    @property
    def verdict(self) -> Verdict:
        """Whether `ours` is in the fair range; a number that is not finite never is."""
        if self.fair is None:
            return "not judged"
        if isinstance(self.ours, float) and not isfinite(self.ours):
            return "outside"
        return "inside" if self.fair.holds(self.ours) else "outside"

    @property
    def shown(self) -> str:
        """`ours` with its spread and unit."""
        if self.spread is None:
            return show(self.ours, self.unit)
        return f"{show(self.ours)} ± {show(self.spread, self.unit)}"

    @property
    def range(self) -> str:
        """The fair range in words, "" without one."""
        return "" if self.fair is None else self.fair.describe(self.unit)


@dataclass(frozen=True)
class Table:
    """Rows under a title.

    Attributes
    ----------
    title : str
    rows : tuple of Row
    note : str
        Conditions that hold for all rows.
    layout : str
        The same numbers as the paper lays them out, ready to print; "" where rows say it all.
    """

    title: str
    rows: tuple[Row, ...]
    note: str = ""
    layout: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure of the paper, drawn again.

    Attributes
    ----------
    name : str
        Of its file, without the ending.
    caption : str
        What the paper's caption says, and what differs here.
    figure : matplotlib Figure
    """

    name: str
    caption: str
    figure: Any


def count_verdicts(tables: Iterable[Table]) -> dict[Verdict, int]:
    """How many rows there are of each verdict."""
    counts: dict[Verdict, int] = {"inside": 0, "outside": 0, "not judged": 0}
    for table in tables:
        for row in table.rows:
            counts[row.verdict] += 1
    return counts


def show(value: Any, unit: str = "") -> str:
    """Numbers to a few digits, sets and tuples as in mathematics."""
    if isinstance(value, str):
        return value
    if isinstance(value, frozenset | set):
        return "{" + ", ".join(map(show, sorted(value))) + "}"
    if isinstance(value, tuple | list):
        return ", ".join(map(show, value))
    if isinstance(value, float):
        return f"{value:.1f}{unit}" if 1 <= abs(value) < 1e4 else f"{value:.2g}{unit}"
    return f"{value}{unit}"
