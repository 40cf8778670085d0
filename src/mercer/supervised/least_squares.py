"""Least squares on the first k columns, for all k from one decomposition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from mercer.utils.types import Array

__all__ = ["NestedLeastSquares"]

_RANK = 1e-10  # a column is linearly dependent if its residual is this small relative to its norm


@dataclass(frozen=True)
class NestedLeastSquares:
    """Solutions of ``y ≈ Z[:, :k] c_k`` (``+ b_k``) for all k, from one QR decomposition.

    Columns that are linear combinations of the columns before them are skipped.

    Attributes
    ----------
    kept : int array of shape (p,)
        Indices of the linearly independent columns; the intercept, if any, is column 0.
    triangle : array of shape (p, p)
        R of ``Z[:, kept] = Q R``.
    effects : array of shape (p, m)
        ``Q'y``, the contribution of each column for each of m targets.
    n_columns : int
        Number of columns, including the intercept.
    intercept : bool
    """

    kept: Array
    triangle: Array
    effects: Array
    n_columns: int
    intercept: bool

    @classmethod
    def fit(
        cls, Z: Array, y: Array, weights: Array | None = None, *, intercept: bool = True
    ) -> NestedLeastSquares:
        """Orthogonalize the columns one by one, with rows scaled by the square roots of weights."""
        design = _design(Z, intercept)
        if weights is not None:
            root = np.sqrt(weights)[:, None]
            design, y = design * root, y * root
        most = min(design.shape)
        Q, R = np.empty((len(design), most)), np.zeros((most, most))
        kept: list[int] = []
        for j, column in enumerate(design.T):
            p = len(kept)
            if p == most:
                break
            basis = Q[:, :p]
            part = basis.T @ column
            rest = column - basis @ part
            again = basis.T @ rest  # a second pass removes the rounding errors of the first
            rest -= basis @ again
            length = float(np.linalg.norm(rest))
            if length > _RANK * float(np.linalg.norm(column)):
                R[:p, p], R[p, p] = part + again, length
                Q[:, p] = rest / length
                kept.append(j)
        p = len(kept)
        return cls(np.array(kept, int), R[:p, :p], Q[:, :p].T @ y, design.shape[1], intercept)

    def coefficients(self) -> tuple[Array, Array]:
        """Return intercepts of shape (m,) and coefficients of shape (m, K), for all columns."""
        coefficients = np.zeros((self.n_columns, self.effects.shape[1]))
        coefficients[self.kept] = solve_triangular(self.triangle, self.effects)
        if self.intercept:
            return coefficients[0], coefficients[1:].T
        return np.zeros(coefficients.shape[1]), coefficients.T

    def path(self, Z: Array) -> Array:
        """Return predictions for rows of Z and all k from 1 to K, of shape (K, n, m)."""
        columns = _design(Z, self.intercept)[:, self.kept]
        basis = solve_triangular(self.triangle, columns.T, trans="T")
        steps = np.zeros((self.n_columns, len(Z), self.effects.shape[1]))
        steps[self.kept] = basis[:, :, None] * self.effects[:, None, :]
        predictions = np.cumsum(steps, axis=0)
        return np.asarray(predictions[1:] if self.intercept else predictions)


def _design(Z: Array, intercept: bool) -> Array:
    return np.column_stack([np.ones(len(Z)), Z]) if intercept else Z
