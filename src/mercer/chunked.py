"""Points that lie in chunks on an engine (Dask): what is known of them, sums and maps.

One pass over the data, the *survey*, checks every chunk and finds what rules and grids need: sizes,
bounds, means and deviations. Chunks are then read again by whatever sums over them; they are never
gathered. What would need all rows in one place raises, in words, at :attr:`ChunkedPoints.data`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from typing import Any, NoReturn

import numpy as np

from mercer.chunks import added, is_dask, mapped, summed, taken
from mercer.data import Kind, Points, check_weights
from mercer.errors import AbsentRowsError
from mercer.maths.quantiles import distinct_rows, evenly_spaced, weighted_quantile
from mercer.maths.types import Array

__all__ = [
    "AbsentColumn",
    "AbsentPoints",
    "ChunkedPoints",
    "Survey",
    "admit_chunked",
    "lazy_column",
    "lazy_rows",
    "quantile_of",
]

_MOST_CHUNKS = 10_000
# rows of a quantile sketch: the 2000 that rules look at are then right to a third of their spacing
_SKETCH = 16_000
_SKETCH_BYTES = 2**23
_ROOM = 4  # a chunk's work takes about so many times its size: itself, scaled, angles, results


@dataclass(frozen=True)
class Survey:
    """What one pass over weighted rows tells.

    Attributes
    ----------
    lengths : tuple of int
        Rows of positive weight in each chunk.
    total : float
        Sum of the weights.
    low, high : arrays of shape (d,)
    mean : array of shape (d,)
    deviation : array of shape (d,)
        Root of the columns' (weighted) variances, safe from overflow.
    """

    lengths: tuple[int, ...]
    total: float
    low: Array
    high: Array
    mean: Array
    deviation: Array

    @classmethod
    def of(cls, X: Array, weights: Array | None = None) -> Survey:
        """Check one chunk and look at its rows."""
        from sklearn.utils import check_array

        X = check_array(X, dtype=[np.float64, np.float32], ensure_min_samples=0)
        if weights is not None:
            check_weights(weights)
            X, weights = X[weights > 0], weights[weights > 0]
        d = X.shape[1]
        if len(X) == 0:
            nothing = np.zeros(d)
            return cls((0,), 0.0, nothing + np.inf, nothing - np.inf, nothing, nothing)
        counts = np.ones(len(X)) if weights is None else weights
        total = float(counts.sum())
        mean = (counts / total) @ X.astype(np.float64, copy=False)
        centred = X - mean
        scale = np.maximum(np.abs(centred).max(axis=0), np.finfo(np.float64).tiny)
        spread = scale * np.sqrt((counts / total) @ (centred / scale) ** 2)
        low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
        return cls((len(X),), total, low, high, mean, spread)

    def __add__(self, other: Survey) -> Survey:
        """Parallel axes, on the scale of deviations: squares might overflow."""
        lengths = self.lengths + other.lengths
        if self.total == 0 or other.total == 0:
            return replace(other if self.total == 0 else self, lengths=lengths)
        total = self.total + other.total
        a, b = np.sqrt(self.total / total), np.sqrt(other.total / total)
        step = other.mean - self.mean
        within = np.hypot(a * self.deviation, b * other.deviation)
        return Survey(
            lengths,
            total,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.mean + step * b**2,
            np.hypot(within, a * b * step),
        )


class ChunkedPoints(Points):
    """Vectors in chunks on an engine, with how often each counts.

    Parameters
    ----------
    rows : dask.array.Array of shape (n, d)
        One chunk across; numbers of rows may be unknown.
    weights : dask.array.Array of shape (n,) or None
    feature_names : tuple of str or None
    """

    def __init__(
        self, rows: Any, weights: Any = None, feature_names: tuple[str, ...] | None = None
    ) -> None:
        survey = None
        if any(size != size for size in rows.chunks[0]):  # unknown: found out once
            survey = _survey(rows, None)
            rows = rows.copy()
            rows._chunks = (survey.lengths, rows.chunks[1])
        _check_room(rows)
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "kind", "vectors")
        object.__setattr__(self, "feature_names", feature_names)
        if survey is not None and weights is None:
            object.__setattr__(self, "survey", survey)

    rows: Any
    weights: Any

    @cached_property
    def survey(self) -> Survey:
        """What the pass over all chunks found."""
        return _survey(self.rows, self.weights)

    @property
    def data(self) -> NoReturn:
        """Refuse, in words."""
        raise TypeError(
            "This needs all rows in memory, and X is a Dask collection. Fit and transform, predict "
            "and score_samples of solvers 'fourier' and 'nystrom' work on chunks; for the rest "
            "take a sample of the rows, for example X[::100].compute()."
        )

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n, int(self.rows.shape[1])

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return int(self.rows.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating type of the rows."""
        return np.dtype(self.rows.dtype)

    def counted(self, weights: Any) -> ChunkedPoints:
        """The rows of positive weight, with their weights; asked twice it is the same object."""
        if weights is None or weights is self.weights:
            return self
        known = self.__dict__.setdefault("_counted", {})
        if id(weights) not in known:
            known[id(weights)] = (weights, self._with(weights))  # holds weights: no id comes twice
        found: ChunkedPoints = known[id(weights)][1]
        return found

    def _with(self, weights: Any) -> ChunkedPoints:
        column = lazy_column(weights, self.rows, "sample_weight").astype(np.float64)
        survey = _survey(self.rows, column)
        if survey.total == 0:
            raise ValueError("sample_weight is zero for every row; at least one must be positive.")
        rows, whole = self.rows, column
        if survey.lengths != rows.chunks[0]:
            rows, column = (
                _resized(mapped(_positive_rows, array, column), survey.lengths)
                for array in (rows, column)
            )
            points = ChunkedPoints(rows, column, self.feature_names)
            object.__setattr__(points, "_source", (self.rows, whole))
        else:
            points = ChunkedPoints(rows, column, self.feature_names)
        object.__setattr__(points, "survey", survey)
        return points

    def matching(self, values: Any, name: str) -> Any:
        """One value per row, of the rows that are here: others weigh nothing."""
        rows, weights = self.__dict__.get("_source", (self.rows, None))
        column = lazy_column(values, rows, name)
        if weights is None:
            return column
        empty = np.empty((0, *column.shape[1:]), column.dtype)
        found = mapped(_positive_rows, column, weights, like=empty)
        return _resized(found, self.survey.lengths)

    def draw(self, coefficients: Any, count: int, rng: np.random.Generator) -> Array:
        """Rows drawn with probabilities proportional to the coefficients, in memory."""
        from mercer.chunks.dask_tasks import drawn

        masses = np.array(summed(_mass, coefficients, combine=_concatenated, each=True))
        counts = rng.multinomial(count, masses / masses.sum())
        seeds = rng.integers(2**31, size=len(counts))
        return rng.permutation(drawn([self.rows, coefficients], _drawn, counts, seeds))

    def total(self, weights: Any = None) -> float:
        """Sum of the weights."""
        return float(self.n) if weights is None else self.counted(weights).survey.total

    def ones(self) -> Any:
        """A lazy column of ones."""
        import dask.array as da

        return da.ones(self.n, chunks=(self.rows.chunks[0],))

    def bounds(self) -> tuple[Array, Array]:
        """Lowest and highest coordinates."""
        return self.survey.low, self.survey.high

    def take(self, rows: Array | slice) -> Points:
        """Return these rows in memory."""
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(self.n))
        return Points(taken(self.rows, rows), "vectors", self.feature_names)

    def summed(
        self,
        summarise: Callable[..., Any],
        *columns: Any,
        combine: Callable[[Sequence[Any]], Any] = added,
    ) -> Any:
        """Summary of all chunks, of which only summaries travel."""
        return summed(partial(_of_points, summarise), self.rows, *columns, combine=combine)

    def mapped(self, function: Callable[..., Array], *columns: Any) -> Any:
        """Lazy results, chunk by chunk."""
        return mapped(partial(_of_points, function), self.rows, *columns)

    def spread(self) -> float:
        """Root of the mean marginal variance."""
        deviation = self.survey.deviation
        scale = deviation.max()
        return float(scale * np.sqrt(((deviation / scale) ** 2).mean())) if scale > 0 else 0.0

    def representatives(self, most: int) -> tuple[Array, Array]:
        """At most ``most`` rows that stand for all, with weights, as for rows in memory.

        Exactly those where no sketch overflows (16,000 distinct rows, fewer where rows are long);
        beyond, each is off by less than ``levels of the tree / 32,000`` of all rows in their order.
        That is near in the first column and any row's equal in the others: what is computed from
        them differs by the sampling error of so many rows.
        """
        size = max(2 * most, min(_SKETCH, _SKETCH_BYTES // (8 * self.dimension + 8)))
        rows, weights = self.summed(
            partial(_sketch, size=size), self.weights, combine=partial(_joined_sketch, size=size)
        )
        if len(rows) <= most:
            return rows, weights
        return rows[evenly_spaced(weights, most)], np.ones(most)

    def __reduce__(self) -> Any:
        """What travels of these points is what they are like."""
        return AbsentPoints.like(self).__reduce__()


def quantile_of(values: Any, weights: Any, level: float) -> float:
    """Weighted quantile of a column.

    Of a lazy one, from a sketch of 16,000 values: exact up to so many, and beyond off by less than
    ``levels of the tree / 32,000`` in rank.
    """
    if is_dask(values):
        rows, counts = summed(
            partial(_sketch_of_column, size=_SKETCH),
            values,
            weights,
            combine=partial(_joined_sketch, size=_SKETCH),
        )
        values, weights = rows[:, 0], counts
    return float(weighted_quantile(values, weights, level))


def _sketch_of_column(values: Array, weights: Array, size: int) -> tuple[Array, Array]:
    return _thinned(values[:, None], weights, size)


class AbsentPoints(Points):
    """Training rows that stayed behind: enough for all that does not touch them."""

    _n: int
    _dimension: int | None
    _dtype: np.dtype[Any]

    def __init__(
        self,
        n: int,
        dimension: int | None,
        dtype: Any,
        kind: Kind = "vectors",
        feature_names: tuple[str, ...] | None = None,
    ) -> None:
        for name, value in (
            ("_n", n),
            ("_dimension", dimension),
            ("_dtype", dtype),
            ("kind", kind),
            ("feature_names", feature_names),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def like(cls, points: Points) -> AbsentPoints:
        """What these points are like, without the points."""
        known = (points.n, points.dimension, points.dtype, points.kind, points.feature_names)
        return cls(*known)

    @property
    def data(self) -> NoReturn:
        """Refuse, in words."""
        raise AbsentRowsError(
            "This needs the training rows, which stayed on the engine that the model was fitted "
            "with; ask the estimator in the session that fitted it."
        )

    @property
    def n(self) -> int:
        """Number of rows there were."""
        return self._n

    @property
    def dimension(self) -> int | None:
        """Number of coordinates, for vectors."""
        return self._dimension

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating type of the rows."""
        return self._dtype

    def __reduce__(self) -> Any:
        known = (self.n, self.dimension, self.dtype, self.kind, self.feature_names)
        return AbsentPoints, known


class AbsentColumn:
    """A number for every training row, which stayed behind with the rows; it says so when asked.

    Parameters
    ----------
    shape : tuple of int
    dtype : dtype

    Examples
    --------
    >>> column = AbsentColumn((1000,), np.dtype(float))
    >>> len(column)
    1000
    """

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype = shape, dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise AbsentRowsError(
            f"This needs something for each of the {len(self)} training rows, which stayed on the "
            "engine that the model was fitted with; ask the estimator in the session that fitted "
            "it, or save the values beside the model."
        )

    def __getitem__(self, rows: Any) -> NoReturn:
        self.__array__()


# --- admission ------------------------------------------------------------------------------------


def admit_chunked(X: Any, compares: str, *, estimator: Any = None, reset: bool = True) -> Points:
    """Wrap a Dask collection; numbers of rows that are not known are computed now."""
    columns = getattr(X, "columns", None)
    names = None if columns is None else tuple(str(name) for name in columns)
    return ChunkedPoints(lazy_rows(X, compares, estimator, reset), None, names)


def lazy_rows(X: Any, compares: str, estimator: Any = None, reset: bool = True) -> Any:
    """A Dask array of shape (n, d), checked as far as that can be done without computing it."""
    if compares != "vectors":
        raise TypeError(
            f"This kernel compares {compares}, and a Dask collection is admitted for kernels on "
            "rows of numbers only: encode the columns as numbers, or take a sample of the rows, "
            "for example X.sample(frac=0.01).compute()."
        )
    rows = _as_array(X)
    stand_in: Any = np.zeros((1, rows.shape[1]))
    columns = getattr(X, "columns", None)
    if columns is not None:
        import pandas as pd

        stand_in = pd.DataFrame(stand_in, columns=list(columns))
    if estimator is not None:
        from sklearn.utils.validation import validate_data

        validate_data(estimator, stand_in, reset=reset)
    return rows


def _as_array(X: Any) -> Any:
    """A Dask array of numbers with one chunk across."""
    import dask.array as da

    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array()
    if not isinstance(X, da.Array):
        raise TypeError(
            f"X is a {type(X).__name__} of Dask; pass a dask.array of shape (n, d) or a "
            "dask.dataframe of numbers."
        )
    if X.ndim != 2 or X.shape[1] == 0:
        raise ValueError(
            f"X must have 2 dimensions, rows and at least 1 column; got shape {X.shape}. Reshape "
            "one column with X.reshape(-1, 1)."
        )
    if len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if len(X.chunks[0]) > _MOST_CHUNKS:
        raise ValueError(
            f"X comes in {len(X.chunks[0])} chunks, more than {_MOST_CHUNKS}: handing out so many "
            "tasks would cost more than the work. Join them, for example "
            f"{_rechunk_words(X)}."
        )
    return X


def _rechunk_words(X: Any) -> str:
    if X.shape[0] != X.shape[0]:
        return f"X.repartition(npartitions={_MOST_CHUNKS // 10})"
    return f"X.rechunk(({-(-X.shape[0] // (_MOST_CHUNKS // 10))}, -1))"


def lazy_column(values: Any, rows: Any, name: str) -> Any:
    """One value per row as a Dask array with the chunks of ``rows``."""
    import dask.array as da

    if not is_dask(values):
        values = np.asarray(values)
        if values.ndim == 0:
            values = np.broadcast_to(values, rows.shape[:1])
        if values.shape[:1] != rows.shape[:1]:
            raise ValueError(
                f"{name} has shape {values.shape}; expected ({rows.shape[0]},), one per row."
            )
        return da.from_array(values, chunks=(rows.chunks[0], *values.shape[1:]))
    column = values.to_dask_array() if hasattr(values, "to_dask_array") else values
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if any(size != size for size in column.chunks[0]):
        # partitions of one frame have the same rows; any others are counted
        column = column.copy()
        column._chunks = (_lengths(column), *column.chunks[1:])
    if column.shape[0] != rows.shape[0]:
        raise ValueError(
            f"{name} has {column.shape[0]} entries and X has {rows.shape[0]} rows: inconsistent "
            "numbers of samples."
        )
    return column if column.chunks[0] == rows.chunks[0] else column.rechunk({0: rows.chunks[0]})


def _lengths(column: Any) -> tuple[int, ...]:
    lengths: tuple[int, ...] = summed(_length, column, combine=_concatenated, each=True)
    return lengths


def _mass(coefficients: Array) -> tuple[float, ...]:
    return (float(coefficients.sum()),)


def _drawn(X: Array, coefficients: Array, order: tuple[int, int]) -> Array:
    count, seed = order
    if count == 0:
        return X[:0]
    shares = coefficients / coefficients.sum()
    return X[np.random.default_rng(seed).choice(len(X), count, p=shares)]


def _length(piece: Array) -> tuple[int, ...]:
    return (len(piece),)


def _concatenated(parts: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(entry for part in parts for entry in part)


def _survey(rows: Any, weights: Any) -> Survey:
    found: Survey = summed(Survey.of, rows, weights, combine=_joined_surveys, each=True)
    if sum(found.lengths) == 0 and weights is None:
        raise ValueError("Found array with 0 sample(s), while a minimum of 1 is required.")
    return found


def _joined_surveys(parts: Sequence[Survey]) -> Survey:
    return reduce(Survey.__add__, parts)


def _positive_rows(column: Array, weights: Array) -> Array:
    return column[weights > 0]


def _resized(array: Any, lengths: tuple[int, ...]) -> Any:
    array._chunks = (lengths, *array.chunks[1:])
    return array


def _check_room(rows: Any) -> None:
    """Refuse chunks that no worker can hold, before anything is read."""
    from mercer.chunks.dask_tasks import worker_memory

    longest = max(rows.chunks[0], default=0)
    row = rows.shape[1] * rows.dtype.itemsize
    needed, room = _ROOM * longest * row, worker_memory()
    if room is not None and needed > room:
        most = max(1, int(room / (2 * _ROOM * row)))
        raise ValueError(
            f"A chunk of {longest} rows × {rows.shape[1]} columns is {longest * row / 1e9:.3g} GB, "
            f"and work on it takes about {needed / 1e9:.3g} GB; a worker has {room / 1e9:.3g} GB "
            f"for each of its threads. Use smaller chunks, X.rechunk(({most}, -1)), or workers "
            "with more memory or fewer threads."
        )


def _of_points(function: Callable[..., Any], X: Array, *columns: Array | None) -> Any:
    return function(Points(X, "vectors"), *columns)


def _sketch(points: Points, weights: Array | None, size: int) -> tuple[Array, Array]:
    counts = np.ones(points.n) if weights is None else weights
    return _thinned(points.data.astype(np.float64, copy=False), counts, size)


def _joined_sketch(parts: Sequence[tuple[Array, Array]], size: int) -> tuple[Array, Array]:
    rows, weights = (np.concatenate(place) for place in zip(*parts, strict=True))
    return _thinned(rows, weights, size)


def _thinned(X: Array, weights: Array, most: int) -> tuple[Array, Array]:
    """Distinct rows in order with their weights; evenly spaced ones where there are too many."""
    rows, weights = distinct_rows(X, weights)
    if len(rows) <= most:
        return X[rows], weights
    return X[rows[evenly_spaced(weights, most)]], np.full(most, weights.sum() / most)
