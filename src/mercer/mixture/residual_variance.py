r"""Variance outside the selected coordinates, estimated from the residuals of the training rows.

The residual :math:`R = k(x, x) - |z|^2` of a row is the sum of its squares in the directions that a
rank cut leaves out. It is treated as that of h directions with a common variance ε. With the
covariance C of the residuals, :math:`h = (\mathrm{tr}\, C)^2 / \mathrm{tr}\, C^2`, the number that
gives :math:`\varepsilon \chi^2_h` the mean and variance of R for Gaussian residuals
(Satterthwaite). Both traces follow from the residual kernel :math:`k(x, y) - z_x'z_y` of the
training rows: they are sums of its eigenvalues and of their squares. With the prior of the
covariances (α, β) the mode of ε is

.. math:: \varepsilon = \frac{\sum_i w_i R_i / h + \alpha}{n + \beta},

which is the :math:`\alpha / (n + \beta)` of the paper if there are no residuals. All components
share ε, so it does not change their responsibilities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.utils.types import Array

__all__ = ["ResidualVariance", "count_directions"]


@dataclass(frozen=True)
class ResidualVariance:
    """Sufficient statistics of ε.

    Attributes
    ----------
    weight : float
        n, the sum of the weights.
    total : float
        ``Σ_i w_i R_i``.
    directions : float
        h.
    """

    weight: float
    total: float
    directions: float

    def value(self, alpha: float, beta: float) -> float:
        """Return ε."""
        return (self.total / self.directions + alpha) / (self.weight + beta)

    def without_each(self, residuals: Array, weights: Array, alpha: float, beta: float) -> Array:
        """Return ε without one unit of each row's weight (all of it if less than 1)."""
        units = np.minimum(weights, 1)
        remaining = np.maximum(self.total - units * residuals, 0)
        return (remaining / self.directions + alpha) / (self.weight - units + beta)


def count_directions(products: Array, weights: Array) -> float:
    """Return h from the residual kernel of some rows, at least 1.

    It is ``(Σ λ)² / Σ λ²`` over the eigenvalues that a rank cut leaves out.

    >>> count_directions(np.diag([1.0, 1.0]), np.ones(2))
    2.0
    """
    weights = weights / weights.max()  # products must not overflow
    squares = float(weights @ products**2 @ weights)
    return max((float(weights @ products.diagonal())) ** 2 / squares, 1.0) if squares > 0 else 1.0
