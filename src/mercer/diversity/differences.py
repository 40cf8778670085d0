"""Directions in which the covariance operators of two samples differ, and novelty of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs

from mercer.utils.formatting import Result, format_number
from mercer.utils.types import Array

__all__ = [
    "REPRESENTATIVES",
    "DifferenceMode",
    "feature_modes",
    "gram_modes",
    "listed_rows",
    "mode_rows",
    "row_novelty",
]

REPRESENTATIVES = 8  # rows that are named per mode
_NULL_DRAWS = 20  # permutations for the level of eigenvalues without a difference
_TOLERANCE = 1e-6  # residual of an eigenpair, relative to the largest eigenvalue


@dataclass(frozen=True, eq=False)
class DifferenceMode(Result):
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


def listed_rows(rows: Array) -> str:
    """Return the first of some row indices, for a cell of a table."""
    return ", ".join(map(str, rows[:5].tolist())) + (", …" if len(rows) > 5 else "")


def mode_rows(name: str, modes: list[DifferenceMode]) -> list[list[str]]:
    """Return a row per significant mode: name, eigenvalue, nothing, representative rows."""
    found = [mode for mode in modes if mode.significant]
    return [
        [f"{name} {i}", format_number(mode.eigenvalue), "", listed_rows(mode.representatives)]
        for i, mode in enumerate(found, 1)
    ]


def feature_modes(
    features: Array, n: int, n_modes: int, rng: np.random.Generator
) -> tuple[list[DifferenceMode], list[DifferenceMode]]:
    """Return novel and missing modes from features of the rows of both samples.

    ``features``: shape (n + m, p). ``n``: rows of the first sample.
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
    product: Callable[[Array], Array],
    size: int,
    n: int,
    n_modes: int,
    rng: np.random.Generator,
) -> tuple[list[DifferenceMode], list[DifferenceMode], float]:
    """Return novel and missing modes from products with K, and the largest residual.

    A function ``Σ_j a_j φ(x_j)`` has the values ``Ka`` at the rows, and the difference of the
    covariance operators maps a to ``d · Ka`` with d = -1/n and 1/m for the rows of the samples.

    ``product``: ``K @ V``, K of the rows of both samples. ``size``: number of these rows. ``n``,
    ``n_modes``, ``rng``: as in :func:`feature_modes`.
    """
    if not n_modes:
        return [], [], 0.0
    d = np.where(np.arange(size) < n, -1 / n, 1 / (size - n))[:, None]

    def difference(v: Array) -> Array:
        return np.asarray(d * product(v.reshape(size, -1)))

    operator = LinearOperator((size, size), matvec=difference, matmat=difference, dtype=np.float64)
    count, start = min(n_modes, size - 2), d[:, 0] * rng.standard_normal(size)
    found, residual = [], 0.0
    for which in ("LR", "SR"):  # real eigenvalues: the operator is self-adjoint for a'Kb
        try:
            values, vectors = eigs(operator, count, which=which, v0=start, tol=_TOLERANCE)
        except ArpackNoConvergence as error:  # modes that have converged
            values, vectors = error.eigenvalues, error.eigenvectors
        strengths = values.real if which == "LR" else -values.real
        order = np.argsort(-strengths)
        # smaller eigenvalues of kernels with k(x, x) = 1 are rounding error
        order = order[strengths[order] > max(_TOLERANCE * strengths.max(initial=0), 1e-7)]
        values, a = values[order].real, vectors[:, order].real
        rows = product(a)
        norms = np.sqrt(np.einsum("ij,ij->j", a, rows))
        a, rows = a / norms, rows / norms
        errors = d * rows - a * values
        squares = np.einsum("ij,ij->j", errors, product(errors))
        residual = max(residual, float(np.sqrt(squares.max(initial=0))))
        found.append((values, rows))
    drawn = np.column_stack([rng.permutation(d[:, 0]) for _ in range(_NULL_DRAWS)])
    novel, lost = _modes(found[0], found[1], n, _extreme_eigenvalues(product, drawn, rng))
    return novel, lost, residual


def _extreme_eigenvalues(
    product: Callable[[Array], Array], D: Array, rng: np.random.Generator
) -> Array:
    """Return the smallest and the largest eigenvalue for the weights in each column of D.

    They are Ritz values of a few steps of Lanczos in the inner product ``a'Kb``, of all columns at
    once, because products with many vectors take little longer than with one.
    """
    W = D * rng.standard_normal(D.shape)
    basis: list[tuple[Array, Array]] = []
    n_steps = min(12, len(D))
    T = np.zeros((D.shape[1], n_steps, n_steps))
    before = np.abs(W).sum(axis=0)  # the largest possible norm, because |k| ≤ 1
    for j in range(n_steps):
        products = product(W)
        squares = np.einsum("ij,ij->j", W, products)
        # smaller remainders are rounding error
        alive = squares > (1e-7 * before) ** 2
        scale = np.where(alive, 1 / np.sqrt(np.where(alive, squares, 1)), 0)
        basis.append((W * scale, products * scale))
        W = D * basis[j][1]
        before = np.abs(W).sum(axis=0)
        for i, (_, values) in enumerate(basis):
            T[:, i, j] = T[:, j, i] = np.einsum("ij,ij->j", values, W)
        for _ in range(2):
            for coefficients, values in basis:
                W = W - coefficients * np.einsum("ij,ij->j", values, W)
    return np.asarray(np.linalg.eigvalsh(T)[:, [0, -1]])


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
    difference, pooled, null = _operators(features, n, 5, rng)  # few permutations suffice
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
