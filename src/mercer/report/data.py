"""The data: rows, columns, missing values and omissions, and a summary of each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mercer.kernels import Categorical, Gaussian, Kernel, NGram, On
from mercer.report.section import HtmlTable, Section
from mercer.tables import Preparation, Table
from mercer.tables.columns import ColumnType
from mercer.utils.formatting import (
    format_count,
    format_names,
    format_number,
    format_percent,
    shorten,
)

__all__ = ["ColumnSummary", "Data", "summarize_columns"]

_PLURALS = {"number": "numbers", "date": "dates", "category": "categories", "text": "texts"}


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


@dataclass(frozen=True)
class Data(Section):
    """The table and a summary of each analyzed column."""

    name = "data"
    title = "The data"

    model: Preparation
    columns: tuple[ColumnSummary, ...]

    def to_json(self) -> dict[str, Any]:
        """Return rows, columns and omissions."""
        table = self.model.table
        return {
            "data": {
                "name": table.name,
                "rows_read": table.rows_read,
                "rows": table.n,
                "columns": list(table.columns),
                "kinds": table.column_types,
                "missing": table.missing,
                "label": table.label,
                "omitted_columns": {o.column: o.reason for o in table.omissions},
                "notes": table.notes,
            },
            "columns": self.columns,
        }

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Return the summaries, and the omitted columns with the reasons."""
        lines = []
        for column in self.columns:
            frequent = "; ".join(f"{name}: {count}" for name, count in column.frequent)
            lines.append({**asdict(column), "frequent": frequent, "left_out": None})
        omitted = [{"name": o.column, "left_out": o.reason} for o in self.model.table.omissions]
        return {"columns": lines + omitted}

    def context(self) -> dict[str, Any]:
        """Return rows, columns, and the table of summaries."""
        table = self.model.table
        rows = f"{table.n:,}"
        if table.rows_omitted:
            rows += (
                f" of {table.rows_read:,}; {table.rows_omitted:,} omitted because of missing values"
            )
        reasons: dict[str, list[str]] = {}
        for omission in table.omissions:
            reasons.setdefault(omission.reason, []).append(omission.column)
        omitted = [f"{format_names(columns)} ({reason})" for reason, columns in reasons.items()]
        items = [
            ("Rows", rows),
            ("Columns", self._kinds()),
            ("Omitted columns", "; ".join(omitted) or "none"),
            ("Missing values", _missing(sum(table.missing.values()), table.n * len(table.columns))),
            ("Label", table.label or "none"),
        ]
        if table.notes:
            items.append(("Notes on the file", "; ".join(table.notes)))
        listed = self.columns[:40]
        hidden = len(self.columns) - len(listed)
        more = f"{format_count(hidden, 'more column')} in columns.csv." if hidden > 0 else ""
        return {"items": items, "columns": _describe_columns(listed), "more_columns": more}

    def _kinds(self) -> str:
        kinds = list(self.model.table.column_types.values())
        counts = {kind: kinds.count(kind) for kind in _PLURALS if kind in kinds}
        listed = ", ".join(
            f"1 {kind}" if count == 1 else f"{count:,} {_PLURALS[kind]}"
            for kind, count in counts.items()
        )
        return listed if len(counts) == 1 else f"{len(kinds):,}: {listed}"


def _describe_columns(columns: Sequence[ColumnSummary]) -> HtmlTable:
    rows = [
        [
            shorten(c.name, 40),
            c.kind,
            f"{c.missing:,}",
            f"{c.different:,}",
            _values(c),
            _kernel(c),
        ]
        for c in columns
    ]
    heads = ["Column", "Type", "Missing", "Distinct", "Values", "Kernel"]
    return HtmlTable("Analyzed columns", heads, rows, [0, 1, 4, 5])


def _missing(missing: int, cells: int) -> str:
    if not missing:
        return "none in the analyzed rows"
    return (
        f"{missing:,} ({format_percent(missing / cells)}) in the analyzed rows; they are "
        "represented by the mean embedding of the column"
    )


def _values(column: ColumnSummary) -> str:
    if column.frequent:
        listed = ", ".join(f"{shorten(name, 24)} {count:,}" for name, count in column.frequent)
        return f"{listed}{' …' if column.different > len(column.frequent) else ''}"
    low, middle, high = (_value(v) for v in (column.low, column.middle, column.high))
    return f"{low} to {high}, median {middle}"


def _value(value: float | str | None) -> str:
    if isinstance(value, str):
        return value.partition("T")[0]
    return format_number(value or 0.0)


def _kernel(column: ColumnSummary) -> str:
    unit = " days" if column.kind == "date" else ""
    symbol = "σ" if column.kernel == "Gaussian" else "ρ"
    return f"{column.kernel}, {symbol} = {format_number(column.width)}{unit}"


def summarize_columns(table: Table, kernel: Kernel, scaled: bool) -> tuple[ColumnSummary, ...]:
    """Summarize every analyzed column; if ``scaled``, the fitted kernel has standardized ones."""
    own = _column_kernels(kernel)
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
        counts = {} if ordered else cells.astype(str).value_counts().head(3).to_dict()
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


def _column_kernels(kernel: Kernel) -> dict[str, Kernel]:
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
