"""Least squares on the first k columns, for every k at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from mercer.maths.types import Array

__all__ = ["NestedLeastSquares"]

_RANK = 1e-10  # a column whose new part is this small beside itself adds nothing


@dataclass(frozen=True)
class NestedLeastSquares:
    """``y ≈ Z[:, :k] c_k`` (``+ b_k``), solved for every k by one orthogonal decomposition.

    Columns that add nothing to those before them are passed over.

    Attributes
    ----------
    kept : int array of shape (p,)
        Numbers of the columns that add something; the intercept, if any, is column 0.
    triangle : array of shape (p, p)
        R of ``Z[:, kept] = Q R``.
    effects : array of shape (p, m)
        ``Q'y``: what each further column adds, for each of m targets.
    n_columns : int
        With the intercept.
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
        """Orthogonalise column after column, with rows weighted by the weights' roots."""
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
            again = basis.T @ rest  # once more: the first pass leaves rounding behind
            rest -= basis @ again
            length = float(np.linalg.norm(rest))
            if length > _RANK * float(np.linalg.norm(column)):
                R[:p, p], R[p, p] = part + again, length
                Q[:, p] = rest / length
                kept.append(j)
        p = len(kept)
        return cls(np.array(kept, int), R[:p, :p], Q[:, :p].T @ y, design.shape[1], intercept)

    def coefficients(self) -> tuple[Array, Array]:
        """Intercepts of shape (m,) and coefficients of shape (m, K), for all columns."""
        whole = np.zeros((self.n_columns, self.effects.shape[1]))
        whole[self.kept] = solve_triangular(self.triangle, self.effects)
        if self.intercept:
            return whole[0], whole[1:].T
        return np.zeros(whole.shape[1]), whole.T

    def path(self, Z: Array) -> Array:
        """Predictions at rows of Z for every k from 1 to K, of shape (K, n, m)."""
        columns = _design(Z, self.intercept)[:, self.kept]
        basis = solve_triangular(self.triangle, columns.T, trans="T")
        steps = np.zeros((self.n_columns, len(Z), self.effects.shape[1]))
        steps[self.kept] = basis[:, :, None] * self.effects[:, None, :]
        predictions = np.cumsum(steps, axis=0)
        return np.asarray(predictions[1:] if self.intercept else predictions)


def _design(Z: Array, intercept: bool) -> Array:
    return np.column_stack([np.ones(len(Z)), Z]) if intercept else Z
