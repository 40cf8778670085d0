r"""Gaussian mixtures in kernel coordinates, by MAP EM (Macready 2003).

Dictionary: z = √λ e the kernel coordinates of a point (rank r), :math:`a_{im} = w_i\,p(m|i)`
weighted responsibilities, :math:`n_m = \sum_i a_{im}`,
:math:`S_m = \sum_i a_{im} (z_i - \mu_m)(z_i - \mu_m)'`, α and β the inverse-Wishart prior
:math:`p(\Sigma) \propto |\Sigma|^{-\beta/2} e^{-\alpha\,\mathrm{tr}\,\Sigma^{-1}/2}`. The paper's
kernelised updates (7) to (9) are, in these coordinates,

.. math:: \rho_m = n_m / n, \quad \mu_m = \sum_i a_{im} z_i / n_m, \quad
          \Sigma_m = (S_m + \alpha I) / (n_m + \beta).

Directions of feature space that no training point reaches have the variance
:math:`\varepsilon_m = \alpha / (n_m + \beta)`: for any point x they add
:math:`(k(x, x) - |z|^2) / \varepsilon_m` to the squared distance. The determinant is that of the r
coordinates (:math:`d_F = r`): counting unused directions would multiply in
:math:`\varepsilon_m^{-1/2}` for each, a factor that only the larger component profits from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import log, pi

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dtrtri
from scipy.special import logsumexp

from mercer.chunks import fingerprint, mapped, summed
from mercer.maths.types import Array

__all__ = [
    "Mixture",
    "MixtureFit",
    "expectation",
    "fit_mixture",
    "log_components",
    "maximization",
    "weighted_scatter",
]

_ROWS = 4096
_NOTHING = 1e-200  # a component of less weight than this keeps the parameters that it had


@dataclass(frozen=True)
class Mixture:
    """Parameters of M Gaussians.

    Attributes
    ----------
    log_weights : array of shape (M,)
        log ρ.
    means : array of shape (M, r)
    factors : array of shape (M, r, r)
        Lower Cholesky factors of the covariances.
    residual_variances : array of shape (M,)
        ε, the variance outside the coordinates.
    """

    log_weights: Array
    means: Array
    factors: Array
    residual_variances: Array

    @property
    def n_components(self) -> int:
        """M."""
        return len(self.log_weights)


@dataclass(frozen=True)
class MixtureFit:
    """What a run of EM gave.

    Attributes
    ----------
    mixture : Mixture
    responsibilities : array of shape (n, M)
        Of the mixture, p(m | z_i).
    lower_bounds : array of shape (iterations,)
        Penalised log-likelihood after each M step: never falls.
    converged : bool
    """

    mixture: Mixture
    responsibilities: Array
    lower_bounds: Array
    converged: bool

    @property
    def bound(self) -> float:
        """The last of the lower bounds."""
        return float(self.lower_bounds[-1])


def weighted_scatter(Z: Array, masses: Array, mean: Array) -> Array:
    """``Σ_i a_i (z_i - μ)(z_i - μ)'``, without a second copy of Z."""
    scatter = np.zeros((Z.shape[1], Z.shape[1]))
    for rows in _blocks(len(Z)):
        part = (Z[rows] - mean) * np.sqrt(masses[rows])[:, None]
        scatter += part.T @ part
    return scatter


@dataclass(frozen=True)
class _Totals:
    """What an M step needs of rows with responsibilities; totals of pieces add up.

    Attributes
    ----------
    masses : array of shape (M,)
        n_m.
    means : array of shape (M, r)
    scatters : array of shape (M, r, r)
        S_m.
    likelihood : float
        ``Σ_i w_i log p(z_i)`` where responsibilities are those of a mixture.
    seen : tuple
        Fingerprints of the responsibilities.
    """

    masses: Array
    means: Array
    scatters: Array
    likelihood: float
    seen: tuple[bytes, ...]

    @classmethod
    def of(
        cls, Z: Array, weights: Array, responsibilities: Array, likelihood: float = 0.0
    ) -> _Totals:
        """Totals of one piece."""
        M, r = responsibilities.shape[1], Z.shape[1]
        masses = weights[:, None] * responsibilities
        totals = masses.sum(axis=0)
        means, scatters = np.empty((M, r)), np.empty((M, r, r))
        for m in range(M):
            means[m] = masses[:, m] @ Z / max(totals[m], _NOTHING)
            scatters[m] = weighted_scatter(Z, masses[:, m], means[m])
        return cls(totals, means, scatters, likelihood, fingerprint(responsibilities))

    def __add__(self, other: _Totals) -> _Totals:
        """Parallel axes, component by component."""
        masses = self.masses + other.masses
        share = other.masses / np.maximum(masses, _NOTHING)
        steps = other.means - self.means
        apart = (self.masses * share)[:, None, None]
        return _Totals(
            masses,
            self.means + share[:, None] * steps,
            self.scatters + other.scatters + apart * steps[:, :, None] * steps[:, None, :],
            self.likelihood + other.likelihood,
            self.seen + other.seen,
        )


def maximization(
    Z: Array,
    weights: Array,
    responsibilities: Array,
    alpha: float,
    beta: float,
    previous: Mixture | None = None,
) -> Mixture:
    """M step: the parameters that maximise Q given the responsibilities."""
    return _parameters(_Totals.of(Z, weights, responsibilities), alpha, beta, previous)


def _parameters(found: _Totals, alpha: float, beta: float, previous: Mixture | None) -> Mixture:
    totals = found.masses
    M, r = found.means.shape
    means, factors, variances = np.empty((M, r)), np.empty((M, r, r)), np.empty(M)
    for m in range(M):
        if totals[m] <= _NOTHING and previous is not None:
            means[m], factors[m] = previous.means[m], previous.factors[m]
            variances[m] = previous.residual_variances[m]
            continue
        share = max(totals[m], _NOTHING)
        means[m] = found.means[m]
        covariance = found.scatters[m] + alpha * np.eye(r)
        factors[m] = np.linalg.cholesky(covariance / (share + beta))
        variances[m] = alpha / (share + beta)
    with np.errstate(divide="ignore"):  # log 0 = -∞ is the weight of a component that died
        return Mixture(np.log(totals / totals.sum()), means, factors, variances)


def log_components(mixture: Mixture, Z: Array, residuals: Array | None = None) -> Array:
    """``log N(z; μ_m, Σ_m) - residual / (2 ε_m)`` as an array of shape (n, M).

    Parameters
    ----------
    mixture : Mixture
    Z : array of shape (n, r)
    residuals : array of shape (n,) or None
        ``k(x, x) - |z|²``; None where the coordinates say everything.
    """
    r = Z.shape[1]
    logs = np.empty((len(Z), mixture.n_components))
    for m, factor in enumerate(mixture.factors):
        for rows in _blocks(len(Z)):
            whitened = solve_triangular(
                factor, (Z[rows] - mixture.means[m]).T, lower=True, check_finite=False
            )
            logs[rows, m] = -0.5 * np.einsum("ij,ij->j", whitened, whitened)
        logs[:, m] -= 0.5 * r * log(2 * pi) + np.log(factor.diagonal()).sum()
    if residuals is not None:
        logs -= 0.5 * residuals[:, None] / mixture.residual_variances
    return logs


def expectation(mixture: Mixture, Z: Array, residuals: Array | None = None) -> tuple[Array, Array]:
    """E step: log-likelihood of every row, and responsibilities of shape (n, M)."""
    joint = log_components(mixture, Z, residuals) + mixture.log_weights
    total = logsumexp(joint, axis=1)
    return np.asarray(total), np.exp(joint - total[:, None])


def _penalty(mixture: Mixture, alpha: float, beta: float) -> float:
    """``½ Σ_m (β log|Σ_m⁻¹| - α tr Σ_m⁻¹)``, constants left out."""
    penalty = 0.0
    for factor in mixture.factors:
        inverse, _ = dtrtri(factor, lower=1)
        inverse = np.tril(inverse)
        penalty -= beta * np.log(factor.diagonal()).sum()
        penalty -= 0.5 * alpha * float(np.einsum("ij,ij->", inverse, inverse))
    return penalty


def fit_mixture(
    Z: Array,
    weights: Array,
    start: Array,
    alpha: float,
    beta: float,
    *,
    max_iter: int = 200,
    tol: float = 1e-6,
) -> MixtureFit:
    """Run MAP EM from given responsibilities.

    Parameters
    ----------
    Z : array of shape (n, r)
        Kernel coordinates.
    weights : array of shape (n,)
        How often each row counts.
    start : array of shape (n, M)
        Responsibilities to begin with.
    alpha, beta : float
        Of the prior.
    max_iter : int
    tol : float
        Stop when the bound rises by less than this per unit of weight, or nothing changes.
    """
    found, mixture = summed(_Totals.of, Z, weights, start), None
    total = float(found.masses.sum())
    bounds: list[float] = []
    converged = False
    while not converged and len(bounds) < max_iter:
        mixture, before = _parameters(found, alpha, beta, mixture), found.seen
        found = summed(partial(_expected_totals, mixture), Z, weights)
        bounds.append(found.likelihood + _penalty(mixture, alpha, beta))
        risen = len(bounds) == 1 or bounds[-1] - bounds[-2] > tol * total
        converged = not risen or found.seen == before
    assert mixture is not None, "max_iter is at least 1"
    responsibilities = mapped(partial(_responsibilities, mixture), Z)
    return MixtureFit(mixture, responsibilities, np.array(bounds), converged)


def _expected_totals(mixture: Mixture, Z: Array, weights: Array) -> _Totals:
    """E step, and what the next M step needs of it: one pass over the rows."""
    likelihood, responsibilities = expectation(mixture, Z)
    return _Totals.of(Z, weights, responsibilities, float(weights @ likelihood))


def _responsibilities(mixture: Mixture, Z: Array) -> Array:
    return expectation(mixture, Z)[1]


def _blocks(n: int) -> Iterator[slice]:
    """Row ranges whose temporaries stay small."""
    return (slice(first, first + _ROWS) for first in range(0, n, _ROWS))
