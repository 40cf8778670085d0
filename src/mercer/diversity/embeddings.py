"""Comparison of two embeddings of the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from mercer.bandwidth import fit_kernel
from mercer.data.points import Sample, require_memory, validate_points
from mercer.diversity.differences import REPRESENTATIVES, DifferenceMode, mode_rows
from mercer.eigen.plan import Request, plan
from mercer.gram import DenseGram, ExplicitGram
from mercer.gram.expansion import cross_gram
from mercer.information.samples import require_unit_diagonal
from mercer.kernels import Kernel, as_kernel
from mercer.utils.estimators import ignore_underflow
from mercer.utils.formatting import Result, Summary, format_number
from mercer.utils.pairwise import row_ranges
from mercer.utils.types import Array
from mercer.utils.validation import check_integer

__all__ = ["EmbeddingComparison", "compare_embeddings"]

_TOLERANCE = 1e-8  # of eigenvalues, all of which are between -1 and 1

_Ends: TypeAlias = list[tuple[Array, Array]]


@dataclass(frozen=True, eq=False, repr=False)
class EmbeddingComparison(Result):
    """Result of :func:`mercer.compare_embeddings`.

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

    def _summary(self) -> Summary:
        rows = [
            ["distance", format_number(self.distance), "", ""],
            *mode_rows("only in the first", self.first_modes),
            *mode_rows("only in the second", self.second_modes),
        ]
        return Summary("Two embeddings", ["", "value", "", "rows"], rows)


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
    (SPEC). Kernels with few features, such as the cosine, need time proportional to n; others a
    Lanczos iteration with products of both kernel matrices.

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
        require_memory(Z, "compare_embeddings")
        unfitted = as_kernel(kernel, Z, table="product")
        points = validate_points(Z, unfitted)
        sample = Sample.of(fit_kernel(unfitted, points), points, None)
        require_unit_diagonal(sample)
        grams.append(plan(sample, Request("variance", 1)).gram(sample))
    if grams[0].size != grams[1].size:
        raise ValueError(
            f"X has {grams[0].size} rows and Y has {grams[1].size}; row i of both must embed the "
            "same object."
        )
    n, count = grams[0].size, min(n_modes, grams[0].size - 1)
    first, second = grams
    if isinstance(first, ExplicitGram) and isinstance(second, ExplicitGram):
        found, distance = _from_features(first, second, count)
    else:
        start = np.random.default_rng(random_state).standard_normal(n)
        found, distance = _from_products(grams, count, start)
    residual = 0.0
    for sign, (values, V) in zip((1, -1), found, strict=True):
        if len(values):
            errors = _difference(grams, V) - sign * V * values
            residual = max(residual, float(np.linalg.norm(errors, axis=0).max()))
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


def _difference(grams: list[Any], V: Array) -> Array:
    """Return ``(K_1 - K_2) V / n``."""
    return np.asarray(grams[0].product(V) - grams[1].product(V)) / len(V)


def _from_features(first: ExplicitGram, second: ExplicitGram, count: int) -> tuple[_Ends, float]:
    """Return eigenpairs at both ends of the spectrum of ``(K_1 - K_2) / n``, and its norm.

    With the features Z = [Φ_1, Φ_2] and the signs S the matrix is ``Z S Z' / n``. A triangular
    factor R of Z, from chunks of rows, gives its eigenvalues, those of the small ``R S R' / n``,
    and from the eigenvectors u of the latter its own, ``Z S R' u``.
    """

    def chunks() -> Iterator[tuple[slice, Array]]:
        pairs = zip(first.weighted_chunks(), second.weighted_chunks(), strict=True)
        for (rows, left), (_, right) in pairs:
            yield rows, np.hstack([left, right])

    n, width = first.size, len(first.small_start)
    R: Array = np.empty((0, width + len(second.small_start)))
    for _, Z in chunks():
        R = np.asarray(np.linalg.qr(np.vstack([R, Z]), mode="r"))
    signs = np.where(np.arange(R.shape[1]) < width, 1.0, -1.0)
    values, small = np.linalg.eigh((R * signs) @ R.T / n)
    found = []
    for sign, ends in ((1, slice(None, -count - 1, -1)), (-1, slice(None, count))):
        used = np.arange(len(values))[ends]
        used = used[sign * values[used] > _TOLERANCE]
        directions = signs[:, None] * (R.T @ small[:, used])
        vectors = np.empty((n, len(used)))
        for rows, Z in chunks():
            vectors[rows] = Z @ directions
        found.append((sign * values[used], vectors / (n * values[used])))
    return found, float(np.linalg.norm(values))


def _from_products(grams: list[Any], count: int, start: Array) -> tuple[_Ends, float]:
    """Return the same by Lanczos iterations, and the norm from blocks of rows."""
    n, total = len(start), 0.0
    for rows in row_ranges(n, 512):
        difference = _matrix_rows(grams[0], rows) - _matrix_rows(grams[1], rows)
        total += float(np.einsum("ij,ij->", difference, difference))
    distance = float(np.sqrt(total)) / n
    if distance <= _TOLERANCE:
        return [(np.empty(0), np.empty((n, 0)))] * 2, distance

    def product(v: Array) -> Array:
        return _difference(grams, v.reshape(n, -1))

    operator = LinearOperator((n, n), matvec=product, matmat=product, dtype=np.float64)
    found = []
    for sign, which in ((1, "LA"), (-1, "SA")):
        if n <= 4 * count:
            values, vectors = np.linalg.eigh(product(np.eye(n)))
        else:
            values, vectors = eigsh(operator, count, which=which, v0=start, tol=_TOLERANCE)
        order = np.argsort(-sign * values)[:count]
        order = order[sign * values[order] > _TOLERANCE]
        found.append((sign * values[order], vectors[:, order]))
    return found, distance


def _matrix_rows(gram: Any, rows: slice) -> Array:
    """Return some rows of K in double precision."""
    if isinstance(gram, DenseGram):
        return gram.matrix[rows].astype(np.float64, copy=False)
    part = cross_gram(gram.kernel, gram.points.take(rows), gram.points)
    return part.astype(np.float64, copy=False)
