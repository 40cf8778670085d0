"""The kernel of a precomputed Gram matrix."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mercer.data.points import Kind
from mercer.kernels.base import Kernel, Tiles
from mercer.utils.types import Array

__all__ = ["Precomputed"]


class Precomputed(Kernel):
    """Precomputed Gram matrix (n, n) in ``fit`` and cross-Gram matrix (m, n) for new points.

    In :class:`mercer.data.points.Sample` the training points of this kernel are column indices of
    the matrix. Rows with zero weight are dropped from the sample but remain columns of later
    cross-Gram matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelECA
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> K = Gaussian(1.0)(X)
    >>> Z = KernelECA(2, kernel="precomputed").fit(K).transform(K[:5])
    >>> np.allclose(Z, KernelECA(2, kernel=Gaussian(1.0)).fit(X).transform(X[:5]))
    True
    """

    compares: ClassVar[Kind] = "gram"

    @property
    def is_psd(self) -> bool:
        """True: assumed until the eigenvalues are computed, which reports violations."""
        return True

    def matrix(self, X: Any, Y: Any) -> Array:
        """Return the columns of the matrix X with the indices Y."""
        return np.asarray(X)[:, np.asarray(Y)]

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """Return rectangles of the matrix X, or of its columns with the indices Y."""
        if Y is not None:
            return super().tiles(X, Y)

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            if out is None:
                return np.array(X[rows, columns])
            out[...] = X[rows, columns]
            return out

        return tile

    def __call__(self, X: Any, Y: Any = None) -> Array:
        """Return the matrix itself, or its columns with the indices Y."""
        X = self._as_points(X)
        return X if Y is None else self.matrix(X, Y)

    def diagonal(self, X: Any) -> Array:
        """Return ``k(x, x)`` of the training points; it is not known for new points."""
        X = np.asarray(X)
        if X.ndim != 2 or X.shape[0] != X.shape[1] or not np.allclose(X, X.T, rtol=1e-4):
            raise ValueError(
                "kernel='precomputed' does not know k(x, x) of new points, only their kernel "
                "values with the training points. Pass a kernel object instead."
            )
        return X.diagonal()
