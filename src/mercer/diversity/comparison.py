"""Comparison of two samples: tests, differences of their modes, novelty of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from mercer.bandwidth import fit_kernel
from mercer.data.points import Points, Sample, concatenate_points
from mercer.diversity.differences import (
    DifferenceMode,
    feature_modes,
    gram_modes,
    listed_rows,
    mode_rows,
    row_novelty,
)
from mercer.eigen import Nystrom
from mercer.eigen.plan import Auto, Request, has_few_features, plan
from mercer.errors import suppress_warnings
from mercer.gram import ExactFeatures, FeatureMap, GramOperator
from mercer.information.samples import require_unit_diagonal, validate_pair
from mercer.kernels import Gaussian, Kernel, as_kernel
from mercer.kernels.dot import DotProduct
from mercer.utils.estimators import ignore_underflow
from mercer.utils.formatting import Result, Summary, format_number
from mercer.utils.pairwise import row_ranges
from mercer.utils.types import Array
from mercer.utils.validation import check_integer

__all__ = [
    "SampleComparison",
    "compare_samples",
    "largest_standardized",
    "permutation_p_value",
]

#: Returns ``p'Kp`` and ``p'K1`` of the columns p of a matrix.
Forms: TypeAlias = Callable[[Array], tuple[Array, Array]]

_CONSTANT = 1e-10  # standard deviation below which statistics differ by rounding errors only
#: Ties of standardized statistics: rounding errors divided by the smallest standard deviation.
STANDARDIZED_SLACK = 1e-4


def feature_forms(features: Array, P: Array) -> tuple[Array, Array]:
    """Return ``p'Kp`` and ``p'K1`` of the columns p of P, from features of all rows."""
    sums = features.T @ P
    return np.einsum("ij,ij->j", sums, sums), features.sum(axis=0) @ sums


def gram_forms(product: Callable[[Array], Array], P: Array) -> tuple[Array, Array]:
    """Return ``p'Kp`` and ``p'K1`` of the columns p of P, from products with K."""
    products = product(P)
    return np.einsum("ij,ij->j", P, products), products.sum(axis=0)


@dataclass(frozen=True, eq=False)
class Partitions:
    """Statistics of partitions of all rows into two samples, the given one first."""

    squared_mmd: Array
    cosine: Array  # cosine of the angle between the mean embeddings
    unbiased: float  # unbiased estimate of the squared MMD of the given partition


def partition_statistics(
    forms: Forms, n: int, m: int, n_permutations: int, rng: np.random.Generator
) -> Partitions:
    """Return the statistics of the given partition and of random ones.

    ``n``, ``m``: rows of the samples.
    """
    first = (np.arange(n + m) < n).astype(float)
    total = float(forms(np.ones((n + m, 1)))[0][0])
    squares, crossed = np.empty(n_permutations + 1), np.empty(n_permutations + 1)
    for part in row_ranges(n_permutations + 1, 64):
        columns = [rng.permutation(first) if i else first for i in range(part.start, part.stop)]
        squares[part], crossed[part] = forms(np.column_stack(columns))
    within = squares / n**2, (total - 2 * crossed + squares) / m**2
    between = (crossed - squares) / (n * m)
    # the mean over pairs of different rows, where k(x, x) = 1
    unbiased = [
        (v[0] * k - 1) / (k - 1) if k > 1 else np.nan for v, k in zip(within, (n, m), strict=True)
    ]
    return Partitions(
        np.maximum(within[0] + within[1] - 2 * between, 0),
        between / np.sqrt(np.maximum(within[0] * within[1], np.finfo(float).tiny)),
        float(unbiased[0] + unbiased[1] - 2 * between[0]),
    )


def largest_standardized(statistics: Sequence[Array]) -> Array:
    """Return the largest standardized statistic of each partition.

    Mean and standard deviation are those over all partitions, the given one included, so that all
    partitions are treated alike and the maximum gives a valid test. A kernel whose statistics
    differ by rounding errors only contributes 0.

    ``statistics``: one array per kernel, over the same partitions, with values of at most order 1.
    """
    table = np.array(statistics)
    spread = table.std(axis=1, keepdims=True)
    centered = table - table.mean(axis=1, keepdims=True)
    return np.asarray(
        np.where(spread > _CONSTANT, centered / np.maximum(spread, _CONSTANT), 0).max(axis=0)
    )


def permutation_p_value(statistics: Array, slack: float | None = None) -> float:
    """Return the fraction of partitions with a statistic of at least the first, ties included.

    ``statistics``: of the given partition first. ``slack``: largest difference of ties; None for
    rounding errors.
    """
    if slack is None:
        slack = 1e-12 * np.abs(statistics).max() + 1e-14
    return float((statistics >= statistics[0] - slack).mean())


_DENSE_UP_TO = 1000  # rows of both samples whose kernel matrix is decomposed
# a stored K of up to 15,800 rows, or fast products; landmarks beyond
_EXACT = Auto(largest_gram=2e9, largest_product=1.2e10)


@dataclass(frozen=True, eq=False, repr=False)
class SampleComparison(Result):
    """Result of :func:`mercer.compare_samples`.

    Attributes
    ----------
    mmd : float
        Maximum mean discrepancy, the distance of the mean embeddings.
    squared_mmd : float
        Unbiased estimate of its square; it may be negative.
    p_value : float
        Of the hypothesis that both samples have the same distribution, by permutations of the MMD;
        of the largest standardized MMD if there are several `test_bandwidths`.
    cauchy_schwarz : float
        Cauchy-Schwarz divergence of the samples.
    cauchy_schwarz_p_value : float
    novel_modes, missing_modes : list of DifferenceMode
        Directions with more weight in Y (rows of Y represent them), and in X (rows of X).
    novelty : array of shape (n_rows of Y,)
        Novelty of each row of Y with respect to X, largest for the most novel.
    error_bound : float
        Bound on the error of the eigenvalues of the difference, apart from rounding error: 0 if all
        are computed, the largest residual of an iteration (each eigenvalue is within it of a true
        one), or a bound from the part of the trace that landmarks miss.
    limitations : str
        Differences that this kernel cannot detect; empty if it is characteristic.
    n_permutations : int
    kernel : Kernel
        The fitted kernel, of all results but the p-values if there are `test_bandwidths`.
    test_bandwidths : array or None
        Bandwidths of both tests, for a Gaussian kernel with the bandwidth "auto". None if the tests
        use `kernel`.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(1, 1, size=(200, 5)), rng.normal(0.5, 1, size=(200, 5))
    >>> mercer.compare_samples(X, Y).p_value
    0.002
    """

    mmd: float
    squared_mmd: float
    p_value: float
    cauchy_schwarz: float
    cauchy_schwarz_p_value: float
    novel_modes: list[DifferenceMode]
    missing_modes: list[DifferenceMode]
    novelty: Array
    error_bound: float
    limitations: str
    n_permutations: int
    kernel: Kernel
    test_bandwidths: Array | None

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row per statistic."""
        import pandas as pd

        return pd.DataFrame(
            {
                "statistic": ["MMD", "Cauchy-Schwarz divergence"],
                "value": [self.mmd, self.cauchy_schwarz],
                "p_value": [self.p_value, self.cauchy_schwarz_p_value],
            }
        )

    def _summary(self) -> Summary:
        rows = [
            ["MMD", format_number(self.mmd), format_number(self.p_value), ""],
            [
                "Cauchy-Schwarz divergence",
                format_number(self.cauchy_schwarz),
                format_number(self.cauchy_schwarz_p_value),
                "",
            ],
            *mode_rows("novel mode", self.novel_modes),
            *mode_rows("missing mode", self.missing_modes),
            ["most novel rows of Y", "", "", listed_rows(np.argsort(-self.novelty))],
        ]
        notes = [self.limitations, self.tests_note]
        head = ["statistic", "value", "p-value", "rows"]
        return Summary(f"Two samples, {self.kernel!r}", head, rows, " ".join(filter(None, notes)))

    @property
    def tests_note(self) -> str:
        """Sentence on the bandwidths of the tests; empty if they use the kernel."""
        if self.test_bandwidths is None:
            return ""
        low, high = self.test_bandwidths[[0, -1]]
        return (
            f"p-values: largest standardized statistic over {len(self.test_bandwidths)} bandwidths "
            f"from {format_number(low)} to {format_number(high)}."
        )


@ignore_underflow
def compare_samples(
    X: Any,
    Y: Any,
    kernel: str | Kernel = "cosine",
    *,
    n_modes: int = 10,
    n_permutations: int = 499,
    random_state: int | None = 0,
) -> SampleComparison:
    r"""Test whether two samples have the same distribution, and find where they differ.

    The statistics are the maximum mean discrepancy :math:`\|\mu_X - \mu_Y\|` and the Cauchy-Schwarz
    divergence of the mean embeddings μ. Their p-values come from permutations of the rows of both
    samples, so they are valid for any kernel and any size. For a Gaussian kernel with the bandwidth
    "auto" the tests use the largest standardized statistic over five bandwidths, 1/4 to 4 times the
    median distance; a kernel with a number or another rule is tested as it is.

    Modes are eigenvectors of the difference :math:`\Sigma_Y - \Sigma_X` of the (uncentered)
    covariance operators in feature space. The novelty of a row y is

    .. math:: \varphi(y)' \bar\Sigma^{-1/2} \Delta_+ \bar\Sigma^{-1/2} \varphi(y), \qquad
        \Delta = \bar\Sigma^{-1/2} (\Sigma_Y - \Sigma_X) \bar\Sigma^{-1/2}

    with the positive part :math:`\Delta_+` and the regularized mean :math:`\bar\Sigma` of both
    operators, so that a rare mode counts as much as a frequent one. Eigenvalues of Δ that also
    occur with permuted labels are set to 0.

    Parameters
    ----------
    X, Y : array-likes with the same columns
        X is the reference.
    kernel : str or Kernel
        With k(x, x) = 1. "table" for data frames with categories, dates, texts or missing values.
        Fitted to both samples together.
    n_modes : int
        Largest number of novel and of missing modes.
    n_permutations : int
        The smallest p-value is ``1 / (n_permutations + 1)``.
    random_state : int or None
        Seed of permutations and landmarks.

    Returns
    -------
    SampleComparison

    Notes
    -----
    Statistics and eigenvalues are those of the exact kernel for kernels with finite features, and
    for others if the kernel matrix of both samples takes at most 2 GB (15,800 rows). Above 1000
    rows the eigenvalues come from a Lanczos iteration, and the novelty of rows from 500 landmarks.
    For more rows landmarks approximate the kernel in all results: the tests remain valid, and
    eigenvalues are too small by at most ``error_bound``.

    References
    ----------
    .. [1] A. Gretton et al., "A kernel two-sample test", JMLR 13:723-773, 2012.
    .. [2] J. Zhang, C. T. Li, F. Farnia, "An interpretable evaluation of entropy-based novelty of
       generative models", ICML 2024.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(300, 4)), rng.normal(size=(300, 4))
    >>> Y[:6] = 8 + 0.1 * rng.normal(size=(6, 4))
    >>> sorted(np.argsort(-mercer.compare_samples(X, Y, "gaussian").novelty)[:6].tolist())
    [0, 1, 2, 3, 4, 5]
    """
    check_integer(n_modes, "n_modes", low=0)
    check_integer(n_permutations, "n_permutations", low=19)
    kernel = as_kernel(kernel, X, table="product")
    union, n = _joined(X, Y, kernel)
    sample = Sample.of(fit_kernel(kernel, union), union, None)
    require_unit_diagonal(sample)
    seeds = np.random.SeedSequence(random_state)
    tested = _tested_kernels(kernel, union)

    def statistics(forms: Forms, count: int = n_permutations) -> Partitions:
        # the same partitions for all kernels
        return partition_statistics(forms, n, union.n - n, count, np.random.default_rng(seeds))

    several = [statistics(_forms(Sample.of(k, union, None), random_state)) for k in tested]
    features, missing = _features(sample, random_state)
    gram = _exact_gram(sample)
    rng = np.random.default_rng(seeds.spawn(1)[0])
    count = 0 if several else n_permutations
    if gram is None:
        own = statistics(partial(feature_forms, features), count)
        novel, lost = feature_modes(features, n, n_modes, rng)
    else:
        own = statistics(partial(gram_forms, gram.product), count)
        novel, lost, missing = gram_modes(gram.product, union.n, n, n_modes, rng)
    novelty = row_novelty(features, n, rng)
    tests = several or [own]
    cosine = own.cosine[0]
    return SampleComparison(
        mmd=float(np.sqrt(own.squared_mmd[0])),
        squared_mmd=own.unbiased,
        p_value=_p_value([one.squared_mmd for one in tests]),
        cauchy_schwarz=float(max(-np.log(cosine), 0.0)) if cosine > 0 else float("inf"),
        cauchy_schwarz_p_value=_p_value([-one.cosine for one in tests]),
        novel_modes=novel,
        missing_modes=lost,
        novelty=novelty,
        error_bound=missing,
        limitations=_limitations(sample.kernel),
        n_permutations=n_permutations,
        kernel=sample.kernel,
        test_bandwidths=np.array([k.bandwidth for k in tested]) if tested else None,
    )


def _joined(X: Any, Y: Any, kernel: Kernel) -> tuple[Points, int]:
    """Return the rows of both samples, and the number of those of X."""
    if kernel.compares == "gram":
        raise ValueError(
            "compare_samples evaluates the kernel between rows, so it cannot be precomputed. Pass "
            "the rows and the kernel."
        )
    both = validate_pair(X, Y, kernel)
    for name, points in zip(("X", "Y"), both, strict=True):
        if points.n < 2:
            raise ValueError(f"{name} has {points.n} row; compare_samples needs at least 2 rows.")
    return concatenate_points(both), both[0].n


def _features(sample: Sample, random_state: int | None) -> tuple[Array, float]:
    """Return features of all rows, and a bound on the error of the difference operator."""
    n = sample.points.n
    if not has_few_features(sample) and n <= _DENSE_UP_TO:
        K = sample.kernel(sample.points.data).astype(np.float64)
        values, vectors = np.linalg.eigh(K)
        kept = values > values[-1] * n * np.finfo(float).eps
        return vectors[:, kept] * np.sqrt(values[kept]), 0.0
    if has_few_features(sample):
        return _map_rows(ExactFeatures(sample.kernel), sample.points), 0.0
    gram = Nystrom(500, random_state=random_state).gram(sample)
    rows = _map_rows(gram.features, sample.points)
    # ‖Σ - PΣP‖ ≤ √(‖Σ‖ t) + t for a projection P that misses the trace t, and ‖Σ‖ ≤ 1
    missing = gram.missing_fraction
    return rows, float(2 * (np.sqrt(missing) + missing))


def _map_rows(features: FeatureMap, points: Points) -> Array:
    return np.concatenate([features(x) for _, x in points.chunks(8192)])


def _tested_kernels(kernel: Kernel, points: Points) -> list[Gaussian]:
    """Return the kernels of the tests; none if the tests use the given kernel."""
    if not isinstance(kernel, Gaussian) or not kernel.has_rule("auto"):
        return []
    with suppress_warnings():  # the fit of the kernel itself has warned
        median = fit_kernel(kernel.with_bandwidth("median-distance"), points)
    assert isinstance(median, Gaussian)
    return [
        median.with_bandwidth(factor * float(median.bandwidth))
        for factor in (0.25, 0.5, 1.0, 2.0, 4.0)
    ]


def _forms(sample: Sample, random_state: int | None) -> Forms:
    """Return sums of the kernel over partitions, for the tests alone."""
    if sample.points.n <= _DENSE_UP_TO:
        return partial(gram_forms, sample.kernel(sample.points.data).astype(np.float64).__matmul__)
    gram = _exact_gram(sample)
    if gram is not None:
        return partial(gram_forms, gram.product)
    return partial(feature_forms, _features(sample, random_state)[0])


def _p_value(statistics: list[Array]) -> float:
    """Return the p-value of one statistic, or of the largest standardized one of several."""
    if len(statistics) == 1:
        return permutation_p_value(statistics[0])
    return permutation_p_value(largest_standardized(statistics), STANDARDIZED_SLACK)


def _exact_gram(sample: Sample) -> GramOperator | None:
    """Return an operator of the exact kernel; None for known features and if it costs too much."""
    points = sample.points
    if has_few_features(sample) or points.n <= _DENSE_UP_TO:
        return None
    if points.kind == "vectors" and points.dtype == np.float32 and not points.is_sparse:
        sample = replace(sample, points=Points(points.data.astype(np.float64)))
    chosen = plan(sample, Request("variance", 1, _EXACT))
    return None if isinstance(chosen.operator, Nystrom) else chosen.gram(sample)


def _limitations(kernel: Kernel) -> str:
    if isinstance(kernel, DotProduct):
        return (
            f"{kernel!r} is not characteristic: its mean embedding contains finitely many moments "
            "of the distribution only (for the cosine kernel the mean direction), so the tests "
            "cannot detect differences that leave these unchanged. Use a Gaussian kernel for them."
        )
    return ""
