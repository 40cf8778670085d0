"""What every population operator offers: eigenvalues, means, eigenfunctions of unit norm."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Integral
from typing import Any

import numpy as np

from mercer.kernels import Kernel
from mercer.maths.types import Array
from mercer.population.measure import Measure, admit_vectors

__all__ = ["PopulationOperator", "checked_count", "orient"]

# A function of unit norm whose mean is smaller than this has none: rounding and quadrature could
# have made it.
_NO_MEAN = 1e-9


class PopulationOperator(ABC):
    r"""The operator :math:`(K_p f)(y) = E\,k(X, y) f(X)` under a measure p, by its eigenpairs.

    Its eigenvalues are what ``λ_i / n`` of a Gram matrix converges to. With ``center=True`` the
    kernel is centred in feature space under p, as in kernel PCA.

    Attributes
    ----------
    kernel : Kernel
    measure : Measure
    center : bool
    eigenvalues : array of shape (k,)
        Largest first.
    means : array of shape (k,)
        ``E φ_i``, not negative; 0 for a centred operator. Where the mean is 0, the sign of φ is
        such that the largest of its values at ``measure.probes()`` (in size) is positive.
    trace : float
        Sum of all eigenvalues, kept or not: ``E k(X, X)``, less ``E k(X, Y)`` if centred.
    error_bound : float
        How far any of the eigenvalues may be off, beyond rounding.
    method : str
        How they were found, in words.
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
        """``φ_i`` at points, of unit norm in L2(p) and orthogonal; an array of shape (n, k)."""
        return self._functions(admit_vectors(X, self.measure.dimension))

    @abstractmethod
    def _functions(self, X: Array) -> Array: ...

    @property
    def n_components(self) -> int:
        """How many pairs there are."""
        return len(self.eigenvalues)

    @property
    def entropy_terms(self) -> Array:
        """``λ_i (E φ_i)²``, which ``ψ_i`` of a sample converges to; they add up to E k(X, Y)."""
        return np.asarray(self.eigenvalues * self.means**2)

    def standard_errors(self, n: float, components: Any = slice(None)) -> Array:
        """Standard deviation of the sample's eigenvalues, ``λ_i √((E φ_i⁴ - 1) / n)``.

        The law for a simple eigenvalue and n independent points, to first order in 1/√n.

        Parameters
        ----------
        n : float
            Number of points.
        components : slice or int array
            Which eigenvalues. Fourth moments of functions far down the spectrum are large and hard
            to integrate, so ask for what is needed.
        """
        fourth = self.measure.expectation(
            lambda X: self._functions(X)[:, components] ** 4, tolerance=1e-2
        )
        return np.asarray(self.eigenvalues[components] * np.sqrt(np.maximum(fourth - 1, 0) / n))

    def __repr__(self) -> str:
        centred = "centred, " if self.center else ""
        return (
            f"{type(self).__name__}({self.n_components} eigenvalues, {self.kernel!r}, {centred}"
            f"{self.measure!r}, {self.method})"
        )


def orient(means: Array, at_probes: Array, *, exact: bool = False) -> tuple[Array, Array]:
    """Choose a sign for each function: by its mean or, where that is 0, its largest probe.

    Parameters
    ----------
    means : array of shape (k,)
    at_probes : array of shape (m, k)
        The functions' values at ``measure.probes()``.
    exact : bool
        Whether the means are known exactly, however small; otherwise tiny ones are taken as 0.

    Returns
    -------
    means : array of shape (k,), none negative
    flips : array of shape (k,), ±1
    """
    means = np.where(np.abs(means) > (0.0 if exact else _NO_MEAN), means, 0.0)
    largest = np.abs(at_probes).argmax(axis=0)
    values = at_probes[largest, np.arange(at_probes.shape[1])]
    return np.abs(means), np.where(np.where(means != 0, means, values) < 0, -1.0, 1.0)


def checked_count(n_components: Any) -> int:
    """Check that ``n_components`` is a whole number of at least 1."""
    if not isinstance(n_components, Integral) or n_components < 1:
        raise ValueError(f"n_components={n_components!r} must be a whole number of at least 1.")
    return int(n_components)
