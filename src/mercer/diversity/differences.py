"""Directions in which the covariance operators of two samples differ, and novelty of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer.eigen.signed_lanczos import extreme_signed_eigenvalues, signed_eigenpairs
from mercer.utils.types import Array

__all__ = ["REPRESENTATIVES", "DifferenceMode", "feature_modes", "gram_modes", "row_novelty"]

REPRESENTATIVES = 8  # rows that are named per mode
# permutations for the level of eigenvalues without a difference: of modes, and of the novelty
_NULL_DRAWS, _NOVELTY_DRAWS = 20, 5
_NULL_STEPS = 12  # products for the extreme eigenvalues of permuted labels
_TOLERANCE = 1e-6  # residual of an eigenpair, relative to the largest eigenvalue


@dataclass(frozen=True, eq=False)
class DifferenceMode:
    """A direction in which two samples or two embeddings differ.

    Attributes
    ----------
    eigenvalue : float
        Of the difference of the operators; positive, largest first.
    representatives : array of int
        Indices of the rows with the largest squared projections.
    significant : bool
        Whether the eigenvalue exceeds those of randomly exchanged labels (for two samples), or its
        own error (for two embeddings).

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X, Y = np.repeat(np.eye(3)[:2], 50, axis=0), np.repeat(np.eye(3), [50, 50, 40], axis=0)
    >>> mode = mercer.compare_samples(X, Y).novel_modes[0]
    >>> bool((mode.representatives >= 100).all()), mode.significant
    (True, True)
    """

    eigenvalue: float
    representatives: Array
    significant: bool


def feature_modes(
    features: Array, n: int, n_modes: int, rng: np.random.Generator
) -> tuple[list[DifferenceMode], list[DifferenceMode]]:
    """Return novel and missing modes from features of the rows of both samples.

    Parameters
    ----------
    features : array of shape (n + m, p)
    n : int
        Rows of the first sample.
    n_modes : int
    rng : numpy.random.Generator
    """
    if not n_modes:
        return [], []
    difference, _, null = _operators(features, n, _NULL_DRAWS, rng)
    values, vectors = np.linalg.eigh(difference)
    levels = np.array([np.linalg.eigvalsh(one)[[0, -1]] for one in null])
    ends = slice(None, -n_modes - 1, -1), slice(None, n_modes)
    found = [(values[end], features @ vectors[:, end]) for end in ends]
    return _modes(found[0], found[1], n, levels)


def gram_modes(
    product: Callable[[Array], Array], size: int, n: int, n_modes: int, rng: np.random.Generator
) -> tuple[list[DifferenceMode], list[DifferenceMode], float]:
    """Return novel and missing modes from products with K, and the largest residual.

    Parameters
    ----------
    product : callable
        ``K @ V``, K of the rows of both samples.
    size : int
        Number of these rows.
    n, n_modes, rng
        As in :func:`feature_modes`.
    """
    if not n_modes:
        return [], [], 0.0
    d = np.where(np.arange(size) < n, -1 / n, 1 / (size - n))
    ends = signed_eigenpairs(product, d, n_modes, tolerance=_TOLERANCE, rng=rng)
    drawn = np.column_stack([rng.permutation(d) for _ in range(_NULL_DRAWS)])
    levels = extreme_signed_eigenvalues(product, drawn, _NULL_STEPS, rng)
    novel, lost = _modes(ends[0][:2], ends[1][:2], n, levels)
    return novel, lost, float(max(end.residuals.max(initial=0) for end in ends))


def _modes(
    positive: tuple[Array, Array], negative: tuple[Array, Array], n: int, levels: Array
) -> tuple[list[DifferenceMode], list[DifferenceMode]]:
    """Return modes from eigenvalues and projections of all rows at both ends of the spectrum."""
    found = []
    for sign, (values, projections) in ((1, positive), (-1, negative)):
        rows = projections[n:] if sign > 0 else projections[:n]
        limit = levels[:, 1].max() if sign > 0 else -levels[:, 0].min()
        found.append(
            [
                DifferenceMode(
                    float(sign * value),
                    np.argsort(-(column**2), kind="stable")[:REPRESENTATIVES],
                    bool(sign * value > limit),
                )
                for value, column in zip(values, rows.T, strict=True)
                if sign * value > 0
            ]
        )
    return found[0], found[1]


def _operators(
    features: Array, n: int, draws: int, rng: np.random.Generator
) -> tuple[Array, Array, list[Array]]:
    """Return the difference, the pooled operator, and differences for permuted labels."""
    size = len(features)
    m = size - n
    first = features[:n].T @ features[:n] / n
    second = features[n:].T @ features[n:] / m
    pooled = (n * first + m * second) / size
    null = []
    for _ in range(draws):
        drawn = features[rng.permutation(size)[:n]]
        part = drawn.T @ drawn / n
        null.append((size * pooled - n * part) / m - part)
    return second - first, pooled, null


def row_novelty(features: Array, n: int, rng: np.random.Generator) -> Array:
    """Return the novelty of the rows of the second sample; parameters as in `feature_modes`."""
    difference, pooled, null = _operators(features, n, _NOVELTY_DRAWS, rng)
    rows = features[n:]
    values, vectors = np.linalg.eigh(pooled)
    # directions with less variance than one row contributes cannot be estimated
    ridge = max(1.0 / max(len(rows), 1), np.finfo(float).eps)
    whitening = vectors / np.sqrt(np.maximum(values, 0) + ridge)
    small, directions = np.linalg.eigh(whitening.T @ difference @ whitening)
    level = max(np.linalg.eigvalsh(whitening.T @ one @ whitening)[-1] for one in null)
    excess = np.maximum(small - level, 0)
    if not excess.any():  # nothing stands out: rank by all positive directions
        excess = np.maximum(small, 0)
    coordinates = rows @ (whitening @ directions)
    return np.asarray(coordinates**2 @ excess)
