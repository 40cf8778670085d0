"""Eigenproblems with a known solution: a diagonal matrix and a given start vector."""

import numpy as np

from mercer.eigen import Selection
from mercer.gram import EigenProblem

__all__ = ["DiagonalProblem", "RotatedProblem", "selection"]


class DiagonalProblem(EigenProblem):
    """diag(values) with start √(n masses): eigenpair i has the term values_i masses_i / n."""

    def __init__(self, values, masses):
        self.values = np.asarray(values, dtype=float)
        self.masses = np.asarray(masses, dtype=float) / np.sum(masses)
        self.size = len(self.values)
        self.start = np.sqrt(self.size * self.masses)
        self.relative_error = 10 * np.finfo(float).eps

    @property
    def terms(self):
        return self.values * self.masses / self.size

    @property
    def potential(self):
        return float(self.terms.sum())

    def product(self, V):
        return self.values[:, None] * V

    def dense(self):
        return np.diag(self.values)

    def term_of_mass(self, x):
        return x / self.size

    def overlaps(self, values, products):
        return products


class RotatedProblem(DiagonalProblem):
    """The same in another orthonormal basis, so that the matrix has no zeros."""

    def __init__(self, values, masses):
        super().__init__(values, masses)
        normal = np.random.default_rng(5).normal(size=(self.size, self.size))
        self.basis, _ = np.linalg.qr(normal)
        self.start = self.basis @ self.start

    def product(self, V):
        return self.basis @ super().product(self.basis.T @ V)

    def dense(self):
        return self.basis @ super().dense() @ self.basis.T


def selection(problem, target, n_components):
    """Return a request for components of a problem."""
    trace = float(problem.values.sum())
    return Selection(target, n_components, trace, problem.potential, problem.size)
