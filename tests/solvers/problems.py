"""Eigenproblems with a known answer: a diagonal matrix and any start vector."""

import numpy as np

from mercer.operators import EigenProblem


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
