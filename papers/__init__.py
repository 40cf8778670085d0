"""Tables and figures of five papers, recomputed and compared with the published values.

    python -m papers girolami-2002          (or ./run reproduce girolami-2002)

A paper is a module with ``TITLE``, ``TABLES`` and ``FIGURES``: functions of ``quick``, by title. It
is imported on demand. ``quick`` means fewer seeds, subsets and splits and shorter sweeps. Tables
whose data files are missing are skipped. This package is part of the source distribution, but not
of the wheel.
"""

from papers.comparison import Correction, Picture, Row, Table, accepted_range
from papers.runner import PAPERS, Reproduction, Skipped, load_paper, reproduce

__all__ = [
    "PAPERS",
    "Correction",
    "Picture",
    "Reproduction",
    "Row",
    "Skipped",
    "Table",
    "accepted_range",
    "load_paper",
    "reproduce",
]
