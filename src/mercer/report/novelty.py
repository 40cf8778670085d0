"""Which rows have the least in common with all others.

The score of a row is minus the logarithm of its mean similarity to the other rows,
``-log 1/(n-1) Σ_{j≠i} k(x_i, x_j)``. It holds for every kernel. For numbers it is minus the
logarithm of the Parzen density without the row itself, up to the constant ``log ∫k``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import ParzenDensity
from mercer.errors import suppress_warnings
from mercer.kernels import Kernel
from mercer.maths.types import Array
from mercer.subsampling import drawn_rows, take
from mercer.tables import Preparation

__all__ = ["Novel", "Novelty", "find_novel"]

_LISTED = 10
_CULPRITS = 3
_ALL_PAIRS = 10_000  # rows up to which all pairs are compared, where plane waves do not serve
_REFERENCE = 5000
_BLOCK = 1000
_WAVES = 3  # columns up to which plane waves serve
# Where the others add less than this to a row's own window, the difference of the two is noise.
_ALONE = 0.01
_TINY = float(np.finfo(np.float64).tiny)
_COLUMNS = 40  # per row, of which contributions are computed


@dataclass(frozen=True)
class Novel:
    """A row that stands out.

    ``columns`` are the columns that contribute most: how much less novel the row would be, and
    what the cell is, if that cell held the column's median (or its most frequent label).
    """

    row: int
    score: float
    columns: tuple[tuple[str, float], ...]


@dataclass(frozen=True, eq=False)
class Novelty:
    """Scores of all rows.

    Attributes
    ----------
    scores : array of shape (n,)
    log_density : array of shape (n,) or None
        In the columns' own units; None where the kernel is no density window.
    listed : tuple of Novel
        The highest scores; ``row`` counts the analysed rows from 0.
    kernel : Kernel
    reference : int
        Rows that each row was compared with.
    typical, high : float
        The median of the scores, and what one row in a hundred exceeds.
    """

    scores: Array
    log_density: Array | None
    listed: tuple[Novel, ...]
    kernel: Kernel
    reference: int
    typical: float
    high: float


def find_novel(model: Preparation, data: Any, kernel: Kernel) -> Novelty:
    """Score all rows, and explain the most novel.

    Parameters
    ----------
    model : Preparation
    data : array or data frame
        ``model.data``.
    kernel : Kernel
        With its numbers.
    """
    n = model.table.n
    few = n <= _ALL_PAIRS
    if model.table.is_numeric:
        all_pairs = few or data.shape[1] <= _WAVES
        reference = np.arange(n) if all_pairs else drawn_rows(n, _REFERENCE)
        scores = _by_density(data, reference, kernel)
    else:
        reference = np.arange(n) if few else drawn_rows(n, _REFERENCE)
        scores = _by_similarity(data, reference, kernel)
    order = np.argsort(-scores, kind="stable")[:_LISTED]
    log_density = None
    if model.table.is_numeric:
        units = np.log(model.table.X.std(axis=0)).sum() if model.scaled else 0.0
        log_density = -scores - kernel.log_normalizer(data.shape[1]) - units
    return Novelty(
        scores=scores,
        log_density=log_density,
        listed=_explained(model, data, kernel, reference, order, scores),
        kernel=kernel,
        reference=len(reference),
        typical=float(np.median(scores)),
        high=float(np.quantile(scores, 0.99)),
    )


# --- scores ----------------------------------------------------------------------------------


def _by_density(data: Array, reference: Array, kernel: Kernel) -> Array:
    """Leave-one-out scores from Parzen's estimate, right in the deepest tails."""
    window, d = ParzenDensity(kernel=kernel).fit(data[reference]), data.shape[1]
    means = np.concatenate(
        [
            window.score_samples(data[i : i + 100 * _BLOCK])
            for i in range(0, len(data), 100 * _BLOCK)
        ]
    ) + kernel.log_normalizer(d)
    m = len(reference)
    own = np.zeros(len(data), dtype=bool)
    own[reference] = True
    sums = m * np.exp(means[own]) - 1  # k(x, x) = 1
    alone = np.flatnonzero(own)[sums < _ALONE]
    with np.errstate(divide="ignore", invalid="ignore"):
        means[own] = np.log(sums / (m - 1))
    if len(alone):
        means[alone] = _without_each_other(data, reference, alone, kernel)
    return -means


def _without_each_other(data: Array, reference: Array, alone: Array, kernel: Kernel) -> Array:
    """Rows whose own window hides all others, seen from the rows that are in company."""
    others = np.setdiff1d(reference, alone)
    m = len(reference)
    if not len(others):  # every row is alone: the nearest one decides
        return _nearest(data, alone, kernel) - np.log(m - 1)
    with suppress_warnings():  # what there is to say was said of the whole
        window = ParzenDensity(kernel=kernel).fit(data[others])
    logs = window.score_samples(data[alone]) + kernel.log_normalizer(data.shape[1])
    return np.asarray(logs + np.log(len(others) / (m - 1)))


def _nearest(data: Array, alone: Array, kernel: Kernel) -> Array:
    """Logarithm of the largest similarity to another row."""
    from sklearn.neighbors import NearestNeighbors

    near = NearestNeighbors(n_neighbors=2).fit(data).kneighbors(data[alone])[0][:, 1]
    d = data.shape[1]
    window = ParzenDensity(kernel=kernel).fit(np.zeros((1, d)))
    places = np.zeros((len(alone), d))
    places[:, 0] = near
    return np.asarray(window.score_samples(places) + kernel.log_normalizer(d))


def _by_similarity(frame: Any, reference: Array, kernel: Kernel) -> Array:
    """Leave-one-out scores from kernel values; beyond 708 they cannot be told apart."""
    others = take(frame, reference)
    place = np.full(len(frame), -1)
    place[reference] = np.arange(len(reference))
    scores = np.empty(len(frame))
    for i in range(0, len(frame), _BLOCK):
        K = np.array(kernel(frame.iloc[i : i + _BLOCK].reset_index(drop=True), others))
        own = place[i : i + _BLOCK]
        here = own >= 0
        K[np.flatnonzero(here), own[here]] = 0
        count = len(reference) - here
        scores[i : i + _BLOCK] = -np.log(np.maximum(K.sum(axis=1) / count, _TINY))
    return scores


# --- reasons ---------------------------------------------------------------------------------


def _explained(
    model: Preparation, data: Any, kernel: Kernel, reference: Array, rows: Array, scores: Array
) -> tuple[Novel, ...]:
    """Contributions of columns: the score less its value with the column at its usual value.

    Both scores are against the reference rows that are not listed themselves: a row must not be
    its own company.
    """
    others = np.setdiff1d(reference, rows)
    if len(others) == 0:
        return tuple(Novel(int(i), float(scores[i]), ()) for i in rows)
    rest, listed = take(data, others), take(data, rows)
    if model.table.is_numeric:
        with suppress_warnings():
            window = ParzenDensity(kernel=kernel).fit(rest)

        def score(rows: Any) -> Array:
            return np.asarray(-window.score_samples(rows))
    else:

        def score(rows: Any) -> Array:
            return np.asarray(-np.log(np.maximum(kernel(rows, rest).mean(axis=1), _TINY)))

    before = score(listed)
    gains = np.full((len(rows), len(model.table.columns)), -np.inf)
    for j, changed in _with_usual_values(model, data, listed):
        gains[:, j] = before - score(changed)
    found = []
    for i, row in enumerate(rows):
        top = [j for j in np.argsort(-gains[i])[:_CULPRITS] if gains[i, j] > 0.01]
        columns = tuple((model.table.columns[j], float(gains[i, j])) for j in top)
        found.append(Novel(int(row), float(scores[row]), columns))
    return tuple(found)


def _with_usual_values(model: Preparation, data: Any, listed: Any) -> Any:
    """Pairs of a column's number and the listed rows with that column at its usual value."""
    if model.table.is_numeric:
        usual = np.median(data, axis=0)
        spread = np.abs(listed - usual).max(axis=0)
        for j in np.argsort(-spread)[:_COLUMNS]:
            changed = listed.copy()
            changed[:, j] = usual[j]
            yield int(j), changed
        return
    for j, (name, kind) in enumerate(model.table.kinds.items()):
        if j >= _COLUMNS:
            return
        column = data[name].dropna()
        value = column.median() if kind in ("number", "date") else column.mode().iloc[0]
        changed = listed.copy()
        filled = changed[name].copy()
        filled[:] = value
        changed[name] = filled
        yield j, changed
