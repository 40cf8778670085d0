"""Leave-one-out scores of all rows, and the columns that explain the highest scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.data.subsampling import random_rows, take_rows
from mercer.kernels import Kernel
from mercer.novelty.row_scores import leave_one_out_scores, mean_similarity_scores
from mercer.tables import Preparation
from mercer.utils.types import Array

__all__ = ["RowScores", "ScoredRow", "score_rows"]

_N_LISTED = 10
_MAX_CONTRIBUTIONS = 3  # columns named for each listed row
_MIN_CONTRIBUTION = 0.01
# Above this number of rows, each row is compared with a subsample, unless Fourier sums apply.
_ALL_PAIRS = 10_000
_REFERENCE = 5000
_FOURIER_COLUMNS = 3
_MAX_COLUMNS = 40  # columns whose contributions are computed


@dataclass(frozen=True)
class ScoredRow:
    """A row with a high score.

    Attributes
    ----------
    row : int
        Index among the analyzed rows.
    score : float
    columns : tuple of (str, float)
        Columns that contribute most, and by how much the score would fall if the cell held the
        column's median (or its most frequent label).
    """

    row: int
    score: float
    columns: tuple[tuple[str, float], ...]


@dataclass(frozen=True, eq=False)
class RowScores:
    """Leave-one-out scores of all rows (see :mod:`mercer.novelty.row_scores`).

    Attributes
    ----------
    scores : array of shape (n,)
    log_density : array of shape (n,) or None
        In the units of the columns; None if the kernel is not a density kernel.
    listed : tuple of ScoredRow
        The highest scores.
    kernel : Kernel
    reference : int
        Number of rows that each row was compared with.
    typical, high : float
        Median and 99 % quantile of the scores.
    """

    scores: Array
    log_density: Array | None
    listed: tuple[ScoredRow, ...]
    kernel: Kernel
    reference: int
    typical: float
    high: float


def score_rows(model: Preparation, data: Any, kernel: Kernel) -> RowScores:
    """Score all rows, and find the columns that contribute to the highest scores.

    Parameters
    ----------
    model : Preparation
    data : array or data frame
        ``model.data``.
    kernel : Kernel
        Fitted.
    """
    n, is_numeric = model.table.n, model.table.is_numeric
    all_pairs = n <= _ALL_PAIRS or (is_numeric and data.shape[1] <= _FOURIER_COLUMNS)
    reference = np.arange(n) if all_pairs else random_rows(n, _REFERENCE)
    scores = leave_one_out_scores(data, kernel, reference)
    highest = np.argsort(-scores, kind="stable")[:_N_LISTED]
    log_density = None
    if is_numeric:
        log_units = np.log(model.table.X.std(axis=0)).sum() if model.scaled else 0.0
        log_density = -scores - kernel.log_normalizer(data.shape[1]) - log_units
    return RowScores(
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
    rest, listed = take_rows(data, others), take_rows(data, rows)
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
        largest = np.argsort(-values)[:_MAX_CONTRIBUTIONS]
        columns = tuple(
            (model.table.columns[j], float(values[j]))
            for j in largest
            if values[j] > _MIN_CONTRIBUTION
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
