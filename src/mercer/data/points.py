"""Input data: validation, points of any kind, and weighted samples.

Raw input (arrays, memory maps, data frames, lists of strings or graphs, a precomputed Gram matrix)
becomes :class:`Points` in :func:`validate_points`; later code does not see raw input. Dask
collections become :class:`~mercer.data.dask.points.ChunkedPoints`, which offer passes over the rows
but not the rows themselves. Both implement :class:`PointSet`. Which input is valid depends on the
kernel (``kernel.compares``):

========== ==================================================================================
"vectors"  numeric arrays and frames, checked by scikit-learn's ``validate_data``; SciPy sparse
           matrices for kernels with ``accepts_sparse``
"gram"     a precomputed Gram matrix (n, n), or a cross-Gram (m, n) for new points
"objects"  any sequence: strings, graphs, sets, or a data frame for a kernel on its columns
========== ==================================================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, Literal, NoReturn, TypeVar, cast

import numpy as np

from mercer.data.subsampling import distinct_rows
from mercer.errors import AbsentRowsError
from mercer.utils.frames import (
    as_frame,
    as_numbers,
    check_dates,
    check_distinct_names,
    explain_values,
    is_frame,
)
from mercer.utils.row_passes import IN_MEMORY, RowPasses, add_up
from mercer.utils.types import Array
from mercer.utils.validation import check_gram, check_weight_totals, check_weights
from mercer.utils.weights import WeightTotals, multiplicities

__all__ = [
    "PointSet",
    "Points",
    "RemoteColumn",
    "RemotePoints",
    "Sample",
    "check_sparse",
    "concatenate_points",
    "require_memory",
    "row_weights",
    "rowwise",
    "select_rows",
    "validate_points",
    "validate_weights",
]

Kind = Literal["vectors", "gram", "objects"]


class PointSet(ABC):
    """Interface of the points of an estimator, in memory or elsewhere.

    Implementations: :class:`Points` (in memory), :class:`~mercer.data.dask.points.ChunkedPoints`
    (on a Dask cluster) and :class:`~mercer.data.points.RemotePoints` (not available in this
    process). Only the first has ``data``; the others raise an error that names a remedy.
    """

    kind: Kind
    feature_names: tuple[str, ...] | None

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of points."""

    @property
    @abstractmethod
    def dimension(self) -> int | None:
        """Number of columns, for vectors."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """Floating-point type of kernel values."""

    @property
    @abstractmethod
    def is_chunked(self) -> bool:
        """Whether the rows are in the chunks of a Dask array, so that results are lazy."""

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are those of a sparse matrix, in memory."""
        return False

    def require_dense(self, what: str) -> None:
        """Raise TypeError if the rows are sparse; ``what`` names the computation."""
        if self.is_sparse:
            raise TypeError(
                f"{what} needs dense rows; X is a sparse matrix with {self.dimension} columns. Fit "
                "the model with X.toarray(), or with fewer columns, such as "
                "sklearn.decomposition.TruncatedSVD(100).fit_transform(X)."
            )

    @property
    @abstractmethod
    def passes(self) -> RowPasses:
        """Passes over columns with one entry per point."""

    @abstractmethod
    def total(self, weights: Any = None) -> float:
        """Return the sum of the weights, or the number of points."""

    @abstractmethod
    def ones(self) -> Any:
        """Return a column of ones."""

    @abstractmethod
    def bounds(self) -> tuple[Array, Array]:
        """Return the minimum and maximum of every column, for vectors."""

    @abstractmethod
    def take(self, indices: Array | slice) -> Points:
        """Return the points with these indices, in memory."""

    @abstractmethod
    def draw(self, coefficients: Any, count: int, rng: np.random.Generator) -> Array:
        """Draw rows with probabilities proportional to the coefficients."""

    @abstractmethod
    def sum_rows(
        self,
        function: Callable[..., Any],
        *columns: Any,
        combine: Callable[[Sequence[Any]], Any] = add_up,
    ) -> Any:
        """Return ``function(points, *columns)``, combined over chunks if there are several."""

    @abstractmethod
    def map_rows(self, function: Callable[..., Any], *columns: Any) -> Any:
        """Return ``function(points, *columns)``, one result per point; lazy for chunks."""


@dataclass(frozen=True, eq=False)
class Points(PointSet):
    """Validated data in memory: the argument of a kernel, whose rows are points."""

    data: Any
    kind: Kind = "vectors"
    feature_names: tuple[str, ...] | None = None

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.data)

    @property
    def dimension(self) -> int | None:
        """Number of columns, for vectors."""
        return int(self.data.shape[1]) if self.kind == "vectors" else None

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating-point type of kernel values."""
        if self.kind != "objects" and self.data.dtype == np.float32:
            return np.dtype(np.float32)
        return np.dtype(np.float64)

    @property
    def is_chunked(self) -> bool:
        """False."""
        return False

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are those of a sparse matrix."""
        return _is_sparse(self.data)

    @property
    def passes(self) -> RowPasses:
        """Passes over arrays in memory."""
        return IN_MEMORY

    def total(self, weights: Array | None = None) -> float:
        """Return the sum of the weights, or the number of points."""
        return float(self.n if weights is None else weights.sum())

    def ones(self) -> Array:
        """Return a column of ones."""
        return np.ones(self.n)

    def bounds(self) -> tuple[Array, Array]:
        """Return the minimum and maximum of every column, for vectors."""
        return self.data.min(axis=0), self.data.max(axis=0)

    def draw(self, coefficients: Array, count: int, rng: np.random.Generator) -> Array:
        """Draw rows with probabilities proportional to the coefficients.

        Coefficients are accumulated in lexicographic order of the rows. The draws therefore depend
        neither on the order of the rows nor on whether repeated rows are given as copies or as
        weights.
        """
        indices, masses = distinct_rows(self.data, coefficients)
        cumulative = np.cumsum(masses)
        found = np.searchsorted(cumulative, rng.random(count) * cumulative[-1])
        return np.asarray(self.data[indices[np.minimum(found, len(indices) - 1)]])

    def sum_rows(
        self,
        function: Callable[..., Any],
        *columns: Any,
        combine: Callable[[Sequence[Any]], Any] = add_up,
    ) -> Any:
        """Return ``function(points, *columns)``."""
        return function(self, *columns)

    def map_rows(self, function: Callable[..., Any], *columns: Any) -> Any:
        """Return ``function(points, *columns)``, one result per point."""
        return function(self, *columns)

    def take(self, indices: Array | slice) -> Points:
        """Return the points with these indices."""
        return Points(select_rows(self.data, indices), self.kind, self.feature_names)

    def chunks(self, size: int) -> Iterator[tuple[slice, Any]]:
        """Yield row ranges of at most ``size`` points, with their data."""
        for first in range(0, self.n, size):
            rows = slice(first, min(first + size, self.n))
            yield rows, select_rows(self.data, rows)


def concatenate_points(parts: Sequence[Points]) -> Points:
    """Concatenate points of one kind."""
    first = parts[0]
    if hasattr(first.data, "iloc"):
        import pandas as pd

        return Points(pd.concat([part.data for part in parts]), first.kind, first.feature_names)
    if any(part.is_sparse for part in parts):
        from scipy.sparse import csr_array, vstack

        from mercer.utils.pairwise import as_sparse_rows

        stacked = vstack([csr_array(part.data) for part in parts], format="csr")
        return Points(as_sparse_rows(stacked), first.kind, first.feature_names)
    if all(isinstance(part.data, np.ndarray) for part in parts):
        joined = np.concatenate([part.data for part in parts])
        return Points(joined, first.kind, first.feature_names)
    return Points([item for part in parts for item in part.data], first.kind)


def select_rows(data: Any, indices: Array | slice) -> Any:
    """Select rows of an array, a data frame or a list."""
    if isinstance(data, np.ndarray):
        return data[indices]
    if hasattr(data, "iloc"):
        return data.iloc[indices]
    if isinstance(data, list | tuple):
        return (
            data[indices] if isinstance(indices, slice) else [data[i] for i in np.asarray(indices)]
        )
    return data[indices]


# --- samples --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sample:
    """Training data of an operator: points with positive weight, and K if it is precomputed.

    ``indices`` are those of the rows of X in the sample, None if all are, or for rows on a cluster.
    The weights given by the user are ``unit * weights``. The largest of ``weights``, with which
    operators compute, is between 1 and 4, except for rows on a cluster (unit 1).
    """

    kernel: Any
    points: Points
    weights: Array | None = None
    matrix: Array | None = None
    indices: Array | None = None
    unit: float = 1.0

    @classmethod
    def of(
        cls, kernel: Any, points: Points, weights: Array | None, unit: float | None = None
    ) -> Sample:
        """Drop rows with zero weight, and separate a precomputed matrix from its points."""
        if points.is_chunked:
            return _chunked_sample(kernel, points, weights)
        indices = None if weights is None or weights.all() else np.flatnonzero(weights)
        if weights is None:
            unit = 1.0
        else:
            unit = WeightTotals.of(weights).unit if unit is None else unit
            weights = (weights if indices is None else weights[indices]) / unit
        if points.kind == "gram":
            matrix = points.data if indices is None else points.data[np.ix_(indices, indices)]
            columns = np.arange(points.n) if indices is None else indices
            return cls(kernel, Points(columns, "gram"), weights, matrix, indices, unit)
        selected = points if indices is None else points.take(indices)
        return cls(kernel, selected, weights, None, indices, unit)

    @property
    def normalized_weights(self) -> Array:
        """Weights divided by their sum."""
        weights = self.points.ones() if self.weights is None else self.weights
        return weights / self.points.total(self.weights)

    @property
    def totals(self) -> WeightTotals:
        """Sums of the weights given by the user."""
        if self.points.is_chunked:
            return cast(WeightTotals, self.points.survey.totals)  # type: ignore[attr-defined]
        if self.weights is None:
            return WeightTotals.of_rows(self.points.n)
        return WeightTotals.of(self.unit * self.weights)

    @property
    def sample_size(self) -> float:
        """``n = max(Σw, (Σw)² / Σw²)``, the sample size of all rules."""
        return self.totals.sample_size

    @property
    def multiplicities(self) -> Array:
        """Weights with the sum ``sample_size``; ones without weights."""
        if self.weights is None:
            return self.points.ones()
        if self.points.is_chunked:
            return self.weights * self.totals.factor
        return multiplicities(self.unit * self.weights)

    @property
    def passes(self) -> RowPasses:
        """Passes over columns with one entry per point."""
        return self.points.passes

    def take(self, indices: Array) -> Sample:
        """Return a sample of some points; columns of a precomputed matrix are renumbered."""
        weights = None if self.weights is None else self.weights[indices]
        points, matrix = self.points.take(indices), None
        if self.matrix is not None:
            matrix = self.matrix[np.ix_(indices, indices)]
            points = Points(np.arange(len(indices)), "gram")
        return Sample(self.kernel, points, weights, matrix, unit=self.unit)

    def points_for(self, indices: Array, training: Array) -> Points:
        """Return some points as new points for a model of ``take(training)``.

        For a precomputed matrix that is the cross-Gram matrix.
        """
        if self.matrix is None:
            return self.points.take(indices)
        return Points(self.matrix[np.ix_(indices, training)], "gram")


def _chunked_sample(kernel: Any, points: Any, weights: Any) -> Sample:
    weighted = points.with_weights(weights)
    _ = weighted.survey  # this pass validates the rows
    return Sample(kernel, weighted, weighted.weights)


# --- validation -----------------------------------------------------------------------------------


def validate_points(X: Any, kernel: Any, *, estimator: Any = None, reset: bool = True) -> Points:
    """Validate raw input; return a PointSet unchanged, and Dask collections as ``ChunkedPoints``.

    ``kernel`` is a kernel or the type of data that it compares; a type does not accept sparse
    matrices. ``n_features_in_`` and ``feature_names_in_`` of the estimator are set (``reset=True``,
    in ``fit``) or compared.
    """
    if isinstance(X, PointSet):
        return cast(Points, X)
    compares = cast(Kind, kernel if isinstance(kernel, str) else kernel.compares)
    if not isinstance(X, np.ndarray):
        from mercer.data.dask import passes_for

        if passes_for(X).is_chunked:
            from mercer.data.dask.points import validate_dask_points

            chunked = validate_dask_points(X, compares, estimator=estimator, reset=reset)
            return cast(Points, chunked)
    if _is_sparse(X):
        X = check_sparse(X, kernel)
    elif compares == "objects":
        return _validate_objects(X, estimator, reset)
    points = Points(_validate_numeric(X, kernel, estimator, reset), compares, _names(estimator))
    if compares == "gram" and reset:
        check_gram(points.data)
    return points


def require_memory(X: Any, what: str) -> None:
    """Raise TypeError for a Dask collection; ``what`` names the computation that needs all rows."""
    if isinstance(X, np.ndarray):
        return
    from mercer.data.dask import passes_for

    if passes_for(X).is_chunked:
        raise TypeError(
            f"{what} does not accept Dask collections: it needs all rows in memory. Pass a "
            "subsample, for example X[::100].compute() or X.sample(frac=0.01).compute()."
        )


def _is_sparse(X: Any) -> bool:
    """Return whether X is a sparse matrix or array of SciPy, which is imported only then."""
    return hasattr(X, "tocsr")


def check_sparse(X: Any, kernel: Any) -> Any:
    """Return a sparse matrix as rows if the kernel accepts them; raise TypeError otherwise."""
    if getattr(kernel, "accepts_sparse", False) and X.ndim == 2:
        from mercer.utils.pairwise import as_sparse_rows

        return as_sparse_rows(X if X.dtype.kind == "f" else X.astype(np.float64))
    name = "This method" if isinstance(kernel, str) else repr(kernel)
    size = np.prod([float(length) for length in X.shape]) * 8 / 1e6
    raise TypeError(
        f"{name} does not accept sparse matrices (X has shape {X.shape}); linear, cosine, "
        "polynomial and sigmoid kernels do. Pass kernel='cosine' where there is a kernel, or dense "
        f"rows: X.toarray() ({size:,.1f} MB), or fewer columns by "
        "sklearn.decomposition.TruncatedSVD(100).fit_transform(X)."
    )


def _validate_numeric(X: Any, kernel: Any, estimator: Any, reset: bool) -> Any:
    from sklearn.utils.validation import check_array, validate_data

    X = X if isinstance(X, np.ndarray) or _is_sparse(X) else as_numbers(X)
    if hasattr(X, "columns"):
        check_distinct_names(getattr(X, "column_names", X.columns))  # of pyarrow, or of others
    by_kernel = not isinstance(kernel, str)  # a type of data if there is no choice of kernels
    compares_tables = by_kernel and getattr(estimator, "_table", "sum") is not None
    if not isinstance(X, np.ndarray) or X.dtype.kind in "Mm":
        check_dates(X, compares_tables)
    options: Any = {"dtype": [np.float64, np.float32], "accept_sparse": "csr"}
    try:
        if estimator is None:
            valid = check_array(X, **options)
        else:
            valid = validate_data(estimator, X, reset=reset, **options)
        return check_sparse(valid, kernel) if _is_sparse(valid) else np.asarray(valid)
    except ValueError as error:
        if (reason := explain_values(X, compares_tables)) is not None:
            raise ValueError(reason) from error
        raise


def _names(estimator: Any) -> tuple[str, ...] | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(names)


def _validate_objects(X: Any, estimator: Any, reset: bool) -> Points:
    X = as_frame(X)
    if is_frame(X):
        check_distinct_names(X.columns)
    if hasattr(X, "__array__") and not hasattr(X, "__getitem__"):
        X = np.asarray(X)
    single = isinstance(X, str | bytes | Mapping)
    if single or not hasattr(X, "__len__") or not hasattr(X, "__getitem__"):
        raise TypeError(
            f"This kernel compares objects, so X must be a sequence of them (a list, an array, a "
            f"data frame), not a single {type(X).__name__}."
        )
    if len(X) == 0:
        raise ValueError("X has 0 objects; at least 1 is required.")
    if estimator is not None and reset:
        _set_columns(X, estimator)
    elif estimator is not None:
        X = _in_training_order(X, estimator)
    return Points(X, "objects", _column_names(X))


def _column_names(X: Any) -> tuple[str, ...] | None:
    columns = getattr(X, "columns", None)
    return None if columns is None else tuple(str(name) for name in columns)


def _n_columns(X: Any) -> int | None:
    """Number of columns; None for a sequence of objects."""
    shape: Any = getattr(X, "shape", ())
    return int(shape[1]) if len(shape) == 2 else None


def _set_columns(X: Any, estimator: Any) -> None:
    names = _column_names(X)
    estimator.n_features_in_ = _n_columns(X) or 1
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def _in_training_order(X: Any, estimator: Any) -> Any:
    """Select columns by name if they have names; otherwise check their number."""
    known, names, fitted = _names(estimator), _column_names(X), type(estimator).__name__
    if known is not None and names is not None:
        positions = {name: i for i, name in enumerate(names)}
        missing = [name for name in known if name not in positions]
        if missing:
            raise ValueError(
                f"X lacks the columns {', '.join(map(repr, missing))} that {fitted} was fitted "
                f"with; it has: {', '.join(map(repr, names))}. Columns may be in any order and "
                "values may be missing, but not a whole column."
            )
        return X if known == names else X.iloc[:, [positions[name] for name in known]]
    found, expected = _n_columns(X), estimator.n_features_in_
    if found is not None and expected not in (1, found):  # 1: may have been a list of objects
        raise ValueError(f"X has {found} columns, but {fitted} was fitted with {expected}.")
    return X


def validate_weights(sample_weight: Any, points: PointSet | int) -> Array | None:
    """Return ``sample_weight`` as n finite, non-negative numbers, not all zero; None stays None.

    A scalar is repeated. Weights of points on a cluster are validated with their chunks.
    """
    if sample_weight is None or (not isinstance(points, int) and points.is_chunked):
        return cast("Array | None", sample_weight)
    weights = row_weights(sample_weight, points if isinstance(points, int) else points.n)
    check_weight_totals(WeightTotals.of(weights))
    return weights


def row_weights(weights: Any, n: int, name: str = "sample_weight") -> Array:
    """Return n finite, non-negative numbers as a new array; a scalar is repeated."""
    found = np.array(weights, dtype=np.float64)  # a copy, which models may store
    if found.ndim == 0:
        found = np.full(n, float(found))
    if found.shape != (n,):
        raise ValueError(f"{name} has shape {found.shape}; expected ({n},), one per row.")
    check_weights(found, name)
    return found


# --- placeholders ---------------------------------------------------------------------------------


_REMEDY = "Call this method in the session that fitted the model"


class RemotePoints(PointSet):
    """Number, type and names of training rows that are not in this process."""

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
    """Shape and type of an array with one entry per training row that is not in this process."""

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


# --- row-wise methods -----------------------------------------------------------------------------

Method = TypeVar("Method", bound=Callable[..., Any])


def rowwise(method: Method) -> Method:
    """Decorate a method with one result per row, ``method(self, X)``, to accept Dask collections.

    For a Dask collection the result is a lazy ``dask.array`` with the chunks of X. Each chunk is
    one task; the fitted model is sent to the workers once, without its training rows.
    """

    @wraps(method)
    def wrapper(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        if isinstance(X, np.ndarray):
            return method(self, X, *args, **kwargs)
        from mercer.data.dask import passes_for

        passes = passes_for(X)
        if not passes.is_chunked:
            return method(self, X, *args, **kwargs)
        from mercer.data.dask.validation import validate_dask_rows

        # chunks are arrays of numbers, which some kernels of objects accept too
        accepts = getattr(self.kernel_, "accepts_arrays", False)
        compares = "vectors" if accepts else self.kernel_.compares
        rows = validate_dask_rows(X, compares, estimator=self, reset=False)
        call = partial(_call_method, self._for_workers(), method.__name__, args, kwargs)
        return passes.map(call, rows)

    return wrapper  # type: ignore[return-value]


def _call_method(model: Any, name: str, args: Any, kwargs: Any, X: Array) -> Array:
    found: Array = getattr(model, name)(X, *args, **kwargs)
    return found
