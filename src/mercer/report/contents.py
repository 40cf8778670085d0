"""What is in the table: types, missing values, and problems with what was done about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from mercer.report.section import HtmlTable, Section, format_fraction, format_value
from mercer.tables import Table
from mercer.tables.columns import ColumnType, find_placeholder
from mercer.utils.formatting import (
    format_count,
    format_names,
    join_words,
    shorten,
)

__all__ = ["MAX_COLUMNS", "ColumnSummary", "Contents", "Problem", "describe_contents"]

#: Columns whose dependence is computed; its time grows with the third power of their number.
MAX_COLUMNS = 300

_PLURALS = {
    "number": ("number", "numbers"),
    "date": ("date", "dates"),
    "category": ("category", "categories"),
    "text": ("text", "texts"),
}


@dataclass(frozen=True)
class ColumnSummary:
    """Summary of a column; fields are named like the columns of columns.csv.

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


@dataclass(frozen=True)
class Problem:
    """Something in the table that a reader should know, and what was done about it."""

    what: str
    action: str


@dataclass(frozen=True)
class Contents(Section):
    """The table, a summary of each analyzed column, and problems."""

    name = "contents"
    title = "What is in the table"

    table: Table
    columns: tuple[ColumnSummary, ...]
    problems: tuple[Problem, ...]
    sample: int

    @property
    def answer(self) -> str:
        """Return the size, the types of the columns, and what is missing."""
        table = self.table
        kinds = list(table.column_types.values())
        counts = {kind: kinds.count(kind) for kind in _PLURALS if kind in kinds}
        listed = join_words(f"{n:,} {_PLURALS[kind][n > 1]}" for kind, n in counts.items())
        columns = format_count(len(kinds), "column")
        types = f"{columns} ({listed})"
        if len(counts) == 1:
            types = f"{columns} of {_PLURALS[kinds[0]][1]}"
        missing = sum(table.missing.values())
        gaps = "no missing values"
        if missing:
            gaps = f"{format_fraction(missing / (table.n * len(kinds)))} of the cells missing"
        text = f"The table has {format_count(table.n, 'row')} and {types}, with {gaps}"
        omitted = [one.column for one in table.omissions]
        if omitted:
            were = "was" if len(omitted) == 1 else "were"
            names = [shorten(name, 30) for name in omitted]
            listed = join_words(names) if len(names) <= 4 else format_names(names, 4)
            text += f"; {listed} {were} left out"
        return f"{text}."

    def to_json(self) -> dict[str, Any]:
        """Return rows, columns and problems."""
        table = self.table
        return {
            "name": table.name,
            "rows_read": table.rows_read,
            "rows": table.n,
            "rows_analyzed": self.sample,
            "columns": self.columns,
            "missing": table.missing,
            "label": table.label,
            "omitted_columns": {o.column: o.reason for o in table.omissions},
            "notes": table.notes,
            "problems": self.problems,
        }

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Return the summaries, and the omitted columns with the reasons."""
        lines = []
        for column in self.columns:
            frequent = "; ".join(f"{name}: {count}" for name, count in column.frequent)
            lines.append({**asdict(column), "frequent": frequent, "omitted": None})
        omitted = [{"name": o.column, "omitted": o.reason} for o in self.table.omissions]
        return {"columns": lines + omitted}

    def context(self) -> dict[str, Any]:
        """Return the problems and the table of summaries."""
        shown = self.columns[:40]
        rows = [
            [shorten(c.name, 40), c.kind, _values(c), f"{c.different:,}", _missing(c, self.table.n)]
            for c in shown
        ]
        heads = ["Column", "Type", "Values", "Distinct", "Missing"]
        hidden = len(self.columns) - len(shown)
        return {
            "problems": [(one.what, one.action) for one in self.problems],
            "columns": HtmlTable("Analyzed columns", heads, rows, [0, 1, 2]),
            "more": f"{format_count(hidden, 'more column')} in columns.csv." if hidden > 0 else "",
        }


def _missing(column: ColumnSummary, n: int) -> str:
    return f"{column.missing:,} ({format_fraction(column.missing / n)})" if column.missing else "0"


def _values(column: ColumnSummary) -> str:
    if column.frequent:
        listed = ", ".join(f"{shorten(name, 24)} {count:,}" for name, count in column.frequent)
        return f"{listed}{' …' if column.different > len(column.frequent) else ''}"
    low, middle, high = (_bound(v) for v in (column.low, column.middle, column.high))
    return f"{low} to {high}, median {middle}"


def _bound(value: float | str | None) -> str:
    return value.partition("T")[0] if isinstance(value, str) else format_value(value)


# --- results ---------------------------------------------------------------------------------


def describe_contents(
    table: Table, equivalent: tuple[tuple[Any, Any], ...], sample: int
) -> Contents:
    """Summarize every analyzed column, and list problems.

    ``equivalent``: pairs of columns that repeat each other. ``sample``: number of rows of the other
    sections.
    """
    problems = [*_problems(table, sample), *_repetitions(equivalent)]
    return Contents(table, tuple(_summaries(table)), tuple(problems), sample)


def _summaries(table: Table) -> Iterator[ColumnSummary]:
    for name, kind in table.column_types.items():
        cells = table.frame[name].dropna()
        ordered = kind in ("number", "date")
        bounds: list[Any] = [None] * 3
        if ordered:
            bounds = [cells.min(), cells.median(), cells.max()]
        if kind == "date":
            bounds = [value.isoformat() for value in bounds]
        counts = {} if ordered else cells.astype(str).value_counts().head(3).to_dict()
        yield ColumnSummary(
            name=name,
            kind=kind,
            missing=table.n - len(cells),
            different=int(cells.nunique()),
            low=bounds[0],
            middle=bounds[1],
            high=bounds[2],
            frequent=tuple((str(label), int(count)) for label, count in counts.items()),
        )


def _problems(table: Table, sample: int) -> Iterator[Problem]:
    for note in table.notes:
        yield Problem(note, "Read accordingly.")
    reasons: dict[str, list[str]] = {}
    for omission in table.omissions:
        reasons.setdefault(omission.reason, []).append(omission.column)
    for reason, columns in reasons.items():
        yield Problem(f"{format_names(columns)}: {reason}.", "Left out of the analysis.")
    if table.rows_omitted:
        yield Problem(
            f"{table.rows_omitted:,} of {table.rows_read:,} rows have missing values.",
            "Left out of the analysis; --missing keep includes them.",
        )
    if table.missing:
        listed = [f"{name} ({count:,})" for name, count in table.missing.items()]
        yield Problem(
            f"Missing values in {format_names(listed)}.",
            "The rows are included; whether a value is missing is used like a category.",
        )
    for name, kind in table.column_types.items():
        found = find_placeholder(table.frame[name].to_numpy()) if kind == "number" else None
        if found is not None:
            yield Problem(
                f"{shorten(name)} is {format_value(found.value)} in "
                f"{format_count(found.rows, 'row')}, far from all other values (the nearest is "
                f"{format_value(found.nearest)}): perhaps a code for missing values.",
                "Used as a number. Empty these cells if they are not measurements.",
            )
    copies = int(table.frame.duplicated().sum())
    if copies:
        rows = "row repeats" if copies == 1 else "rows repeat"
        yield Problem(f"{copies:,} {rows} an earlier row exactly.", "Included.")
    if table.has_label is not None and not table.has_label.all():
        missing = int((~table.has_label).sum())
        yield Problem(
            f"The label {shorten(str(table.label))} is missing in {format_count(missing, 'row')}.",
            "Left out of the section about the label only.",
        )
    if sample < table.n:
        yield Problem(
            f"The table has {table.n:,} rows.",
            f"This section and the scores of rows use all of them, the other results a random "
            f"sample of {sample:,} rows.",
        )
    if len(table.columns) > MAX_COLUMNS:
        yield Problem(
            f"The table has {len(table.columns):,} columns.",
            f"Related columns and unusual cells are those among the first {MAX_COLUMNS}; --ignore "
            "leaves columns out.",
        )


def _repetitions(equivalent: tuple[tuple[Any, Any], ...]) -> Iterator[Problem]:
    if equivalent:
        pairs = [f"{shorten(str(b), 30)} repeats {shorten(str(a), 30)}" for a, b in equivalent]
        yield Problem(
            f"{format_names(pairs)}: each value of one corresponds to one value of the other.",
            "All are used, so they count twice; --ignore leaves columns out.",
        )
