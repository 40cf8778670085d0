"""What the data are: columns, kinds, gaps, and what was left out."""

from __future__ import annotations

from mercer.formatting import format_count, format_names, format_number, format_percent, shorten
from mercer.report.analysis import Analysis
from mercer.report.columns import ColumnSummary
from mercer.report.sections.html import Section, listing, paragraph, table

__all__ = ["data_section"]

_COLUMNS = 40


def data_section(analysis: Analysis) -> Section:
    """Rows, columns, and a line per column."""
    source = analysis.table
    rows = f"{source.n:,}"
    if source.rows_omitted:
        rows += (
            f" of {source.rows_read:,}; {source.rows_omitted:,} left out because a value was "
            "missing"
        )
    reasons: dict[str, list[str]] = {}
    for omission in source.omissions:
        reasons.setdefault(omission.reason, []).append(omission.column)
    left_out = [f"{format_names(columns)} ({reason})" for reason, columns in reasons.items()]
    gaps = sum(source.missing.values())
    items = [
        ("Rows", rows),
        ("Columns", _kinds(analysis)),
        ("Columns left out", "; ".join(left_out) or "none"),
        ("Missing cells", _missing(gaps, source.n * len(source.columns))),
        ("Label", source.label or "none"),
    ]
    if source.notes:
        items.append(("While reading", "; ".join(source.notes)))
    return Section("data", "What the data are", listing(items) + _columns(analysis))


def _kinds(analysis: Analysis) -> str:
    kinds = list(analysis.table.kinds.values())
    names = {"number": "number", "date": "date", "category": "categorie", "text": "text"}
    counts = {kind: kinds.count(kind) for kind in names if kind in kinds}
    told = ", ".join(
        f"1 {kind}" if count == 1 else f"{count:,} {names[kind]}s" for kind, count in counts.items()
    )
    return f"{len(kinds):,}: {told}"


def _missing(gaps: int, cells: int) -> str:
    if not gaps:
        return "none in the rows analysed"
    return (
        f"{gaps:,} ({format_percent(gaps / cells)}) in the rows analysed; a missing cell is compared as "
        "an average of the observed ones"
    )


def _columns(analysis: Analysis) -> str:
    shown = analysis.columns[:_COLUMNS]
    rows = [
        [
            shorten(c.name, 40),
            c.kind,
            f"{c.missing:,}",
            f"{c.different:,}",
            _values(c),
            _kernel(c),
        ]
        for c in shown
    ]
    more = len(analysis.columns) - len(shown)
    rest = paragraph(f"{format_count(more, 'more column')} in columns.csv.", "soft") if more else ""
    return (
        table(
            "Columns that were analysed",
            ["Column", "Kind", "Missing", "Different", "Values", "Compared by"],
            rows,
            texts=[0, 1, 4, 5],
        )
        + rest
    )


def _values(column: ColumnSummary) -> str:
    if column.frequent:
        told = ", ".join(f"{shorten(name, 24)} {count:,}" for name, count in column.frequent)
        return f"{told}{' …' if column.different > len(column.frequent) else ''}"
    low, middle, high = (_value(v) for v in (column.low, column.middle, column.high))
    return f"{low} to {high}, median {middle}"


def _value(value: float | str | None) -> str:
    if isinstance(value, str):
        return value.partition("T")[0]
    return format_number(value or 0.0)


def _kernel(column: ColumnSummary) -> str:
    days = column.kind == "date"
    symbol = "σ" if column.kernel == "Gaussian" else "ρ"
    return f"{column.kernel}, {symbol} = {format_number(column.width)}{' days' if days else ''}"
