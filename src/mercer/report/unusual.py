"""Which rows and cells are unusual, and what was expected there."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mercer import KernelNovelty
from mercer.errors import ApproximationWarning, suppress_warnings
from mercer.novelty.unusual_cells import held_out_scores, outlying_score, unusual_cells
from mercer.report.section import HtmlTable, Section, format_fraction, format_value
from mercer.tables import Table
from mercer.tables.columns import find_placeholder
from mercer.utils.formatting import format_number, shorten
from mercer.utils.types import Array

__all__ = ["ROW_FILES", "Cell", "Unusual", "find_unusual", "rows_file"]

#: Possible file names of the table of rows.
ROW_FILES = ("rows.csv", "rows.parquet")
_CSV_ROWS = 200_000  # larger tables of rows are Parquet files
_LISTED = 20  # rows; half as many if none stands out
_NEAR = 0.2  # relative difference up to which an expected number does not explain a cell
_REPEATED = 0.05  # largest fraction of distinct values in a column, and of rows with a rare one
_RARE = 20  # largest number of rows with a rare value


@dataclass(frozen=True)
class Cell:
    """An unusual cell; fields are named like the columns of cells.csv.

    ``row`` is its number in the file. ``probability``: of the observed category, given the other
    cells of the row. ``count``: rows with this value, if it is near the expected one and rare in a
    column of repeated values.
    """

    row: int
    score: float
    column: str
    observed: Any
    expected: Any
    probability: float | None
    count: int | None


@dataclass(frozen=True, eq=False)
class Unusual(Section):
    """Scores of all rows, and the cells of the rows with the highest scores."""

    name = "unusual"
    title = "Which rows and cells are unusual"

    table: Table
    scores: Array
    cells: tuple[Cell, ...]

    @property
    def limit(self) -> float:
        """Score above which rows stand out."""
        return outlying_score(self.scores)

    @property
    def standing_out(self) -> int:
        """Number of rows that stand out."""
        return int((self.scores > self.limit).sum())

    @property
    def answer(self) -> str:
        """Return how many rows stand out, and the most unusual one."""
        count = self.standing_out
        if not self.cells:
            return "No row is unusual."
        first = self.cells[0]
        most = f"row {first.row:,}, where {_phrase(first)}"
        if not count:
            return f"No row stands out clearly; the least typical one is {most}."
        rows = "1 row stands out" if count == 1 else f"{count:,} rows stand out"
        return f"{rows}; the most unusual is {most}."

    def to_json(self) -> dict[str, Any]:
        """Return the unusual cells, and the number of rows that stand out."""
        return {
            "rows_standing_out": self.standing_out,
            "limit": self.limit,
            "cells": [{**asdict(one), **_plain_cells(one)} for one in self.cells],
        }

    def row_columns(self) -> dict[str, Array]:
        """Return the score of each row."""
        return {"score": self.scores.astype(np.float32)}

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Return one line per unusual cell."""
        return {"cells": [asdict(one) for one in self.cells]}

    def context(self) -> dict[str, Any]:
        """Return the table of rows."""
        rows: dict[int, list[Cell]] = {}
        for cell in self.cells:
            rows.setdefault(cell.row, []).append(cell)
        lines = [
            [f"{row:,}", format_number(cells[0].score, 3), "; ".join(map(_phrase, cells))]
            for row, cells in rows.items()
        ]
        heads = ["Row", "Score", "Cells that do not fit (what the other cells of the row predict)"]
        typical = format_number(float(np.quantile(self.scores, 0.9)), 3)
        text = (
            "The score measures how badly the cells of a row fit together. Nine tenths of the rows "
            f"have at most {typical}; rows above {format_number(self.limit, 3)} stand out. A high "
            "score does not mean that a row is wrong."
        )
        return {
            "introduction": text,
            "rows": HtmlTable("Rows with the highest scores", heads, lines, [0, 2]),
            "file": rows_file(self.table.n),
        }


def _phrase(cell: Cell) -> str:
    """Describe a cell: "y is 31.8 (expected: about 5.5)"."""
    name, observed = shorten(cell.column, 30), format_value(cell.observed)
    if cell.count is not None:
        rows = "no other row has" if cell.count == 1 else f"only {cell.count:,} rows have"
        return f"{name} is {observed} ({rows} this value)"
    expected = cell.expected
    if hasattr(expected, "date") and cell.observed == cell.observed.normalize():
        expected = expected.normalize()
    if isinstance(expected, float):
        digits = 3 if abs(expected) >= 10 else 2
        return f"{name} is {observed} (expected: about {format_value(expected, digits)})"
    if format_value(expected) != observed:
        return f"{name} is {observed} (expected: {format_value(expected)})"
    if cell.probability is not None:
        return f"{name} is {observed} (probability {format_fraction(cell.probability)})"
    return f"{name} is {observed}"


def _plain_cells(cell: Cell) -> dict[str, Any]:
    """Return the cells as numbers or strings."""
    pair = {"observed": cell.observed, "expected": cell.expected}
    return {k: v if isinstance(v, int | float | None) else str(v) for k, v in pair.items()}


def rows_file(n: int) -> str:
    """Return the file name of the table of rows, given the number of rows."""
    return ROW_FILES[0] if n <= _CSV_ROWS else ROW_FILES[1]


def find_unusual(table: Table) -> Unusual | None:
    """Score all rows, and find the unusual cells; None if all columns are texts.

    Texts are not used: nearly every one of them is different.
    """
    names = [name for name, kind in table.column_types.items() if kind != "text"]
    if not names:
        return None
    frame = table.frame[names]
    detector = KernelNovelty(statistic="conditional", random_state=0)
    with suppress_warnings(ApproximationWarning):  # about tables of few rows: scores are enough
        scores = held_out_scores(detector, frame)
        n_rows = _LISTED if (scores > outlying_score(scores)).any() else _LISTED // 2
        found = unusual_cells(detector, frame, scores, n_rows=n_rows, codes=_codes(table, names))
    cells = [
        Cell(
            row=int(table.rows[one.row]) + 1,
            score=float(one.score),
            column=str(one.column),
            observed=one.observed,
            expected=one.expected,
            probability=None if one.probability != one.probability else float(one.probability),
            count=_count_if_rare(frame[one.column], one.observed, one.expected),
        )
        for one in found.itertuples()
    ]
    return Unusual(table, scores, tuple(cells))


def _codes(table: Table, names: list[str]) -> dict[str, float]:
    """Return the numbers that are perhaps codes for missing values, by column."""
    numbers = [name for name in names if table.column_types[name] == "number"]
    found = {name: find_placeholder(table.frame[name].to_numpy()) for name in numbers}
    return {name: one.value for name, one in found.items() if one is not None}


def _count_if_rare(column: Any, observed: Any, expected: Any) -> int | None:
    """Return the number of rows with a rare number that is near the expected one."""
    if not isinstance(expected, float) or abs(observed - expected) > _NEAR * abs(observed):
        return None
    count = int((column == observed).sum())
    is_repeated = column.nunique() <= _REPEATED * len(column)
    return count if is_repeated and count <= min(_REPEATED * len(column), _RARE) else None
