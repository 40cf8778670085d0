"""Permutation tests of two samples: statistics of random partitions of all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from mercer.utils.pairwise import row_ranges
from mercer.utils.types import Array

__all__ = [
    "STANDARDIZED_SLACK",
    "Forms",
    "Partitions",
    "feature_forms",
    "gram_forms",
    "largest_standardized",
    "partition_statistics",
    "permutation_p_value",
]

#: Returns ``p'Kp`` and ``p'K1`` of the columns p of a matrix.
Forms: TypeAlias = Callable[[Array], tuple[Array, Array]]

_PERMUTATIONS_PER_PRODUCT = 64
_CONSTANT = 1e-10  # standard deviation below which statistics differ by rounding errors only
#: Ties of standardized statistics: rounding errors divided by the smallest standard deviation.
STANDARDIZED_SLACK = 1e-4


def feature_forms(features: Array, P: Array) -> tuple[Array, Array]:
    """Return ``p'Kp`` and ``p'K1`` of the columns p of P, from features of all rows."""
    sums = features.T @ P
    return np.einsum("ij,ij->j", sums, sums), features.sum(axis=0) @ sums


def gram_forms(product: Callable[[Array], Array], P: Array) -> tuple[Array, Array]:
    """Return ``p'Kp`` and ``p'K1`` of the columns p of P, from products with K."""
    products = product(P)
    return np.einsum("ij,ij->j", P, products), products.sum(axis=0)


@dataclass(frozen=True, eq=False)
class Partitions:
    """Statistics of partitions of all rows into two samples, the given one first.

    Attributes
    ----------
    squared_mmd : array
    cosine : array
        Cosine of the angle between the mean embeddings.
    unbiased : float
        Unbiased estimate of the squared MMD of the given partition.
    """

    squared_mmd: Array
    cosine: Array
    unbiased: float


def partition_statistics(
    forms: Forms, n: int, m: int, n_permutations: int, rng: np.random.Generator
) -> Partitions:
    """Return the statistics of the given partition and of random ones.

    Parameters
    ----------
    forms : callable
    n, m : int
        Rows of the samples.
    n_permutations : int
    rng : numpy.random.Generator
    """
    first = (np.arange(n + m) < n).astype(float)
    total = float(forms(np.ones((n + m, 1)))[0][0])
    squares, crossed = np.empty(n_permutations + 1), np.empty(n_permutations + 1)
    for part in row_ranges(n_permutations + 1, _PERMUTATIONS_PER_PRODUCT):
        columns = [rng.permutation(first) if i else first for i in range(part.start, part.stop)]
        squares[part], crossed[part] = forms(np.column_stack(columns))
    within = squares / n**2, (total - 2 * crossed + squares) / m**2
    between = (crossed - squares) / (n * m)
    # the mean over pairs of different rows, where k(x, x) = 1
    unbiased = [
        (v[0] * k - 1) / (k - 1) if k > 1 else np.nan for v, k in zip(within, (n, m), strict=True)
    ]
    return Partitions(
        np.maximum(within[0] + within[1] - 2 * between, 0),
        between / np.sqrt(np.maximum(within[0] * within[1], np.finfo(float).tiny)),
        float(unbiased[0] + unbiased[1] - 2 * between[0]),
    )


def largest_standardized(statistics: Sequence[Array]) -> Array:
    """Return the largest standardized statistic of each partition.

    Mean and standard deviation are those over all partitions, the given one included, so that all
    partitions are treated alike and the maximum gives a valid test. A kernel whose statistics
    differ by rounding errors only contributes 0.

    Parameters
    ----------
    statistics : sequence of arrays
        One array per kernel, over the same partitions, with values of at most order 1.
    """
    table = np.array(statistics)
    spread = table.std(axis=1, keepdims=True)
    centered = table - table.mean(axis=1, keepdims=True)
    return np.asarray(
        np.where(spread > _CONSTANT, centered / np.maximum(spread, _CONSTANT), 0).max(axis=0)
    )


def permutation_p_value(statistics: Array, slack: float | None = None) -> float:
    """Return the fraction of partitions with a statistic of at least the first, ties included.

    Parameters
    ----------
    statistics : array
        Of the given partition first.
    slack : float or None
        Largest difference of ties; None for rounding errors.
    """
    if slack is None:
        slack = 1e-12 * np.abs(statistics).max() + 1e-14
    return float((statistics >= statistics[0] - slack).mean())
