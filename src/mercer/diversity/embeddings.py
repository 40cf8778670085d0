"""Comparison of two embeddings of the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from mercer.bandwidth import fit_kernel
from mercer.data.points import Sample, validate_points
from mercer.diversity.differences import REPRESENTATIVES, DifferenceMode
from mercer.eigen.plan import Request, plan
from mercer.gram import DenseGram, ExplicitGram
from mercer.gram.expansion import cross_gram
from mercer.information.samples import require_unit_diagonal
from mercer.kernels import Kernel, as_kernel
from mercer.utils.estimators import ignore_underflow
from mercer.utils.pairwise import row_ranges
from mercer.utils.types import Array
from mercer.utils.validation import check_integer

__all__ = ["EmbeddingComparison", "compare_embeddings"]

_LANCZOS_TOLERANCE = 1e-8
_NORM_ROUNDING = 32  # rounding error of a difference of squared norms, in units of eps
_BLOCK_ROWS = 512


@dataclass(frozen=True, eq=False)
class EmbeddingComparison:
    """Result of :func:`compare_embeddings`.

    Attributes
    ----------
    first_modes, second_modes : list of DifferenceMode
        Groups of rows that are similar in the first embedding only, and in the second only.
    first_vectors, second_vectors : array of shape (n, n_modes)
        Eigenvectors of ``(K_1 - K_2) / n`` with positive and with negative eigenvalues.
    distance : float
        ``‖K_1 - K_2‖_F / n``.
    residual : float
        Largest residual of an eigenpair: each eigenvalue is within it of a true one.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> labels = np.repeat([0, 1, 2], 30)
    >>> merged = np.where(labels == 2, 1, labels)
    >>> found = mercer.compare_embeddings(np.eye(3)[labels], np.eye(3)[merged])
    >>> round(found.distance, 4), len(found.first_modes), len(found.second_modes)
    (0.4714, 1, 1)
    """

    first_modes: list[DifferenceMode]
    second_modes: list[DifferenceMode]
    first_vectors: Array
    second_vectors: Array
    distance: float
    residual: float


@ignore_underflow
def compare_embeddings(
    X: Any,
    Y: Any,
    kernel: str | Kernel = "cosine",
    *,
    n_modes: int = 10,
    random_state: int | None = 0,
) -> EmbeddingComparison:
    """Compare two embeddings of the same rows by the spectrum of the difference of their kernels.

    Eigenvectors of ``(K_1 - K_2) / n`` with large positive eigenvalues are groups of rows that only
    the first embedding holds together, and those with negative eigenvalues groups of the second
    (SPEC). They are found by a Lanczos iteration, which needs only products with both kernel
    matrices.

    Parameters
    ----------
    X, Y : array-likes of shapes (n, d) and (n, e)
    kernel : str or Kernel
        Fitted to each embedding.
    n_modes : int
        Largest number of modes of each embedding.
    random_state : int or None
        Seed of the start vector.

    Returns
    -------
    EmbeddingComparison

    References
    ----------
    .. [1] M. Jalali, B. Kia, F. Farnia, "Towards an explainable comparison and alignment of feature
       embeddings", ICML 2025.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat([0, 1, 2, 3], 25)
    >>> X = np.eye(4)[labels]  # four groups
    >>> Y = np.eye(4)[labels // 2]  # two groups
    >>> found = mercer.compare_embeddings(X, Y)
    >>> np.round([mode.eigenvalue for mode in found.second_modes], 3).tolist()
    [0.25, 0.25]
    """
    check_integer(n_modes, "n_modes")
    grams = []
    for Z in (X, Y):
        points = validate_points(Z, as_kernel(kernel))
        sample = Sample.of(fit_kernel(as_kernel(kernel), points), points, None)
        require_unit_diagonal(sample)
        grams.append(plan(sample, Request("variance", 1)).gram(sample))
    if grams[0].size != grams[1].size:
        raise ValueError(
            f"X has {grams[0].size} rows and Y has {grams[1].size}; row i of both must embed the "
            "same object."
        )
    n = grams[0].size
    distance = _frobenius_distance(grams)
    if distance <= _LANCZOS_TOLERANCE:
        empty = np.empty((n, 0))
        return EmbeddingComparison([], [], empty, empty, distance, 0.0)

    def product(v: Array) -> Array:
        v = v.reshape(n, -1)
        return np.asarray(grams[0].product(v) - grams[1].product(v)) / n

    count = min(n_modes, n - 1)
    start = np.random.default_rng(random_state).standard_normal(n)
    operator = LinearOperator((n, n), matvec=product, matmat=product, dtype=np.float64)
    found = []
    for which in ("LA", "SA"):
        if n <= 4 * count:
            values, vectors = np.linalg.eigh(product(np.eye(n)))
        else:
            values, vectors = eigsh(operator, count, which=which, v0=start, tol=_LANCZOS_TOLERANCE)
        sign = 1 if which == "LA" else -1
        order = np.argsort(-sign * values)[:count]
        order = order[sign * values[order] > _LANCZOS_TOLERANCE]
        found.append((sign * values[order], vectors[:, order]))
    residuals = [
        np.linalg.norm(product(V) - sign * V * values, axis=0)
        for sign, (values, V) in zip((1, -1), found, strict=True)
    ]
    residual = float(max((r.max(initial=0) for r in residuals), default=0.0))
    modes = [
        [
            DifferenceMode(
                float(value),
                np.argsort(-(vector**2), kind="stable")[:REPRESENTATIVES],
                bool(value > 10 * residual),
            )
            for value, vector in zip(values, V.T, strict=True)
        ]
        for values, V in found
    ]
    return EmbeddingComparison(
        modes[0],
        modes[1],
        found[0][1],
        found[1][1],
        distance,
        residual,
    )


def _frobenius_distance(grams: list[Any]) -> float:
    """Return ``‖K_1 - K_2‖_F / n``; 0 if it is below about 1e-7.

    With features, ``K = ΦΦ'``, the square is ``‖Φ_1'Φ_1‖² + ‖Φ_2'Φ_2‖² - 2 ‖Φ_1'Φ_2‖²``.
    """
    n = grams[0].size
    if all(isinstance(gram, ExplicitGram) for gram in grams):
        chunks = zip(*(gram.weighted_chunks() for gram in grams), strict=True)
        cross = sum(first.T @ second for (_, first), (_, second) in chunks)
        norms = [float(np.linalg.norm(M)) ** 2 for M in (*(g.small_dense() for g in grams), cross)]
        total = norms[0] + norms[1] - 2 * norms[2]
        if total <= _NORM_ROUNDING * np.finfo(float).eps * (norms[0] + norms[1]):
            return 0.0
    else:
        total = 0.0
        for rows in row_ranges(n, _BLOCK_ROWS):
            difference = _matrix_rows(grams[0], rows) - _matrix_rows(grams[1], rows)
            total += float(np.einsum("ij,ij->", difference, difference))
    return float(np.sqrt(total)) / n


def _matrix_rows(gram: Any, rows: slice) -> Array:
    """Return some rows of K in double precision."""
    if isinstance(gram, DenseGram):
        return gram.matrix[rows].astype(np.float64, copy=False)
    part = cross_gram(gram.kernel, gram.points.take(rows), gram.points)
    return part.astype(np.float64, copy=False)
