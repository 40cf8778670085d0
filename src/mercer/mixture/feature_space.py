r"""Parameters of a mixture in terms of the features of the training points, and its push-forward.

Notation: V the features :math:`\phi_i` of the training points as columns, with weights w,
:math:`a_{im} = w_i\, p(m|i) / n_m`.
"""

from __future__ import annotations

import numpy as np

from mercer.mixture.gaussian_mixture import GaussianMixture
from mercer.utils.types import Array
from mercer.utils.validation import check_real

__all__ = ["dual_parameters", "prior_coefficients", "prior_scale", "push_forward_counts"]

_DRAWS_PER_BLOCK = 1000


def dual_parameters(
    masses: Array, alpha: float, beta: float, prior: Array | None = None
) -> tuple[Array, Array, Array]:
    r"""Return a, B and ε with :math:`\mu_m = Va_m` and :math:`\Sigma_m = \epsilon_m I + VB_mV'`.

    ``masses``: :math:`w_i\,p(m|i)`, of shape (n, M). ``prior``: C with J = I + VCV'; None for 0.
    The shapes are (M, n), (M, n, n) and (M,).

    >>> a, B, epsilon = dual_parameters(np.array([[1.0], [1.0]]), alpha=3.0, beta=1.0)
    >>> a, B, epsilon
    (array([[0.5, 0.5]]), array([[[ 0.16666667, -0.16666667],
            [-0.16666667,  0.16666667]]]), array([1.]))
    """
    totals = masses.sum(axis=0)
    a = (masses / totals).T
    # Σ_i a_i (e_i - a)(e_i - a)' = diag(a) - aa', because the entries of a add up to 1
    B = np.array(
        [n * (np.diag(row) - np.outer(row, row)) for n, row in zip(totals, a, strict=True)]
    )
    if prior is not None:
        B += alpha * prior
    powers = totals + beta
    return a, B / powers[:, None, None], alpha / powers


def prior_coefficients(covariance_prior: float | Array, weights: Array) -> Array | None:
    """Return C of the prior J = I + VCV', of shape (n, n); None if it is 0.

    A number stands for this multiple of the covariance of the features.
    """
    if np.ndim(covariance_prior):
        return np.asarray(covariance_prior, dtype=np.float64)
    if covariance_prior == 0:
        return None
    fractions = weights / weights.sum()
    return np.asarray(covariance_prior * (np.diag(fractions) - np.outer(fractions, fractions)))


def prior_scale(covariance_prior: Array, Z: Array) -> Array:
    """Check C, given as an array, and return J = I + Z'CZ in the kernel coordinates Z."""
    C = np.asarray(covariance_prior, dtype=np.float64)
    n, r = Z.shape
    if C.shape != (n, n):
        raise ValueError(
            f"covariance_prior has shape {C.shape}; pass a number, or an array of shape ({n}, {n}) "
            "for the rows with positive weight."
        )
    scale = Z.T @ C @ Z
    size = np.abs(scale).max()
    if not np.isfinite(size) or np.abs(scale - scale.T).max() > 1e-8 * size:
        raise ValueError("covariance_prior must be symmetric and finite.")
    scale = (scale + scale.T) / 2
    smallest = float(np.linalg.eigvalsh(scale)[0])
    check_real(smallest, "smallest eigenvalue of covariance_prior", low=-1e-8 * max(size, 1.0))
    return np.asarray(np.eye(r) + scale)


def push_forward_counts(
    mixture: GaussianMixture,
    Z: Array,
    residual_products: Array,
    squared_norms: Array,
    counts: Array,
    rng: np.random.Generator,
) -> Array:
    r"""Count the draws from a mixture in feature space that are nearest to each of m points.

    The distance of a draw φ from Φ(x) is least where :math:`\langle φ, Φ(x)\rangle - k(x, x)/2` is
    largest. Only these products are drawn. In component m they have the mean :math:`Z\mu_m` and the
    covariance :math:`Z\Sigma_mZ' + \epsilon_m R`, where R (``residual_products``) are the products
    outside the coordinates Z.

    ``squared_norms``: k(x, x). ``counts``: number of draws from each component.
    """
    values, vectors = np.linalg.eigh(residual_products)
    root = vectors * np.sqrt(np.maximum(values, 0))
    found = np.zeros(len(Z), dtype=np.int64)
    for m, count in enumerate(counts):
        factor, deviation = mixture.factors[m], np.sqrt(mixture.residual_variances[m])
        for first in range(0, count, _DRAWS_PER_BLOCK):
            size = min(_DRAWS_PER_BLOCK, count - first)
            drawn = mixture.means[m] + rng.normal(size=(size, len(factor))) @ factor.T
            products = drawn @ Z.T + deviation * rng.normal(size=(size, len(Z))) @ root.T
            nearest = np.argmax(products - squared_norms / 2, axis=1)
            found += np.bincount(nearest, minlength=len(Z))
    return found
