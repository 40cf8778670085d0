r"""Influence function of matrix entropies, and its moments over the rows of a sample.

The entropy of a sample is a function of its covariance operator Σ̂ in feature space. With the
population's Σ, to first order,

.. math:: S_q(\hat\Sigma) - S_q(\Sigma) = \frac{1}{n} \sum_j \psi_q(x_j), \qquad
    \psi_1(x) = -\varphi(x)' \log\Sigma\, \varphi(x) - S_1, \quad
    \psi_q(x) = \frac{q}{1-q}
    \Bigl(\frac{\varphi(x)'\Sigma^{q-1}\varphi(x)}{\operatorname{tr}\Sigma^q} - 1\Bigr)
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mercer.data.points import Points, Sample
from mercer.eigen import Nystrom
from mercer.eigen.approximations import FiniteFeatures
from mercer.eigen.plan import has_few_features
from mercer.gram import DenseGram, ExplicitGram, FeatureMap, NystromGram
from mercer.utils.types import Array

__all__ = ["Influence", "feature_gram", "influence_moments"]

_EXACT = 1e-9  # fraction of the trace that landmarks may miss to count as exact


class Influence(NamedTuple):
    """Moments of the influence function, one entry per order.

    ``deviation``, ``kurtosis``: standard deviation and standardized fourth moment; 3 if it is
    constant. ``square``, ``diagonal``: means of ``ψ(x, y)²`` over pairs of different rows and of
    ``ψ(x, x)`` over rows, ψ(x, y) the second-order influence function; 0 at orders 0 and ∞.
    """

    deviation: Array
    kurtosis: Array
    tied: Array  # the largest λ/n, and those within two standard errors of it, shape (r,)
    square: Array
    diagonal: Array

    def of_order(self, k: int) -> Influence:
        """Return the moments of one order, by its index."""
        return Influence(
            self.deviation[k], self.kurtosis[k], self.tied, self.square[k], self.diagonal[k]
        )


def feature_gram(sample: Sample, available: Any = None) -> tuple[ExplicitGram | None, bool]:
    """Return features of the kernel, and whether they are exact; None if K is decomposed instead.

    The features are exact for kernels with finite features, and up to 1e-9 of the trace where
    landmarks span the kernel (smooth kernels in few columns).

    ``available``: returned if its features are exact.
    """
    if isinstance(available, NystromGram) and available.missing_fraction <= _EXACT:
        return available, True
    if sample.matrix is not None:
        return None, False
    if has_few_features(sample):
        return FiniteFeatures().gram(sample), True
    small = _is_small(sample)
    if small and (sample.points.kind != "vectors" or not sample.kernel.is_psd):
        return None, False
    # with more landmarks per row, eigenvectors are faster
    gram = Nystrom(min(500, max(sample.points.n // 4, 1))).gram(sample)
    exact = gram.missing_fraction <= _EXACT
    return (gram if exact or not small else None), exact


def _is_small(sample: Sample) -> bool:
    """Return whether all eigenvectors of the kernel matrix take about a second at most."""
    return sample.points.n <= 1500 and not sample.points.is_chunked


def influence_moments(
    sample: Sample, orders: tuple[float, ...], factored: ExplicitGram | None = None
) -> Influence:
    """Return moments of the influence function of each order.

    ``factored``: features of the kernel; None to decompose K.
    """
    if factored is None:
        gram = DenseGram(sample.kernel, sample.points, sample.weights, sample.matrix)
        values, vectors = np.linalg.eigh(gram.matrix.astype(np.float64) / gram.total)
        p, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
        squares = vectors**2 * (gram.total / gram.start[:, None] ** 2) * p
        sums = _power_sums(squares, p, _gains(p, orders), gram.start**2 / gram.total)
        rows = _random_rows(sample)
        projections = vectors[rows] * np.sqrt(gram.total * p) / gram.start[rows, None]
    else:
        values, vectors = np.linalg.eigh(factored.small_dense() / factored.total)
        p, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
        summed = partial(_feature_sums, factored.features, vectors, p, _gains(p, orders))
        sums = sample.points.sum_rows(summed, sample.weights) / factored.total
        rows = _random_rows(sample)
        projections = factored.features(sample.points.take(rows).data) @ vectors
    weights = np.ones(len(rows)) if sample.weights is None else np.asarray(sample.weights[rows])
    square, diagonal = _pair_moments(projections, p, orders, weights)
    moments, differences = sums[:2, : len(orders)], sums[2, len(orders) :]
    variance = np.maximum(moments[0], 0)
    constant = variance <= (1e-7 * np.abs(p @ _gains(p, orders))) ** 2
    safe = np.where(constant, 1.0, variance)
    # eigenvalues are further apart than the error of their difference, or tied
    error = np.sqrt(differences / sample.sample_size)
    leading = p[: len(differences)]
    return Influence(
        np.sqrt(variance) * np.abs(_slopes(p, orders)),
        np.where(constant, 3.0, moments[1] / safe**2),
        leading[leading[0] - leading <= 2 * error],
        square,
        diagonal,
    )


def _random_rows(sample: Sample) -> Array:
    """Return the indices of random rows, whose pairs are compared."""
    n = sample.points.n
    return np.random.default_rng(0).choice(n, min(n, 1024), replace=False)


def _pair_moments(U: Array, p: Array, orders: tuple[float, ...], weights: Array) -> Array:
    r"""Return moments of the second-order influence function.

    .. math:: \psi_1(x, y) = 1 - w'Lw, \quad \psi_q(x, y) = \frac{1}{1-q} \Bigl(
        \frac{w'Lw - q(q-1)(h(x) + h(y) - T)}{T} - q^2 \frac{(h(x) - T)(h(y) - T)}{T^2} \Bigr)

    with the projections u on the eigenvectors, :math:`w_i = u_i(x) u_i(y)`, :math:`h(x) = \sum_i
    p_i^{q-1} u_i(x)^2`, :math:`T = \sum_i p_i^q` and the divided differences L of
    :math:`\log p` at order 1 and of :math:`q p^{q-1}` at other orders.

    ``U``: projections, in random order. ``p``: shape (m,). Mean of ``ψ(x, y)²`` over pairs of
    different rows, and of ``ψ(x, x)``.
    """
    used = p > 1e-14 * p.max()
    U, p = U[:, used], p[used]
    n, m = U.shape
    if n < 2:
        return np.zeros((2, len(orders)))
    n_shifts = min(n - 1, max(1, int(min(4096, 2.5e8 / m**2) / n)))
    partners = [np.roll(np.arange(n), shift) for shift in range(n_shifts + 1)]
    found = np.zeros((2, len(orders)))
    for k, order in enumerate(orders):
        if order in (0, np.inf):
            continue
        L = _divided_differences(p, order)
        T = float((p**order).sum())
        h = U**2 @ p ** (order - 1) - T
        sums, total = np.zeros(2), np.zeros(2)
        for shift, other in enumerate(partners):
            W = U * U[other]
            psi = np.einsum("ij,ij->i", W @ L, W)
            if order == 1:
                psi = 1 - psi
            else:
                psi = (psi - order * (order - 1) * (h + h[other] + T)) / T
                psi = (psi - order**2 * h * h[other] / T**2) / (1 - order)
            which, pair = int(shift == 0), weights if shift == 0 else weights * weights[other]
            sums[which] += pair @ (psi if which else psi**2)
            total[which] += pair.sum()
        found[:, k] = sums / total
    return found


def _divided_differences(p: Array, order: float) -> Array:
    """Return the divided differences of ``log p`` at order 1, else of ``q p^(q - 1)``."""
    slopes = np.log(p) if order == 1 else order * p ** (order - 1)
    curvature = 1 / p if order == 1 else order * (order - 1) * p ** (order - 2)
    gap = p[:, None] - p
    close = np.abs(gap) <= 1e-6 * np.maximum(p[:, None], p)
    middle = (curvature[:, None] + curvature) / 2
    return np.where(close, middle, (slopes[:, None] - slopes) / np.where(close, 1.0, gap))


def _gains(p: Array, orders: tuple[float, ...]) -> Array:
    """Return g(p) per order, such that ``φ'g(Σ)φ`` is the influence up to a factor."""
    positive = p > 1e-14 * p.max()
    safe = np.where(positive, p, 1.0)
    columns = []
    for order in orders:
        if order == 1:
            gain = -np.log(safe)
        elif order == np.inf:
            gain = (np.arange(len(p)) == 0).astype(float)
        elif order == 0:
            gain = np.full(len(p), np.nan)
        else:
            gain = (safe / p.max()) ** (order - 1)
        columns.append(np.where(positive, gain, 0.0))
    return np.column_stack(columns)


def _slopes(p: Array, orders: tuple[float, ...]) -> Array:
    slopes = []
    for order in orders:
        if order == 1:
            slopes.append(1.0)
        elif order == np.inf:
            slopes.append(-1 / p.max())
        else:
            scaled = p[p > 0] / p.max()
            slopes.append(order / (1 - order) / (p.max() * (scaled**order).sum()))
    return np.array(slopes)


def _power_sums(squares: Array, p: Array, gains: Array, weights: Array) -> Array:
    """Return sums of powers of the influences, and of squared differences of projections.

    ``squares``: squared projections of the rows on the eigenvectors, whose means are ``p``. Second
    and fourth central moments of the influences in the first columns, and the variances of the
    differences between the projection on the first eigenvector and the others.
    """
    h = squares @ gains - p @ gains
    leading = squares[:, :50]  # eigenvalues that are compared with the largest
    # under equal eigenvalues the difference has mean 0
    difference = leading[:, :1] - leading - (p[0] - p[: leading.shape[1]])
    total = np.zeros((3, h.shape[1] + leading.shape[1]))
    total[0, : h.shape[1]] = weights @ h**2
    total[1, : h.shape[1]] = weights @ h**4
    total[2, h.shape[1] :] = weights @ difference**2
    return total


def _feature_sums(
    features: FeatureMap,
    vectors: Array,
    p: Array,
    gains: Array,
    points: Points,
    weights: Array | None,
) -> Array:
    total: Any = 0.0
    for rows, x in points.chunks(8192):
        w = np.ones(len(x)) if weights is None else weights[rows]
        total = total + _power_sums((features(x) @ vectors) ** 2, p, gains, w)
    return np.asarray(total)
