"""The papers' tables and figures, computed again and set beside the printed ones.

A paper is a module with ``TITLE``, ``tables(quick)`` and ``figures(quick)``; it is imported when it
is asked for. ``quick`` asks for fewer repetitions, not for other experiments.
"""

from mercer.reproduce.frame import AtLeast, AtMost, Picture, Row, Same, Table, Within
from mercer.reproduce.run import PAPERS, Reproduction, load_paper, reproduce

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
