"""Information potential, Renyi entropy, entropy terms and feature variance, with gradients."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from mercer.bandwidth import fit_kernel
from mercer.data.points import validate_points, validate_weights
from mercer.eigen import summing_gram
from mercer.eigen.decompose import decompose
from mercer.gram import FourierGram, Sample
from mercer.information.samples import fitted_sample, log_normalizer, mean_kernel
from mercer.kernels import Cosine, Gaussian, Kernel, as_kernel
from mercer.utils.compiled import exponentials
from mercer.utils.estimators import ignore_underflow
from mercer.utils.pairwise import half_squared_differences, row_ranges
from mercer.utils.types import Array
from mercer.utils.validation import check_choice

__all__ = [
    "diversity_gradient",
    "entropy_terms",
    "feature_variance",
    "gaussian_potential",
    "information_potential",
    "potential_gradient",
    "renyi_entropy",
]


@ignore_underflow
def information_potential(
    X: Any,
    kernel: str | Kernel = "gaussian",
    *,
    sample_weight: Any = None,
    normalize: bool = False,
    max_pairs: float | None = 1e10,
    verbose: bool = False,
) -> float:
    """Return ``V = 1'K1 / n²``, the mean of the kernel over all pairs of points (Jenssen, eq. 10).

    Parameters
    ----------
    X : array-like of shape (n, d), or data that the kernel compares
    kernel : str or Kernel
    sample_weight : array-like of shape (n,) or None
        A weight of 2 is equivalent to two copies of a row.
    normalize : bool
        Divide by the kernel's normalizer, so that V estimates ``∫ p²``. Otherwise V is the mean of
        K itself, as in ``KernelECA.information_potential_``, and ``-log V`` differs from
        :func:`renyi_entropy` by the logarithm of the normalizer. The normalized V may overflow to
        inf or underflow to 0; the entropy does not.
    max_pairs : float or None
        Above this number of pairs V is estimated from random rows, and an
        :class:`~mercer.errors.ApproximationWarning` states its standard error. None sums all pairs.
        Kernels with few features, and Gaussian kernels in at most 3 columns, need no pairs.
    verbose : bool
        Show progress of the estimate.

    Examples
    --------
    >>> from mercer.information import information_potential
    >>> from mercer.kernels import Gaussian
    >>> round(information_potential([[0.0], [1.0]], Gaussian(1.0)), 4)
    0.8033
    """
    sample = fitted_sample(X, kernel, sample_weight)
    potential = mean_kernel(sample, max_pairs, verbose)
    return _normalized(potential, sample) if normalize else potential


def _normalized(value: float, sample: Sample) -> float:
    """Divide by the kernel's normalizer; inf or 0 on overflow or underflow."""
    log_normalizer = sample.kernel.log_normalizer(sample.points.dimension or 0)
    with np.errstate(over="ignore", divide="ignore"):
        return float(np.sign(value) * np.exp(np.log(np.abs(value)) - log_normalizer))


@ignore_underflow
def renyi_entropy(
    X: Any,
    kernel: str | Kernel = "gaussian",
    *,
    estimator: Literal["mean", "integral"] = "mean",
    sample_weight: Any = None,
    max_pairs: float | None = 1e10,
    verbose: bool = False,
) -> float:
    """Return Renyi's quadratic entropy ``-log V``, in nats.

    V is computed with the normalized kernel if the kernel is a density, and with K itself
    otherwise. So ``-log(information_potential(X, kernel))`` differs from this by the logarithm of
    the normalizer.

    Parameters
    ----------
    X : array-like of shape (n, d), or data that the kernel compares
    kernel : str or Kernel
    estimator : {"mean", "integral"}
        How the kernel is interpreted (see :mod:`mercer.information`). "integral" needs the kernel's
        self-convolution: Gaussian, Laplacian, Matern and sums of them have a closed form
        (:meth:`~mercer.kernels.Kernel.self_convolution`).
    sample_weight : array-like of shape (n,) or None
    max_pairs, verbose
        As in :func:`information_potential`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.information import renyi_entropy
    >>> X = np.random.default_rng(0).normal(size=(2000, 1))
    >>> round(renyi_entropy(X, estimator="integral"), 2)  # true value: log(2 sqrt(pi)) = 1.27
    1.29
    """
    check_choice(estimator, "estimator", ("mean", "integral"))
    sample = fitted_sample(X, kernel, sample_weight, convolve=estimator == "integral")
    potential = mean_kernel(sample, max_pairs, verbose)
    if potential <= 0:
        raise ValueError(
            f"V = 1'K1/n² is {potential:.3g}; the entropy -log V needs V > 0. Use a kernel that is "
            "positive semi-definite and not centered."
        )
    return log_normalizer(sample.kernel, sample.points) - float(np.log(potential))


@ignore_underflow
def entropy_terms(
    X: Any,
    kernel: str | Kernel = "gaussian",
    *,
    n_components: int | float | None = None,
    sample_weight: Any = None,
    solver: Any = "auto",
) -> Array:
    """Return the entropy terms ``ψ_i = λ_i (1'e_i)² / n²``, largest first; all terms sum to V.

    Parameters
    ----------
    X : array-like of shape (n, d), or data that the kernel compares
    kernel : str or Kernel
    n_components : int, float or None
        Number of terms, a fraction of V, or None for all positive eigenvalues.
    sample_weight : array-like of shape (n,) or None
    solver : str or solver

    Examples
    --------
    >>> from mercer.datasets import make_rings
    >>> from mercer.information import entropy_terms, information_potential
    >>> from mercer.kernels import Gaussian
    >>> X, _ = make_rings(random_state=0)
    >>> terms = entropy_terms(X, Gaussian(3.7))
    >>> float(round(terms.sum() / information_potential(X, Gaussian(3.7)), 10))
    1.0
    """
    sample = fitted_sample(X, kernel, sample_weight)
    return decompose(sample, "entropy", n_components, solver=solver).entropy_terms


@ignore_underflow
def feature_variance(
    X: Any,
    kernel: str | Kernel = "gaussian",
    *,
    sample_weight: Any = None,
    normalize: bool = False,
) -> float:
    """Return the total variance in feature space, ``mean k(x, x) - V`` (Paiva, eq. 17).

    It equals the sum of the eigenvalues of the centered Gram matrix divided by n.

    Parameters
    ----------
    X : array-like of shape (n, d), or data that the kernel compares
    kernel : str or Kernel
    sample_weight : array-like of shape (n,) or None
    normalize : bool
        Divide by the kernel's normalizer, as in :func:`information_potential`: in the paper the
        kernel is a density.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> from mercer.information import feature_variance
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> pca = KernelPCA(None, kernel=Gaussian(1.0)).fit(X)
    >>> variance = feature_variance(X, Gaussian(1.0))
    >>> bool(np.isclose(variance, pca.eigenvalues_.sum() / 50))
    True
    >>> normalized = feature_variance(X, Gaussian(1.0), normalize=True)
    >>> bool(np.isclose(normalized, variance / (2 * np.pi)))
    True
    """
    sample = fitted_sample(X, kernel, sample_weight)
    gram = summing_gram(sample)
    mean_norm = gram.trace / gram.total
    variance = mean_norm - gram.potential
    rounding = np.finfo(np.float64).eps * gram.total * abs(mean_norm)
    variance = 0.0 if -rounding <= variance < 0 else variance
    return _normalized(variance, sample) if normalize else variance


@ignore_underflow
def potential_gradient(
    X: Any,
    kernel: str | Kernel = "gaussian",
    *,
    sample_weight: Any = None,
    normalize: bool = False,
) -> tuple[float, Array]:
    """Return the information potential and its gradient with respect to every point.

    ``∂V/∂x_i = -2 w_i/n² Σ_j w_j (x_i - x_j)/σ² k(x_i, x_j)`` is computed in O(n) by Fourier
    features for many points in few dimensions, and in O(n²) otherwise.

    Parameters
    ----------
    X : array-like of shape (n, d)
    kernel : str or Gaussian
    sample_weight : array-like of shape (n,) or None
    normalize : bool
        Use the normalized kernel.

    Returns
    -------
    potential : float
    gradient : array of shape (n, d)

    Examples
    --------
    >>> from mercer.information import potential_gradient
    >>> from mercer.kernels import Gaussian
    >>> potential, gradient = potential_gradient([[0.0], [1.0]], Gaussian(1.0))
    >>> gradient.round(4)  # moving the points apart lowers V
    array([[ 0.3033],
           [-0.3033]])
    """
    kernel = as_kernel(kernel)
    if not isinstance(kernel, Gaussian):
        raise ValueError(f"The gradient of V needs a Gaussian kernel, not {kernel!r}.")
    points = validate_points(X, kernel)
    weights = validate_weights(sample_weight, points.n)
    kernel = fit_kernel(kernel, points, weights)
    assert isinstance(kernel, Gaussian)
    d = points.data.shape[1]
    if weights is not None:
        weights = weights / weights.max()  # squares of their sum must not overflow
    sample = Sample(kernel, points, weights)
    weights, gram = sample.normalized_weights, summing_gram(sample)
    if isinstance(gram, FourierGram):
        mean_gradient = gram.mean_gradient(points)
        potential, gradient = gram.potential, 2 * weights[:, None] * mean_gradient
    elif kernel.metric is None:
        potential, gradient = gaussian_potential(points.data, kernel.bandwidth_vector(d), weights)
    else:
        units = kernel.to_units(np.eye(d))
        potential, gradient = gaussian_potential(points.data @ units, np.ones(d), weights)
        gradient = gradient @ units.T
    if not normalize:
        return float(potential), gradient
    shift = -kernel.log_normalizer(d)
    with np.errstate(over="ignore", divide="ignore"):  # 0 * inf is nan
        size = np.exp(np.log(np.abs(gradient)) + shift)
        return float(np.exp(np.log(potential) + shift)), np.asarray(np.sign(gradient) * size)


@ignore_underflow
def diversity_gradient(
    X: Any, kernel: str | Kernel = "gaussian", *, sample_weight: Any = None
) -> tuple[float, Array]:
    r"""Return the Vendi score of order 2 and its gradient with respect to every point.

    .. math:: D = \Bigl(\frac{1}{n^2} \sum_{ij} k(x_i, x_j)^2\Bigr)^{-1}, \qquad
        \frac{\partial D}{\partial x_i} = -D^2\,
        \frac{\partial}{\partial x_i} \frac{1}{n^2} \sum_{ij} k(x_i, x_j)^2

    The square of a Gaussian kernel of bandwidth σ is one of bandwidth σ/√2, so
    :func:`potential_gradient` computes the sum. For the cosine kernel it is :math:`\|Z'Z\|_F^2/n^2`
    with unit rows Z, which costs O(n d²).

    Parameters
    ----------
    X : array-like of shape (n, d)
    kernel : str or Kernel
        Gaussian or Cosine.
    sample_weight : array-like of shape (n,) or None

    Returns
    -------
    score : float
    gradient : array of shape (n, d)

    Examples
    --------
    Move points apart:

    >>> import numpy as np
    >>> from mercer.information import diversity_gradient
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> scores = []
    >>> for _ in range(20):
    ...     score, gradient = diversity_gradient(X, Gaussian(1.0))
    ...     X = X + 0.2 * gradient
    ...     scores.append(score)
    >>> scores[-1] > 1.5 * scores[0]
    True
    """
    kernel = as_kernel(kernel)
    if isinstance(kernel, Cosine):
        return _cosine_gradient(X, sample_weight)
    if not isinstance(kernel, Gaussian):
        raise ValueError(f"The gradient needs a Gaussian or Cosine kernel, not {kernel!r}.")
    points = validate_points(X, "vectors")
    weights = validate_weights(sample_weight, points)
    fitted = fit_kernel(kernel, points, weights)
    assert isinstance(fitted, Gaussian)
    squared = fitted.with_bandwidth(np.asarray(fitted.bandwidth) / np.sqrt(2))
    square, gradient = potential_gradient(points.data, squared, sample_weight=weights)
    with np.errstate(over="ignore"):  # a derivative by length, of tiny data
        return 1 / square, -gradient / square**2


def _cosine_gradient(X: Any, sample_weight: Any) -> tuple[float, Array]:
    points = validate_points(X, "vectors")
    given = validate_weights(sample_weight, points)
    weights = np.ones(points.n) if given is None else given
    weights = weights / weights.sum()
    data = points.data.astype(np.float64, copy=False)
    norms = np.linalg.norm(data, axis=1, keepdims=True)
    if not norms.all():
        raise ValueError("The cosine kernel has no gradient at rows of zeros. Remove them.")
    Z = data / norms
    moments = (Z.T * weights) @ Z
    square = float(np.einsum("ij,ij->", moments, moments))
    ambient = 4 * weights[:, None] * (Z @ moments)
    tangent = (ambient - Z * np.einsum("ij,ij->i", Z, ambient)[:, None]) / norms
    return 1 / square, -tangent / square**2


def gaussian_potential(X: Array, bandwidths: Array, weights: Array) -> tuple[float, Array]:
    """Return the information potential and its gradient.

    The potential is ``V = Σ_ij a_i a_j k(x_i, x_j)``, with the gradient
    ``∂V/∂x_i = -2 a_i Σ_j a_j (x_i - x_j)/σ² k(x_i, x_j)``.

    ``bandwidths``: σ of each column. ``weights``: normalized weights a, with sum 1.
    """
    X = X.astype(np.float64, copy=False)
    # Differences of large numbers lose accuracy. A mean would be moved by a single outlier.
    X = X - np.median(X, axis=0)
    potential, gradient = 0.0, np.empty(X.shape)
    for rows in row_ranges(len(X), 512):
        kernel = half_squared_differences(X[rows], X, bandwidths)
        exponentials(kernel)
        kernel *= weights
        sums = kernel.sum(axis=1)
        potential += float(weights[rows] @ sums)
        differences = X[rows] * sums[:, None] - kernel @ X
        with np.errstate(over="ignore"):
            gradient[rows] = -2 * weights[rows, None] * differences / bandwidths / bandwidths
    return potential, gradient
