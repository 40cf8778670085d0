"""Population discriminants of polynomial kernels (Liang 2014, chapter 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.maths.proportions import checked_proportions
from mercer.maths.types import Array
from mercer.population.measure import admit_vectors
from mercer.population.measures import as_measure
from mercer.population.monomials import monomial_values
from mercer.population.polynomial import PolynomialFeatures

__all__ = ["PolynomialDiscriminant"]

_RANK_TOLERANCE = 1e-12


class PolynomialDiscriminant:
    r"""The function that best separates two measures, for ``k(x, y) = (constant + x'y)^degree``.

    With :math:`\delta = E_1 x^j - E_0 x^j` and :math:`W_0 = \sum_l \pi_l \mathrm{Cov}_l(x^j)` over
    the monomials of the kernel, the ratio of the variation between classes to that within them,
    :math:`(a'\delta)^2 / a'W_0a`, is largest for :math:`a \propto W_0^{-1}\delta`:

    .. math:: f(x) = \sum_j a_j x^j, \qquad \lambda = \delta' W_0^{-1} \delta, \qquad a'W_0a = 1.

    Parameters
    ----------
    degree : int
        At least 1.
    measures : sequence of two measures
        The distributions of class 0 and of class 1; f has a larger mean under the second.
    priors : sequence of two numbers
        π, positive, adding up to 1.
    constant : float
        Nonnegative.

    Attributes
    ----------
    ratio : float
        λ, the ratio of f.
    exponents : int array of shape (m, p)
    coefficients : array of shape (m,)
        a, on the raw monomials ``x^j``.
    between, within : arrays of shape (m, m)
        B* and W* of the thesis (eq. 5.3), with multiplicities.
    thesis_coefficients : array of shape (m,)
        The C of the thesis, with ``B* C = λ W* C``, ``C'W*C = 1`` and ``f = Σ binom_j C_j x^j``.

    Notes
    -----
    The thesis prints 2 C_1 and 2 C_2 in its cubic f, where the multiplicities are 3.

    Examples
    --------
    >>> from mercer.population import Normal, PolynomialDiscriminant
    >>> f = PolynomialDiscriminant(1, [Normal([2, -2]), Normal([-1, 2])], [0.5, 0.5])
    >>> round(f.ratio, 10), f.coefficients.round(4).tolist(), f([[-1.0, 2.0]]).round(4).tolist()
    (25.0, [-0.6, 0.8], [2.2])
    """

    def __init__(
        self, degree: int, measures: Sequence[Any], priors: Any, *, constant: float = 0.0
    ) -> None:
        self.measures = tuple(as_measure(measure) for measure in measures)
        if len(self.measures) != 2:
            raise ValueError(
                f"PolynomialDiscriminant needs 2 measures; got {len(self.measures)}. Treat more "
                "classes in pairs, or fit KernelLDA to samples."
            )
        self.priors = checked_proportions(priors, 2, "priors")
        first, second = self.measures
        if first.dimension != second.dimension:
            raise ValueError(
                f"The two measures have dimensions {first.dimension} and {second.dimension}. "
                "Use measures of the same dimension."
            )
        features = PolynomialFeatures(first.dimension, degree, constant)
        self.exponents = features.exponents
        means, covariances = zip(
            *(measure.monomial_moments(self.exponents) for measure in self.measures), strict=True
        )
        difference = means[1] - means[0]
        within = np.tensordot(self.priors, np.array(covariances), 1)
        self.coefficients, self.ratio = _best_direction(within, difference)
        times = features.multiplicities
        self.between = np.outer(times * difference, times * difference)
        self.within = times[:, None] * within * times
        self.thesis_coefficients = self.coefficients / times

    def __call__(self, X: Any) -> Array:
        """Return ``f(x)`` at points, shape (n,)."""
        points = admit_vectors(X, self.measures[0].dimension)
        return np.asarray(monomial_values(points, self.exponents) @ self.coefficients)

    def __repr__(self) -> str:
        return f"PolynomialDiscriminant(ratio={self.ratio:.6g}, {list(self.measures)!r})"


def _best_direction(within: Array, difference: Array) -> tuple[Array, float]:
    """Return ``W⁻¹δ`` scaled to ``a'Wa = 1``, and ``δ'W⁻¹δ``.

    δ must be 0 in the null space of W.
    """
    deviations = np.sqrt(np.diag(within))
    scale = np.where(deviations > 0, deviations, 1.0)  # correlations, so that units do not matter
    values, vectors = np.linalg.eigh(within / np.outer(scale, scale))
    along = vectors.T @ (difference / scale)
    varies = values > _RANK_TOLERANCE * max(float(values[-1]), 0.0)
    beyond = float(np.abs(along[~varies]).max(initial=0.0))
    size = float(np.abs(along).max())
    if size == 0:
        raise ValueError(
            "Every monomial of this degree has the same mean under both measures, so no "
            "function of this kernel separates them. Use another degree, or a constant."
        )
    if beyond > 1e-6 * size:
        raise ValueError(
            f"The measures differ (by {beyond:.3g}, in standard units) along a combination of "
            "monomials that is constant within both, so the ratio is infinite. Use a lower degree, "
            "more points, or measures of full rank."
        )
    solution = along[varies] / values[varies]
    ratio = float(along[varies] @ solution)
    direction = vectors[:, varies] @ solution / scale
    return direction / np.sqrt(ratio), ratio
