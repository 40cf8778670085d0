"""Least squares on the first k columns, for every k at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from mercer.maths.types import Array

__all__ = ["NestedLeastSquares"]

_RANK = 1e-12  # a column whose new part is this small beside itself adds nothing


@dataclass(frozen=True)
class NestedLeastSquares:
    """``y ≈ Z[:, :k] c_k`` (``+ b_k``), solved for every k by one orthogonal decomposition.

    Attributes
    ----------
    triangle : array of shape (p, p)
        R of ``Z = Q R``, or of ``[1, Z] = Q R`` with an intercept.
    effects : array of shape (p, m)
        ``Q'y``: what each further column adds, for each of m targets.
    intercept : bool
    """

    triangle: Array
    effects: Array
    intercept: bool

    @classmethod
    def fit(
        cls, Z: Array, y: Array, weights: Array | None = None, *, intercept: bool = True
    ) -> NestedLeastSquares:
        """Decompose the columns, with rows weighted by the weights' roots."""
        design = np.column_stack([np.ones(len(Z)), Z]) if intercept else Z
        if weights is not None:
            root = np.sqrt(weights)[:, None]
            design, y = design * root, y * root
        missing = design.shape[1] - len(design)
        if missing > 0:  # more columns than rows: rows of zeros change nothing
            design = np.pad(design, ((0, missing), (0, 0)))
            y = np.pad(y, ((0, missing), (0, 0)))
        lengths = np.sqrt(np.einsum("ij,ij->j", design, design))
        Q, R = np.linalg.qr(design)
        pivots = np.diagonal(R)
        idle = np.abs(pivots) <= _RANK * lengths
        effects = np.where(idle[:, None], 0.0, Q.T @ y)
        # an idle column gets a harmless pivot: its effect is 0 whatever it is divided by
        R[np.diag_indices_from(R)] = np.where(idle, 1.0, pivots)
        return cls(R, effects, intercept)

    def coefficients(self) -> tuple[Array, Array]:
        """Intercepts of shape (m,) and coefficients of shape (m, K), for all columns."""
        whole = solve_triangular(self.triangle, self.effects)
        if self.intercept:
            return whole[0], whole[1:].T
        return np.zeros(whole.shape[1]), whole.T

    def path(self, Z: Array) -> Array:
        """Predictions at rows of Z for every k from 1 to K, of shape (K, n, m)."""
        design = np.column_stack([np.ones(len(Z)), Z]) if self.intercept else Z
        basis = solve_triangular(self.triangle, design.T, trans="T")
        steps = np.cumsum(basis[:, :, None] * self.effects[:, None, :], axis=0)
        return np.asarray(steps[1:] if self.intercept else steps)
