"""Population discriminants of polynomial kernels, from moments (Liang 2014, chapter 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.population.measure import admit_vectors
from mercer.population.measures import as_measure
from mercer.population.monomials import monomial_values
from mercer.population.polynomial import PolynomialFeatures
from mercer.supervised.scatter import class_signs
from mercer.utils.proportions import checked_proportions
from mercer.utils.types import Array

__all__ = ["PolynomialDiscriminant"]

_RANK_TOLERANCE = 1e-12


class PolynomialDiscriminant:
    r"""The functions that best separate measures, for ``k(x, y) = (constant + x'y)^degree``.

    With :math:`\delta = E_1 x^j - E_0 x^j` and :math:`W_0 = \sum_l \pi_l \mathrm{Cov}_l(x^j)` over
    the monomials of the kernel, the ratio of the variation between classes to that within them,
    :math:`(a'\delta)^2 / a'W_0a`, is largest for :math:`a \propto W_0^{-1}\delta`:

    .. math:: f(x) = \sum_j a_j x^j, \qquad \lambda = \delta' W_0^{-1} \delta, \qquad a'W_0a = 1.

    For more than two classes the variation between them is
    :math:`B_0 = \sum_l \pi_l (E_l x^j - E x^j)(E_l x^j - E x^j)'`, as in
    :class:`mercer.KernelLDA`, and the functions solve :math:`B_0 a = \lambda W_0 a`. (For two
    classes that would be :math:`\pi_0 \pi_1 \delta\delta'`, and the ratio :math:`\pi_0 \pi_1`
    times that of the thesis.)

    Parameters
    ----------
    degree : int
        At least 1.
    measures : sequence of at least two measures
        The distributions of the classes. Each f has a positive mean, relative to the overall mean,
        under the last measure for which that is not 0.
    priors : sequence of numbers
        π, positive, adding up to 1.
    constant : float
        Nonnegative.

    Attributes
    ----------
    ratio : float, or array of shape (q,) for more than two classes
        λ, the ratio of each f, largest first; q is at most the number of classes minus one.
    exponents : int array of shape (m, p)
    coefficients : array of shape (m,), or (q, m) for more than two classes
        a, on the raw monomials ``x^j``.
    between, within : arrays of shape (m, m)
        B* and W* of the thesis (eq. 5.3), with multiplicities.
    thesis_coefficients : array of the shape of ``coefficients``
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
        if len(self.measures) < 2:
            raise ValueError(
                f"PolynomialDiscriminant needs at least 2 measures; got {len(self.measures)}."
            )
        self.priors = checked_proportions(priors, len(self.measures), "priors")
        dimensions = [measure.dimension for measure in self.measures]
        if len(set(dimensions)) > 1:
            raise ValueError(
                f"The measures have dimensions {dimensions}. Use measures of the same dimension."
            )
        features = PolynomialFeatures(dimensions[0], degree, constant)
        self.exponents = features.exponents
        found = [measure.monomial_moments(self.exponents) for measure in self.measures]
        means = np.array([mean for mean, _ in found])
        within = np.tensordot(self.priors, np.array([covariance for _, covariance in found]), 1)
        shifts = means - self.priors @ means
        two_classes = len(means) == 2
        spread = means[1:] - means[:1] if two_classes else np.sqrt(self.priors)[:, None] * shifts
        directions, ratios = _best_directions(within, spread)
        directions = directions * class_signs(shifts @ directions.T)[:, None]
        self.coefficients = directions[0] if two_classes else directions
        self.ratio: Any = float(ratios[0]) if two_classes else ratios
        times = features.multiplicities
        self.between = (times * spread).T @ (times * spread)
        self.within = times[:, None] * within * times
        self.thesis_coefficients = self.coefficients / times

    def __call__(self, X: Any) -> Array:
        """Return ``f(x)`` at points, shape (n,), or (n, q) for more than two classes."""
        points = admit_vectors(X, self.measures[0].dimension)
        return np.asarray(monomial_values(points, self.exponents) @ self.coefficients.T)

    def __repr__(self) -> str:
        ratio = ", ".join(f"{value:.6g}" for value in np.atleast_1d(self.ratio))
        return f"PolynomialDiscriminant(ratio={ratio}, {list(self.measures)!r})"


def _best_directions(within: Array, spread: Array) -> tuple[Array, Array]:
    """Return the directions a (rows) with ``S'S a = λ W a``, ``a'Wa = 1``, and the ratios λ > 0.

    The rows of S must be 0 in the null space of W.
    """
    deviations = np.sqrt(np.diag(within))
    scale = np.where(deviations > 0, deviations, 1.0)  # correlations, so that units do not matter
    values, vectors = np.linalg.eigh(within / np.outer(scale, scale))
    along = spread / scale @ vectors
    varies = values > _RANK_TOLERANCE * max(float(values[-1]), 0.0)
    beyond = float(np.abs(along[:, ~varies]).max(initial=0.0))
    size = float(np.abs(along).max())
    if size == 0:
        raise ValueError(
            "Every monomial of this degree has the same mean under all measures, so no "
            "function of this kernel separates them. Use another degree, or a constant."
        )
    if beyond > 1e-6 * size:
        raise ValueError(
            f"The measures differ (by {beyond:.3g}, in standard units) along a combination of "
            "monomials that is constant within all of them, so the ratio is infinite. Use a lower "
            "degree, more points, or measures of full rank."
        )
    whitening = vectors[:, varies] / np.sqrt(values[varies]) / scale[:, None]
    _, roots, axes = np.linalg.svd(spread @ whitening, full_matrices=False)
    positive = roots > _RANK_TOLERANCE * roots[0]
    return (whitening @ axes[positive].T).T, roots[positive] ** 2
