"""Directions in which the covariance operators of two samples differ, and novelty of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.maths.types import Array

__all__ = ["REPRESENTATIVES", "DifferenceMode", "operator_differences"]

REPRESENTATIVES = 8  # rows that are named per mode
# permutations for the level of eigenvalues without a difference: of modes, and of the novelty
_NULL_DRAWS, _NOVELTY_DRAWS = 20, 5


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


def operator_differences(
    features: Array, n: int, n_modes: int, rng: np.random.Generator
) -> tuple[list[DifferenceMode], list[DifferenceMode], Array]:
    """Return novel modes, missing modes and the novelty of the rows of the second sample.

    Parameters
    ----------
    features : array of shape (n + m, p)
        Of both samples.
    n : int
        Rows of the first sample.
    n_modes : int
    rng : numpy.random.Generator
    """
    size = len(features)
    m = size - n
    first = features[:n].T @ features[:n] / n
    second = features[n:].T @ features[n:] / m
    pooled = (n * first + m * second) / size
    values, vectors = np.linalg.eigh(second - first)
    null = []
    for _ in range(_NULL_DRAWS if n_modes else _NOVELTY_DRAWS):
        drawn = features[rng.permutation(size)[:n]]
        part = drawn.T @ drawn / n
        null.append((size * pooled - n * part) / m - part)
    levels = (
        np.array([np.linalg.eigvalsh(one)[[0, -1]] for one in null])
        if n_modes
        else np.empty((0, 2))
    )
    novel: list[DifferenceMode] = []
    lost: list[DifferenceMode] = []
    for i in range(min(n_modes, len(values))):
        for found, index, sign, rows in (
            (novel, -1 - i, 1, features[n:]),
            (lost, i, -1, features[:n]),
        ):
            if sign * values[index] <= 0:
                continue
            projections = (rows @ vectors[:, index]) ** 2
            top = np.argsort(-projections, kind="stable")[:REPRESENTATIVES]
            limit = levels[:, 1].max() if sign > 0 else -levels[:, 0].min()
            found.append(
                DifferenceMode(float(sign * values[index]), top, bool(sign * values[index] > limit))
            )
    return novel, lost, _novelty(features[n:], second - first, pooled, null)


def _novelty(rows: Array, difference: Array, pooled: Array, null: list[Array]) -> Array:
    values, vectors = np.linalg.eigh(pooled)
    # directions with less variance than one row contributes cannot be estimated
    ridge = max(1.0 / max(len(rows), 1), np.finfo(float).eps)
    whitening = vectors / np.sqrt(np.maximum(values, 0) + ridge)
    small, directions = np.linalg.eigh(whitening.T @ difference @ whitening)
    level = max(
        np.linalg.eigvalsh(whitening.T @ one @ whitening)[-1] for one in null[:_NOVELTY_DRAWS]
    )
    excess = np.maximum(small - level, 0)
    if not excess.any():  # nothing stands out: rank by all positive directions
        excess = np.maximum(small, 0)
    coordinates = rows @ (whitening @ directions)
    return np.asarray(coordinates**2 @ excess)
