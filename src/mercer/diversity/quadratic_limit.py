r"""Confidence intervals of a smooth statistic whose influence function is nearly constant.

The error of a statistic of n rows is, to second order, :math:`\sum_k (\psi_k z_k / \sqrt n + \mu_k
(z_k^2 - 1) / 2n)` with independent standard normal z, the coefficients :math:`\psi_k` of the
influence function and the eigenvalues :math:`\mu_k` of the second-order influence function. The
variance of the first part is :math:`a = \sum_k \psi_k^2 / n`, that of the second :math:`b = \sum_k
\mu_k^2 / 2n^2`. The estimate f of a from the influence function of the sample has the mean a + 2b.
If all ν eigenvalues are equal, :math:`t = \nu f / 2b` has a noncentral chi-square distribution with
ν degrees of freedom and noncentrality :math:`\lambda = \nu a / 2b`, and the error is a function of
both, :math:`-c (t - \nu - \lambda)` with :math:`c = \sqrt{b / 2\nu}` for negative eigenvalues.
Limits of λ are limits of the statistic.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import chndtrinc
from scipy.stats import chi2, norm

__all__ = ["QuadraticLimit"]

_LEVEL = 0.975  # quantile up to which the influence function counts as constant
_MANY = 1000.0  # degrees of freedom from which the normal approximation is used


class QuadraticLimit(NamedTuple):
    """Second-order distribution of the error of a statistic.

    Attributes
    ----------
    scale : float
        c, the error per unit of t.
    degrees : float
        ν.
    statistic : float
        t.
    """

    scale: float
    degrees: float
    statistic: float

    @classmethod
    def find(cls, first: float, square: float, diagonal: float, n: float) -> QuadraticLimit | None:
        """Return the limit if the influence function may be constant, else None.

        Parameters
        ----------
        first : float
            f, the variance of the influence function of the sample divided by n.
        square, diagonal : float
            Means of ``ψ(x, y)²`` over pairs and of ``ψ(x, x)``, which are the sums of μ² and of μ.
        n : float
            Number of rows.

        Examples
        --------
        >>> counts = np.array([24, 28, 22, 26])  # a multinomial distribution, order 1
        >>> p = counts / 100
        >>> first = (p @ np.log(p) ** 2 - (p @ np.log(p)) ** 2) / 100
        >>> limit = QuadraticLimit.find(first, 3.0, -3.0, 100)
        >>> limit.degrees, bool(abs(limit.statistic - ((counts - 25) ** 2 / 25).sum()) < 0.02)
        (3.0, True)
        >>> QuadraticLimit.find(10 * first, 100.0, -3.0, 100) is None
        True
        """
        if not (square > 0 and diagonal < 0 and diagonal**2 >= square):
            return None
        degrees = diagonal**2 / square
        second = square / (2 * n**2)
        found = cls(float(np.sqrt(second / (2 * degrees))), degrees, first * degrees / (2 * second))
        return found if found.statistic <= chi2.ppf(_LEVEL, degrees) else None

    @property
    def variance(self) -> float:
        """Estimated variance of the error, ``max(f - 2b, 0) + b``."""
        square = 2 * self.degrees * self.scale**2
        return square * (1 + 2 * max(self.statistic / self.degrees - 1, 0.0))

    def distances(self, confidence: float) -> tuple[float, float]:
        """Return the distances of the limits of a confidence interval below and above the estimate.

        The statistic cannot exceed its value for a constant influence function. An upper limit that
        allows for this value is never too small, so the lower limit gets the whole probability of
        an error, ``1 - confidence``.
        """
        t, nu, tail = self.statistic, self.degrees, 1 - confidence
        smallest, largest = chi2.ppf([tail, 0.5 + confidence / 2], nu)
        noncentrality = 0.0
        if t > smallest and nu <= _MANY:
            noncentrality = float(chndtrinc(t, nu, tail))
        elif t > smallest:
            z = float(norm.ppf(confidence))
            noncentrality = t - nu + 2 * z**2 + z * np.sqrt(4 * (t - nu) + 4 * z**2 + 2 * nu)
        below = self.scale * (noncentrality + nu - max(t, smallest))
        return max(float(below), 0.0), self.scale * float(max(t, largest) - nu)
