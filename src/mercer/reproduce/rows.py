"""One line of a comparison with a paper."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Row", "within"]


class Row(NamedTuple):
    """What was compared, the paper's value, ours, the range that is fair to ask, a verdict."""

    item: str
    paper: str
    ours: str
    fair: str
    verdict: str


def within(item: str, paper: str, value: Any, low: float, high: float, digits: int = 3) -> Row:
    """A row whose verdict is whether the value lies in a range.

    >>> within("eigenvectors kept", "8", 9, 5, 13).verdict
    'inside'
    """
    verdict = "inside" if low <= value <= high else "OUTSIDE"
    return Row(item, paper, f"{value:.{digits}g}", f"{low:g} to {high:g}", verdict)
