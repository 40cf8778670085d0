"""Placeholders for training rows that are not in this process.

A model that was fitted to a Dask collection is pickled and saved without its training rows. Methods
that do not use them work; the others raise :class:`~mercer.errors.AbsentRowsError`.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from mercer.data.points import Kind, PointSet
from mercer.errors import AbsentRowsError
from mercer.utils.row_passes import RowPasses
from mercer.utils.types import Array

__all__ = ["RemoteColumn", "RemotePoints"]

_REMEDY = "Call this method in the session that fitted the model"


class RemotePoints(PointSet):
    """Number, type and names of training rows that are not in this process.

    Parameters
    ----------
    n : int
    dimension : int or None
        Number of columns, for vectors.
    dtype : dtype
    kind : {"vectors", "gram", "objects"}
    feature_names : tuple of str or None
    """

    def __init__(
        self,
        n: int,
        dimension: int | None,
        dtype: Any,
        kind: Kind = "vectors",
        feature_names: tuple[str, ...] | None = None,
    ) -> None:
        self._n = n
        self._dimension = dimension
        self._dtype = dtype
        self.kind = kind
        self.feature_names = feature_names

    @classmethod
    def like(cls, points: PointSet) -> Any:
        """Return a placeholder for these points."""
        return cls(points.n, points.dimension, points.dtype, points.kind, points.feature_names)

    @property
    def n(self) -> int:
        """Number of training rows."""
        return self._n

    @property
    def dimension(self) -> int | None:
        """Number of columns, for vectors."""
        return self._dimension

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating-point type of the rows."""
        return self._dtype

    @property
    def is_chunked(self) -> bool:
        """False."""
        return False

    @property
    def data(self) -> NoReturn:
        """Raise AbsentRowsError."""
        raise AbsentRowsError(
            f"This requires the {self.n} training rows, which are not part of a model that was "
            f"fitted to a Dask collection. {_REMEDY}."
        )

    @property
    def passes(self) -> RowPasses:
        """Raise AbsentRowsError."""
        return self.data

    def total(self, weights: Any = None) -> float:
        """Return the sum of the weights, or the number of rows."""
        return float(self.n if weights is None else weights.sum())

    def ones(self) -> Array:
        """Return a column of ones."""
        return np.ones(self.n)

    def _raise(self, *_: Any, **__: Any) -> Any:
        """Raise AbsentRowsError."""
        return self.data

    bounds = draw = map_rows = sum_rows = take = _raise

    def __reduce__(self) -> Any:
        known = (self.n, self.dimension, self.dtype, self.kind, self.feature_names)
        return RemotePoints, known


class RemoteColumn:
    """Shape and type of an array with one entry per training row that is not in this process.

    Parameters
    ----------
    shape : tuple of int
    dtype : dtype

    Examples
    --------
    >>> column = RemoteColumn((1000,), np.dtype(float))
    >>> len(column)
    1000
    """

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype = shape, dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise AbsentRowsError(
            f"This requires one entry for each of the {len(self)} training rows, which are not "
            f"part of a model that was fitted to a Dask collection. {_REMEDY}, or save the values "
            "separately."
        )

    def __getitem__(self, indices: Any) -> NoReturn:
        self.__array__()
