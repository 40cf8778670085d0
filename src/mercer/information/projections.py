"""Renyi entropies of projections, and the direction of unit norm with the largest entropy."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

from mercer.data.points import validate_points, validate_weights
from mercer.gram.gram import largest_entry_signs
from mercer.information.potential import potential_gradient, renyi_entropy
from mercer.kernels import Gaussian, Kernel
from mercer.utils.types import Array
from mercer.utils.validation import check_integer

__all__ = ["maximum_entropy_direction", "projection_entropies"]


def projection_entropies(
    Z: Any,
    kernel: str | Kernel = "gaussian",
    *,
    unit_variance: bool = False,
    sample_weight: Any = None,
) -> Array:
    """Return Renyi's quadratic entropy of every column of Z, in nats.

    The entropy of a column y is that of :func:`renyi_entropy`, ``-log V`` with
    ``V = 1/n² Σ_ij k(y_i, y_j)`` and the normalized kernel.

    Parameters
    ----------
    Z : array-like of shape (n, k)
        Projections of n points, for example components of :class:`mercer.KernelPCA`.
    kernel : str or Kernel
    unit_variance : bool
        Scale every column to variance 1 first. Entropy grows with the scale.
    sample_weight : array-like of shape (n,) or None

    Examples
    --------
    The first kernel principal component has the largest entropy:

    >>> from mercer import KernelPCA
    >>> from mercer.datasets import make_two_gaussians
    >>> from mercer.information import projection_entropies
    >>> from mercer.kernels import Gaussian
    >>> X, _ = make_two_gaussians(random_state=0)
    >>> Z = KernelPCA(3, kernel=Gaussian(1.0)).fit_transform(X)
    >>> projection_entropies(Z, Gaussian(1.0)).round(2)
    array([1.15, 1.05, 1.  ])
    """
    data = validate_points(Z, "vectors").data.astype(np.float64)
    if unit_variance:
        weights = validate_weights(sample_weight, len(data))
        centered = data - np.average(data, axis=0, weights=weights)
        deviations = np.sqrt(np.average(centered**2, axis=0, weights=weights))
        if not deviations.all():
            raise ValueError(
                f"Column {int(deviations.argmin())} of Z is constant, so it cannot be scaled to "
                "variance 1. Remove it, or use unit_variance=False."
            )
        data = centered / deviations
    return np.array([renyi_entropy(y, kernel, sample_weight=sample_weight) for y in _columns(data)])


def maximum_entropy_direction(
    Z: Any,
    kernel: Gaussian,
    *,
    n_init: int = 8,
    max_iter: int = 500,
    random_state: int | None = None,
    sample_weight: Any = None,
) -> tuple[Array, float]:
    r"""Return the unit vector u for which the projection ``Z u`` has the largest entropy.

    With all components of kernel PCA as columns of Z, the directions w of norm 1 in feature space
    are ``w = Σ_i u_i w_i`` with :math:`\|u\| = 1`: the class of projections of Paiva, Xu and
    Príncipe (2006, eq. 2). Their title holds there if the entropy is evaluated with the kernel of
    the mapping, of bandwidth σ. As :math:`|y| \le 1`, up to fourth order in :math:`y / \sigma`

    .. math:: V(y) \approx \kappa(0)\,\bigl(1 - \mathrm{Var}(y) / \sigma^2\bigr),

    so the direction of largest variance, the first component, has nearly the largest entropy. With
    smaller bandwidths the direction of maximal entropy differs.

    Parameters
    ----------
    Z : array-like of shape (n, k)
        Coordinates of the points. For points of a vector space, u is a line.
    kernel : Gaussian
        With a number as bandwidth, for the evaluation of the entropy.
    n_init : int
        Number of starts of L-BFGS: the first columns, up to three, then random directions. The best
        result is returned; a larger maximum may exist.
    max_iter : int
        Iterations of each start.
    random_state : int or None
    sample_weight : array-like of shape (n,) or None

    Returns
    -------
    u : array of shape (k,)
        Of norm 1, with the sign for which the largest entry of ``Z u`` is positive.
    entropy : float
        In nats, with the normalized kernel.

    Examples
    --------
    >>> from mercer import KernelPCA
    >>> from mercer.datasets import make_two_gaussians
    >>> from mercer.information import maximum_entropy_direction, projection_entropies
    >>> from mercer.kernels import Gaussian
    >>> X, _ = make_two_gaussians(random_state=0)
    >>> Z = KernelPCA(20, kernel=Gaussian(1.0)).fit_transform(X)
    >>> u, entropy = maximum_entropy_direction(Z, Gaussian(1.0), random_state=0)
    >>> bool(u[0] > 0.999), bool(entropy - projection_entropies(Z, Gaussian(1.0))[0] < 1e-4)
    (True, True)
    """
    if not isinstance(kernel, Gaussian) or not isinstance(kernel.bandwidth, int | float):
        raise ValueError(f"kernel={kernel!r} must be a Gaussian with a number as bandwidth.")
    check_integer(n_init, "n_init")
    check_integer(max_iter, "max_iter")
    data = validate_points(Z, "vectors").data.astype(np.float64)
    weights = validate_weights(sample_weight, len(data))
    rng = np.random.default_rng(random_state)
    k = data.shape[1]
    starts = [*np.eye(k)[:3], *rng.standard_normal((n_init, k))][:n_init]

    def objective(v: Array) -> tuple[float, Array]:
        """Return log V of the projection on v/|v|, and its gradient with respect to v."""
        length = np.linalg.norm(v)
        u = v / length
        potential, slope = potential_gradient(
            (data @ u)[:, None], kernel, sample_weight=weights, normalize=True
        )
        gradient = data.T @ slope[:, 0] / potential
        return float(np.log(potential)), (gradient - u * (u @ gradient)) / length

    found = [
        minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": max_iter})
        for start in starts
    ]
    best = min(found, key=lambda result: float(result.fun))
    u = best.x / np.linalg.norm(best.x)
    u = u * largest_entry_signs((data @ u)[:, None])
    return np.asarray(u), -float(best.fun)


def _columns(Z: Array) -> list[Array]:
    return [Z[:, [i]] for i in range(Z.shape[1])]
