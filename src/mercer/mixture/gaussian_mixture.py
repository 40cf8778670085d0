r"""Gaussian mixtures in kernel coordinates, fitted by MAP EM (Macready 2003).

Notation: z = √λ e the kernel coordinates of a point (rank r), :math:`a_{im} = w_i\,p(m|i)`
weighted responsibilities, :math:`n_m = \sum_i a_{im}`,
:math:`S_m = \sum_i a_{im} (z_i - \mu_m)(z_i - \mu_m)'`, α and β the inverse-Wishart prior
:math:`p(\Sigma) \propto |\Sigma|^{-\beta/2} e^{-\alpha\,\mathrm{tr}\,\Sigma^{-1}/2}`. The paper's
kernelized updates (7) to (9) are, in these coordinates,

.. math:: \rho_m = n_m / n, \quad \mu_m = \sum_i a_{im} z_i / n_m, \quad
          \Sigma_m = (S_m + \alpha J) / (n_m + \beta),

where J, the identity by default, is the scale matrix of the prior, with
:math:`e^{-\alpha\,\mathrm{tr}\,\Sigma^{-1} J/2}`.
Directions of feature space that no training point reaches have the variance
:math:`\varepsilon_m = \alpha / (n_m + \beta)`: for any point x they add
:math:`(k(x, x) - |z|^2) / \varepsilon_m` to the squared distance. The determinant is that of the r
coordinates (:math:`d_F = r`): each unused direction would contribute a factor
:math:`\varepsilon_m^{-1/2}`, which favors the component with the larger weight.

Leave-one-out densities need no further fit. Removing the mass u of row i of a component with total
mass n, mean μ and scatter S gives, with :math:`d = z_i - \mu`,

.. math:: n' = n - u, \quad \mu' = \mu - \frac{u}{n - u} d, \quad S' = S - c\,d d', \quad
          c = \frac{u n}{n - u},

so that :math:`(S' + \alpha J)^{-1}` follows from :math:`A = S + \alpha J` by one rank-one update
(Sherman and Morrison). For one Gaussian the result equals the fit without the row: a direction in
which no other row varies has the variance :math:`\varepsilon'`, like the residual. For several
Gaussians the responsibilities are not updated, and a component that loses all of its mass has
weight 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import log, pi

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.linalg.lapack import dtrtri
from scipy.special import logsumexp

from mercer.utils.row_passes import IN_MEMORY, RowPasses, fingerprint
from mercer.utils.types import Array

__all__ = [
    "GaussianMixture",
    "GaussianMixtureFit",
    "LeaveOneOutComponent",
    "expectation",
    "fit_mixture",
    "leave_each_out",
    "log_components",
    "maximization",
    "weighted_scatter",
]

_BLOCK_ROWS = 4096
_EMPTY = 1e-200  # the parameters of a component with less weight are not updated


@dataclass(frozen=True, eq=False)
class GaussianMixture:
    """Parameters of M Gaussians."""

    log_weights: Array  # log ρ, shape (M,)
    means: Array  # shape (M, r)
    factors: Array  # lower Cholesky factors of the covariances, shape (M, r, r)
    residual_variances: Array  # ε, the variance outside the coordinates, shape (M,)

    @property
    def n_components(self) -> int:
        """Number of components M."""
        return len(self.log_weights)


@dataclass(frozen=True, eq=False)
class GaussianMixtureFit:
    """Result of one run of EM."""

    mixture: GaussianMixture
    responsibilities: Array  # p(m | z_i), shape (n, M)
    # penalized log-likelihood after each M step; never decreases, shape (iterations,)
    lower_bounds: Array
    converged: bool

    @property
    def bound(self) -> float:
        """Final lower bound."""
        return float(self.lower_bounds[-1])


def weighted_scatter(Z: Array, masses: Array, mean: Array) -> Array:
    """Return ``Σ_i a_i (z_i - μ)(z_i - μ)'``, without a second copy of Z."""
    scatter = np.zeros((Z.shape[1], Z.shape[1]))
    for block in _blocks(len(Z)):
        part = (Z[block] - mean) * np.sqrt(masses[block])[:, None]
        scatter += part.T @ part
    return scatter


@dataclass(frozen=True, eq=False)
class _Totals:
    """Sufficient statistics of an M step; those of two chunks can be added."""

    masses: Array  # n_m, shape (M,)
    means: Array  # shape (M, r)
    scatters: Array  # S_m, shape (M, r, r)
    likelihood: float  # ``Σ_i w_i log p(z_i)`` if the responsibilities are those of a mixture
    fingerprints: tuple[bytes, ...]  # hashes of the responsibilities

    @classmethod
    def of(
        cls, Z: Array, weights: Array, responsibilities: Array, likelihood: float = 0.0
    ) -> _Totals:
        """Return the statistics of one chunk."""
        M, r = responsibilities.shape[1], Z.shape[1]
        masses = weights[:, None] * responsibilities
        totals = masses.sum(axis=0)
        means, scatters = np.empty((M, r)), np.empty((M, r, r))
        for m in range(M):
            means[m] = masses[:, m] @ Z / max(totals[m], _EMPTY)
            scatters[m] = weighted_scatter(Z, masses[:, m], means[m])
        return cls(totals, means, scatters, likelihood, fingerprint(responsibilities))

    def __add__(self, other: _Totals) -> _Totals:
        """Combine two chunks by the parallel-axis theorem, component by component."""
        masses = self.masses + other.masses
        fraction = other.masses / np.maximum(masses, _EMPTY)
        steps = other.means - self.means
        between = (self.masses * fraction)[:, None, None]
        return _Totals(
            masses,
            self.means + fraction[:, None] * steps,
            self.scatters + other.scatters + between * steps[:, :, None] * steps[:, None, :],
            self.likelihood + other.likelihood,
            self.fingerprints + other.fingerprints,
        )


def maximization(
    Z: Array,
    weights: Array,
    responsibilities: Array,
    alpha: float,
    beta: float,
    previous: GaussianMixture | None = None,
    *,
    scale: Array | None = None,
) -> GaussianMixture:
    """M step: return the parameters that maximize Q given the responsibilities.

    ``scale``: J in the coordinates, of shape (r, r); None for the identity.
    """
    return _parameters(_Totals.of(Z, weights, responsibilities), alpha, beta, previous, scale)


def _parameters(
    found: _Totals,
    alpha: float,
    beta: float,
    previous: GaussianMixture | None,
    scale: Array | None,
) -> GaussianMixture:
    totals = found.masses
    M, r = found.means.shape
    means, factors, variances = np.empty((M, r)), np.empty((M, r, r)), np.empty(M)
    prior = alpha * (np.eye(r) if scale is None else scale)
    for m in range(M):
        if totals[m] <= _EMPTY and previous is not None:
            means[m], factors[m] = previous.means[m], previous.factors[m]
            variances[m] = previous.residual_variances[m]
            continue
        mass = max(totals[m], _EMPTY)
        means[m] = found.means[m]
        covariance = found.scatters[m] + prior
        try:
            factors[m] = np.linalg.cholesky(covariance / (mass + beta))
        except np.linalg.LinAlgError as error:
            raise ValueError(
                f"The covariance of a component is singular: alpha={alpha:.3g} is negligible for "
                f"its total weight of {mass:.3g}. Use a larger alpha, or divide the sample weights "
                "by their mean."
            ) from error
        variances[m] = alpha / (mass + beta)
    with np.errstate(divide="ignore"):  # log 0 = -∞ for an empty component
        return GaussianMixture(np.log(totals / totals.sum()), means, factors, variances)


def log_components(mixture: GaussianMixture, Z: Array, residuals: Array | None = None) -> Array:
    """Return ``log N(z; μ_m, Σ_m) - residual / (2 ε_m)``, of shape (n, M).

    ``residuals``: ``k(x, x) - |z|²``; None if it is zero for all rows.
    """
    r = Z.shape[1]
    logs = np.empty((len(Z), mixture.n_components))
    for m, factor in enumerate(mixture.factors):
        for block in _blocks(len(Z)):
            whitened = solve_triangular(
                factor, (Z[block] - mixture.means[m]).T, lower=True, check_finite=False
            )
            logs[block, m] = -0.5 * np.einsum("ij,ij->j", whitened, whitened)
        logs[:, m] -= 0.5 * r * log(2 * pi) + np.log(factor.diagonal()).sum()
    if residuals is not None:
        logs -= 0.5 * residuals[:, None] / mixture.residual_variances
    return logs


def expectation(
    mixture: GaussianMixture, Z: Array, residuals: Array | None = None
) -> tuple[Array, Array]:
    """E step: return the log-likelihood of every row, and responsibilities of shape (n, M)."""
    joint = log_components(mixture, Z, residuals) + mixture.log_weights
    total = logsumexp(joint, axis=1)
    return np.asarray(total), np.exp(joint - total[:, None])


def _penalty(mixture: GaussianMixture, alpha: float, beta: float, scale: Array | None) -> float:
    """Return ``½ Σ_m (β log|Σ_m⁻¹| - α tr Σ_m⁻¹J)``, up to a constant."""
    penalty = 0.0
    root = None if scale is None else np.linalg.cholesky(scale)
    for factor in mixture.factors:
        inverse, _ = dtrtri(factor, lower=1)
        inverse = np.tril(inverse)
        inverse = inverse if root is None else inverse @ root
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
    scale: Array | None = None,
    rows: RowPasses = IN_MEMORY,
) -> GaussianMixtureFit:
    """Run MAP EM from initial responsibilities.

    ``Z``: kernel coordinates. ``weights``: sample weights. ``start``: initial responsibilities.
    ``alpha``, ``beta``: parameters of the prior. ``tol``: stop when the bound increases by less
    than this per unit of weight or when the responsibilities do not change. ``scale``: J, as in
    :func:`maximization`. ``rows``: passes over Z, weights and start.
    """
    found, mixture = rows.sum(_Totals.of, Z, weights, start), None
    total = float(found.masses.sum())
    bounds: list[float] = []
    converged = False
    while not converged and len(bounds) < max_iter:
        mixture, before = _parameters(found, alpha, beta, mixture, scale), found.fingerprints
        found = rows.sum(partial(_expected_totals, mixture), Z, weights)
        bounds.append(found.likelihood + _penalty(mixture, alpha, beta, scale))
        increased = len(bounds) == 1 or bounds[-1] - bounds[-2] > tol * total
        converged = not increased or found.fingerprints == before
    assert mixture is not None, "max_iter is at least 1"
    responsibilities = rows.map(partial(_responsibilities, mixture), Z)
    return GaussianMixtureFit(mixture, responsibilities, np.array(bounds), converged)


def _expected_totals(mixture: GaussianMixture, Z: Array, weights: Array) -> _Totals:
    """Run the E step and return the statistics of the next M step, in one pass over the rows."""
    likelihood, responsibilities = expectation(mixture, Z)
    return _Totals.of(Z, weights, responsibilities, float(weights @ likelihood))


def _responsibilities(mixture: GaussianMixture, Z: Array) -> Array:
    return expectation(mixture, Z)[1]


def _blocks(n: int) -> Iterator[slice]:
    """Return row slices that limit the size of temporary arrays."""
    return (slice(first, first + _BLOCK_ROWS) for first in range(0, n, _BLOCK_ROWS))


# --- leave-one-out densities ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LeaveOneOutComponent:
    """One component, fitted without each row in turn."""

    mean: Array  # μ, the mean of all rows, shape (r,)
    factor: Array  # lower Cholesky factor of A, shape (r, r)
    solved: Array  # A⁻¹ d for every row, shape (r, n)
    leverages: Array  # d'A⁻¹d, shape (n,)
    remaining: Array  # n' for every row, shape (n,)
    removed: Array  # u, shape (n,)
    total: float  # n
    beta: float
    residual_variances: Array  # ε' for every row, shape (n,)

    def take(self, rows: Array) -> LeaveOneOutComponent:
        """Return the fits without each of these rows."""
        return replace(
            self,
            solved=self.solved[:, rows],
            leverages=self.leverages[rows],
            remaining=self.remaining[rows],
            removed=self.removed[rows],
            residual_variances=self.residual_variances[rows],
        )

    def at(self, Z: Array, residuals: Array | None = None) -> Array:
        """Return log-densities of row i of Z under the fit without row i, of shape (n,)."""
        Y = Z - self.mean
        return self._log_density(
            self._lengths(Y),
            np.einsum("ij,ji->i", Y, self.solved),
            0.0 if residuals is None else residuals,
        )

    def everywhere(self, Z: Array, residuals: Array) -> Array:
        """Return log-densities of every row of Z under each of the n fits, of shape (N, n)."""
        Y = Z - self.mean
        return self._log_density(self._lengths(Y)[:, None], Y @ self.solved, residuals[:, None])

    def _lengths(self, Y: Array) -> Array:
        whitened = solve_triangular(self.factor, Y.T, lower=True, check_finite=False)
        return np.asarray(np.einsum("ij,ij->j", whitened, whitened))

    def _log_density(self, lengths: Array, crossed: Array, residuals: Array | float) -> Array:
        """Return log-densities given y'A⁻¹y and d'A⁻¹y of the points y = z - μ."""
        step = self.removed / self.remaining
        downdate = self.removed * self.total / self.remaining
        # rounding errors must not make it zero or negative
        ratio = np.maximum(1 - downdate * self.leverages, 1e-12)
        lengths = lengths + 2 * step * crossed + step**2 * self.leverages
        crossed = crossed + step * self.leverages
        power = self.remaining + self.beta
        squared = power * (lengths + downdate * crossed**2 / ratio)
        squared = squared + residuals / self.residual_variances
        r = len(self.mean)
        determinant = 2 * np.log(self.factor.diagonal()).sum() + np.log(ratio) - r * np.log(power)
        return np.asarray(-0.5 * (r * log(2 * pi) + determinant + squared))


def leave_each_out(
    Z: Array,
    weights: Array,
    responsibilities: Array,
    alpha: float,
    beta: float,
    residual_variances: Array | None = None,
    scale: Array | None = None,
) -> Iterator[tuple[Array, LeaveOneOutComponent]]:
    """Yield leave-one-out log-weights, of shape (n,), and densities of each component.

    One unit of a row's weight is removed (all of it if the weight is less than 1). Empty components
    are skipped. ``residual_variances`` are ε' without each row; None for ``α / (n' + β)``.
    ``scale``: J, which is held fixed.
    """
    units = np.minimum(weights, 1)
    for column in responsibilities.T:
        masses, removed = weights * column, units * column
        total = float(masses.sum())
        if total < np.finfo(float).tiny:
            continue
        mean = masses @ Z / total
        A = weighted_scatter(Z, masses, mean)
        A += alpha * (np.eye(len(A)) if scale is None else scale)
        factor = np.linalg.cholesky(A)
        D = (Z - mean).T
        solved = cho_solve((factor, True), D, check_finite=False)
        remaining = total - removed
        fractions = remaining / (weights.sum() - units)
        # as in the M step, the parameters of an empty component are not updated
        empty = fractions <= len(Z) * np.finfo(float).eps  # a rounding error
        removed, remaining = np.where(empty, 0, removed), np.where(empty, total, remaining)
        leverages = np.einsum("ij,ij->j", D, solved)
        variances = alpha / (remaining + beta) if residual_variances is None else residual_variances
        with np.errstate(divide="ignore"):  # log 0 = -∞ for an empty component
            log_weights = np.log(np.where(empty, 0, fractions))
        yield (
            log_weights,
            LeaveOneOutComponent(
                mean, factor, solved, leverages, remaining, removed, total, beta, variances
            ),
        )
