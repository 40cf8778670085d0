"""Kernels that depend on the neighbors of points in the training sample."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from scipy.sparse import coo_array, csr_array

from mercer.data.points import Kind, PointSet, select_rows
from mercer.kernels.base import FitParts, Kernel, Tiles, checked_depth, copy_into
from mercer.kernels.neighbor_search import (
    NeighborPairs,
    Reference,
    kernel_distances,
    neighbor_pairs,
    reference_of,
)
from mercer.utils.pairwise import half_squared_differences
from mercer.utils.types import Array
from mercer.utils.validation import check_choice, check_integer
from mercer.utils.weight_totals import multiplicities

__all__ = ["Neighbors", "SelfTuning"]

_TIE = 1e-12  # relative difference of squared distances that counts as equal


class _NeighborKernel(Kernel):
    """A kernel of distances, and of the distance of each point to its n-th neighbor.

    Neighbors are training rows. Rows at distance 0 (copies) are not neighbors of each other, and a
    row with weight 2 counts twice, so weights are equivalent to copies, and a new row that equals a
    training row has the same kernel values.
    """

    def __init__(
        self, n_neighbors: int, kernel: Kernel | None, reference: Reference | None
    ) -> None:
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.reference = reference
        self._depth = checked_depth([] if kernel is None else [kernel])

    @property
    def compares(self) -> Kind:  # type: ignore[override]
        """Type of data that the inner kernel compares; vectors without one."""
        if self.kernel is None:
            return "vectors"
        if self.kernel.compares == "gram":
            raise ValueError(
                f"{self!r}: neighbors of new rows cannot be found from a precomputed matrix. Pass "
                "a kernel object."
            )
        return self.kernel.compares

    @property
    def is_psd(self) -> bool:
        """False: Gram matrices can have negative eigenvalues."""
        return False

    # --- fitting --------------------------------------------------------------------------------

    def inner_kernels(self) -> dict[str, Kernel]:
        """Return the kernel that induces the distance, if there is one."""
        return {} if self.kernel is None else {"kernel": self.kernel}

    def with_inner_kernels(self, kernels: Sequence[Kernel]) -> Kernel:
        """Return this kernel with the distance of another kernel."""
        if not kernels:
            return self
        return type(self)(**{**self.get_params(deep=False), "kernel": kernels[0]})

    def split_for_fit(self, X: Any, weights: Array | None) -> FitParts:
        """Return the inner kernel; the fitted kernel stores the training rows."""
        check_integer(self.n_neighbors, "n_neighbors")
        if isinstance(X, PointSet):
            raise ValueError(
                f"{self!r} needs the training rows in memory, not a Dask collection. Pass a sample "
                "of the rows as an array, and predict for the collection."
            )

        def assemble(kernels: Sequence[Kernel]) -> Kernel:
            fitted = self.with_inner_kernels(kernels)
            assert isinstance(fitted, _NeighborKernel)
            params = fitted.get_params(deep=False)
            params["reference"] = _reference(X, weights)
            return type(self)(**params)

        if self.reference is not None:
            return FitParts(self._parts(X, weights), self.with_inner_kernels)
        return FitParts(self._parts(X, weights), assemble)

    def _parts(self, X: Any, weights: Array | None) -> list[tuple[Kernel, Any, Array | None]]:
        return [] if self.kernel is None else [(self.kernel, X, weights)]

    # --- evaluation -----------------------------------------------------------------------------

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """Evaluate tiles of squared distances and transform them."""
        right = X if Y is None else Y
        radii_x = self._squared_radii(X)
        radii_y = radii_x if Y is None else self._squared_radii(Y)
        dtype = np.float64 if self.compares == "objects" else np.result_type(X, right)

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            x, y = select_rows(X, rows), select_rows(right, columns)
            if self.kernel is None:
                squares = -2 * half_squared_differences(
                    x.astype(np.float64), y.astype(np.float64), np.ones(x.shape[1])
                )
            else:
                squares = kernel_distances(self.kernel, x, y)
            values = self._values(squares, radii_x[rows, None], radii_y[columns])
            return copy_into(values.astype(dtype, copy=False), out)

        return tile

    def diagonal(self, X: Any) -> Array:
        """``k(x, x) = 1``."""
        X = self._as_points(X)
        return np.ones(len(X), X.dtype if self.compares == "vectors" else np.float64)

    def _squared_radii(self, X: Any) -> Array:
        if self.reference is None:
            raise ValueError(
                f"{self!r} depends on the training sample. Fit an estimator, or call "
                "mercer.bandwidth.fit_kernel(kernel, X)."
            )
        count = check_integer(self.n_neighbors, "n_neighbors")
        return self.reference.squared_radii(X, count, self.kernel)

    @abstractmethod
    def _values(self, squares: Array, radii_x: Array, radii_y: Array) -> Array:
        """Return kernel values from squared distances and squared radii, which broadcast."""


class SelfTuning(_NeighborKernel):
    r"""Gaussian kernel with a bandwidth for each point (Zelnik-Manor and Perona 2004).

    .. math:: k(x, y) = \exp\left(-\frac{d(x, y)^2}{\sigma(x)\, \sigma(y)}\right)

    where :math:`\sigma(x)` is the distance of x to its ``n_neighbors``-th nearest training row.
    Clusters of different densities then have the same scale. Gram matrices may have negative
    eigenvalues.

    Parameters
    ----------
    n_neighbors : int
    kernel : Kernel or None
        Kernel whose feature space defines the distance,
        :math:`d(x, y)^2 = k(x, x) + k(y, y) - 2 k(x, y)`, for tables and objects. None for the
        Euclidean distance.
    reference : Reference or None
        The training sample, set when the kernel is fitted.

    References
    ----------
    L. Zelnik-Manor and P. Perona, "Self-tuning spectral clustering", NIPS 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import fit_kernel
    >>> from mercer.kernels import SelfTuning
    >>> X = np.array([[0.0], [1.0], [2.0], [30.0], [60.0]])
    >>> fit_kernel(SelfTuning(n_neighbors=1), X)(X).round(3)[:, [0, 3]]
    array([[1.   , 0.   ],
           [0.368, 0.   ],
           [0.018, 0.   ],
           [0.   , 1.   ],
           [0.   , 0.343]])
    """

    def __init__(
        self,
        n_neighbors: int = 7,
        kernel: Kernel | None = None,
        reference: Reference | None = None,
    ) -> None:
        super().__init__(n_neighbors, kernel, reference)

    def _values(self, squares: Array, radii_x: Array, radii_y: Array) -> Array:
        return _self_tuned(squares, radii_x, radii_y)

    def __repr__(self) -> str:
        inside = "" if self.kernel is None else f", kernel={self.kernel!r}"
        return f"SelfTuning(n_neighbors={self.n_neighbors!r}{inside})"


class Neighbors(_NeighborKernel):
    r"""Symmetric graph of nearest neighbors, as a kernel with a sparse Gram matrix.

    .. math:: k(x, y) = \frac{[d(x, y) \le r(x)] + [d(x, y) \le r(y)]}{2}\, w(x, y)

    where :math:`r(x)` is the distance of x to its ``n_neighbors``-th nearest training row. In a
    mutual graph both points must be neighbors of each other,
    :math:`k(x, y) = [d(x, y) \le \min(r(x), r(y))]\, w(x, y)`. Gram matrices may have negative
    eigenvalues.

    Parameters
    ----------
    n_neighbors : int
    mode : {"connectivity", "weighted"}
        :math:`w = 1`, or the locally scaled Gaussian
        :math:`w(x, y) = \exp(-d(x, y)^2 / (r(x)\, r(y)))`.
    mutual : bool
    kernel : Kernel or None
        Kernel whose feature space defines the distance; None for the Euclidean distance.
    reference : Reference or None
        The training sample, set when the kernel is fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import fit_kernel
    >>> from mercer.kernels import Neighbors
    >>> X = np.array([[0.0], [1.0], [2.5], [10.0]])
    >>> fit_kernel(Neighbors(n_neighbors=1), X)(X)
    array([[1. , 1. , 0. , 0. ],
           [1. , 1. , 0.5, 0. ],
           [0. , 0.5, 1. , 0.5],
           [0. , 0. , 0.5, 1. ]])
    """

    def __init__(
        self,
        n_neighbors: int = 10,
        mode: Literal["connectivity", "weighted"] = "connectivity",
        mutual: bool = False,
        kernel: Kernel | None = None,
        reference: Reference | None = None,
    ) -> None:
        super().__init__(n_neighbors, kernel, reference)
        self.mode = mode
        self.mutual = mutual

    @property
    def is_sparse(self) -> bool:
        """True."""
        return True

    def sparse(self, X: Any, Y: Any = None) -> csr_array:
        """Return ``k(x_i, y_j)`` as a sparse array; with one argument, of X against itself."""
        directed = self._directed(X, X if Y is None else Y)
        reverse = directed.T if Y is None else self._directed(Y, X).T
        if self.mutual:
            return csr_array(directed.minimum(reverse))
        return csr_array((directed + reverse) / 2)

    def edge_weights(self, pairs: NeighborPairs) -> Array:
        """Return w(x, y) for pairs of training rows, whether or not they are neighbors."""
        if not self._is_weighted():
            return np.ones(len(pairs.rows))
        assert self.reference is not None
        radii = self._squared_radii(self.reference.rows)
        return _self_tuned(pairs.squares, radii[pairs.rows], radii[pairs.columns])

    def _directed(self, X: Any, Y: Any) -> csr_array:
        """Return ``[d(x, y) ≤ r(x)] w(x, y)``."""
        radii = self._squared_radii(X)
        pairs = neighbor_pairs(X, radii, Y, self.n_neighbors + 2, self.kernel)
        values = np.ones(len(pairs.rows))
        if self._is_weighted():
            others = radii if Y is X else self._squared_radii(Y)
            values = _self_tuned(pairs.squares, radii[pairs.rows], others[pairs.columns])
        graph = coo_array((values, (pairs.rows, pairs.columns)), shape=(len(X), len(Y)))
        return graph.tocsr()

    def _values(self, squares: Array, radii_x: Array, radii_y: Array) -> Array:
        near_x, near_y = squares <= (1 + _TIE) * radii_x, squares <= (1 + _TIE) * radii_y
        if self.mutual:
            values = (near_x & near_y).astype(np.float64)
        else:
            values = (near_x.astype(np.float64) + near_y) / 2
        if self._is_weighted():
            values *= _self_tuned(squares, radii_x, radii_y)
        return np.asarray(values)

    def _is_weighted(self) -> bool:
        check_choice(self.mode, "mode", ("connectivity", "weighted"))
        return self.mode == "weighted"

    def __repr__(self) -> str:
        inside = "" if self.kernel is None else f", kernel={self.kernel!r}"
        inside = f"{', mutual=True' if self.mutual else ''}{inside}"
        return f"Neighbors(n_neighbors={self.n_neighbors!r}, mode={self.mode!r}{inside})"


def _self_tuned(squares: Array, radii_x: Array, radii_y: Array) -> Array:
    """Return ``exp(-d² / (r(x) r(y)))``; square roots first, because products may overflow."""
    with np.errstate(under="ignore"):
        return np.exp(-(squares / np.sqrt(radii_x) / np.sqrt(radii_y)))


def _reference(X: Any, weights: Array | None) -> Reference:
    if weights is None:
        return reference_of(X, np.ones(len(X)))
    positive = np.flatnonzero(weights)
    return reference_of(select_rows(X, positive), multiplicities(weights[positive]))
