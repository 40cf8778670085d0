"""What is in each column, and how the kernel compares it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer.kernels import Categorical, Gaussian, Kernel, NGram, On
from mercer.tables import Table
from mercer.tables.column_types import ColumnType

__all__ = ["ColumnSummary", "column_kernels", "summarise_columns"]

_FREQUENT = 3


@dataclass(frozen=True)
class ColumnSummary:
    """A column in a line.

    Numbers and dates have ``low`` (least), ``middle`` (median) and ``high`` (greatest); dates in
    ISO form. Categories and texts have their most frequent labels with counts.
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


def summarise_columns(table: Table, kernel: Kernel, scaled: bool) -> tuple[ColumnSummary, ...]:
    """One summary per column that is analysed.

    Parameters
    ----------
    table : Table
    kernel : Kernel
        With its numbers.
    scaled : bool
        Whether the kernel sees standardised columns.
    """
    own = column_kernels(kernel)
    gaps = table.frame.isna().sum()
    found = []
    for name, kind in table.kinds.items():
        cells = table.frame[name].dropna()
        if name in own:
            how, width = _in_words(own[name])
        else:
            how, width = "Gaussian", float(getattr(kernel, "bandwidth", 1.0))
            width = width * float(cells.std(ddof=0)) if scaled else width
        ordered = kind in ("number", "date")
        low, middle, high = _three(cells, kind) if ordered else (None, None, None)
        counts = {} if ordered else cells.astype(str).value_counts().head(_FREQUENT).to_dict()
        found.append(
            ColumnSummary(
                name=name,
                kind=kind,
                missing=int(gaps[name]),
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
    """Factors of a table's kernel by column; empty for a kernel of all columns at once."""
    factors = getattr(kernel, "terms", (kernel,))
    return {str(f.columns): f.kernel for f in factors if isinstance(f, On)}


def _in_words(kernel: Kernel) -> tuple[str, float]:
    """Name of a column's kernel, one that a table may have, and how wide it is."""
    if isinstance(kernel, Gaussian):
        return "Gaussian", float(kernel.bandwidth)
    if isinstance(kernel, Categorical):
        ordered = kernel.order is not None
        return "ordered categories" if ordered else "categories", float(kernel.rho)
    assert isinstance(kernel, NGram)
    return "letter triples", float(kernel.rho)


def _three(cells: Any, kind: ColumnType) -> tuple[Any, Any, Any]:
    values = cells.min(), cells.median(), cells.max()
    if kind == "number":
        return tuple(map(float, values))  # type: ignore[return-value]
    return tuple(value.isoformat() for value in values)
