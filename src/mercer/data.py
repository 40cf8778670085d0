"""The one place where data is admitted.

Whatever the user has (arrays, memory maps, data frames, lists of strings or graphs, a precomputed
Gram matrix) leaves this module as :class:`Points`, and nothing behind it looks at raw input again.
Dask collections leave it as :class:`~mercer.chunked.ChunkedPoints`, of which only sums and maps can
be had.
What is allowed depends on the kernel, which says what it compares (``kernel.compares``):

========== ==================================================================================
"vectors"  numeric arrays and frames, checked by scikit-learn's ``validate_data``
"gram"     a precomputed Gram matrix (n, n), or a cross-Gram (m, n) for new points
"objects"  any sequence: strings, graphs, sets, or a data frame whose columns the kernel knows
========== ==================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mercer.chunks import added, is_dask
from mercer.maths.quantiles import distinct_rows
from mercer.maths.types import Array

__all__ = ["Points", "admit", "admit_weights", "check_weights", "concatenated", "rows_of"]

Kind = Literal["vectors", "gram", "objects"]


@dataclass(frozen=True)
class Points:
    """Admitted data: ``n`` points, their names, and access in chunks.

    Parameters
    ----------
    data : array, frame or list
        What the kernel is called with; rows are points.
    kind : {"vectors", "gram", "objects"}
    feature_names : tuple of str or None
    """

    data: Any
    kind: Kind = "vectors"
    feature_names: tuple[str, ...] | None = None

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.data)

    @property
    def dimension(self) -> int | None:
        """Number of coordinates, for vectors."""
        return int(self.data.shape[1]) if self.kind == "vectors" else None

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating type that the kernel values should have."""
        if self.kind != "objects" and self.data.dtype == np.float32:
            return np.dtype(np.float32)
        return np.dtype(np.float64)

    def total(self, weights: Array | None = None) -> float:
        """How many points there are, each counted by its weight."""
        return float(self.n if weights is None else weights.sum())

    def ones(self) -> Array:
        """A column of ones."""
        return np.ones(self.n)

    def bounds(self) -> tuple[Array, Array]:
        """Lowest and highest coordinates, for vectors."""
        return self.data.min(axis=0), self.data.max(axis=0)

    def draw(self, coefficients: Array, count: int, rng: np.random.Generator) -> Array:
        """Rows drawn with these probabilities.

        They are sought along the lexicographic order of rows, so draws depend neither on the order
        in which rows came nor on whether they came as copies or weights.
        """
        rows, shares = distinct_rows(self.data, coefficients)
        below = np.cumsum(shares)
        found = np.searchsorted(below, rng.random(count) * below[-1])
        return np.asarray(self.data[rows[np.minimum(found, len(rows) - 1)]])

    def summed(
        self,
        summarise: Callable[..., Any],
        *columns: Any,
        combine: Callable[[Sequence[Any]], Any] = added,
    ) -> Any:
        """``summarise(points, *columns)``; of points in chunks, their summaries combined."""
        return summarise(self, *columns)

    def mapped(self, function: Callable[..., Any], *columns: Any) -> Any:
        """``function(points, *columns)``, one result per point; lazy for points in chunks."""
        return function(self, *columns)

    def take(self, rows: Array | slice) -> Points:
        """Return the points with these row numbers."""
        return Points(rows_of(self.data, rows), self.kind, self.feature_names)

    def chunks(self, size: int) -> Iterator[tuple[slice, Any]]:
        """Row ranges of at most ``size`` points, with their data."""
        for first in range(0, self.n, size):
            rows = slice(first, min(first + size, self.n))
            yield rows, rows_of(self.data, rows)


def concatenated(parts: Sequence[Points]) -> Points:
    """Several samples of one kind as one."""
    first = parts[0]
    if hasattr(first.data, "iloc"):
        import pandas as pd

        return Points(pd.concat([part.data for part in parts]), first.kind, first.feature_names)
    if all(isinstance(part.data, np.ndarray) for part in parts):
        joined = np.concatenate([part.data for part in parts])
        return Points(joined, first.kind, first.feature_names)
    return Points([item for part in parts for item in part.data], first.kind)


def rows_of(data: Any, rows: Array | slice) -> Any:
    """Select rows of an array, a data frame or a list."""
    if hasattr(data, "iloc"):
        return data.iloc[rows]
    if isinstance(data, list | tuple):
        return data[rows] if isinstance(rows, slice) else [data[i] for i in np.asarray(rows)]
    return data[rows]


def admit(X: Any, compares: Kind, *, estimator: Any = None, reset: bool = True) -> Points:
    """Check raw input and wrap it.

    Parameters
    ----------
    X : array-like, data frame, list or Points
    compares : {"vectors", "gram", "objects"}
        What the kernel compares.
    estimator : estimator or None
        Where ``n_features_in_`` and ``feature_names_in_`` are kept (``reset=True``) or compared.
    reset : bool
        True in ``fit``.
    """
    if isinstance(X, Points):
        return X
    if is_dask(X):
        from mercer.chunked import admit_chunked

        return admit_chunked(X, compares, estimator=estimator, reset=reset)
    if compares == "objects":
        return _admit_objects(X, estimator, reset)
    points = Points(_numeric(X, estimator, reset), compares, _names(estimator))
    if compares == "gram" and reset:
        _check_gram(points.data)
    return points


def _numeric(X: Any, estimator: Any, reset: bool) -> Array:
    from sklearn.utils.validation import check_array, validate_data

    types = [np.float64, np.float32]
    try:
        if estimator is None:
            return np.asarray(check_array(X, dtype=types))
        return np.asarray(validate_data(estimator, X, dtype=types, reset=reset))
    except ValueError as error:
        if hasattr(X, "columns") and any(word in str(error) for word in ("convert", "NaN")):
            error.add_note(
                "This kernel compares complete rows of numbers. For tables with labels, texts or "
                "missing cells use kernel=mercer.kernels.table_kernel(X)."
            )
        raise


def _names(estimator: Any) -> tuple[str, ...] | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(names)


def _admit_objects(X: Any, estimator: Any, reset: bool) -> Points:
    single = isinstance(X, str | bytes | Mapping)
    if single or not hasattr(X, "__len__") or not hasattr(X, "__getitem__"):
        raise TypeError(
            f"This kernel compares objects, so X must be a sequence of them (a list, an array, a "
            f"data frame), not a single {type(X).__name__}."
        )
    if len(X) == 0:
        raise ValueError("X holds 0 objects; at least 1 is needed.")
    if estimator is not None and reset:
        _remember_columns(X, estimator)
    elif estimator is not None:
        X = _in_training_order(X, estimator)
    return Points(X, "objects", _column_names(X))


def _column_names(X: Any) -> tuple[str, ...] | None:
    columns = getattr(X, "columns", None)
    return None if columns is None else tuple(str(name) for name in columns)


def _width(X: Any) -> int | None:
    """Number of columns; None for a sequence of objects."""
    shape: Any = getattr(X, "shape", ())
    return int(shape[1]) if len(shape) == 2 else None


def _remember_columns(X: Any, estimator: Any) -> None:
    names = _column_names(X)
    estimator.n_features_in_ = _width(X) or 1
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def _in_training_order(X: Any, estimator: Any) -> Any:
    """Columns that have names are found by them; columns without names are counted."""
    known, names, fitted = _names(estimator), _column_names(X), type(estimator).__name__
    if known is not None and names is not None:
        missing = [name for name in known if name not in names]
        if missing:
            raise ValueError(
                f"X has no column {', '.join(map(repr, missing))}, which {fitted} was fitted with; "
                f"it has: {', '.join(map(repr, names))}. Columns may come in any order and cells "
                "may be missing, but not a whole column."
            )
        return X if known == names else X.iloc[:, [names.index(name) for name in known]]
    width, expected = _width(X), estimator.n_features_in_
    if width is not None and expected not in (1, width):  # 1: it may have been a list of rows
        raise ValueError(f"X has {width} columns, but {fitted} was fitted with {expected}.")
    return X


def _check_gram(K: Array) -> None:
    rows, columns = K.shape
    if rows != columns:
        raise ValueError(
            f"A precomputed kernel must be a square matrix of the training points against "
            f"themselves; got {rows} × {columns}. For new points pass their cross-Gram matrix "
            "to transform."
        )
    size = float(np.abs(K).max(initial=0.0))
    limit = (1e-8 if K.dtype == np.float64 else 1e-4) * size
    step = max(1, 2**22 // rows)
    for first in range(0, rows, step):  # in stripes: no second matrix
        stripe = slice(first, first + step)
        gap = float(np.abs(K[stripe] - K[:, stripe].T).max())
        if gap > limit:
            raise ValueError(
                f"A precomputed kernel must be symmetric; its entries differ from their mirror "
                f"images by up to {gap:.3g} (allowed: {limit:.3g}). Pass (K + K.T) / 2 if that "
                "is what you mean."
            )


def admit_weights(sample_weight: Any, points: Points | int) -> Array | None:
    """Check ``sample_weight``: n finite numbers, none negative, not all zero. None stays None.

    Lazy weights of points in chunks are checked with the chunks that they belong to.
    """
    if sample_weight is None or (is_dask(sample_weight) and hasattr(points, "counted")):
        return sample_weight
    n = points if isinstance(points, int) else points.n
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ValueError(f"sample_weight has shape {weights.shape}; expected ({n},), one per row.")
    check_weights(weights)
    if weights.max() == 0:
        raise ValueError("sample_weight is zero for every row; at least one must be positive.")
    return weights


def check_weights(weights: Array) -> None:
    """Refuse numbers that cannot tell how often rows count; of no rows there is nothing to say."""
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight contains NaN or infinity; every weight must be finite.")
    if weights.min(initial=0) < 0:
        raise ValueError(
            f"sample_weight must not be negative; the smallest is {weights.min():.6g}. "
            "A weight is how often a row counts; use 0 to leave it out."
        )
