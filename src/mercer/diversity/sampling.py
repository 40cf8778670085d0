r"""Sampling error of matrix entropies: standard errors, bias, confidence intervals.

To first order the error of the entropy is the mean of its influence function over the rows
(:mod:`mercer.diversity.influence`). Terms of higher order add the excess variance between disjoint
halves of the sample. If the influence function is constant (points spread evenly over a sphere, for
example), its variance over a sample is positive and exceeds that of the entropy: standard errors
are too large by a factor of up to √2 then.

Intervals use quantiles of Student's distribution, because the variance is estimated: for n
influences of kurtosis κ it has ``2n / (κ - 1)`` degrees of freedom (Satterthwaite). At order ∞
the largest eigenvalue is not a smooth function of the sample if others equal it. The interval then
extends to the mean of the eigenvalues that are not separated from the largest, a smooth function
that is at most the largest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from mercer.data import Sample
from mercer.diversity.influence import feature_gram, influence_moments
from mercer.information.samples import clip_negative
from mercer.maths.entropy import spectral_entropy
from mercer.maths.extrapolation import bias_factor
from mercer.maths.types import Array
from mercer.operators import ExactFeatures, FeatureMap, LandmarkFeatures
from mercer.resources import single_threaded_blas

__all__ = ["SamplingError", "sampling_error", "take_rows"]

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
    degrees : float
        Degrees of freedom of the standard error.
    largest : float
        Value to which the interval extends, if it exceeds ``corrected``.
    """

    standard_error: float
    corrected: float
    corrected_error: float
    curve: list[tuple[int, float, float]]
    degrees: float = np.inf
    largest: float = -np.inf

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return a confidence interval of the entropy.

        >>> SamplingError(0.5, 3.0, 0.5, []).interval(0.95)[0]  # doctest: +ELLIPSIS
        2.02...
        """
        quantile = student.ppf(0.5 + confidence / 2, self.degrees)
        half_width = float(quantile) * self.corrected_error
        return self.corrected - half_width, max(self.corrected, self.largest) + half_width


def take_rows(sample: Sample, rows: Array) -> Sample:
    """Return some rows of a sample, in memory."""
    if not sample.points.is_chunked:
        return sample.take(rows)
    weights = None if sample.weights is None else sample.passes.take(sample.weights, rows)
    return Sample(sample.kernel, sample.points.take(rows), weights, unit=sample.unit)


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
    factored, exact = feature_gram(sample)
    influence = influence_moments(sample, orders, factored)
    features = factored.features if factored is not None and exact else None
    half = min(n // 2, _LARGEST_SUBSAMPLE if features is None else _LARGEST_FEATURE_SUBSAMPLE)
    quarter = half // 2
    if quarter < _SMALLEST:
        errors = influence.deviation / np.sqrt(size)
        return [SamplingError(e, s, e, [(n, s, e)]) for e, s in zip(errors, entropies, strict=True)]
    cheap = isinstance(features, LandmarkFeatures) and n <= _LARGEST_FEATURE_SUBSAMPLE
    n_partitions = 16 if n <= 500 else 8 if n <= 2000 or cheap else 3
    halves = np.empty((n_partitions, 2, len(orders)))
    quarters = np.empty((n_partitions, 4, len(orders)))
    for i in range(n_partitions):
        rows = rng.choice(n, 4 * quarter, replace=False) if n > 4 * quarter else rng.permutation(n)
        for j in range(2):
            halves[i, j] = _entropies(
                sample, rows[2 * j * quarter :][: 2 * quarter], orders, features
            )
        for j in range(4):
            quarters[i, j] = _entropies(sample, rows[j * quarter :][:quarter], orders, features)
    sizes = (n, 2 * quarter, quarter)
    results = []
    for k, (order, entropy) in enumerate(zip(orders, entropies, strict=True)):
        first = float(influence.deviation[k]) ** 2 / size
        # variance between disjoint subsamples, in excess of the first-order part
        between = float(((halves[:, 0, k] - halves[:, 1, k]) ** 2).mean() / 2)
        ratio = n / (2 * quarter)
        second = max(between - first * ratio, 0.0) / ratio**2
        error = float(np.sqrt(first + second))
        means = halves[:, :, k].mean(axis=1), quarters[:, :, k].mean(axis=1)
        noise = [float(m.std(ddof=1) / np.sqrt(n_partitions)) for m in means]
        if order == 2:
            corrected, slope = _unbiased_quadratic(sample, entropy)
            extra, gain = 0.0, slope**2
        else:
            values = (entropy, float(means[0].mean()), float(means[1].mean()))
            # with finitely many features the bias is of order 1/n
            known = isinstance(features, ExactFeatures) and order != np.inf
            uncertainty = np.inf if known else float(np.hypot(noise[0], noise[1]))
            factor = bias_factor(sizes, values, uncertainty)
            corrected = entropy + factor * (entropy - values[1])
            # half the difference to a bias of order 1/n is the uncertainty of the exponent
            plain = bias_factor(sizes, values, np.inf)
            extra = float(np.hypot(factor * noise[0], (factor - plain) * (entropy - values[1]) / 2))
            gain = _variance_gain(halves[:, :, k], quarters[:, :, k], factor)
        curve = [
            (quarter, float(means[1].mean()), noise[1]),
            (2 * quarter, float(means[0].mean()), noise[0]),
            (n, float(entropy), error),
        ]
        total = float(np.hypot(error * np.sqrt(gain), extra))
        spread = max(float(influence.kurtosis[k]) - 1, 1e-3)
        share = first / total**2 if total > 0 else 1.0
        degrees = 2 * size / spread / share**2 if share > 0 else np.inf
        largest = -float(np.log(influence.tied.mean())) if order == np.inf else -np.inf
        results.append(SamplingError(error, corrected, total, curve, degrees, largest))
    return results


def _entropies(
    sample: Sample, rows: Array, orders: tuple[float, ...], features: FeatureMap | None
) -> list[float]:
    """Return the entropies of some rows from all eigenvalues, on the small side of features."""
    part = take_rows(sample, np.sort(rows))
    root = None if part.weights is None else np.sqrt(part.weights)[:, None]
    if features is not None:
        small = features(part.points.data)
        small = small if root is None else small * root
        A = small.T @ small if small.shape[1] < len(small) else small @ small.T
    else:
        K = part.kernel(part.points.data) if part.matrix is None else part.matrix
        A = K.astype(np.float64) if root is None else root * K * root.T
    values = np.maximum(np.linalg.eigvalsh(A), 0)
    values[values < values[-1] * len(A) * np.finfo(float).eps] = 0
    return [spectral_entropy(values / values.sum(), order) for order in orders]


def _variance_gain(halves: Array, quarters: Array, factor: float) -> float:
    """Return the ratio of the variances of the corrected and the plain entropy.

    The correction ``c (S - S_half)`` depends on the same rows as S and is correlated with it.
    Halves of the sample, corrected by their own halves, show by how much: differences between
    disjoint halves of the correction are regressed on those of the entropy. The excess decreases
    with the sample size like the bias.

    Parameters
    ----------
    halves : array of shape (n_partitions, 2)
    quarters : array of shape (n_partitions, 4)
        The first two belong to the first half.
    factor : float
        c of the sample: its bias is c / (1 + c) times that of its halves.
    """
    own = quarters.reshape(len(quarters), 2, 2).mean(axis=2)
    plain = halves[:, 0] - halves[:, 1]
    added = factor * (plain - (own[:, 0] - own[:, 1]))
    square = float(plain @ plain)
    if square == 0:
        return 1.0
    slope = float(plain @ added) / square
    rest = float(((added - slope * plain) ** 2).sum()) / square
    decrease = factor / (1 + factor)
    return float(np.clip((1 + decrease * slope) ** 2 + decrease**2 * rest, 1.0, 2.0))


def _unbiased_quadratic(sample: Sample, entropy: float) -> tuple[float, float]:
    """Return the quadratic entropy from pairs of different rows, and its derivative.

    The mean of ``k(x, y)²`` over all pairs contains n pairs of equal rows, each with k² = 1. The
    derivative is that with respect to the entropy from all pairs.
    """
    same = 1 / sample.sample_size
    square = (np.exp(-entropy) - same) / (1 - same)
    if square <= 0:
        return entropy, 1.0
    return clip_negative(-np.log(square)), float(np.exp(-entropy) / (np.exp(-entropy) - same))
