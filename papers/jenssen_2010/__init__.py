"""R. Jenssen, Kernel entropy component analysis, IEEE TPAMI 32(5):847-860, 2010.

Each module contains one experiment with its tables and figures. Results are cached, so that a
figure shows the numbers of its table.
"""

from __future__ import annotations

from collections.abc import Iterator

from papers.comparison import Picture, Table
from papers.jenssen_2010 import (
    blocks,
    denoising,
    digits,
    faces,
    indefinite,
    newsgroups,
    regression,
    segmentation,
    thyroid,
    toys,
    uci,
)

__all__ = ["TITLE", "figures", "tables"]

TITLE = "R. Jenssen, Kernel entropy component analysis, IEEE TPAMI 32(5):847-860, 2010"

_EXPERIMENTS = (
    blocks,
    toys,
    digits,
    thyroid,
    segmentation,
    uci,
    faces,
    newsgroups,
    regression,
    denoising,
    indefinite,
)


def tables(quick: bool) -> Iterator[Table]:
    """All tables, in the order of the paper."""
    for experiment in _EXPERIMENTS:
        yield from experiment.tables(quick)


def figures(quick: bool) -> Iterator[Picture]:
    """All figures, experiment by experiment."""
    for experiment in _EXPERIMENTS:
        yield from experiment.figures(quick)
