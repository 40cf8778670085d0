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

from mercer.data import Points, Sample
from mercer.maths.types import Array
from mercer.operators import DenseGram, ExplicitGram, FeatureMap
from mercer.solvers import Nystrom
from mercer.solvers.plan import FiniteFeatures, has_few_features

__all__ = ["Influence", "feature_gram", "influence_moments"]

_DENSE_UP_TO = 1500  # rows for which all eigenvectors take about a second
_LANDMARKS = 500
_LANDMARK_FRACTION = 1 / 4  # landmarks per row up to which features are faster than eigenvectors
_EXACT = 1e-9  # fraction of the trace that landmarks may miss to count as exact
_CHUNK_ROWS = 8192
_LEADING = 50  # eigenvalues that are compared with the largest
_SEPARATED = 2.0  # standard errors between the largest eigenvalue and another one


class Influence(NamedTuple):
    """Moments of the influence function, one entry per order.

    Attributes
    ----------
    deviation, kurtosis : array
        Standard deviation and standardized fourth moment; 3 if it is constant.
    tied : array of shape (r,)
        The largest λ/n, and those within two standard errors of it.
    """

    deviation: Array
    kurtosis: Array
    tied: Array


def feature_gram(sample: Sample) -> tuple[ExplicitGram | None, bool]:
    """Return features of the kernel, and whether they are exact; None if K is decomposed instead.

    The features are exact for kernels with finite features, and up to 1e-9 of the trace where
    landmarks span the kernel (smooth kernels in few columns).
    """
    if sample.matrix is not None:
        return None, False
    if has_few_features(sample):
        return FiniteFeatures().gram(sample), True
    n = sample.points.n
    small = n <= _DENSE_UP_TO and not sample.points.is_chunked
    count = min(_LANDMARKS, int(n * _LANDMARK_FRACTION))
    if small and (sample.points.kind != "vectors" or not sample.kernel.is_psd or not count):
        return None, False
    gram = Nystrom(count).gram(sample)
    exact = gram.missing_fraction <= _EXACT
    return (gram if exact or not small else None), exact


def influence_moments(
    sample: Sample, orders: tuple[float, ...], factored: ExplicitGram | None = None
) -> Influence:
    """Return moments of the influence function of each order.

    Parameters
    ----------
    sample : Sample
    orders : tuple of float
    factored : ExplicitGram or None
        Features of the kernel; None to decompose K.

    Examples
    --------
    >>> from mercer.kernels import Cosine
    >>> X = np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]])  # proportions 3/4 and 1/4
    >>> influence_moments(Sample(Cosine(), Points(X)), (1.0,)).deviation.round(4)
    array([0.4757])
    """
    if factored is None:
        gram = DenseGram(sample.kernel, sample.points, sample.weights, sample.matrix)
        values, vectors = np.linalg.eigh(gram.matrix.astype(np.float64) / gram.total)
        p, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
        squares = vectors**2 * (gram.total / gram.start[:, None] ** 2) * p
        sums = _power_sums(squares, p, _gains(p, orders), gram.start**2 / gram.total)
    else:
        values, vectors = np.linalg.eigh(factored.small_dense() / factored.total)
        p, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
        summed = partial(_feature_sums, factored.features, vectors, p, _gains(p, orders))
        sums = sample.points.sum_rows(summed, sample.weights) / factored.total
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
        leading[leading[0] - leading <= _SEPARATED * error],
    )


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

    Parameters
    ----------
    squares : array of shape (rows, m)
        Squared projections of the rows on the eigenvectors, whose means are ``p``.
    p, gains, weights : array

    Returns
    -------
    array of shape (3, n_orders + n_leading)
        Second and fourth central moments of the influences in the first columns, and the variances
        of the differences between the projection on the first eigenvector and the others.
    """
    h = squares @ gains - p @ gains
    leading = squares[:, :_LEADING]
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
    for rows, x in points.chunks(_CHUNK_ROWS):
        w = np.ones(len(x)) if weights is None else weights[rows]
        total = total + _power_sums((features(x) @ vectors) ** 2, p, gains, w)
    return np.asarray(total)
