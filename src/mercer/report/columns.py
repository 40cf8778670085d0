"""Summary of each column, and its kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer.kernels import Categorical, Gaussian, Kernel, NGram, On
from mercer.tables import Table
from mercer.tables.column_types import ColumnType

__all__ = ["ColumnSummary", "column_kernels", "summarize_columns"]

_FREQUENT = 3


@dataclass(frozen=True)
class ColumnSummary:
    """Summary of a column.

    Numbers and dates have ``low`` (minimum), ``middle`` (median) and ``high`` (maximum); dates in
    ISO format. Categories and texts have their most frequent values with counts.
    """

    name: str
    kind: ColumnType
    missing: int
    different: int
    low: float | str | None
    middle: float | str | None
    high: float | str | None
    frequent: tuple[tuple[str, int], ...]
    kernel: str
    width: float


def summarize_columns(table: Table, kernel: Kernel, scaled: bool) -> tuple[ColumnSummary, ...]:
    """Summarize every analyzed column.

    Parameters
    ----------
    table : Table
    kernel : Kernel
        Fitted.
    scaled : bool
        Whether the kernel gets standardized columns.
    """
    own = column_kernels(kernel)
    missing = table.frame.isna().sum()
    found = []
    for name, kind in table.column_types.items():
        cells = table.frame[name].dropna()
        if name in own:
            how, width = _describe(own[name])
        else:
            how, width = "Gaussian", float(getattr(kernel, "bandwidth", 1.0))
            width = width * float(cells.std(ddof=0)) if scaled else width
        ordered = kind in ("number", "date")
        low, middle, high = _range(cells, kind) if ordered else (None, None, None)
        counts = {} if ordered else cells.astype(str).value_counts().head(_FREQUENT).to_dict()
        found.append(
            ColumnSummary(
                name=name,
                kind=kind,
                missing=int(missing[name]),
                different=int(cells.nunique()),
                low=low,
                middle=middle,
                high=high,
                frequent=tuple((str(label), int(count)) for label, count in counts.items()),
                kernel=how,
                width=width,
            )
        )
    return tuple(found)


def column_kernels(kernel: Kernel) -> dict[str, Kernel]:
    """Return the factors of a table kernel by column; empty if one kernel covers all columns."""
    factors = getattr(kernel, "terms", (kernel,))
    return {str(f.columns): f.kernel for f in factors if isinstance(f, On)}


def _describe(kernel: Kernel) -> tuple[str, float]:
    """Return the name and the parameter (bandwidth or rho) of a column's kernel."""
    if isinstance(kernel, Gaussian):
        return "Gaussian", float(kernel.bandwidth)
    if isinstance(kernel, Categorical):
        ordered = kernel.order is not None
        return "ordered categories" if ordered else "categories", float(kernel.rho)
    assert isinstance(kernel, NGram)
    return "letter trigrams", float(kernel.rho)


def _range(cells: Any, kind: ColumnType) -> tuple[Any, Any, Any]:
    values = cells.min(), cells.median(), cells.max()
    if kind == "number":
        return tuple(map(float, values))  # type: ignore[return-value]
    return tuple(value.isoformat() for value in values)
