"""The Cauchy-Schwarz divergence of two samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.bandwidth import fit_kernel
from mercer.data.points import Points, concatenate_points, validate_points, validate_weights
from mercer.eigen import summing_gram
from mercer.errors import ApproximationWarning, warn
from mercer.gram import FourierGram, GramOperator, Sample
from mercer.gram.cross_gram import cross_product
from mercer.information.samples import clip_negative
from mercer.kernels import Kernel, as_kernel
from mercer.utils.estimators import ignore_underflow
from mercer.utils.types import Array
from mercer.utils.weight_totals import multiplicities

__all__ = ["cauchy_schwarz_divergence"]

# A mean by Fourier features that exceeds its error by this factor is accurate to three digits;
# below, all pairs are summed, if there are not too many.
_MIN_SIGNAL_TO_NOISE = 1e3
_MAX_SUMMED_PAIRS = 10**10
_ROUNDING = 16  # rounding errors of a mean, in units of the precision


@ignore_underflow
def cauchy_schwarz_divergence(
    X: Any,
    Y: Any,
    kernel: str | Kernel = "gaussian",
    *,
    sample_weight: tuple[Any, Any] = (None, None),
) -> float:
    """Return ``-log cos`` of the angle between the mean embeddings of two samples.

    This is the Cauchy-Schwarz divergence (Jenssen, eqs. 26-27). It is 0 if and only if the two
    Parzen densities are proportional, and infinite if the kernel is 0 between the samples. A
    bandwidth rule is applied to both samples together.

    Parameters
    ----------
    X, Y : array-likes with the same columns
        For ``kernel="precomputed"``, X is the Gram matrix K of all points, and Y a pair of index
        arrays: the rows of K in the first and in the second sample, which may overlap (a cluster
        and all points, for example).
    kernel : str or Kernel
    sample_weight : pair of array-likes or None
        Weights of the rows of the first and of the second sample.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.information import cauchy_schwarz_divergence
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(500, 1))
    >>> apart = [cauchy_schwarz_divergence(X, X + shift, Gaussian(0.5)) for shift in (0, 1, 2)]
    >>> np.round(apart, 2).tolist()
    [0.0, 0.23, 0.89]

    From a precomputed matrix:

    >>> K = Gaussian(0.5)(np.vstack([X, X + 1]))
    >>> samples = np.arange(500), np.arange(500, 1000)
    >>> round(cauchy_schwarz_divergence(K, samples, "precomputed"), 2)
    0.23
    """
    if not isinstance(sample_weight, tuple | list) or len(sample_weight) != 2:
        raise ValueError("sample_weight must be a pair: the weights (or None) of X and of Y.")
    kernel = as_kernel(kernel)
    if kernel.compares == "gram":
        within, between, precision = _precomputed_means(X, Y, sample_weight)
        return _divergence(within, between, _ROUNDING * precision)
    both = [validate_points(Z, kernel) for Z in (X, Y)]
    if both[0].dimension != both[1].dimension:
        raise ValueError(
            f"X has {both[0].dimension} columns and Y has {both[1].dimension}; both must have the "
            "same columns."
        )
    weights = [validate_weights(w, p.n) for w, p in zip(sample_weight, both, strict=True)]
    kernel = _fit_to_both(kernel, both, weights)
    samples = [Sample.of(kernel, p, w) for p, w in zip(both, weights, strict=True)]
    grams = [summing_gram(sample, _common_box(samples)) for sample in samples]
    within = [gram.potential for gram in grams]
    return _divergence(within, _between(samples, grams), _rounding(grams))


def _divergence(within: list[float], between: float, rounding: float) -> float:
    """Return the divergence from the means of k within each sample and between them.

    Equal samples have divergence 0, and their means differ by rounding errors.
    """
    if min(within) <= 0:
        raise ValueError(
            f"V = 1'K1/n² of a sample is {min(within):.3g}; the angle between mean embeddings "
            "needs V > 0. Use a positive semi-definite kernel."
        )
    if between <= 0:
        return float("inf")
    divergence = 0.5 * np.log(within[0]) + 0.5 * np.log(within[1]) - np.log(between)
    return clip_negative(divergence) if divergence > rounding else 0.0


def _rounding(grams: list[GramOperator]) -> float:
    """Return the relative error of the means of the kernel within the samples."""
    error = _ROUNDING * max(float(np.finfo(gram.precision).eps) for gram in grams)
    if isinstance(grams[0], FourierGram):
        error += grams[0].grid.entry_error / min(gram.potential for gram in grams)
    return error


def _precomputed_means(K: Any, pair: Any, sample_weight: Any) -> tuple[list[float], float, float]:
    """Return the means of a precomputed K within samples and between them, and its precision."""
    matrix = validate_points(K, "gram").data
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ValueError(
            "For kernel='precomputed' pass the Gram matrix of all points as X, and as Y a pair of "
            "index arrays: the rows of the first and of the second sample."
        )
    indices, weights = [], []
    for rows, given in zip(pair, sample_weight, strict=True):
        rows = np.asarray(rows)
        if rows.ndim != 1 or len(rows) == 0 or rows.dtype.kind not in "iu":
            raise ValueError(
                f"A sample of a precomputed matrix must be a nonempty array of row indices; got "
                f"shape {rows.shape} and type {rows.dtype}. np.flatnonzero(mask) converts a mask."
            )
        if rows.min() < 0 or rows.max() >= len(matrix):
            raise ValueError(
                f"Row indices from {rows.min()} to {rows.max()} are not all within the "
                f"{len(matrix)} rows of K."
            )
        valid = validate_weights(given, len(rows))
        indices.append(rows)
        weights.append(np.full(len(rows), 1 / len(rows)) if valid is None else valid / valid.sum())

    def mean(i: int, j: int) -> float:
        return float(weights[i] @ matrix[np.ix_(indices[i], indices[j])] @ weights[j])

    return [mean(0, 0), mean(1, 1)], mean(0, 1), float(np.finfo(matrix.dtype).eps)


def _common_box(samples: list[Sample]) -> tuple[Array, Array] | None:
    """Return the bounds of both samples; None for objects and sparse rows."""
    if samples[0].points.kind != "vectors" or any(s.points.is_sparse for s in samples):
        return None
    low = np.min([sample.points.data.min(axis=0) for sample in samples], axis=0)
    high = np.max([sample.points.data.max(axis=0) for sample in samples], axis=0)
    return low, high


def _between(samples: list[Sample], grams: list[GramOperator]) -> float:
    """Return the mean of the kernel over pairs of points, one from each sample."""
    first, second = grams
    if isinstance(first, FourierGram) and isinstance(second, FourierGram):
        between = float(first.mean_vector @ second.mean_vector)
        noise = first.grid.entry_error
        if between > _MIN_SIGNAL_TO_NOISE * noise:
            return between
        if samples[0].points.n * samples[1].points.n > _MAX_SUMMED_PAIRS:
            warn(
                f"The samples hardly overlap: the mean of the kernel between them is {between:.1e} "
                f"with an error of {noise:.0e}, so the result is only a lower bound on the "
                "divergence. Use a larger bandwidth.",
                ApproximationWarning,
            )
            return max(between, noise)
    weights = [sample.normalized_weights for sample in samples]
    left, right = (sample.points for sample in samples)
    sums = cross_product(samples[0].kernel, left, right, weights[1][:, None])
    return float(weights[0] @ sums[:, 0])


def _fit_to_both(kernel: Kernel, both: list[Points], weights: list[Array | None]) -> Kernel:
    union = concatenate_points(both)
    if all(w is None for w in weights):
        return fit_kernel(kernel, union)
    filled = [
        np.ones(p.n) if w is None else multiplicities(w) for p, w in zip(both, weights, strict=True)
    ]
    return fit_kernel(kernel, union, np.concatenate(filled))
