r"""Densities of a Gaussian mixture with one row left out, without fitting anew.

Taking the mass u away from row i of a component with total mass n, mean μ and scatter S leaves,
with :math:`d = z_i - \mu`,

.. math:: n' = n - u, \quad \mu' = \mu - \frac{u}{n - u} d, \quad S' = S - c\,d d', \quad
          c = \frac{u n}{n - u},

so that :math:`(S' + \alpha I)^{-1}` follows from :math:`A = S + \alpha I` by one rank-one update
(Sherman and Morrison). For one Gaussian that is the fit without the row, exactly: the direction
that only this row reached gets the variance :math:`\varepsilon'`, as it would as part of the
residual. For several, responsibilities stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log, pi

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from mercer.maths.gaussian_mixture import weighted_scatter
from mercer.maths.types import Array

__all__ = ["LeftOut", "leave_each_out"]

_POSITIVE = 1e-12  # what rounding may leave of a determinant's factor, which is above 0


@dataclass(frozen=True)
class LeftOut:
    """One component, less each row in turn.

    Attributes
    ----------
    mean : array of shape (r,)
        Of all rows.
    factor : array of shape (r, r)
        Lower Cholesky factor of A.
    turned : array of shape (r, n)
        A⁻¹ d for every row.
    leverages : array of shape (n,)
        d'A⁻¹d.
    left : array of shape (n,)
        n' for every row.
    taken : array of shape (n,)
        u.
    total : float
        n.
    alpha, beta : float
    """

    mean: Array
    factor: Array
    turned: Array
    leverages: Array
    left: Array
    taken: Array
    total: float
    alpha: float
    beta: float

    def at(self, Z: Array, residuals: Array | None = None) -> Array:
        """Log-densities of shape (n,): of row i of Z under the fit without row i."""
        Y = Z - self.mean
        return self._log_density(
            self._lengths(Y),
            np.einsum("ij,ji->i", Y, self.turned),
            0.0 if residuals is None else residuals,
        )

    def everywhere(self, Z: Array, residuals: Array) -> Array:
        """Log-densities of shape (N, n): of every row of Z under each of the n fits."""
        Y = Z - self.mean
        return self._log_density(self._lengths(Y)[:, None], Y @ self.turned, residuals[:, None])

    def _lengths(self, Y: Array) -> Array:
        whitened = solve_triangular(self.factor, Y.T, lower=True, check_finite=False)
        return np.asarray(np.einsum("ij,ij->j", whitened, whitened))

    def _log_density(self, lengths: Array, crossed: Array, residuals: Array | float) -> Array:
        """From y'A⁻¹y and d'A⁻¹y of the points y = z - μ."""
        step = self.taken / self.left
        pull = self.taken * self.total / self.left
        room = np.maximum(1 - pull * self.leverages, _POSITIVE)
        lengths = lengths + 2 * step * crossed + step**2 * self.leverages
        crossed = crossed + step * self.leverages
        power = self.left + self.beta
        squared = power * (lengths + pull * crossed**2 / room + residuals / self.alpha)
        r = len(self.mean)
        determinant = 2 * np.log(self.factor.diagonal()).sum() + np.log(room) - r * np.log(power)
        return np.asarray(-0.5 * (r * log(2 * pi) + determinant + squared))


def leave_each_out(
    Z: Array, weights: Array, responsibilities: Array, alpha: float, beta: float
) -> Iterator[tuple[Array, LeftOut]]:
    """Log-weights without each row, of shape (n,), and the component, for all that are there.

    One unit of a row's weight is left out (all of it, where it weighs less).
    """
    units = np.minimum(weights, 1)
    for column in responsibilities.T:
        masses, taken = weights * column, units * column
        total = float(masses.sum())
        if total < np.finfo(float).tiny:
            continue  # a component that died
        mean = masses @ Z / total
        A = weighted_scatter(Z, masses, mean)
        A[np.diag_indices(len(A))] += alpha
        factor = np.linalg.cholesky(A)
        D = (Z - mean).T
        turned = cho_solve((factor, True), D, check_finite=False)
        left = np.maximum(total - taken, np.finfo(float).tiny)
        leverages = np.einsum("ij,ij->j", D, turned)
        yield (
            np.log(left / (weights.sum() - units)),
            LeftOut(mean, factor, turned, leverages, left, taken, total, alpha, beta),
        )
