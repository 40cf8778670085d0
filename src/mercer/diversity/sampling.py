r"""Sampling error of matrix entropies: standard errors, bias, confidence intervals.

To first order the error of the entropy is the mean of its influence function over the rows
(:mod:`mercer.diversity.influence`). Its variance over a small sample is too small, and is
extrapolated from that of halves. Terms of higher order add the excess variance between disjoint
halves of the sample. If the influence function is constant (points spread evenly over a sphere, for
example), its variance over a sample is still positive, twice that of the entropy. Where a constant
influence function cannot be excluded, errors and intervals follow from the second-order term
(:class:`QuadraticLimit`).

Other intervals use quantiles of Student's distribution, because the variance is estimated: for n
influences of kurtosis κ it has ``2n / (κ - 1)`` degrees of freedom (Satterthwaite). At order ∞
the largest eigenvalue is not a smooth function of the sample if others equal it. The interval then
extends to the mean of the eigenvalues that are not separated from the largest, a smooth function
that is at most the largest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import chndtrinc
from scipy.stats import chi2, norm
from scipy.stats import t as student

from mercer.data.points import Sample
from mercer.diversity.influence import Influence, feature_gram, influence_moments
from mercer.gram import ExactFeatures, ExplicitGram, FeatureMap, LandmarkFeatures
from mercer.information.entropy import spectral_entropies
from mercer.information.samples import clip_negative
from mercer.utils.resources import single_threaded_blas
from mercer.utils.types import Array

__all__ = [
    "QuadraticLimit",
    "SamplingError",
    "bias_factor",
    "sampling_error",
    "take_rows",
]

_EXPONENTS = np.linspace(0.4, 1.5, 111)  # of the bias
_LARGEST_FEATURE_SUBSAMPLE = 20_000
_SMALLEST = 4  # rows of a subsample


def bias_factor(
    sizes: tuple[float, float, float], values: tuple[float, float, float], noise: float = 0.0
) -> float:
    """Return c such that ``values[0] + c (values[0] - values[1])`` extrapolates to infinity.

    The bias is modeled as ``a n^-β``. The exponent follows from the three values if they differ by
    more than their noise, and is 1 otherwise.

    ``sizes``: sample sizes, decreasing. ``values``: of the statistic. ``noise``: standard error of
    ``values[1] - values[2]``.
    """
    n, m, k = (float(size) for size in sizes)
    exponent = 1.0
    first, second = values[0] - values[1], values[1] - values[2]
    if abs(second) > 4 * noise and first * second > 0:
        ratios = (m**-_EXPONENTS - n**-_EXPONENTS) / (k**-_EXPONENTS - m**-_EXPONENTS)
        exponent = float(_EXPONENTS[np.argmin(np.abs(np.log(ratios * second / first)))])
    return float(1 / ((n / m) ** exponent - 1))


class QuadraticLimit(NamedTuple):
    r"""Second-order distribution of the error of a smooth statistic.

    The error of a statistic of n rows is, to second order, :math:`\sum_k (\psi_k z_k / \sqrt n +
    \mu_k (z_k^2 - 1) / 2n)` with independent standard normal z, the coefficients :math:`\psi_k` of
    the influence function and the eigenvalues :math:`\mu_k` of the second-order influence function.
    The variance of the first part is :math:`a = \sum_k \psi_k^2 / n`, that of the second :math:`b =
    \sum_k \mu_k^2 / 2n^2`. The estimate f of a from the influence function of the sample has the
    mean a + 2b. If all ν eigenvalues are equal, :math:`t = \nu f / 2b` has a noncentral chi-square
    distribution with ν degrees of freedom and noncentrality :math:`\lambda = \nu a / 2b`, and the
    error is a function of both, :math:`-c (t - \nu - \lambda)` with :math:`c = \sqrt{b / 2\nu}` for
    negative eigenvalues. Limits of λ are limits of the statistic.
    """

    scale: float  # c, the error per unit of t
    degrees: float  # ν
    statistic: float  # t

    @classmethod
    def find(cls, first: float, square: float, diagonal: float, n: float) -> QuadraticLimit | None:
        """Return the limit if the influence function may be constant, else None.

        ``first``: f, the variance of the influence function of the sample divided by n. ``square``,
        ``diagonal``: means of ``ψ(x, y)²`` over pairs and of ``ψ(x, x)``, which are the sums of μ²
        and of μ. ``n``: number of rows.
        """
        if not (square > 0 and diagonal < 0 and diagonal**2 >= square):
            return None
        degrees = diagonal**2 / square
        second = square / (2 * n**2)
        found = cls(float(np.sqrt(second / (2 * degrees))), degrees, first * degrees / (2 * second))
        return found if found.statistic <= chi2.ppf(0.975, degrees) else None

    @property
    def variance(self) -> float:
        """Estimated variance of the error, ``max(f - 2b, 0) + b``."""
        square = 2 * self.degrees * self.scale**2
        return square * (1 + 2 * max(self.statistic / self.degrees - 1, 0.0))

    def distances(self, confidence: float) -> tuple[float, float]:
        """Return the distances of the limits of a confidence interval below and above the estimate.

        The statistic cannot exceed its value for a constant influence function. An upper limit that
        allows for this value is never too small, so the lower limit gets the whole probability of
        an error, ``1 - confidence``.
        """
        t, nu, tail = self.statistic, self.degrees, 1 - confidence
        smallest, largest = chi2.ppf([tail, 0.5 + confidence / 2], nu)
        noncentrality = 0.0
        # with more degrees of freedom the normal approximation is used
        if t > smallest and nu <= 1000.0:
            noncentrality = float(chndtrinc(t, nu, tail))
        elif t > smallest:
            z = float(norm.ppf(confidence))
            noncentrality = t - nu + 2 * z**2 + z * np.sqrt(4 * (t - nu) + 4 * z**2 + 2 * nu)
        below = self.scale * (noncentrality + nu - max(t, smallest))
        return max(float(below), 0.0), self.scale * float(max(t, largest) - nu)


class SamplingError(NamedTuple):
    """Sampling error of the entropy of one order."""

    standard_error: float  # of the entropy
    corrected: float  # entropy with the estimated bias removed
    corrected_error: float  # standard error of ``corrected``
    # mean entropies of subsamples, smallest first, and of the sample
    curve: list[tuple[int, float, float]]
    degrees: float = np.inf  # degrees of freedom of the standard error
    largest: float = -np.inf  # value to which the interval extends, if it exceeds ``corrected``
    # distribution of the error of ``corrected`` if the influence function may be constant
    limit: QuadraticLimit | None = None
    extra: float = 0.0  # standard error of ``corrected`` in addition to ``limit``

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return a confidence interval of the entropy.

        >>> SamplingError(0.5, 3.0, 0.5, []).interval(0.95)[0]  # doctest: +ELLIPSIS
        2.02...
        """
        quantile = float(student.ppf(0.5 + confidence / 2, self.degrees))
        if self.limit is not None:
            below, above = np.hypot(self.limit.distances(confidence), quantile * self.extra)
            return self.corrected - float(below), self.corrected + float(above)
        half_width = quantile * self.corrected_error
        return self.corrected - half_width, max(self.corrected, self.largest) + half_width


def take_rows(sample: Sample, rows: Array) -> Sample:
    """Return some rows of a sample, in memory."""
    if not sample.points.is_chunked:
        return sample.take(rows)
    weights = None if sample.weights is None else sample.passes.take(sample.weights, rows)
    return Sample(sample.kernel, sample.points.take(rows), weights, unit=sample.unit)


def sampling_error(
    sample: Sample,
    orders: tuple[float, ...],
    entropies: Array,
    random_state: int | None,
    gram: Any = None,
) -> list[SamplingError]:
    """Return the sampling error of each order.

    ``entropies``: entropies of the sample. ``gram``: of the sample; its landmarks are used if they
    span the kernel.
    """
    rng = np.random.default_rng(random_state)
    with single_threaded_blas():
        n, size = sample.points.n, sample.sample_size
        factored, exact = feature_gram(sample, gram)
        influence = influence_moments(sample, orders, factored)
        variances = influence.deviation**2
        if 2 * _SMALLEST <= n <= 2000:  # rows; the correction is of order 1/n
            variances = _extrapolated(variances, sample, orders, factored, rng)
        features = factored.features if factored is not None and exact else None
        largest = 2000 if features is None else _LARGEST_FEATURE_SUBSAMPLE
        quarter = min(n // 2, largest) // 2
        if quarter < _SMALLEST:
            errors = influence.deviation / np.sqrt(size)
            pairs = zip(errors, entropies, strict=True)
            return [SamplingError(e, s, e, [(n, s, e)]) for e, s in pairs]
        halves, quarters = _subsample_entropies(sample, orders, features, quarter, rng)
    known = isinstance(features, ExactFeatures)
    return [
        _order_error(
            sample,
            (order, float(entropy)),
            (n, 2 * quarter, quarter),
            (halves[:, :, k], quarters[:, :, k]),
            influence.of_order(k),
            float(variances[k]),
            known and order != np.inf,
        )
        for k, (order, entropy) in enumerate(zip(orders, entropies, strict=True))
    ]


def _subsample_entropies(
    sample: Sample,
    orders: tuple[float, ...],
    features: FeatureMap | None,
    quarter: int,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Return entropies of halves and quarters of random partitions of ``4 quarter`` rows.

    Their shapes are (partitions, 2, orders) and (partitions, 4, orders).
    """
    n = sample.points.n
    cheap = isinstance(features, LandmarkFeatures) and n <= _LARGEST_FEATURE_SUBSAMPLE
    n_partitions = 16 if n <= 500 else 8 if n <= 2000 or cheap else 3
    # features of all rows are shared by the partitions, if they are not many
    shared = None
    if features is not None and n // 2 <= _LARGEST_FEATURE_SUBSAMPLE:
        whole = take_rows(sample, np.arange(n)) if sample.points.is_chunked else sample
        shared = _feature_rows(whole, features)
    halves, quarters = [], []
    for _ in range(n_partitions):
        rows = rng.choice(n, 4 * quarter, replace=False) if n > 4 * quarter else rng.permutation(n)
        parts = np.sort(rows[: 4 * quarter].reshape(4, quarter), axis=1)
        small, large = _matrices(sample, features, shared, parts)
        halves.append(_entropies(large, orders))
        quarters.append(_entropies(small, orders))
    return np.array(halves), np.array(quarters)


def _extrapolated(
    variances: Array,
    sample: Sample,
    orders: tuple[float, ...],
    factored: ExplicitGram | None,
    rng: np.random.Generator,
) -> Array:
    """Return variances of the influence function with their bias of order 1/n removed.

    The influence function of a small sample varies less over its rows than that of the population,
    because the eigenvectors are fitted to the same rows. Halves show by how much.
    """
    n, found = sample.points.n, []
    for _ in range(2):
        rows = rng.permutation(n)
        for part in (rows[: n // 2], rows[n // 2 : 2 * (n // 2)]):
            half = take_rows(sample, np.sort(part))
            gram = None if factored is None else factored.with_points(half.points, half.weights)
            found.append(influence_moments(half, orders, gram).deviation ** 2)
    return np.maximum(2 * variances - np.mean(found, axis=0), variances / 2)


def _order_error(
    sample: Sample,
    entropy_of_order: tuple[float, float],
    sizes: tuple[int, int, int],
    subsamples: tuple[Array, Array],
    influence: Influence,
    variance: float,
    known: bool,
) -> SamplingError:
    """Return the sampling error of one order.

    ``subsamples``: entropies of halves and quarters. ``variance``: of the influence function of the
    population. ``known``: whether the bias is of order 1/n.
    """
    (order, entropy), (halves, quarters), size = entropy_of_order, subsamples, sample.sample_size
    plain = float(influence.deviation) ** 2 / size
    limit = QuadraticLimit.find(plain, float(influence.square), float(influence.diagonal), size)
    first = variance / size
    # variance between disjoint subsamples, in excess of the first-order part
    between = float(((halves[:, 0] - halves[:, 1]) ** 2).mean() / 2)
    ratio = sizes[0] / sizes[1]
    second = max(between - first * ratio, 0.0) / ratio**2
    error = float(np.sqrt(first + second if limit is None else limit.variance))
    means = halves.mean(axis=1), quarters.mean(axis=1)
    noise = [float(m.std(ddof=1) / np.sqrt(len(halves))) for m in means]
    if order == 2:
        corrected, slope = _unbiased_quadratic(sample, entropy)
        extra, gain = 0.0, slope**2
    else:
        values = (entropy, float(means[0].mean()), float(means[1].mean()))
        uncertainty = np.inf if known else float(np.hypot(noise[0], noise[1]))
        factor = bias_factor(sizes, values, uncertainty)
        corrected = entropy + factor * (entropy - values[1])
        # half the difference to a bias of order 1/n is the uncertainty of the exponent
        usual = bias_factor(sizes, values, np.inf)
        extra = float(np.hypot(factor * noise[0], (factor - usual) * (entropy - values[1]) / 2))
        # in the quadratic limit the mean over partitions of the correction is constant
        gain = _variance_gain(halves, quarters, factor) if limit is None else 1.0
    curve = [
        (sizes[2], float(means[1].mean()), noise[1]),
        (sizes[1], float(means[0].mean()), noise[0]),
        (sizes[0], entropy, error),
    ]
    total = float(np.hypot(error * np.sqrt(gain), extra))
    if limit is not None:
        limit = limit._replace(scale=limit.scale * float(np.sqrt(gain)))
        return SamplingError(error, corrected, total, curve, limit=limit, extra=extra)
    spread = max(float(influence.kurtosis) - 1, 1e-3)
    share = first / total**2 if total > 0 else 1.0
    degrees = 2 * size / spread / share**2 if share > 0 else np.inf
    largest = -float(np.log(influence.tied.mean())) if order == np.inf else -np.inf
    return SamplingError(error, corrected, total, curve, degrees, largest)


def _feature_rows(sample: Sample, features: FeatureMap) -> Array:
    """Return ``√w φ(x)`` of all rows of a sample in memory."""
    rows = features(sample.points.data)
    return rows if sample.weights is None else rows * np.sqrt(sample.weights)[:, None]


def _matrices(
    sample: Sample, features: FeatureMap | None, shared: Array | None, parts: Array
) -> tuple[Array, Array]:
    """Return matrices with the eigenvalues of quarters and of halves of some rows.

    Kernel matrices if ``features`` is None. Matrices of features of halves are sums over their
    quarters if there are fewer features than rows. ``shared``: features of all rows; None to
    compute those of the quarters. ``parts``: indices of the rows of each quarter.
    """
    if features is None:
        halves = np.sort(parts.reshape(2, -1), axis=1)
        small, large = (
            np.array([_kernel_matrix(sample, rows) for rows in each]) for each in (parts, halves)
        )
        return small, large
    if shared is None:
        small = _feature_rows(take_rows(sample, parts.ravel()), features)
    else:
        small = shared[parts.ravel()]
    small = small.reshape(*parts.shape, -1)
    n_rows, n_features = small.shape[1:]
    if n_features <= n_rows:
        matrices = _float64(np.array([part.T @ part for part in small]))
        return matrices, matrices.reshape(2, 2, n_features, n_features).sum(axis=1)
    long = small.reshape(2, 2 * n_rows, n_features)
    pairs = [half.T @ half if n_features <= len(half) else half @ half.T for half in long]
    return _float64(small @ small.transpose(0, 2, 1)), _float64(np.array(pairs))


def _float64(matrices: Array) -> Array:
    return matrices.astype(np.float64, copy=False)


def _kernel_matrix(sample: Sample, rows: Array) -> Array:
    """Return ``√w K √w`` of some rows."""
    part = take_rows(sample, rows)
    K = part.kernel(part.points.data) if part.matrix is None else part.matrix
    K = _float64(K)
    if part.weights is None:
        return K
    root = np.sqrt(part.weights)[:, None]
    return np.asarray(root * K * root.T)


def _entropies(matrices: Array, orders: tuple[float, ...]) -> Array:
    """Return the entropies of each matrix from all of its eigenvalues."""
    values = np.maximum(np.linalg.eigvalsh(matrices), 0)
    values[values < values[:, -1:] * values.shape[1] * np.finfo(float).eps] = 0
    p = values / values.sum(axis=1, keepdims=True)
    return np.column_stack([spectral_entropies(p, order) for order in orders])


def _variance_gain(halves: Array, quarters: Array, factor: float) -> float:
    """Return the ratio of the variances of the corrected and the plain entropy.

    The correction ``c (S - S_half)`` depends on the same rows as S and is correlated with it.
    Halves of the sample, corrected by their own halves, show by how much: differences between
    disjoint halves of the correction are regressed on those of the entropy. The excess decreases
    with the sample size like the bias.

    ``halves``: shape (n_partitions, 2). ``quarters``: the first two belong to the first half.
    ``factor``: c of the sample: its bias is c / (1 + c) times that of its halves.
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
