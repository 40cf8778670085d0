"""The data: rows, columns, missing values and omissions."""

from __future__ import annotations

from mercer.report.analysis import Analysis
from mercer.report.columns import ColumnSummary
from mercer.report.sections.html import HtmlTable, Section
from mercer.utils.formatting import (
    format_count,
    format_names,
    format_number,
    format_percent,
    shorten,
)

__all__ = ["data_section"]

_COLUMNS = 40
_PLURALS = {"number": "numbers", "date": "dates", "category": "categories", "text": "texts"}


def data_section(analysis: Analysis) -> Section:
    """Rows, columns, and a summary of each column."""
    table = analysis.table
    rows = f"{table.n:,}"
    if table.rows_omitted:
        rows += f" of {table.rows_read:,}; {table.rows_omitted:,} omitted because of missing values"
    reasons: dict[str, list[str]] = {}
    for omission in table.omissions:
        reasons.setdefault(omission.reason, []).append(omission.column)
    omitted = [f"{format_names(columns)} ({reason})" for reason, columns in reasons.items()]
    items = [
        ("Rows", rows),
        ("Columns", _kinds(analysis)),
        ("Omitted columns", "; ".join(omitted) or "none"),
        ("Missing values", _missing(sum(table.missing.values()), table.n * len(table.columns))),
        ("Label", table.label or "none"),
    ]
    if table.notes:
        items.append(("Notes on the file", "; ".join(table.notes)))
    hidden = len(analysis.columns) - _COLUMNS
    more = f"{format_count(hidden, 'more column')} in columns.csv." if hidden > 0 else ""
    context = {"items": items, "columns": _columns(analysis), "more_columns": more}
    return Section("data", "The data", context)


def _kinds(analysis: Analysis) -> str:
    kinds = list(analysis.table.column_types.values())
    counts = {kind: kinds.count(kind) for kind in _PLURALS if kind in kinds}
    listed = ", ".join(
        f"1 {kind}" if count == 1 else f"{count:,} {_PLURALS[kind]}"
        for kind, count in counts.items()
    )
    return f"{len(kinds):,}: {listed}"


def _missing(missing: int, cells: int) -> str:
    if not missing:
        return "none in the analyzed rows"
    return (
        f"{missing:,} ({format_percent(missing / cells)}) in the analyzed rows; they are "
        "represented by the mean embedding of the column"
    )


def _columns(analysis: Analysis) -> HtmlTable:
    rows = [
        [
            shorten(c.name, 40),
            c.kind,
            f"{c.missing:,}",
            f"{c.different:,}",
            _values(c),
            _kernel(c),
        ]
        for c in analysis.columns[:_COLUMNS]
    ]
    heads = ["Column", "Type", "Missing", "Distinct", "Values", "Kernel"]
    return HtmlTable("Analyzed columns", heads, rows, [0, 1, 4, 5])


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
