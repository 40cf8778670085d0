"""Sketches: weighted samples of bounded size, for quantiles and representative rows.

A sketch holds distinct rows in lexicographic order with their weights. If there are too many,
evenly spaced ones are selected. The sketches of two chunks combine to a sketch of both.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer.maths.quantiles import distinct_rows, evenly_spaced
from mercer.maths.types import Array

__all__ = ["Sketch", "combine_sketches", "sketch_column", "sketch_rows"]

Sketch = tuple[Array, Array]  # rows and weights


def sketch_rows(X: Array, weights: Array | None, size: int) -> Sketch:
    """Return a sketch of at most ``size`` rows.

    >>> rows, weights = sketch_rows(np.array([[2.0], [1.0], [2.0]]), None, 5)
    >>> rows[:, 0].tolist(), weights.tolist()
    ([1.0, 2.0], [1.0, 2.0])
    """
    counts = np.ones(len(X)) if weights is None else weights
    return _thinned(X.astype(np.float64, copy=False), counts, size)


def sketch_column(values: Array, weights: Array, size: int) -> Sketch:
    """Return a sketch of one column."""
    return _thinned(values[:, None], weights, size)


def combine_sketches(parts: Sequence[Sketch], size: int) -> Sketch:
    """Return a sketch of all rows of several sketches."""
    rows, weights = (np.concatenate(entries) for entries in zip(*parts, strict=True))
    return _thinned(rows, weights, size)


def _thinned(X: Array, weights: Array, size: int) -> Sketch:
    indices, weights = distinct_rows(X, weights)
    if len(indices) <= size:
        return X[indices], weights
    return X[indices[evenly_spaced(weights, size)]], np.full(size, weights.sum() / size)
