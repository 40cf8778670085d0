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
from mercer.information.samples import require_unit_diagonal
from mercer.kernels import Kernel, as_kernel
from mercer.utils.estimators import ignore_underflow
from mercer.utils.types import Array
from mercer.utils.validation import check_integer

__all__ = ["EmbeddingComparison", "compare_embeddings"]

_LANCZOS_TOLERANCE = 1e-8


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
    """Return ``‖K_1 - K_2‖_F / n`` from products with blocks of unit vectors."""
    n = grams[0].size
    total = 0.0
    for first in range(0, n, 512):
        block = np.zeros((n, min(512, n - first)))
        block[np.arange(first, first + block.shape[1]), np.arange(block.shape[1])] = 1
        difference = grams[0].product(block) - grams[1].product(block)
        total += float(np.einsum("ij,ij->", difference, difference))
    return float(np.sqrt(total)) / n
