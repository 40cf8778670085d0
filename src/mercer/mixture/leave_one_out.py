r"""Leave-one-out densities of a Gaussian mixture, without refitting.

Removing the mass u of row i of a component with total mass n, mean μ and scatter S gives,
with :math:`d = z_i - \mu`,

.. math:: n' = n - u, \quad \mu' = \mu - \frac{u}{n - u} d, \quad S' = S - c\,d d', \quad
          c = \frac{u n}{n - u},

so that :math:`(S' + \alpha I)^{-1}` follows from :math:`A = S + \alpha I` by one rank-one update
(Sherman and Morrison). For one Gaussian the result equals the fit without the row: a direction in
which no other row varies has the variance :math:`\varepsilon'`, like the residual. For several
Gaussians the responsibilities are not updated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log, pi

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from mercer.mixture.gaussian_mixture import weighted_scatter
from mercer.utils.types import Array

__all__ = ["LeaveOneOutComponent", "leave_each_out"]

_MIN_DETERMINANT_RATIO = 1e-12  # rounding errors must not make the ratio zero or negative


@dataclass(frozen=True, eq=False)
class LeaveOneOutComponent:
    """One component, fitted without each row in turn.

    Attributes
    ----------
    mean : array of shape (r,)
        μ, the mean of all rows.
    factor : array of shape (r, r)
        Lower Cholesky factor of A.
    solved : array of shape (r, n)
        A⁻¹ d for every row.
    leverages : array of shape (n,)
        d'A⁻¹d.
    remaining : array of shape (n,)
        n' for every row.
    removed : array of shape (n,)
        u.
    total : float
        n.
    beta : float
    residual_variances : array of shape (n,)
        ε' for every row.
    """

    mean: Array
    factor: Array
    solved: Array
    leverages: Array
    remaining: Array
    removed: Array
    total: float
    beta: float
    residual_variances: Array

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
        ratio = np.maximum(1 - downdate * self.leverages, _MIN_DETERMINANT_RATIO)
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
) -> Iterator[tuple[Array, LeaveOneOutComponent]]:
    """Yield leave-one-out log-weights, of shape (n,), and densities of each component.

    One unit of a row's weight is removed (all of it if the weight is less than 1). Empty components
    are skipped. ``residual_variances`` are ε' without each row; None for ``α / (n' + β)``.
    """
    units = np.minimum(weights, 1)
    for column in responsibilities.T:
        masses, removed = weights * column, units * column
        total = float(masses.sum())
        if total < np.finfo(float).tiny:
            continue
        mean = masses @ Z / total
        A = weighted_scatter(Z, masses, mean)
        A[np.diag_indices(len(A))] += alpha
        factor = np.linalg.cholesky(A)
        D = (Z - mean).T
        solved = cho_solve((factor, True), D, check_finite=False)
        remaining = np.maximum(total - removed, np.finfo(float).tiny)
        leverages = np.einsum("ij,ij->j", D, solved)
        variances = alpha / (remaining + beta) if residual_variances is None else residual_variances
        yield (
            np.log(remaining / (weights.sum() - units)),
            LeaveOneOutComponent(
                mean, factor, solved, leverages, remaining, removed, total, beta, variances
            ),
        )
