"""Matrix-based Renyi entropy and the Vendi score, from eigenvalues of K/n."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.decompose import decompose
from mercer.information.samples import clip_negative, fitted_sample
from mercer.kernels import Gaussian, Kernel
from mercer.maths.entropy import spectral_entropy, spectral_entropy_bounds
from mercer.operators import Sample
from mercer.solvers import as_solver, summing_gram

__all__ = ["matrix_renyi_bounds", "matrix_renyi_entropy", "vendi_score"]

_UNIT_TOLERANCE = 1e-6  # of k(x, x) = 1


@np.errstate(under="ignore")
def matrix_renyi_entropy(
    X: Any, kernel: str | Kernel = "gaussian", alpha: float = 2.0, *, sample_weight: Any = None
) -> float:
    r"""Return the matrix-based Renyi entropy of order α, in nats, from all eigenvalues of K/n.

    .. math:: S_\alpha = \frac{1}{1 - \alpha} \log \sum_i p_i^\alpha, \qquad
        p_i = \lambda_i / n

    with the limits :math:`-\sum p_i \log p_i` at α = 1, ``log rank`` at 0 and
    :math:`-\log p_1` at infinity. The p_i add up to 1 because k(x, x) = 1. The entropy lies
    between 0 (equal points) and log n (isolated points).

    Parameters
    ----------
    X : array-like of shape (n, d), or data that the kernel compares
    kernel : str or Kernel
        With k(x, x) = 1.
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
    sample = fitted_sample(X, kernel, sample_weight)
    _require_unit_diagonal(sample)
    if alpha == 2:
        return clip_negative(-np.log(_mean_square(sample)))
    problem = as_solver("dense").gram(sample).problem()
    values = np.linalg.eigvalsh(problem.dense()).astype(np.float64)
    positive = np.where(values > problem.numerical_zero(values[-1]), values, 0.0)
    return clip_negative(spectral_entropy(positive / positive.sum(), alpha))


@np.errstate(under="ignore")
def vendi_score(
    X: Any, kernel: str | Kernel = "gaussian", q: float = 1.0, *, sample_weight: Any = None
) -> float:
    """Return the Vendi score of order q: the effective number of distinct points, ``exp S_q``.

    It is 1 if all points are equal, and n if k(x, y) = 0 for all pairs. See
    :func:`matrix_renyi_entropy` for the entropy S_q of order q and for the parameters.

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


@np.errstate(under="ignore")
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
    few of them as possible, or equally. Use it for samples too large for
    :func:`matrix_renyi_entropy`.

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
    _require_unit_diagonal(sample)
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


def _require_unit_diagonal(sample: Sample) -> None:
    if sample.matrix is None:
        diagonal = sample.kernel.diagonal(sample.points.data)
    else:
        diagonal = sample.matrix.diagonal()
    low, high = float(diagonal.min()), float(diagonal.max())
    if max(abs(low - 1), abs(high - 1)) > _UNIT_TOLERANCE:
        raise ValueError(
            f"k(x, x) must be 1 for every point; {sample.kernel!r} gives values from {low:.6g} to "
            f"{high:.6g}. Use a kernel such as Gaussian or Cosine, or pass the matrix "
            "K / √(diag K diag K') with kernel='precomputed'."
        )


def _mean_square(sample: Sample) -> float:
    """Return ``‖K‖_F² / n²``, the information potential of the squared kernel."""
    kernel: Kernel = sample.kernel
    if sample.matrix is not None:
        weights = sample.normalized_weights
        return float(weights @ (sample.matrix.astype(np.float64) ** 2 @ weights))
    if isinstance(kernel, Gaussian):  # its square is a Gaussian, which can be summed in O(n)
        squared: Kernel = kernel.with_bandwidth(np.asarray(kernel.bandwidth) / np.sqrt(2))
    else:
        squared = kernel * kernel
    return summing_gram(replace(sample, kernel=squared)).potential
