"""Projections as functions of new points: ``f(x) = Σ_j c_j k(x, x_j)``.

A fitted model stores an expansion instead of the operator: the training points (or only a feature
map) and k columns of coefficients, never K. This keeps the pickle of a fitted estimator small.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from mercer.data.points import Points
from mercer.gram.cross_gram import cross_product
from mercer.kernels import Kernel
from mercer.utils.types import Array

__all__ = ["Expansion", "KernelExpansion"]


class Expansion(ABC):
    """Projections onto k components, at the training points and at new points."""

    kernel: Kernel
    points: Points

    @property
    def noise(self) -> float:
        """Error of a value, relative to the largest value."""
        return float(np.finfo(self.points.dtype).eps)

    @abstractmethod
    def __call__(self, points: Points) -> Array:
        """Return the projections of points, of shape (len(points), k)."""

    @abstractmethod
    def at_training(self, values: Array) -> Array:
        """Return the projections of the training points; ``values`` are the eigenvalues."""

    @property
    @abstractmethod
    def mean_coordinates(self) -> Array | None:
        """``⟨u_i, m⟩``, the mean in feature space on each component; None if not centered."""

    @property
    @abstractmethod
    def mean_squared_norm(self) -> float:
        """``|m|²``, the information potential; 0 if not centered."""

    @abstractmethod
    def mean_products(self, points: Points) -> Array:
        """Return ``⟨φ(x), m⟩``, the mean embedding at points (centered expansions only)."""

    def without_points(self) -> Expansion:
        """Return the same functions without the training points, if they are not needed."""
        return self

    def squared_norms(self, points: Points) -> Array:
        """Return ``k(x, x)``, or ``k(x, x) - 2 ⟨φ(x), m⟩ + |m|²`` if centered."""
        norms = self.kernel.diagonal(points.data).astype(np.float64, copy=False)
        if self.mean_coordinates is None:
            return norms
        return np.asarray(norms - 2 * self.mean_products(points) + self.mean_squared_norm)

    def training_squared_norms(self) -> Array:
        """Return the squared norms of the training points."""
        return self.points.map_rows(self.without_points().squared_norms)


@dataclass(frozen=True, eq=False)
class KernelExpansion(Expansion):
    """``f_i(x) = Σ_j c_ji k(x, x_j) - offset_i``.

    Parameters
    ----------
    kernel : Kernel
        Fitted.
    points : Points
        The training points x_j (column indices for a precomputed kernel).
    coefficients : array of shape (n, k)
        c_ji = √w_j e_ji / √λ_i.
    weights : array of shape (n,) or None
        w, for the mean embedding.
    diagonal : array of shape (n,)
        k(x_j, x_j) of the (centered) kernel.
    offset : array of shape (k,) or None
        Value of the uncentered f_i at the mean in feature space; None if not centered.
    potential : float
        Squared norm of the mean in feature space.
    """

    kernel: Kernel
    points: Points
    coefficients: Array
    weights: Array | None
    diagonal: Array
    offset: Array | None = None
    potential: float = 0.0

    def __call__(self, points: Points) -> Array:
        """Evaluate the expansion tile by tile."""
        values = cross_product(self.kernel, points, self.points, self.coefficients)
        return values if self.offset is None else values - self.offset

    def at_training(self, values: Array) -> Array:
        """Return ``√λ_i e_ji / √w_j``, which equals ``λ_i c_ji / w_j``."""
        scaled = self.coefficients * values
        return scaled if self.weights is None else scaled / self.weights[:, None]

    @property
    def mean_coordinates(self) -> Array | None:
        """The offset."""
        return self.offset

    @property
    def mean_squared_norm(self) -> float:
        """The potential."""
        return self.potential

    def mean_products(self, points: Points) -> Array:
        """Return the weighted mean of the kernel values with the training points."""
        weights = np.ones(self.points.n) if self.weights is None else self.weights
        normalized = (weights / weights.sum())[:, None]
        return cross_product(self.kernel, points, self.points, normalized)[:, 0]

    def training_squared_norms(self) -> Array:
        """Return the stored diagonal."""
        return self.diagonal
