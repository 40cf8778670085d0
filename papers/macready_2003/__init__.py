"""W. G. Macready, Density estimation with Mercer kernels, RIACS, NASA Ames, 2003.

Each module contains one experiment with its table and figure.
"""

from __future__ import annotations

from collections.abc import Iterator

from papers.comparison import Picture, Table
from papers.macready_2003 import bits, em, halo, plane

__all__ = ["TITLE", "figures", "tables"]

TITLE = "W. G. Macready, Density estimation with Mercer kernels, NASA Ames, 2003"


def tables(quick: bool) -> Iterator[Table]:
    """All tables, in the order of the paper."""
    for experiment in (em, halo, plane, bits):
        yield experiment.table(quick)


def figures(quick: bool) -> Iterator[Picture]:
    """Figures 1, 2 (a) and 2 (b)."""
    for experiment in (halo, plane, bits):
        yield experiment.figure()
