"""Tables for the command line, the report and the explorer.

``reading`` makes a data frame of a file, ``embedded`` holds sets that need no file, ``kinds`` says
what a column is, ``table`` decides which columns and rows are analysed and lists what is left out,
and ``modelling`` turns the outcome into what an estimator takes.
"""

from __future__ import annotations

from mercer.tables.embedded import EMBEDDED
from mercer.tables.modelling import WIDTH_FACTORS, Modelling, modelling
from mercer.tables.table import Missing, Omission, Rows, Table, as_table, read_rows, read_table

__all__ = [
    "EMBEDDED",
    "WIDTH_FACTORS",
    "Missing",
    "Modelling",
    "Omission",
    "Rows",
    "Table",
    "as_table",
    "modelling",
    "read_rows",
    "read_table",
]
