"""Z. Liang, Eigen-analysis of kernel operators (thesis, The Ohio State University, 2014).

Each module contains one part of the thesis: its tables, with published and true values, and its
figures. If a published value is wrong, the accepted range is the true value, and the remark
explains the error.
"""

from __future__ import annotations

from collections.abc import Iterator

from papers.comparison import Picture, Table
from papers.liang_2014 import centering, digits, discriminants, gaussian, polynomial, wheel

__all__ = ["TITLE", "figures", "tables"]

TITLE = (
    "Z. Liang, Eigen-analysis of kernel operators for nonlinear dimension reduction and "
    "discrimination, thesis, The Ohio State University, 2014"
)

_PARTS = (polynomial, wheel, digits, centering, gaussian, discriminants)


def tables(quick: bool) -> Iterator[Table]:
    """All tables, in the order of the thesis."""
    for part in _PARTS:
        yield from part.tables(quick)


def figures(quick: bool) -> Iterator[Picture]:
    """All figures of chapters 3 to 5, part by part."""
    for part in _PARTS:
        yield from part.figures(quick)
