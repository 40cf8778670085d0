"""The base class of population operators: eigenvalues, means, eigenfunctions of unit norm."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy.linalg import eigh

from mercer.eigen.dense import TIE, canonical
from mercer.errors import MemoryBudgetError
from mercer.kernels import Kernel, Polynomial
from mercer.population.measure import (
    Measure,
    admit_vectors,
    count_monomials,
    exponents_of_degree,
    monomial_values,
    multinomials,
)
from mercer.population.measures import as_measure
from mercer.utils.resources import memory_budget
from mercer.utils.types import Array
from mercer.utils.validation import check_integer, check_real

__all__ = [
    "MAX_MONOMIALS",
    "PolynomialFeatures",
    "PolynomialOperator",
    "PopulationOperator",
    "orient",
]


class PopulationOperator(ABC):
    r"""Eigenpairs of the operator :math:`(K_p f)(y) = E\,k(X, y) f(X)` under a measure p.

    The eigenvalues ``λ_i / n`` of a Gram matrix converge to its eigenvalues. With ``center=True``
    the kernel is centered in feature space under p, as in kernel PCA.
    """

    kernel: Kernel
    measure: Measure
    center: bool
    eigenvalues: Array  # largest first, shape (k,)
    # ``E φ_i``, nonnegative; 0 for a centered operator. If the mean is 0, the sign of φ is such
    # that its value of largest magnitude at ``measure.probes()`` is positive, shape (k,)
    means: Array
    # sum of all eigenvalues, including those not computed: ``E k(X, X)``, minus ``E k(X, Y)`` if
    # centered
    trace: float
    error_bound: float = 0.0  # bound on the error of every eigenvalue, apart from rounding error
    method: str  # description of the method used

    def eigenfunctions(self, X: Any) -> Array:
        """Return ``φ_i`` at points, orthonormal in L2(p); an array of shape (n, k)."""
        return self._functions(admit_vectors(X, self.measure.dimension))

    @abstractmethod
    def _functions(self, X: Array) -> Array: ...

    @property
    def n_components(self) -> int:
        """Number of eigenpairs."""
        return len(self.eigenvalues)

    @property
    def entropy_terms(self) -> Array:
        """``λ_i (E φ_i)²``, the limits of the entropy terms of a sample; their sum is E k(X, Y)."""
        return np.asarray(self.eigenvalues * self.means**2)

    def standard_errors(self, n: float, components: Any = slice(None)) -> Array:
        """Return the standard errors of a sample's eigenvalues, ``λ_i √((E φ_i⁴ - 1) / n)``.

        Valid for a simple eigenvalue and n independent points, to first order in 1/√n.

        Parameters
        ----------
        n : float
            Number of points.
        components : slice or int array
            Which eigenvalues. Fourth moments of later functions are large and hard to integrate, so
            request only those that are needed.
        """
        fourth = self.measure.expectation(
            lambda X: self._functions(X)[:, components] ** 4, tolerance=1e-2
        )
        return np.asarray(self.eigenvalues[components] * np.sqrt(np.maximum(fourth - 1, 0) / n))

    def __repr__(self) -> str:
        centered = "centered, " if self.center else ""
        return (
            f"{type(self).__name__}({self.n_components} eigenvalues, {self.kernel!r}, {centered}"
            f"{self.measure!r}, {self.method})"
        )


def orient(means: Array, at_probes: Array, *, exact: bool = False) -> tuple[Array, Array]:
    """Choose signs so that means or, if these are 0, the largest values at probes are positive.

    ``means``: shape (k,). ``at_probes``: the functions' values at ``measure.probes()``. Means below
    1e-9 may be rounding or quadrature errors and count as 0, unless they are ``exact``.
    """
    means = np.where(np.abs(means) > (0.0 if exact else 1e-9), means, 0.0)
    largest = np.abs(at_probes).argmax(axis=0)
    values = at_probes[largest, np.arange(at_probes.shape[1])]
    return np.abs(means), np.where(np.where(means != 0, means, values) < 0, -1.0, 1.0)


# --- polynomial kernels ---------------------------------------------------------------------------


# A matrix of this size takes minutes to decompose, and its moments take as long.
MAX_MONOMIALS = 4000


class PolynomialFeatures:
    r"""Features of ``(c + x'y)^d``: :math:`\Phi_j = \sqrt{\binom{d}{j} c^{d-|j|}}\; x^j`.

    The constant acts as one more coordinate √c, so j runs over all degrees up to d if c > 0 and
    over degree d alone if c = 0. Order: ``x_1^d`` first.

    ``exponents``: shape (m, p). ``multiplicities``: ``binom(d; j) c^(d-|j|)``, the squares of the
    scales of the features, shape (m,).
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

    The moment matrix has one row per monomial, so any number p of variables is possible as long as
    there are at most 4000: degree 2 in 88 variables, degree 3 in 27.

    Examples
    --------
    >>> from mercer.population import Normal, PolynomialOperator, Uniform
    >>> operator = PolynomialOperator(2, Uniform([0, 0], [1, 1]))
    >>> operator.eigenvalues.round(4).tolist()
    [0.5206, 0.0889, 0.0127]

    Ten standard normal variables: ``(1 + x'y)²`` has the eigenvalue 2 for every ``x_i`` and
    ``x_i x_j``, and :math:`(13 + \sqrt{161})/2` for a function of :math:`\|x\|^2`.

    >>> operator = PolynomialOperator(2, Normal([0.0] * 10), constant=1)
    >>> operator.n_components, operator.eigenvalues[:3].round(4).tolist()
    (66, [12.8443, 2.0, 2.0])
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

        Entries of unit eigenvectors times ``√binom(d; j)``; shape (k, m). The sign is that of
        ``eigenfunctions``, with ``E φ_i ≥ 0``; some functions in the thesis have the opposite one.
        """
        return np.asarray(self.coefficients * np.sqrt(self.eigenvalues)[:, None])
