"""Leave-one-out scores of all rows, and the columns that explain the highest scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.data.subsampling import random_rows
from mercer.kernels import Kernel
from mercer.novelty.density_scores import leave_one_out_scores, mean_similarity_scores
from mercer.report.components import FEW_COLUMNS
from mercer.report.section import HtmlTable, Section
from mercer.tables import Preparation, Table
from mercer.utils.formatting import format_number, shorten
from mercer.utils.frames import rows_of
from mercer.utils.types import Array

__all__ = ["ROW_FILES", "RowScores", "ScoredRow", "format_cell", "rows_file", "score_rows"]

#: Possible file names of the table of rows.
ROW_FILES = ("rows.csv", "rows.parquet")
_CSV_ROWS = 200_000  # larger tables of rows are Parquet files

# Above this number of rows, each row is compared with a subsample, unless Fourier sums apply.
_ALL_PAIRS = 10_000
_REFERENCE = 5000
_MAX_COLUMNS = 40  # columns whose contributions are computed


@dataclass(frozen=True)
class ScoredRow:
    """A row with a high score, by its index among the analyzed rows.

    ``columns`` are those that contribute most, with the decrease of the score if the cell held the
    column's median (or its most frequent label).
    """

    row: int
    score: float
    columns: tuple[tuple[str, float], ...]


@dataclass(frozen=True, eq=False)
class RowScores(Section):
    """Leave-one-out scores of all rows (see :mod:`mercer.novelty.density_scores`).

    ``log_density`` is in the units of the columns, or None if the kernel is not a density kernel.
    ``listed`` has the highest scores, ``reference`` is the number of rows that each row was
    compared with, ``typical`` and ``high`` are the median and the 99 % quantile of the scores.
    """

    name = "scores"
    title = "The most isolated rows"

    table: Table
    scores: Array
    log_density: Array | None
    listed: tuple[ScoredRow, ...]
    kernel: Kernel
    reference: int
    typical: float
    high: float

    def to_json(self) -> dict[str, Any]:
        """Return the highest scores."""
        rows = self.table.rows
        listed = [
            {"row": int(rows[one.row]) + 1, "score": one.score, "columns": dict(one.columns)}
            for one in self.listed
        ]
        return {
            "novelty": {
                "listed": listed,
                "typical": self.typical,
                "high": self.high,
                "reference_rows": self.reference,
            }
        }

    def row_columns(self) -> dict[str, Array]:
        """Return the score of each row, and its log density if the kernel is a density kernel."""
        columns = {"novelty": self.scores.astype(np.float32)}
        if self.log_density is not None:
            columns["log_density"] = self.log_density.astype(np.float32)
        return columns

    def context(self) -> dict[str, Any]:
        """Return the rows with the highest scores."""
        rows = [
            [
                f"{int(self.table.rows[one.row]) + 1:,}",
                format_number(one.score, 3),
                _contributions(self.table.frame, one) or "no single column",
            ]
            for one in self.listed
        ]
        caption = (
            "Rows with the highest scores. Row 1 is the first below the header. In parentheses: "
            "how much the score would fall if the cell held the column’s median or most frequent "
            "label"
        )
        heads = ["Row", "Score", "Columns that contribute most"]
        return {
            "introduction": self._introduction(),
            "rows": HtmlTable(caption, heads, rows, [0, 2]),
            "file": rows_file(self.table.n),
        }

    def _introduction(self) -> str:
        sigma = getattr(self.kernel, "bandwidth", None)
        bandwidth = "" if sigma is None else f" (σ = {format_number(float(sigma))})"
        density = (
            " For a numeric table it is minus the leave-one-out log density, up to a constant."
            if self.table.is_numeric
            else ""
        )
        subsample = (
            f" Rows were compared with a random subsample of {self.reference:,} rows."
            if self.reference < self.table.n
            else ""
        )
        return (
            "The leave-one-out density score of a row is −log of its mean similarity to all other "
            f"rows{bandwidth}.{density} Half of the rows have scores below "
            f"{format_number(self.typical, 3)}, 1 % above {format_number(self.high, 3)}. A "
            "high score does not mean that a row is wrong: every table has rows with the highest "
            "scores."
            f"{subsample}"
        )


def _contributions(frame: Any, scored: ScoredRow) -> str:
    return "; ".join(
        f"{shorten(name, 30)} = {format_cell(frame[name].iloc[scored.row])} ({contribution:.2f})"
        for name, contribution in scored.columns
    )


def format_cell(value: Any) -> str:
    """Format a cell of a table."""
    if value is None or value != value:
        return "(missing)"
    if isinstance(value, float):
        return format_number(value)
    if hasattr(value, "isoformat"):
        return str(value.isoformat()).replace("T00:00:00", "")
    return f"“{shorten(str(value), 40)}”"


def rows_file(n: int) -> str:
    """Return the file name of the table of rows, given the number of rows."""
    return ROW_FILES[0] if n <= _CSV_ROWS else ROW_FILES[1]


def score_rows(model: Preparation, data: Any, kernel: Kernel) -> RowScores:
    """Score all rows, and find the columns that contribute to the highest scores.

    ``data`` is that of the model; the kernel is fitted.
    """
    n, is_numeric = model.table.n, model.table.is_numeric
    all_pairs = n <= _ALL_PAIRS or (is_numeric and data.shape[1] <= FEW_COLUMNS)
    reference = np.arange(n) if all_pairs else random_rows(n, _REFERENCE)
    scores = leave_one_out_scores(data, kernel, reference)
    highest = np.argsort(-scores, kind="stable")[:10]
    log_density = None
    if is_numeric:
        log_units = np.log(model.table.X.std(axis=0)).sum() if model.scaled else 0.0
        log_density = -scores - kernel.log_normalizer(data.shape[1]) - log_units
    return RowScores(
        table=model.table,
        scores=scores,
        log_density=log_density,
        listed=_with_contributions(model, data, kernel, reference, highest, scores),
        kernel=kernel,
        reference=len(reference),
        typical=float(np.median(scores)),
        high=float(np.quantile(scores, 0.99)),
    )


def _with_contributions(
    model: Preparation, data: Any, kernel: Kernel, reference: Array, rows: Array, scores: Array
) -> tuple[ScoredRow, ...]:
    """Return the rows with the columns that contribute most to their scores.

    The contribution of a column is the score minus the score with the column's typical value.
    Both scores are relative to the reference rows that are not listed, so that no row is compared
    with itself.
    """
    others = np.setdiff1d(reference, rows)
    if len(others) == 0:
        return tuple(ScoredRow(int(i), float(scores[i]), ()) for i in rows)
    rest, listed = rows_of(data, others), rows_of(data, rows)
    contributions = np.full((len(rows), len(model.table.columns)), -np.inf)
    columns_changed, changed = zip(*_with_typical_values(model, data, listed), strict=True)
    # one call for all copies of the listed rows, because the kernel prepares the other rows anew
    # in each call
    together = mean_similarity_scores(_concatenate([listed, *changed]), kernel, rest)
    before, *after = together.reshape(-1, len(rows))
    for j, scores_of_column in zip(columns_changed, after, strict=True):
        contributions[:, j] = before - scores_of_column
    found = []
    for row, values in zip(rows, contributions, strict=True):
        largest = np.argsort(-values)[:3]
        columns = tuple(
            (model.table.columns[j], float(values[j]))
            for j in largest
            if values[j] > 0.01  # the precision of the page
        )
        found.append(ScoredRow(int(row), float(scores[row]), columns))
    return tuple(found)


def _concatenate(parts: list[Any]) -> Any:
    if not hasattr(parts[0], "iloc"):
        return np.concatenate(parts)
    import pandas as pd

    return pd.concat(parts, ignore_index=True)


def _with_typical_values(model: Preparation, data: Any, listed: Any) -> Iterator[tuple[int, Any]]:
    """Yield a column's index, and the listed rows with that column at its typical value."""
    if model.table.is_numeric:
        medians = np.median(data, axis=0)
        deviations = np.abs(listed - medians).max(axis=0)
        for j in np.argsort(-deviations)[:_MAX_COLUMNS]:
            changed = listed.copy()
            changed[:, j] = medians[j]
            yield int(j), changed
        return
    for j, (name, kind) in enumerate(list(model.table.column_types.items())[:_MAX_COLUMNS]):
        column = data[name].dropna()
        value = column.median() if kind in ("number", "date") else column.mode().iloc[0]
        changed = listed.copy()
        filled = changed[name].copy()
        filled[:] = value
        changed[name] = filled
        yield j, changed
