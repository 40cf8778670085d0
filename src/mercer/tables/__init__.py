"""Tables for the command line, the report and the explorer.

``readers`` reads files as data frames (``text_files`` and ``number_formats`` for text files),
``embedded`` contains the built-in data sets, ``column_types`` converts columns to their types,
``omissions`` finds columns that cannot be analyzed, ``table`` selects columns and rows, and
``preparation`` chooses a kernel and builds a pipeline.
"""

from __future__ import annotations

from mercer.tables.embedded import EMBEDDED
from mercer.tables.omissions import Omission
from mercer.tables.preparation import BANDWIDTH_FACTORS, Preparation, prepare
from mercer.tables.table import Missing, Rows, Table, as_table, read_rows, read_table

# deprecated names, not in __all__
WIDTH_FACTORS = BANDWIDTH_FACTORS
Modelling = Preparation
modelling = prepare

__all__ = [
    "BANDWIDTH_FACTORS",
    "EMBEDDED",
    "Missing",
    "Omission",
    "Preparation",
    "Rows",
    "Table",
    "as_table",
    "prepare",
    "read_rows",
    "read_table",
]
