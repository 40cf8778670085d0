"""Rows that compare a published value with ours; the accepted range was fixed beforehand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal, Protocol

__all__ = [
    "AcceptedRange",
    "AtLeast",
    "AtMost",
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


class AcceptedRange(Protocol):
    """The results that count as reproduced."""

    def holds(self, value: Any) -> bool:
        """Return whether a result is inside."""

    def describe(self, unit: str) -> str:
        """Return the range as text."""


@dataclass(frozen=True)
class Within:
    """From ``low`` to ``high``, both included."""

    low: float
    high: float

    def holds(self, value: Any) -> bool:
        """Return whether ``low <= value <= high``."""
        return bool(self.low <= value <= self.high)

    def describe(self, unit: str) -> str:
        """Return both limits as text."""
        return f"{self.low:g} to {self.high:g}{unit}"


@dataclass(frozen=True)
class AtMost:
    """At most ``high``."""

    high: float

    def holds(self, value: Any) -> bool:
        """Return whether ``value <= high``."""
        return bool(value <= self.high)

    def describe(self, unit: str) -> str:
        """Return the limit as text."""
        return f"≤ {self.high:g}{unit}"


@dataclass(frozen=True)
class AtLeast:
    """At least ``low``."""

    low: float

    def holds(self, value: Any) -> bool:
        """Return whether ``value >= low``."""
        return bool(value >= self.low)

    def describe(self, unit: str) -> str:
        """Return the limit as text."""
        return f"≥ {self.low:g}{unit}"


@dataclass(frozen=True)
class Same:
    """Exactly this value: a count, a set of components, a list of ranks."""

    value: Any

    def holds(self, value: Any) -> bool:
        """Return whether ``value`` equals the expected one."""
        return bool(value == self.value)

    def describe(self, unit: str) -> str:
        """Return the value as text."""
        return show(self.value, unit)


@dataclass(frozen=True)
class Row:
    """One result.

    Attributes
    ----------
    item : str
        What was measured.
    paper : str
        The published value as text; "" if there is none.
    ours : number, set, tuple or str
        The value computed here.
    accepted : AcceptedRange or None
        Fixed before the measurement; None if the paper gives no basis for a range (`remark` gives
        the reason).
    unit : str
        Appended to numbers, with a leading space if needed.
    spread : float or None
        Standard deviation of `ours` over repetitions.
    remark : str
        Explanation that a reader needs to understand the numbers.
    digits : int or None
        Significant digits of `ours`; None for the default of :func:`show`.
    """

    item: str
    paper: str
    ours: Any
    accepted: AcceptedRange | None = None
    unit: str = ""
    spread: float | None = None
    remark: str = ""
    digits: int | None = None

    @property
    def verdict(self) -> Verdict:
        """Whether `ours` is in the accepted range; NaN and infinity never are."""
        if self.accepted is None:
            return "not judged"
        if isinstance(self.ours, float) and not isfinite(self.ours):
            return "outside"
        return "inside" if self.accepted.holds(self.ours) else "outside"

    @property
    def shown(self) -> str:
        """`ours` with its spread and unit, as text."""
        if self.digits is not None:
            return f"{self.ours:.{self.digits}g}{self.unit}"
        if self.spread is None:
            return show(self.ours, self.unit)
        return f"{show(self.ours)} ± {show(self.spread, self.unit)}"

    @property
    def range(self) -> str:
        """The accepted range as text; "" without one."""
        return "" if self.accepted is None else self.accepted.describe(self.unit)


@dataclass(frozen=True)
class Table:
    """Rows with a title.

    Attributes
    ----------
    title : str
    rows : tuple of Row
    note : str
        Conditions that hold for all rows.
    layout : str
        The same numbers in the layout of the paper, as text; "" if rows are enough.
    """

    title: str
    rows: tuple[Row, ...]
    note: str = ""
    layout: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure of the paper, redrawn.

    Attributes
    ----------
    name : str
        File name without extension.
    caption : str
        The paper's caption, and the differences here.
    figure : matplotlib Figure
    """

    name: str
    caption: str
    figure: Any


def count_verdicts(tables: Iterable[Table]) -> dict[Verdict, int]:
    """Count the rows per verdict."""
    counts: dict[Verdict, int] = {"inside": 0, "outside": 0, "not judged": 0}
    for table in tables:
        for row in table.rows:
            counts[row.verdict] += 1
    return counts


def show(value: Any, unit: str = "") -> str:
    """Format numbers with a few digits, and sets and tuples as in mathematics."""
    if isinstance(value, str):
        return value
    if isinstance(value, frozenset | set):
        return "{" + ", ".join(map(show, sorted(value))) + "}"
    if isinstance(value, tuple | list):
        return ", ".join(map(show, value))
    if isinstance(value, float):
        return f"{value:.1f}{unit}" if 1 <= abs(value) < 1e4 else f"{value:.2g}{unit}"
    return f"{value}{unit}"
