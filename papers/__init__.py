"""Tables and figures of five papers, recomputed and compared with the published values.

    python -m papers girolami-2002          (or ./run reproduce girolami-2002)

A paper is a module with ``TITLE``, ``tables(quick)`` and ``figures(quick)``. It is imported on
demand. ``quick`` runs all experiments with fewer repetitions. This package is part of the source
distribution, but not of the wheel.
"""

from papers.comparison import AtLeast, AtMost, Picture, Row, Same, Table, Within
from papers.runner import PAPERS, Reproduction, load_paper, reproduce

__all__ = [
    "PAPERS",
    "AtLeast",
    "AtMost",
    "Picture",
    "Reproduction",
    "Row",
    "Same",
    "Table",
    "Within",
    "load_paper",
    "reproduce",
]
