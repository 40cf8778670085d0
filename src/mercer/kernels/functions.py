"""Kernels given by their values: a Python function, or a precomputed Gram matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from mercer.data.points import Kind
from mercer.kernels.base import Kernel, Tiles
from mercer.utils.types import Array

__all__ = [
    "FunctionKernel",
    "Precomputed",
]


class FunctionKernel(Kernel):
    """Kernel that calls a Python function; ``kernel=function`` in an estimator creates it.

    Parameters
    ----------
    function : callable
        Either of two matrices, ``function(X, Y)`` with the result of shape (len(X), len(Y)), as for
        scikit-learn's ``SVC``, or of two rows, ``function(x, y)`` with a number as the result, as
        for scikit-learn's ``KernelPCA``. Which of them is found by calling it with a few rows. A
        function of rows is called once per pair, which takes about a microsecond or more.

    Notes
    -----
    A model with a function cannot be saved by :func:`mercer.save`. Write a subclass of
    :class:`Kernel` for kernels with parameters, or for objects other than vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> from mercer.kernels import FunctionKernel
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> KernelPCA(2, kernel=lambda x, y: np.exp(-abs(x - y).sum())).fit_transform(X).shape
    (50, 2)
    >>> FunctionKernel(lambda X, Y: (1 + X @ Y.T) ** 2)([[1.0], [2.0]])
    array([[ 4.,  9.],
           [ 9., 25.]])
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def matrix(self, X: Any, Y: Any) -> Array:
        """Return the values of the function for all pairs of rows."""
        if not len(X) or not len(Y):
            return np.zeros((len(X), len(Y)))
        dtype = np.result_type(X, Y)
        if not self._takes_matrices(X, Y):
            return np.array([[float(self.function(x, y)) for y in Y] for x in X], dtype)
        values = np.asarray(self.function(X, Y), dtype)
        if values.shape != (len(X), len(Y)):
            raise _wrong_result(self.function, f"matrices of {len(X)} and {len(Y)} rows", values)
        return values

    def _takes_matrices(self, X: Any, Y: Any) -> bool:
        """Return whether the function takes matrices, after calling it with 3 and 2 rows.

        A function of rows may accept matrices too, with another result, so one value is compared.
        """
        three, two = X[[0, -1, 0]], Y[[-1, 0]]
        values = _result(self.function, three, two)
        one = _result(self.function, three[0], two[0])
        is_matrix = isinstance(values, np.ndarray) and values.shape == (3, 2)
        is_number = isinstance(one, np.ndarray) and one.size == 1
        if is_matrix and is_number:
            return bool(np.allclose(values[0, 0], one, rtol=1e-4, equal_nan=True))
        if not is_matrix and not is_number:
            raise _wrong_result(self.function, "two rows", one)
        return is_matrix


def _result(function: Any, X: Any, Y: Any) -> Any:
    """Return the result as an array, or the exception."""
    try:
        return np.asarray(function(X, Y))
    except Exception as error:
        return error


def _wrong_result(function: Any, what: str, result: Any) -> ValueError:
    is_error = isinstance(result, Exception)
    found = f"raised {result!r}" if is_error else f"returned an array of shape {result.shape}"
    error = ValueError(
        f"kernel={getattr(function, '__name__', function)!r} {found} for {what}. It must return an "
        "array of shape (len(X), len(Y)) for matrices, or a number for two rows."
    )
    error.__cause__ = result if is_error else None
    return error


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
