"""Tables for the command line, the report and the explorer.

``readers`` reads files as data frames (``text_files`` and ``number_formats`` for text files),
``embedded`` contains the built-in data sets, ``column_types`` converts columns to their types,
``omissions`` finds columns that cannot be analyzed, ``table`` selects columns and rows, and
``preparation`` chooses a kernel and builds a pipeline. Names are imported when they are first used,
so that reading a file does not import kernels.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer.tables.embedded import EMBEDDED
    from mercer.tables.omissions import Omission
    from mercer.tables.preparation import BANDWIDTH_FACTORS, Preparation, prepare
    from mercer.tables.table import Missing, Rows, Table, as_table, read_rows, read_table

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

_HOMES = {
    **dict.fromkeys(("BANDWIDTH_FACTORS", "Preparation", "prepare"), "preparation"),
    **dict.fromkeys(("Missing", "Rows", "Table", "as_table", "read_rows", "read_table"), "table"),
    "EMBEDDED": "embedded",
    "Omission": "omissions",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
