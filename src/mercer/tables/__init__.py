"""Tables for the command line, the report and the explorer.

``readers`` reads files as data frames (``text_files`` for text files, which it also writes),
``columns`` converts columns to their types and finds those that cannot be analyzed, ``table``
selects columns and rows (``chunked_table`` with Dask), and ``preparation`` chooses a kernel and
builds a pipeline. Names are imported when they are first used, so that reading a file does not
import kernels.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer.tables.columns import Omission
    from mercer.tables.preparation import BANDWIDTH_FACTORS, Preparation, prepare
    from mercer.tables.table import EMBEDDED, Missing, Rows, Table, as_table, read_rows, read_table

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
    "EMBEDDED": "table",
    "Omission": "columns",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
