"""Training data as operators take it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.chunked import ChunkedPoints
from mercer.data import Points
from mercer.kernels import Kernel
from mercer.maths.types import Array

__all__ = ["Sample"]


@dataclass(frozen=True)
class Sample:
    """Training data ready for an operator: points of positive weight, and K if it was given.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    points : Points
        Rows with a positive weight; column numbers for a precomputed kernel.
    weights : array or None
    matrix : array or None
        The precomputed Gram matrix of these points.
    """

    kernel: Kernel
    points: Points
    weights: Array | None = None
    matrix: Array | None = None

    @property
    def counts(self) -> Array:
        """How often each point counts: the weights, or 1."""
        return self.points.ones() if self.weights is None else self.weights

    @property
    def shares(self) -> Array:
        """The counts as shares of their sum."""
        return self.counts / self.points.total(self.weights)

    def take(self, rows: Array) -> Sample:
        """Return the sample of these rows alone; a precomputed kernel numbers its columns anew."""
        weights = None if self.weights is None else self.weights[rows]
        if self.matrix is None:
            return Sample(self.kernel, self.points.take(rows), weights)
        matrix = self.matrix[np.ix_(rows, rows)]
        return Sample(self.kernel, Points(np.arange(len(rows)), "gram"), weights, matrix)

    def points_for(self, rows: Array, kept: Array) -> Points:
        """Return these rows as new points to ``take(kept)``: cross-Gram where K was given."""
        if self.matrix is None:
            return self.points.take(rows)
        return Points(self.matrix[np.ix_(rows, kept)], "gram")

    @classmethod
    def of(cls, kernel: Kernel, points: Points, weights: Array | None) -> Sample:
        """Leave out the rows that weigh nothing, and set a precomputed matrix apart."""
        if isinstance(points, ChunkedPoints):
            counted = points.counted(weights)
            counted.survey  # noqa: B018 (rows that are no numbers are found here, if not before)
            return cls(kernel, counted, counted.weights)
        keep = np.arange(points.n) if weights is None else np.flatnonzero(weights > 0)
        weights = None if weights is None else weights[keep]
        everything = len(keep) == points.n
        if points.kind == "gram":
            matrix = points.data if everything else points.data[np.ix_(keep, keep)]
            return cls(kernel, Points(keep, "gram"), weights, matrix)
        return cls(kernel, points if everything else points.take(keep), weights)
