"""Eigenpairs of a landmark approximation, and corrections of Ritz vectors with them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh, solve_triangular

from mercer.data.points import Points
from mercer.gram.cross_gram import cross_product
from mercer.gram.mixed_precision import MixedPrecisionGram
from mercer.utils.pairwise import row_ranges
from mercer.utils.types import Array

__all__ = ["LandmarkSpectrum"]

_NUMERICAL_RANK = 1e-11  # eigenvalues of landmarks below this part of the largest are not used
_SMALLEST_GAP = 1e-3  # relative, of a correction
_CHUNK_ROWS = 4096


class LandmarkSpectrum:
    """Eigenpairs ``U diag(values) U'`` of a landmark approximation; U is evaluated when needed.

    Parameters
    ----------
    gram : MixedPrecisionGram
    center : bool
        Whether the mean in feature space is removed.

    Attributes
    ----------
    values : array of shape (r,)
        Positive eigenvalues, largest first.
    overlaps : array of shape (r,)
        ``start'U``.
    """

    def __init__(self, gram: MixedPrecisionGram, center: bool) -> None:
        self.gram = gram
        nystrom = gram.landmarks
        moments = nystrom.moments
        small = moments.scatter.copy() if center else moments.about_zero
        values, B = eigh(small, overwrite_a=True, check_finite=False, driver="evd")
        used = np.flatnonzero(values > _NUMERICAL_RANK * max(float(values[-1]), 0.0))[::-1]
        self.values = values[used]
        directions = B[:, used] / np.sqrt(self.values)
        self.overlaps = np.zeros(len(used)) if center else nystrom.small_start @ directions
        factor = nystrom.features.factor.astype(np.float64, copy=False)
        self._coefficients = solve_triangular(factor.T, directions, lower=False)
        self._offset = moments.mean @ directions if center else np.zeros(len(used))
        nystrom.potential = nystrom.potential  # stored, because the solver uses it
        del nystrom.moments  # m² numbers, computed again if they are needed

    @property
    def complete(self) -> bool:
        """Whether the landmarks miss only rounding error."""
        return self.gram.landmarks.missing_fraction <= _NUMERICAL_RANK

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of vectors and corrections."""
        return np.dtype(np.float32 if self.gram.has_single else np.float64)

    def vectors(self, columns: Array) -> Array:
        """Return some columns of U."""
        return self._expand(np.eye(len(self.values))[:, columns])

    def correction(self, R: Array, values: Array) -> Array:
        """Return ``(UΛU' - θ)⁻¹ r`` for each residual r and Ritz value θ (Davidson 1975).

        Small gaps are enlarged; what they would amplify is in the span of the Ritz vectors.
        """
        parts = self._adjoint(R)
        gaps = self.values[:, None] - values
        smallest = _SMALLEST_GAP * values
        gaps = np.where(np.abs(gaps) < smallest, np.copysign(smallest, gaps), gaps)
        T = self._expand(parts / gaps + parts / values)
        for rows in row_ranges(self.gram.size, _CHUNK_ROWS):
            T[rows] -= R[rows] / values
        return T

    def _landmarks(self) -> Points:
        landmarks = self.gram.landmarks.features.landmarks
        if landmarks.kind != "vectors" or self.dtype == np.float64:
            return landmarks
        return Points((landmarks.data - self.gram.origin).astype(self.dtype))

    def _expand(self, parts: Array) -> Array:
        """Return ``U parts``."""
        gram, landmarks = self.gram, self._landmarks()
        coefficients, offset = self._coefficients @ parts, self._offset @ parts
        out = np.empty((gram.size, parts.shape[1]), self.dtype)
        for rows in row_ranges(self.gram.size, _CHUNK_ROWS):
            points = Points(gram.points_in(rows, self.dtype), gram.points.kind)
            values = cross_product(gram.kernel, points, landmarks, coefficients) - offset
            out[rows] = values if gram.weights is None else gram.start[rows, None] * values
        return out

    def _adjoint(self, R: Array) -> Array:
        """Return ``U'R``."""
        gram, landmarks = self.gram, self._landmarks()
        sums = np.zeros((landmarks.n, R.shape[1]))
        totals = np.zeros(R.shape[1])
        for rows in row_ranges(self.gram.size, _CHUNK_ROWS):
            part = R[rows] if gram.weights is None else gram.start[rows, None] * R[rows]
            points = Points(gram.points_in(rows, self.dtype), gram.points.kind)
            sums += cross_product(gram.kernel, landmarks, points, part)
            totals += part.sum(axis=0)
        return np.asarray(self._coefficients.T @ sums - np.outer(self._offset, totals))
