r"""Sampling error of matrix entropies: influence function, subsamples, bias.

The entropy of a sample is a function of its covariance operator Σ̂ in feature space. With the
population's Σ, to first order,

.. math:: S_q(\hat\Sigma) - S_q(\Sigma) = \frac{1}{n} \sum_j \psi_q(x_j), \qquad
    \psi_1(x) = -\varphi(x)' \log\Sigma\, \varphi(x) - S_1, \quad
    \psi_q(x) = \frac{q}{1-q}
    \Bigl(\frac{\varphi(x)'\Sigma^{q-1}\varphi(x)}{\operatorname{tr}\Sigma^q} - 1\Bigr)

Where the variance of ψ is 0 (points spread evenly over a sphere, for example), terms of second
order dominate, whose standard deviation is proportional to 1/n. Both parts are estimated: the first
by the influence function, the second by the excess variance between disjoint subsamples.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mercer.data import Points, Sample
from mercer.information.samples import clip_negative
from mercer.maths.entropy import spectral_entropy
from mercer.maths.extrapolation import bias_factor
from mercer.maths.types import Array
from mercer.operators import DenseGram, ExactFeatures, ExplicitGram, FeatureMap
from mercer.resources import single_threaded_blas
from mercer.solvers import Nystrom
from mercer.solvers.plan import FiniteFeatures, has_few_features

__all__ = ["SamplingError", "influence_deviations", "sampling_error", "take_rows"]

_DENSE_UP_TO = 1500  # rows for which all eigenvectors take about a second
_LANDMARKS = 500
_CHUNK_ROWS = 8192
_LARGEST_SUBSAMPLE = 2000
_LARGEST_FEATURE_SUBSAMPLE = 20_000
_SMALLEST = 4


class SamplingError(NamedTuple):
    """Sampling error of the entropy of one order.

    Attributes
    ----------
    standard_error : float
        Of the entropy.
    corrected : float
        Entropy with the estimated bias removed.
    corrected_error : float
        Standard error of ``corrected``.
    curve : list of (size, entropy, standard error)
        Mean entropies of subsamples, smallest first, and of the sample.
    """

    standard_error: float
    corrected: float
    corrected_error: float
    curve: list[tuple[int, float, float]]


def take_rows(sample: Sample, rows: Array) -> Sample:
    """Return some rows of a sample, in memory."""
    if not sample.points.is_chunked:
        return sample.take(rows)
    weights = None if sample.weights is None else sample.passes.take(sample.weights, rows)
    return Sample(sample.kernel, sample.points.take(rows), weights, unit=sample.unit)


def influence_deviations(sample: Sample, orders: tuple[float, ...]) -> Array:
    """Return the standard deviation of the influence function of each order.

    >>> from mercer.kernels import Cosine
    >>> X = np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]])  # proportions 3/4 and 1/4
    >>> influence_deviations(Sample(Cosine(), Points(X)), (1.0,)).round(4)
    array([0.4757])
    """
    small = sample.points.n <= _DENSE_UP_TO and not sample.points.is_chunked
    if small or sample.matrix is not None:
        gram = DenseGram(sample.kernel, sample.points, sample.weights, sample.matrix)
        values, vectors = np.linalg.eigh(gram.matrix.astype(np.float64) / gram.total)
        p = np.maximum(values, 0)
        squares = vectors**2 * (gram.total / gram.start[:, None] ** 2)
        h = squares @ (p[:, None] * _gains(p, orders))
        weights = gram.start**2 / gram.total
        mean = weights @ h
        variances = weights @ (h - mean) ** 2
    else:
        choice: Any = FiniteFeatures() if has_few_features(sample) else Nystrom(_LANDMARKS)
        factored: ExplicitGram = choice.gram(sample)
        values, vectors = np.linalg.eigh(factored.small_dense() / factored.total)
        p = np.maximum(values, 0)
        sums = sample.points.sum_rows(
            partial(_influence_sums, factored.features, vectors, _gains(p, orders)), sample.weights
        )
        mean, mean_squares = sums / factored.total
        variances = mean_squares - mean**2
    return np.sqrt(np.maximum(variances, 0)) * np.abs(_slopes(p, orders))


def _gains(p: Array, orders: tuple[float, ...]) -> Array:
    """Return g(p) per order, such that ``φ'g(Σ)φ`` is the influence up to a factor."""
    positive = p > 1e-14 * p.max()
    safe = np.where(positive, p, 1.0)
    columns = []
    for order in orders:
        if order == 1:
            gain = -np.log(safe)
        elif order == np.inf:
            gain = (p == p.max()).astype(float)
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
            slopes.append(1 / p.max())
        else:
            scaled = p[p > 0] / p.max()
            slopes.append(order / (1 - order) / (p.max() * (scaled**order).sum()))
    return np.array(slopes)


def _influence_sums(
    features: FeatureMap, vectors: Array, gains: Array, points: Points, weights: Array | None
) -> Array:
    total = np.zeros((2, gains.shape[1]))
    for rows, x in points.chunks(_CHUNK_ROWS):
        h = (features(x) @ vectors) ** 2 @ gains
        w = np.ones(len(h)) if weights is None else weights[rows]
        total += w @ h, w @ h**2
    return total


def sampling_error(
    sample: Sample, orders: tuple[float, ...], entropies: Array, random_state: int | None
) -> list[SamplingError]:
    """Return the sampling error of each order.

    Parameters
    ----------
    sample : Sample
    orders : tuple of float
    entropies : array
        Entropies of the sample.
    random_state : int or None
    """
    rng = np.random.default_rng(random_state)
    with single_threaded_blas():
        return _sampling_error(sample, orders, entropies, rng)


def _sampling_error(
    sample: Sample, orders: tuple[float, ...], entropies: Array, rng: np.random.Generator
) -> list[SamplingError]:
    n, size = sample.points.n, sample.sample_size
    deviations = influence_deviations(sample, orders)
    features = sample.matrix is None and has_few_features(sample)
    half = min(n // 2, _LARGEST_FEATURE_SUBSAMPLE if features else _LARGEST_SUBSAMPLE)
    quarter = half // 2
    if quarter < _SMALLEST:
        errors = deviations / np.sqrt(size)
        return [SamplingError(e, s, e, [(n, s, e)]) for e, s in zip(errors, entropies, strict=True)]
    n_partitions = 16 if n <= 500 else 8 if n <= 2000 else 3
    halves = np.empty((n_partitions, 2, len(orders)))
    quarters = np.empty((n_partitions, 4, len(orders)))
    for i in range(n_partitions):
        rows = rng.choice(n, 4 * quarter, replace=False) if n > 4 * quarter else rng.permutation(n)
        for j in range(2):
            halves[i, j] = _entropies(sample, rows[2 * j * quarter :][: 2 * quarter], orders)
        for j in range(4):
            quarters[i, j] = _entropies(sample, rows[j * quarter :][:quarter], orders)
    sizes = (n, 2 * quarter, quarter)
    results = []
    for k, (order, entropy) in enumerate(zip(orders, entropies, strict=True)):
        first = deviations[k] ** 2 / size
        # variance between disjoint subsamples, in excess of the first-order part
        between = float(((halves[:, 0, k] - halves[:, 1, k]) ** 2).mean() / 2)
        ratio = n / (2 * quarter)
        second = max(between - first * ratio, 0.0) / ratio**2
        error = float(np.sqrt(first + second))
        means = halves[:, :, k].mean(axis=1), quarters[:, :, k].mean(axis=1)
        noise = [float(m.std(ddof=1) / np.sqrt(n_partitions)) for m in means]
        if order == 2:
            corrected, extra = _unbiased_quadratic(sample, entropy), 0.0
        else:
            values = (entropy, float(means[0].mean()), float(means[1].mean()))
            # with finitely many features the bias is of order 1/n
            known = features and order != np.inf
            uncertainty = np.inf if known else float(np.hypot(noise[0], noise[1]))
            factor = bias_factor(sizes, values, uncertainty)
            corrected = entropy + factor * (entropy - values[1])
            # half the difference to a bias of order 1/n is the uncertainty of the exponent
            plain = bias_factor(sizes, values, np.inf)
            extra = float(np.hypot(factor * noise[0], (factor - plain) * (entropy - values[1]) / 2))
        curve = [
            (quarter, float(means[1].mean()), noise[1]),
            (2 * quarter, float(means[0].mean()), noise[0]),
            (n, float(entropy), error),
        ]
        results.append(SamplingError(error, corrected, float(np.hypot(error, extra)), curve))
    return results


def _entropies(sample: Sample, rows: Array, orders: tuple[float, ...]) -> list[float]:
    """Return the entropies of some rows from all eigenvalues, on the small side if there is one."""
    part = take_rows(sample, np.sort(rows))
    root = None if part.weights is None else np.sqrt(part.weights)[:, None]
    if part.matrix is None and has_few_features(sample):
        small = ExactFeatures(part.kernel)(part.points.data)
        small = small if root is None else small * root
        A = small.T @ small if small.shape[1] < len(small) else small @ small.T
    else:
        K = part.kernel(part.points.data) if part.matrix is None else part.matrix
        A = K.astype(np.float64) if root is None else root * K * root.T
    values = np.maximum(np.linalg.eigvalsh(A), 0)
    values[values < values[-1] * len(A) * np.finfo(float).eps] = 0
    return [spectral_entropy(values / values.sum(), order) for order in orders]


def _unbiased_quadratic(sample: Sample, entropy: float) -> float:
    """Return the quadratic entropy from ``E k(x, y)²`` over pairs of different rows.

    The mean over all pairs contains n pairs of equal rows, each with k² = 1.
    """
    same = 1 / sample.sample_size
    square = (np.exp(-entropy) - same) / (1 - same)
    return clip_negative(-np.log(square)) if square > 0 else entropy
