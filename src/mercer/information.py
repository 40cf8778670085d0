"""Information potential, Renyi entropy and divergence of samples, from sums over a kernel.

Two readings of the kernel are offered. With ``estimator="mean"`` (Jenssen) the kernel is the Parzen
window and V is the mean density at the sample. With ``estimator="integral"`` (Girolami, Paiva) the
kernel is the Parzen window p̂ is built with and V is ``∫ p̂²``, a sum over the window convolved with
itself: for a Gaussian of bandwidth h, one of bandwidth √2 h.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from mercer.bandwidth import resolve
from mercer.data import Points, concatenate_points, validate_points, validate_weights
from mercer.decompose import decompose
from mercer.errors import ApproximationWarning, warn
from mercer.kernels import Gaussian, Kernel, as_kernel
from mercer.maths.entropy import spectral_entropy, spectral_entropy_bounds
from mercer.maths.information_potential import gaussian_potential
from mercer.maths.types import Array
from mercer.operators import FourierGram, GramOperator, Sample
from mercer.operators.tiled import cross_product
from mercer.solvers import as_solver, summing_gram

__all__ = [
    "cauchy_schwarz_divergence",
    "entropy_terms",
    "feature_variance",
    "information_potential",
    "log_normalizer",
    "matrix_renyi_bounds",
    "matrix_renyi_entropy",
    "potential_gradient",
    "renyi_entropy",
    "vendi_score",
]


_UNIT = 1e-6  # how far k(x, x) may be from 1


def information_potential(
    X: Any,
    kernel: str | Kernel = "gaussian",
    *,
    sample_weight: Any = None,
    normalize: bool = False,
) -> float:
    """``V = 1'K1 / n²``, the mean of the kernel over all pairs of points (Jenssen, eq. 10).

    Parameters
    ----------
    X : array-like of shape (n, d), or what the kernel compares
    kernel : str or Kernel
    sample_weight : array-like of shape (n,) or None
        How often each row counts.
    normalize : bool
        Divide by the kernel's normaliser, so that V estimates ``∫ p²``. Without it V is that of K
        as it is, as in ``KernelECA.information_potential_``, and ``-log V`` differs from
        :func:`renyi_entropy` by the logarithm of the normaliser. (inf or 0 where no number can hold
        it; the entropy is right there too.)

    Examples
    --------
    >>> from mercer.information import information_potential
    >>> from mercer.kernels import Gaussian
    >>> round(information_potential([[0.0], [1.0]], Gaussian(1.0)), 4)
    0.8033
    """
    sample = _sample(X, kernel, sample_weight)
    potential = _operator(sample).potential
    if not normalize:
        return potential
    dimension = sample.points.dimension or 0
    with np.errstate(over="ignore"):
        return float(np.exp(np.log(potential) - sample.kernel.log_normalizer(dimension)))


def renyi_entropy(
    X: Any,
    kernel: str | Kernel = "gaussian",
    *,
    estimator: Literal["mean", "integral"] = "mean",
    sample_weight: Any = None,
) -> float:
    """Renyi's quadratic entropy ``-log V``, in nats.

    V is that of the normalised window where the kernel is a density window, and of K as it is
    otherwise. So ``-log(information_potential(X, kernel))`` differs from this by the logarithm of
    the normaliser.

    Parameters
    ----------
    X : array-like of shape (n, d), or what the kernel compares
    kernel : str or Kernel
    estimator : {"mean", "integral"}
        Which reading of the kernel (see the module's text); "integral" needs a Gaussian.
    sample_weight : array-like of shape (n,) or None

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.information import renyi_entropy
    >>> X = np.random.default_rng(0).normal(size=(2000, 1))
    >>> round(renyi_entropy(X, estimator="integral"), 2)  # true value: log(2 sqrt(pi)) = 1.27
    1.29
    """
    if estimator not in ("mean", "integral"):
        raise ValueError(f"estimator={estimator!r} must be 'mean' or 'integral'.")
    sample = _sample(X, kernel, sample_weight, widen=estimator == "integral")
    potential = _operator(sample).potential
    if potential <= 0:
        raise ValueError(
            f"V = 1'K1/n² is {potential:.3g}; the entropy -log V needs V > 0. Is the kernel "
            "centred, or indefinite?"
        )
    return float(log_normalizer(sample.kernel, sample.points) - np.log(potential))


def entropy_terms(
    X: Any,
    kernel: str | Kernel = "gaussian",
    *,
    n_components: int | float | None = None,
    sample_weight: Any = None,
    solver: Any = "auto",
) -> Array:
    """Entropy terms ``ψ_i = λ_i (1'e_i)² / n²``, largest first; all of them add up to V.

    Parameters
    ----------
    X : array-like of shape (n, d), or what the kernel compares
    kernel : str or Kernel
    n_components : int, float or None
        How many, which fraction of V, or None for every positive eigenvalue.
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
    sample = _sample(X, kernel, sample_weight)
    return decompose(sample, "entropy", n_components, solver=solver).entropy_terms


def cauchy_schwarz_divergence(
    X: Any,
    Y: Any,
    kernel: str | Kernel = "gaussian",
    *,
    sample_weight: tuple[Any, Any] = (None, None),
) -> float:
    """``-log cos`` of the angle between the mean embeddings of two samples (Jenssen, eqs. 26-27).

    0 if and only if the two Parzen densities are proportional; infinite where no kernel reaches
    from one sample to the other. A bandwidth rule sees both samples together.

    Parameters
    ----------
    X, Y : array-likes with the same columns
    kernel : str or Kernel
    sample_weight : pair of array-likes or None

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.information import cauchy_schwarz_divergence
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(500, 1))
    >>> apart = [cauchy_schwarz_divergence(X, X + shift, Gaussian(0.5)) for shift in (0, 1, 2)]
    >>> np.round(apart, 2).tolist()
    [0.0, 0.23, 0.89]
    """
    if not isinstance(sample_weight, tuple | list) or len(sample_weight) != 2:
        raise ValueError("sample_weight must be a pair: weights (or None) of X and of Y.")
    kernel = as_kernel(kernel)
    if kernel.compares == "gram":
        raise ValueError("A precomputed kernel cannot compare two samples; pass a kernel object.")
    both = [validate_points(Z, kernel.compares) for Z in (X, Y)]
    if both[0].dimension != both[1].dimension:
        raise ValueError(
            f"X has {both[0].dimension} columns and Y has {both[1].dimension}; both samples must "
            "live in the same space."
        )
    weights = [validate_weights(w, p.n) for w, p in zip(sample_weight, both, strict=True)]
    kernel = _resolved_on_both(kernel, both, weights)
    samples = [Sample.of(kernel, p, w) for p, w in zip(both, weights, strict=True)]
    grams = [_operator(sample, _common_box(samples)) for sample in samples]
    within = [gram.potential for gram in grams]
    if min(within) <= 0:
        raise ValueError(
            f"V = 1'K1/n² of a sample is {min(within):.3g}; the angle between mean embeddings "
            "needs V > 0. Use a positive semi-definite kernel."
        )
    between = _between(samples, grams)
    if between <= 0:
        return float("inf")
    return float(0.5 * np.log(within[0]) + 0.5 * np.log(within[1]) - np.log(between))


def feature_variance(
    X: Any, kernel: str | Kernel = "gaussian", *, sample_weight: Any = None
) -> float:
    """Total variance in feature space, ``mean k(x, x) - V`` (Paiva, eq. 17).

    It equals the sum of the centred Gram matrix's eigenvalues divided by n.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> from mercer.information import feature_variance
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> pca = KernelPCA(None, kernel=Gaussian(1.0)).fit(X)
    >>> bool(np.isclose(feature_variance(X, Gaussian(1.0)), pca.eigenvalues_.sum() / 50))
    True
    """
    gram = _operator(_sample(X, kernel, sample_weight))
    return gram.trace / gram.total - gram.potential


def matrix_renyi_entropy(
    X: Any, kernel: str | Kernel = "gaussian", alpha: float = 2.0, *, sample_weight: Any = None
) -> float:
    r"""Matrix-based Renyi entropy of order α, in nats, from all eigenvalues of K/n.

    .. math:: S_\alpha = \frac{1}{1 - \alpha} \log \sum_i p_i^\alpha, \qquad
        p_i = \lambda_i / n

    with the limits :math:`-\sum p_i \log p_i` at α = 1, ``log rank`` at 0 and
    :math:`-\log p_1` at infinity. As k(x, x) = 1 the p_i add up to 1. It lies between 0 (equal
    points) and log n (points without neighbours).

    Parameters
    ----------
    X : array-like of shape (n, d), or what the kernel compares
    kernel : str or Kernel
        With k(x, x) = 1; others are refused.
    alpha : float
        α ≥ 0. α = 2 needs no eigenvalues: :math:`\sum p_i^2 = \|K\|_F^2/n^2`, which for a
        Gaussian kernel in few dimensions costs O(n).
    sample_weight : array-like of shape (n,) or None

    References
    ----------
    .. [1] L. Sanchez Giraldo, M. Rao, J. Príncipe, "Measures of entropy from data using infinitely
       divisible kernels", IEEE Transactions on Information Theory 61(1):535-548, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.information import matrix_renyi_entropy
    >>> from mercer.kernels import Gaussian
    >>> far_apart = [[0.0], [100.0], [200.0]]
    >>> round(np.exp(matrix_renyi_entropy(far_apart, Gaussian(1.0))), 6)
    np.float64(3.0)
    """
    _check_order("alpha", alpha)
    sample = _sample(X, kernel, sample_weight)
    _require_unit_diagonal(sample)
    if alpha == 2:
        return -float(np.log(_mean_square(sample)))
    problem = as_solver("dense").gram(sample).problem()
    values = np.linalg.eigvalsh(problem.dense()).astype(np.float64)
    shares = np.where(values > problem.zero(values[-1]), values, 0.0)
    return spectral_entropy(shares / shares.sum(), alpha)


def vendi_score(
    X: Any, kernel: str | Kernel = "gaussian", q: float = 1.0, *, sample_weight: Any = None
) -> float:
    """Vendi score of order q: the effective number of different points, ``exp S_q``.

    1 where all points are equal, n where none has anything in common with another; see
    :func:`matrix_renyi_entropy`, of order q, for S_q and for the parameters.

    References
    ----------
    .. [1] D. Friedman, A. Dieng, "The Vendi score: a diversity evaluation metric for machine
       learning", TMLR 2023.

    Examples
    --------
    >>> from mercer.information import vendi_score
    >>> from mercer.kernels import Gaussian
    >>> round(vendi_score([[0.0], [0.0], [100.0], [100.0]], Gaussian(1.0)), 6)
    2.0
    """
    _check_order("q", q)
    return float(np.exp(matrix_renyi_entropy(X, kernel, q, sample_weight=sample_weight)))


def matrix_renyi_bounds(
    X: Any,
    kernel: str | Kernel = "gaussian",
    alpha: float = 2.0,
    *,
    n_components: int = 50,
    sample_weight: Any = None,
    solver: Any = "auto",
) -> tuple[float, float]:
    """Bounds on the matrix-based Renyi entropy from the leading eigenvalues alone.

    What the leading eigenvalues leave of the trace is shared out among the others in the two
    extreme ways: as few as possible of them, or all alike. For samples too large for
    :func:`matrix_renyi_entropy`.

    Parameters
    ----------
    X, kernel, alpha, sample_weight
        As in :func:`matrix_renyi_entropy`.
    n_components : int
        How many eigenvalues to compute.
    solver : str or solver

    Returns
    -------
    low, high : float

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.information import matrix_renyi_bounds, matrix_renyi_entropy
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> low, high = matrix_renyi_bounds(X, Gaussian(1.0), n_components=10)
    >>> low <= matrix_renyi_entropy(X, Gaussian(1.0)) <= high
    True
    """
    _check_order("alpha", alpha)
    sample = _sample(X, kernel, sample_weight)
    _require_unit_diagonal(sample)
    spectrum = decompose(sample, "variance", n_components, solver=solver, at_most=True)
    return spectral_entropy_bounds(
        spectrum.operator_eigenvalues,
        sample.points.n - spectrum.n_components,
        alpha,
        exact=spectrum.error_bound == 0,
    )


def potential_gradient(
    X: Any,
    kernel: str | Kernel = "gaussian",
    *,
    sample_weight: Any = None,
    normalize: bool = False,
) -> tuple[float, Array]:
    """Information potential and its gradient with respect to every point, Gaussian kernel.

    ``∂V/∂x_i = -2 w_i/n² Σ_j w_j (x_i - x_j)/σ² k(x_i, x_j)``: by plane waves in O(n) for many
    points in few dimensions, pair by pair otherwise.

    Parameters
    ----------
    X : array-like of shape (n, d)
    kernel : str or Gaussian
    sample_weight : array-like of shape (n,) or None
    normalize : bool
        Of the normalised window.

    Returns
    -------
    potential : float
    gradient : array of shape (n, d)

    Examples
    --------
    >>> from mercer.information import potential_gradient
    >>> from mercer.kernels import Gaussian
    >>> potential, gradient = potential_gradient([[0.0], [1.0]], Gaussian(1.0))
    >>> gradient.round(4)  # points move apart to lower V
    array([[ 0.3033],
           [-0.3033]])
    """
    kernel = as_kernel(kernel)
    if not isinstance(kernel, Gaussian):
        raise ValueError(f"The gradient of V is known for a Gaussian kernel, not for {kernel!r}.")
    points = validate_points(X, kernel.compares)
    weights = validate_weights(sample_weight, points.n)
    kernel = resolve(kernel, points, weights)
    assert isinstance(kernel, Gaussian)
    d = points.data.shape[1]
    sample = Sample(kernel, points, weights)
    shares, gram = sample.shares, summing_gram(sample)
    if isinstance(gram, FourierGram):
        slope = gram.mean_gradient(points)
        potential, gradient = gram.potential, 2 * shares[:, None] * slope
    else:
        potential, gradient = gaussian_potential(points.data, kernel.bandwidth_vector(d), shares)
    if not normalize:
        return float(potential), gradient
    shift = -kernel.log_normalizer(d)
    with np.errstate(over="ignore", divide="ignore"):  # a product of 0 and infinity is no number
        size = np.exp(np.log(np.abs(gradient)) + shift)
        return float(np.exp(np.log(potential) + shift)), np.asarray(np.sign(gradient) * size)


def log_normalizer(kernel: Kernel, points: Points) -> float:
    """Logarithm of the normaliser on these points' space; 0 where the kernel has none.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.information import log_normalizer
    >>> from mercer.kernels import Gaussian, Linear
    >>> from mercer.data import validate_points
    >>> points = validate_points(np.zeros((3, 2)), "vectors")
    >>> round(log_normalizer(Gaussian(1.0), points), 4), log_normalizer(Linear(), points)
    (1.8379, 0.0)
    """
    if points.dimension is None or not kernel.is_window:
        return 0.0
    return kernel.log_normalizer(points.dimension)


def _check_order(name: str, value: float) -> None:
    if not value >= 0:
        raise ValueError(f"{name}={value!r} must be at least 0 (1 is Shannon's, inf the smallest).")


def _require_unit_diagonal(sample: Sample) -> None:
    if sample.matrix is None:
        diagonal = sample.kernel.diagonal(sample.points.data)
    else:
        diagonal = sample.matrix.diagonal()
    low, high = float(diagonal.min()), float(diagonal.max())
    if max(abs(low - 1), abs(high - 1)) > _UNIT:
        raise ValueError(
            f"k(x, x) must be 1 for every point; {sample.kernel!r} gives values from {low:.6g} to "
            f"{high:.6g}. Use a kernel such as Gaussian or Cosine, or pass the matrix "
            "K / √(diag K diag K') with kernel='precomputed'."
        )


def _mean_square(sample: Sample) -> float:
    """``‖K‖_F² / n²``: the potential of the squared kernel."""
    kernel: Kernel = sample.kernel
    if sample.matrix is not None:
        shares = sample.shares
        return float(shares @ (sample.matrix.astype(np.float64) ** 2 @ shares))
    if isinstance(kernel, Gaussian):  # its square is a Gaussian, which plane waves can sum
        squared: Kernel = Gaussian(np.asarray(kernel.bandwidth) / np.sqrt(2))
    else:
        squared = kernel * kernel
    return _operator(Sample(squared, sample.points, sample.weights)).potential


def _sample(X: Any, kernel: str | Kernel, sample_weight: Any, widen: bool = False) -> Sample:
    kernel = as_kernel(kernel)
    points = validate_points(X, kernel.compares)
    weights = validate_weights(sample_weight, points.n)
    kernel = resolve(kernel, points, weights)
    return Sample.of(kernel.self_convolution() if widen else kernel, points, weights)


def _operator(sample: Sample, box: tuple[Array, Array] | None = None) -> GramOperator:
    return summing_gram(sample, box)


def _common_box(samples: list[Sample]) -> tuple[Array, Array] | None:
    """Lowest and highest coordinates of all samples, where there are coordinates."""
    if samples[0].points.kind != "vectors":
        return None
    low = np.min([sample.points.data.min(axis=0) for sample in samples], axis=0)
    high = np.max([sample.points.data.max(axis=0) for sample in samples], axis=0)
    return low, high


# A mean of plane waves this far above its error is right to three digits; below, pairs are summed
# one by one as long as there are not too many.
_FAR_ABOVE_NOISE = 1e3
_PAIRS_WORTH_SUMMING = 10**10


def _between(samples: list[Sample], grams: list[GramOperator]) -> float:
    """Mean of the kernel over pairs of points from either sample."""
    first, second = grams
    if isinstance(first, FourierGram) and isinstance(second, FourierGram):
        between = float(first.mean_vector @ second.mean_vector)
        noise = first.grid.entry_error
        if between > _FAR_ABOVE_NOISE * noise:
            return between
        if samples[0].points.n * samples[1].points.n > _PAIRS_WORTH_SUMMING:
            warn(
                f"The samples hardly reach each other: the mean of the kernel between them is "
                f"{between:.1e}, known to {noise:.0e} only, so the divergence is uncertain; it is "
                "at least what is returned. Use a larger bandwidth.",
                ApproximationWarning,
            )
            return max(between, noise)
    shares = [sample.shares for sample in samples]
    left, right = (sample.points for sample in samples)
    sums = cross_product(samples[0].kernel, left, right, shares[1][:, None])
    return float(shares[0] @ sums[:, 0])


def _resolved_on_both(kernel: Kernel, both: list[Points], weights: list[Array | None]) -> Kernel:
    union = concatenate_points(both)
    if all(w is None for w in weights):
        return resolve(kernel, union)
    filled = [np.ones(p.n) if w is None else w for p, w in zip(both, weights, strict=True)]
    return resolve(kernel, union, np.concatenate(filled))
