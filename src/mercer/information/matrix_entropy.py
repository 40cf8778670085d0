"""Matrix-based Renyi entropy and the Vendi score, from eigenvalues of K/n."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.eigen.decompose import decompose
from mercer.errors import ApproximationWarning, warn
from mercer.information.entropy import spectral_entropy_bounds
from mercer.information.entropy_routes import MatrixEntropies
from mercer.information.samples import clip_negative, fitted_sample, require_unit_diagonal
from mercer.kernels import Kernel
from mercer.utils.estimators import ignore_underflow

__all__ = ["matrix_renyi_bounds", "matrix_renyi_entropy", "vendi_score"]


@ignore_underflow
def matrix_renyi_entropy(
    X: Any,
    kernel: str | Kernel = "gaussian",
    alpha: float = 2.0,
    bounds: bool = False,
    *,
    sample_weight: Any = None,
    solver: Any = "auto",
    tol: float = 0.01,
    probability: float = 1 - 1e-6,
    random_state: int | None = 0,
) -> Any:
    r"""Return the matrix-based Renyi entropy of order α, in nats, from the eigenvalues of K/n.

    .. math:: S_\alpha = \frac{1}{1 - \alpha} \log \sum_i p_i^\alpha, \qquad
        p_i = \lambda_i / n

    with the limits :math:`-\sum p_i \log p_i` at α = 1, ``log rank`` at 0 and
    :math:`-\log p_1` at infinity. The p_i add up to 1 because k(x, x) = 1. The entropy lies
    between 0 (equal points) and log n (isolated points).

    The route depends on the kernel and the size:

    ==================================================  ============================================
    α = 2                                               sum of squared kernel values, O(n) for a
                                                        Gaussian kernel in at most 3 columns
    kernel with m < n/2 exact features (cosine)         all eigenvalues of an m × m matrix
    at most 4000 rows                                   all eigenvalues of K
    Gaussian or Matérn kernel in at most 3 columns      eigenvalues of Fourier features
    at most 30,000 rows                                 Lanczos quadrature, see
                                                        ``mercer.information.trace_quadrature``
    more rows, Dask collections                         eigenvalues of 1000 landmarks
    ==================================================  ============================================

    Parameters
    ----------
    X : array-like of shape (n, d), Dask array, or data that the kernel compares
    kernel : str or Kernel
        With k(x, x) = 1.
    alpha : float
        α ≥ 0.
    bounds : bool
        Return the value with two-sided numerical bounds.
    sample_weight : array-like of shape (n,) or None
    solver : {"auto", "dense", "lanczos", "fourier", "nystrom"} or solver
        "lanczos" chooses the quadrature at any size.
    tol : float
        Bounds of the quadrature are tightened until ``exp(upper - lower) ≤ 1 + tol``, or up to 160
        random vectors; ``converged`` reports which.
    probability : float
        With which bounds of the quadrature hold. All others are deterministic.
    random_state : int or None
        Seed of the quadrature.

    Returns
    -------
    float or EntropyBounds
        With ``bounds=False`` a value from landmarks or quadrature is the middle of its bounds or an
        unbiased estimate; an :class:`~mercer.errors.ApproximationWarning` reports bounds wider than
        ``tol``.

    References
    ----------
    .. [1] L. Sanchez Giraldo, M. Rao, J. Príncipe, "Measures of entropy from data using infinitely
       divisible kernels", IEEE Transactions on Information Theory 61(1):535-548, 2015.
    .. [2] G. Golub, G. Meurant, "Matrices, Moments and Quadrature with Applications", 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.information import matrix_renyi_entropy
    >>> from mercer.kernels import Gaussian
    >>> far_apart = [[0.0], [100.0], [200.0]]
    >>> round(np.exp(matrix_renyi_entropy(far_apart, Gaussian(1.0))), 6)
    np.float64(3.0)

    Bounds without eigenvalues:

    >>> X = np.random.default_rng(0).normal(size=(1000, 20))
    >>> found = matrix_renyi_entropy(X, Gaussian(4.0), 1.0, bounds=True, solver="lanczos")
    >>> exact = matrix_renyi_entropy(X, Gaussian(4.0), 1.0, solver="dense")
    >>> bool(found.lower <= exact <= found.upper), found.deterministic, found.probability
    (True, False, 0.999999)
    """
    _check_order("alpha", alpha)
    sample = fitted_sample(X, kernel, sample_weight)
    found = MatrixEntropies(
        sample, solver=solver, tol=tol, probability=probability, random_state=random_state
    ).of_order(alpha)
    if bounds:
        return found
    if not found.converged and alpha != 0:
        warn(
            f"The entropy of order {alpha:g} is known only to lie between {found.lower:.4g} and "
            f"{found.upper:.4g} ({found.route}), more than tol={tol:g} allows. Use bounds=True, or "
            "solver='dense' for an exact value.",
            ApproximationWarning,
        )
    return found.value


@ignore_underflow
def vendi_score(
    X: Any,
    kernel: str | Kernel = "gaussian",
    q: float = 1.0,
    bounds: bool = False,
    **options: Any,
) -> Any:
    """Return the Vendi score of order q: the effective number of distinct points, ``exp S_q``.

    It is 1 if all points are equal, and n if k(x, y) = 0 for all pairs. Order 2 is the RKE score.

    Parameters
    ----------
    X, kernel
        As in :func:`matrix_renyi_entropy`.
    q : float
        Order of the entropy, at least 0.
    bounds : bool
        Return the score with two-sided numerical bounds.
    **options
        ``sample_weight``, ``solver``, ``tol``, ``probability`` and ``random_state`` of
        :func:`matrix_renyi_entropy`.

    Returns
    -------
    float or EntropyBounds

    References
    ----------
    .. [1] D. Friedman, A. Dieng, "The Vendi score: a diversity evaluation metric for machine
       learning", TMLR 2023.
    .. [2] M. Jalali, C. T. Li, F. Farnia, "An information-theoretic evaluation of generative models
       in learning multi-modal distributions", NeurIPS 2023.

    Examples
    --------
    >>> from mercer.information import vendi_score
    >>> from mercer.kernels import Gaussian
    >>> round(vendi_score([[0.0], [0.0], [100.0], [100.0]], Gaussian(1.0)), 6)
    2.0
    """
    _check_order("q", q)
    found = matrix_renyi_entropy(X, kernel, q, bounds, **options)
    return found.exp() if bounds else float(np.exp(found))


@ignore_underflow
def matrix_renyi_bounds(
    X: Any,
    kernel: str | Kernel = "gaussian",
    alpha: float = 2.0,
    *,
    n_components: int = 50,
    sample_weight: Any = None,
    solver: Any = "auto",
) -> tuple[float, float]:
    """Return bounds on the matrix-based Renyi entropy, from leading eigenvalues alone.

    The rest of the trace is distributed over the other eigenvalues in the two extreme ways: over as
    few of them as possible, or equally. ``matrix_renyi_entropy(bounds=True)`` is tighter.

    Parameters
    ----------
    X, kernel, alpha, sample_weight
        As in :func:`matrix_renyi_entropy`.
    n_components : int
        Number of eigenvalues to compute.
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
    sample = fitted_sample(X, kernel, sample_weight)
    require_unit_diagonal(sample)
    spectrum = decompose(sample, "variance", n_components, solver=solver, at_most=True)
    low, high = spectral_entropy_bounds(
        spectrum.operator_eigenvalues,
        sample.points.n - spectrum.n_components,
        alpha,
        exact=spectrum.error_bound == 0,
    )
    return clip_negative(low), clip_negative(high)


def _check_order(name: str, value: float) -> None:
    if not value >= 0:
        raise ValueError(f"{name}={value!r} must be at least 0 (1: Shannon, inf: min-entropy).")
