"""The operator of the polynomial kernel, from moments (Liang 2014, theorems 1 to 3)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh

from mercer.errors import MemoryBudgetError
from mercer.kernels import Polynomial
from mercer.population.measures import as_measure
from mercer.population.monomials import (
    count_monomials,
    exponents_of_degree,
    monomial_values,
    multinomials,
)
from mercer.population.operator import PopulationOperator, orient
from mercer.utils.eigenpairs import TIE, canonical
from mercer.utils.resources import memory_budget
from mercer.utils.types import Array
from mercer.utils.validation import check_integer, check_real

__all__ = ["MAX_MONOMIALS", "PolynomialFeatures", "PolynomialOperator"]

# A matrix of this size takes minutes to decompose, and its moments take as long.
MAX_MONOMIALS = 4000


class PolynomialFeatures:
    r"""Features of ``(c + x'y)^d``: :math:`\Phi_j = \sqrt{\binom{d}{j} c^{d-|j|}}\; x^j`.

    The constant acts as one more coordinate √c, so j runs over all degrees up to d if c > 0 and
    over degree d alone if c = 0. Order: ``x_1^d`` first.

    Attributes
    ----------
    exponents : int array of shape (m, p)
    multiplicities : array of shape (m,)
        ``binom(d; j) c^(d-|j|)``, the squares of the scales of the features.
    """

    def __init__(self, dimension: int, degree: int, constant: float) -> None:
        degree = check_integer(degree, "degree")
        remedy = "A negative constant makes the kernel indefinite."
        constant = check_real(constant, "constant", low=0, remedy=remedy)
        variables = dimension + (constant > 0)
        count = count_monomials(variables, degree)
        if count > MAX_MONOMIALS or 32 * count**2 > memory_budget():
            raise MemoryBudgetError(
                f"A polynomial kernel of degree {degree} in {dimension} dimensions has {count} "
                f"monomials; the limits are {MAX_MONOMIALS} and the memory budget of "
                f"{memory_budget() / 1e9:.3g} GB. Use KernelOperator(Polynomial(degree, constant), "
                "measure), or fit KernelPCA to a sample."
            )
        augmented = exponents_of_degree(variables, degree)
        self.degree, self.constant = degree, constant
        self.exponents = augmented[:, :dimension]
        powers = constant ** augmented[:, dimension] if constant > 0 else 1.0
        self.multiplicities = multinomials(augmented) * powers

    def __call__(self, X: Array) -> Array:
        """Return the values of the features, shape (n, m)."""
        return np.sqrt(self.multiplicities) * monomial_values(X, self.exponents)


class PolynomialOperator(PopulationOperator):
    r"""The operator of ``k(x, y) = (constant + x'y)^degree`` under a measure, exactly.

    Its nonzero eigenvalues are those of the moment matrix :math:`M = E\,\Phi\Phi'` of the features
    :math:`\Phi_j = \sqrt{\binom{d}{j}}\,x^j` (of their covariance, if centered), and with a unit
    eigenvector v of M

    .. math:: \phi(x) = \lambda^{-1/2} \sum_j v_j \Phi_j(x)
        \qquad (\Phi_j - E\Phi_j \text{ if centered})

    has unit norm in L2(p). There are at most C(d+p-1, d) eigenfunctions for p variables, C(d+p, d)
    with a constant, and one fewer with a constant and centering.

    Parameters
    ----------
    degree : int
        d, at least 1.
    measure : measure or frozen scipy distribution
        With finite moments up to 2d.
    constant : float
        Nonnegative.
    center : bool
        Remove the mean in feature space.
    n_components : int or None
        Maximal number of eigenpairs; None for all eigenvalues above rounding error.

    Attributes
    ----------
    exponents : int array of shape (m, p)
        The multi-indices j, ``x_1^d`` first.
    moment_matrix : array of shape (m, m)
        M, or the covariance of the features.
    coefficients : array of shape (k, m)
        φ_i as a combination of the raw monomials ``x^j``.
    offsets : array of shape (k,)
        The constant that is subtracted from φ_i: 0 unless centered.

    Notes
    -----
    The functions in the thesis do not have unit norm: they are ``numerators / λ``.

    Examples
    --------
    >>> from mercer.population import PolynomialOperator, Uniform
    >>> operator = PolynomialOperator(2, Uniform([0, 0], [1, 1]))
    >>> operator.eigenvalues.round(4).tolist()
    [0.5206, 0.0889, 0.0127]
    """

    method = "closed form (moments)"

    def __init__(
        self,
        degree: int,
        measure: Any,
        *,
        constant: float = 0.0,
        center: bool = False,
        n_components: int | None = None,
    ) -> None:
        self.measure = as_measure(measure)
        self.features = PolynomialFeatures(self.measure.dimension, degree, constant)
        self.kernel = Polynomial(self.features.degree, self.features.constant)
        self.center = bool(center)
        self.exponents = self.features.exponents
        scale = np.sqrt(self.features.multiplicities)
        with np.errstate(over="ignore", invalid="ignore"):  # reported below
            mean, covariance = self.measure.monomial_moments(self.exponents)
            mean, covariance = scale * mean, scale[:, None] * covariance * scale
            self.moment_matrix = covariance if center else covariance + np.outer(mean, mean)
        if not np.isfinite(self.moment_matrix).all():
            raise ValueError(
                f"Moments of order {2 * degree} of {self.measure!r} overflow; rescale the "
                "variables, for example to unit variance."
            )
        self.trace = float(np.trace(self.moment_matrix))
        values, vectors, overlaps = self._pairs(mean, n_components)
        self.eigenvalues = values
        means = np.zeros(len(values)) if center else overlaps / np.sqrt(values)
        at_probes = (self.features(self.measure.probes()) - center * mean) @ vectors
        self.means, flips = orient(means, at_probes)
        self.coefficients = (scale[:, None] * vectors * flips / np.sqrt(values)).T
        self.offsets = center * (flips * overlaps / np.sqrt(values))

    def _pairs(self, mean: Array, n_components: int | None) -> tuple[Array, Array, Array]:
        size = len(mean)
        count = size
        if n_components is not None:
            count = min(check_integer(n_components, "n_components"), size)
        values, vectors = eigh(self.moment_matrix, subset_by_index=(size - count, size - 1))
        top = max(float(values[-1]), 0.0)
        values, vectors, overlaps = canonical(values, vectors, mean, TIE * top)
        positive = values > size * np.finfo(np.float64).eps * top
        if not positive.any():
            raise ValueError(
                f"Every eigenvalue is 0 under {self.measure!r}"
                f"{' after centering' if self.center else ''}: the features do not vary. Use a "
                "measure that is not a single point."
            )
        return values[positive], vectors[:, positive], overlaps[positive]

    def _functions(self, X: Array) -> Array:
        return np.asarray(monomial_values(X, self.exponents) @ self.coefficients.T - self.offsets)

    @property
    def numerators(self) -> Array:
        """Coefficients in the scaling of the thesis, where functions are ``numerators / λ``.

        Entries of unit eigenvectors times ``√binom(d; j)``; shape (k, m).
        """
        return np.asarray(self.coefficients * np.sqrt(self.eigenvalues)[:, None])
