"""Mean and scatter of rows, accumulated chunk by chunk without cancellation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.utils.types import Array

__all__ = ["Moments"]


@dataclass(frozen=True)
class Moments:
    """Total weight, mean and scatter about the mean of weighted rows.

    Chunks are combined by the parallel-axis theorem (Chan, Golub, LeVeque 1979), so the scatter
    remains accurate if the mean is far from 0.

    Attributes
    ----------
    total : float
    mean : array of shape (m,)
    scatter : array of shape (m, m)
        ``Σ w (x - mean)(x - mean)'``.
    """

    total: float
    mean: Array
    scatter: Array

    @classmethod
    def of(cls, rows: Array, weights: Array | None = None) -> Moments:
        """Return the moments of one chunk, with products in the precision of the rows."""
        total = float(len(rows) if weights is None else weights.sum())
        if weights is None:
            mean = rows.mean(axis=0, dtype=np.float64)
        else:
            mean = (weights @ rows / total).astype(np.float64)
        centered = rows - mean.astype(rows.dtype)
        if weights is not None:
            centered *= np.sqrt(weights)[:, None].astype(rows.dtype)
        return cls(total, mean, (centered.T @ centered).astype(np.float64))

    def __add__(self, other: Moments) -> Moments:
        total = self.total + other.total
        step = other.mean - self.mean
        between = self.total * other.total / total
        return Moments(
            total,
            self.mean + step * (other.total / total),
            self.scatter + other.scatter + between * np.outer(step, step),
        )

    @property
    def about_zero(self) -> Array:
        """Scatter about zero, ``Σ w x x'``."""
        return self.scatter + self.total * np.outer(self.mean, self.mean)
