"""Subsets of rows for computations that would take too long on all rows.

============================ ==================================================================
:func:`random_rows`          drawn at random with a seed
:func:`representative_rows`  weighted quantiles of the distinct rows in lexicographic order;
                             independent of the order of the rows; repeated rows and weights are
                             equivalent
:func:`evenly_spaced_rows`   evenly spaced in lexicographic order, repeated rows included; objects
                             are evenly spaced by position
============================ ==================================================================
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer.utils.types import Array
from mercer.utils.weights import effective_size

__all__ = [
    "RepresentativeRows",
    "distinct_rows",
    "evenly_spaced",
    "evenly_spaced_rows",
    "group_medians",
    "random_rows",
    "representative_rows",
    "select_representatives",
    "thin_rows",
]


def random_rows(n: int, most: int, seed: int = 0) -> Array:
    """Return sorted indices of all n rows, or of ``most`` of them drawn with this seed."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def distinct_rows(X: Any, weights: Array) -> tuple[Array, Array]:
    """Return indices of the distinct rows in lexicographic order, and their total weights."""
    if hasattr(X, "tocsr"):
        from mercer.utils.pairwise import distinct_sparse_rows

        order, first = distinct_sparse_rows(X)
    else:
        order = np.argsort(X[:, 0])
        if (np.diff(X[order, 0]) == 0).any():  # otherwise the first column determines the order
            order = np.lexsort(X.T[::-1])
        rows = X[order]
        first = np.r_[True, (rows[1:] != rows[:-1]).any(axis=1)]
    return order[first], np.add.reduceat(weights[order], np.flatnonzero(first))


def evenly_spaced(weights: Array, count: int) -> tuple[Array, Array]:
    """Return the entries at ``count`` evenly spaced fractions of the total weight, and how often.

    Entries with more than an average weight may be selected several times. These numbers sum to
    ``count`` and differ from ``count * weights / weights.sum()`` by less than 1.
    """
    cumulative = np.cumsum(weights)
    at = np.searchsorted(cumulative, (np.arange(count) + 0.5) / count * cumulative[-1])
    indices, multiplicities = np.unique(np.minimum(at, len(weights) - 1), return_counts=True)
    return indices, multiplicities.astype(np.float64)


def group_medians(weights: Array, count: int) -> tuple[Array, Array]:
    """Divide entries into groups of consecutive ones; return the median of each and its weight."""
    edges = np.arange(count + 1) * len(weights) // count
    totals, cumulative = np.add.reduceat(weights, edges[:-1]), np.cumsum(weights)
    middles = np.searchsorted(cumulative, cumulative[edges[1:] - 1] - totals / 2)
    return np.clip(middles, edges[:-1], edges[1:] - 1), totals


class RepresentativeRows(NamedTuple):
    """Rows that represent a weighted sample: their indices, or the rows themselves.

    If these are all distinct rows, the weights are theirs; otherwise how often each was selected,
    or the total weight of the group that each represents. ``size_ratio`` is the effective sample
    size (Kish) of these rows relative to that of all distinct rows.
    """

    rows: Array
    weights: Array
    size_ratio: float


def select_representatives(
    X: Array, weights: Array, most: int, *, grouped: bool = False
) -> RepresentativeRows:
    """Return representative rows with their size ratio; ``grouped`` as in :func:`thin_rows`."""
    rows, weights = distinct_rows(X, weights)
    if len(rows) <= most:
        return RepresentativeRows(rows, weights, 1.0)
    selected, counts = thin_rows(weights, most, grouped=grouped)
    ratio = effective_size(counts) / effective_size(weights)
    return RepresentativeRows(rows[selected], counts, ratio)


def thin_rows(weights: Array, most: int, *, grouped: bool) -> tuple[Array, Array]:
    """Return indices and weights of rows that represent more, distinct rows in order.

    They are at evenly spaced quantiles. If ``grouped`` and weights differ, rows are divided into
    groups of the same number of consecutive rows instead, each with one row for all. Slightly more
    rows than ``most`` then give almost the same sample, since most groups contain a single row.
    """
    if grouped and (weights != weights[0]).any():
        return group_medians(weights, most)
    return evenly_spaced(weights, most)


def representative_rows(X: Array, weights: Array, most: int = 2000) -> tuple[Array, Array]:
    """Return indices and weights of at most ``most`` rows that represent a weighted sample.

    These are the distinct rows or, if there are more, those at evenly spaced quantiles in
    lexicographic order, with the number of quantiles at each as its weight. Equal rows are merged
    first, so that copies and weights are equivalent.
    """
    return select_representatives(X, weights, most)[:2]


def evenly_spaced_rows(data: Any, most: int) -> Array:
    """Return sorted indices of all rows, or of ``most`` of them, evenly spaced.

    Rows of a numeric array are spaced in lexicographic order, other objects by position.
    """
    n = len(data)
    if n <= most:
        return np.arange(n)
    if isinstance(data, np.ndarray) and data.ndim == 2 and data.dtype.kind in "biuf":
        return np.sort(np.lexsort(data.T[::-1])[evenly_spaced(np.ones(n), most)[0]])
    return np.linspace(0, n - 1, most).astype(int)
