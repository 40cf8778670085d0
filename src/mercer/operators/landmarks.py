"""Landmarks by randomly pivoted Cholesky.

Pivots are drawn with probability proportional to the diagonal of what is not explained yet; that
gives a low-rank approximation close to the best one (Chen, Epperly, Tropp, Webber 2022). Whole
blocks are drawn at once and thinned by rejection, which leaves the law of the one-by-one method
unchanged while almost all work is matrix products (Epperly, Tropp, Webber 2024).
"""

from __future__ import annotations

import numpy as np

from mercer.data import Points
from mercer.kernels import Kernel
from mercer.maths.types import Array
from mercer.operators.features import LandmarkFeatures
from mercer.operators.tiled import cross_gram

__all__ = ["choose_landmarks", "landmark_bytes"]

_BLOCK = 128
_ROWS_EACH, _LEAST_ROWS_EACH = 100, 4
_SMALL_MATRICES = 8  # of m x m numbers: factor, moments, and the decomposition of the small side


def landmark_bytes(n: int, count: int, itemsize: int) -> int:
    """The least memory that landmarks take: the factor at the fewest rows, and what follows."""
    rows = min(n, _LEAST_ROWS_EACH * count)
    return count * rows * itemsize + _SMALL_MATRICES * 8 * count**2


def choose_landmarks(
    kernel: Kernel,
    points: Points,
    weights: Array | None,
    count: int,
    *,
    tolerance: float,
    random_state: int | None,
    memory: int,
) -> LandmarkFeatures:
    """Choose at most ``count`` landmarks among the points.

    Parameters
    ----------
    kernel : Kernel
        Positive semi-definite.
    points : Points
    weights : array or None
        Rows are drawn by the weighted diagonal.
    count : int
    tolerance : float
        Stop early when the unexplained share of the trace falls below this.
    random_state : int or None
    memory : int
        Bytes for the factor.

    Pivots are sought among at most 100 rows per landmark, a uniform sample where there are more
    (fewer where the memory asks for it): beyond that, more rows cost time and change little.
    """
    rng = np.random.default_rng(random_state)
    room = min(memory // (points.dtype.itemsize * count), _ROWS_EACH * count)
    room = max(room, _LEAST_ROWS_EACH * count)
    tolerance = max(tolerance, 10 * float(np.finfo(points.dtype).eps))
    rows: Array | slice = slice(None)
    if room < points.n:
        rows = np.sort(rng.choice(points.n, size=room, replace=False))
    weights = None if weights is None else points.passes.take(weights, rows)
    points = points.take(rows)
    importance = np.ones(points.n) if weights is None else weights
    diagonal = kernel.diagonal(points.data).astype(np.float64)
    residual = diagonal.copy()
    whole = float(importance @ diagonal)
    F = np.empty((min(count, points.n), points.n), points.dtype)  # the factor, transposed
    chosen: list[int] = []
    while len(chosen) < len(F):
        law = np.maximum(importance * residual, 0)
        if law.sum() <= tolerance * whole:
            break
        block = min(_BLOCK, len(F) - len(chosen))
        proposals = rng.choice(points.n, size=block, p=law / law.sum())
        k = len(chosen)
        inner = kernel(*(points.take(proposals).data,) * 2).astype(np.float64)
        inner -= F[:k, proposals].T @ F[:k, proposals]
        accepted, lower = _thin(inner, residual[proposals], rng)
        if len(accepted) == 0:  # the first is certain but for rounding: nothing else is left
            break
        pivots = proposals[accepted]
        rows = cross_gram(kernel, points.take(pivots), points)
        rows -= F[:k, pivots].T @ F[:k]
        new = F[k : k + len(pivots)]
        # the inverse is small and, as pivots were accepted, far from singular: one fast product
        np.matmul(np.linalg.inv(lower).astype(F.dtype), rows, out=new)
        chosen.extend(pivots.tolist())
        residual -= np.einsum("ij,ij->j", new, new)
        residual[pivots] = 0
        np.maximum(residual, 0, out=residual)
    landmarks = points.take(np.array(chosen))
    # the landmarks' own columns are the Cholesky factor of k(S, S)
    return LandmarkFeatures(kernel, landmarks, np.tril(F[: len(chosen), chosen].T))


def _thin(inner: Array, offered: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Accept each proposal with probability (what it still has) / (what it offered), in turn.

    Returns the accepted positions and the Cholesky factor of their block of ``inner``.
    """
    inner = inner.copy()
    accepted: list[int] = []
    factor = np.zeros_like(inner)
    for i in range(len(inner)):
        left = inner[i, i]
        if left <= 1e-10 * offered[i] or rng.uniform() * offered[i] >= left:
            continue
        column = inner[:, i] / np.sqrt(left)
        inner -= np.outer(column, column)
        factor[:, len(accepted)] = column
        accepted.append(i)
    at = np.array(accepted, dtype=int)
    return at, factor[at, : len(at)]
