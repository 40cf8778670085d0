"""The base class of population operators: eigenvalues, means, eigenfunctions of unit norm."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from mercer.kernels import Kernel
from mercer.population.measure import Measure, admit_vectors
from mercer.utils.types import Array

__all__ = ["PopulationOperator", "orient"]

# Smaller means of functions of unit norm are taken as 0: they may be rounding or quadrature error.
_MIN_MEAN = 1e-9


class PopulationOperator(ABC):
    r"""Eigenpairs of the operator :math:`(K_p f)(y) = E\,k(X, y) f(X)` under a measure p.

    The eigenvalues ``λ_i / n`` of a Gram matrix converge to its eigenvalues. With ``center=True``
    the kernel is centered in feature space under p, as in kernel PCA.

    Attributes
    ----------
    kernel : Kernel
    measure : Measure
    center : bool
    eigenvalues : array of shape (k,)
        Largest first.
    means : array of shape (k,)
        ``E φ_i``, nonnegative; 0 for a centered operator. If the mean is 0, the sign of φ is such
        that its value of largest magnitude at ``measure.probes()`` is positive.
    trace : float
        Sum of all eigenvalues, including those not computed: ``E k(X, X)``, minus ``E k(X, Y)`` if
        centered.
    error_bound : float
        Bound on the error of every eigenvalue, apart from rounding error.
    method : str
        Description of the method used.
    """

    kernel: Kernel
    measure: Measure
    center: bool
    eigenvalues: Array
    means: Array
    trace: float
    error_bound: float = 0.0
    method: str

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

    Parameters
    ----------
    means : array of shape (k,)
    at_probes : array of shape (m, k)
        The functions' values at ``measure.probes()``.
    exact : bool
        Whether the means are exact. Otherwise means below 1e-9 count as 0.

    Returns
    -------
    means : array of shape (k,), nonnegative
    flips : array of shape (k,), ±1
    """
    means = np.where(np.abs(means) > (0.0 if exact else _MIN_MEAN), means, 0.0)
    largest = np.abs(at_probes).argmax(axis=0)
    values = at_probes[largest, np.arange(at_probes.shape[1])]
    return np.abs(means), np.where(np.where(means != 0, means, values) < 0, -1.0, 1.0)
