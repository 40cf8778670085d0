"""Sketches: weighted samples of bounded size, for quantiles and representative rows.

A sketch holds distinct rows in lexicographic order with their weights. If there are too many,
evenly spaced ones are selected. The sketches of two chunks combine to a sketch of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mercer.utils.quantiles import distinct_rows, evenly_spaced
from mercer.utils.types import Array

__all__ = ["Sketch", "combine_sketches", "sketch_column", "sketch_rows"]


class Sketch(NamedTuple):
    """Distinct rows in lexicographic order.

    Attributes
    ----------
    rows : array of shape (k, d)
    weights : array of shape (k,)
    complete : bool
        Whether these are all distinct rows.
    """

    rows: Array
    weights: Array
    complete: bool


def sketch_rows(X: Array, weights: Array | None, size: int) -> Sketch:
    """Return a sketch of at most ``size`` rows.

    >>> sketch = sketch_rows(np.array([[2.0], [1.0], [2.0]]), None, 5)
    >>> sketch.rows[:, 0].tolist(), sketch.weights.tolist(), sketch.complete
    ([1.0, 2.0], [1.0, 2.0], True)
    """
    counts = np.ones(len(X)) if weights is None else weights
    return _thinned(X.astype(np.float64, copy=False), counts, size)


def sketch_column(values: Array, weights: Array, size: int) -> Sketch:
    """Return a sketch of one column."""
    return _thinned(values[:, None], weights, size)


def combine_sketches(parts: Sequence[Sketch], size: int) -> Sketch:
    """Return a sketch of all rows of several sketches."""
    rows, weights, complete = zip(*parts, strict=True)
    return _thinned(np.concatenate(rows), np.concatenate(weights), size, all(complete))


def _thinned(X: Array, weights: Array, size: int, complete: bool = True) -> Sketch:
    indices, weights = distinct_rows(X, weights)
    if len(indices) <= size:
        return Sketch(X[indices], weights, complete)
    selected, counts = evenly_spaced(weights, size)
    return Sketch(X[indices[selected]], counts * (weights.sum() / size), False)
