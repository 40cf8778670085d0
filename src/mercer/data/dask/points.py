"""Dask input as points of an estimator.

One pass over the data, the survey, validates every chunk and computes the statistics that bandwidth
rules and grids need. Later passes read the chunks again; rows are never gathered. Methods that need
all rows in memory raise TypeError at :attr:`ChunkedPoints.data`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NoReturn

import numpy as np

from mercer.data.dask.passes import DASK, SKETCH_SIZE, Sketch, combine_sketches, sketch_rows
from mercer.data.dask.validation import (
    Survey,
    check_chunk_memory,
    concatenate_tuples,
    lengths_are_known,
    survey_rows,
    validate_dask_column,
    validate_dask_rows,
)
from mercer.data.points import Kind, Points, PointSet, RemotePoints
from mercer.data.subsampling import RepresentativeRows, thin_rows
from mercer.utils.row_passes import RowPasses, add_up
from mercer.utils.types import Array
from mercer.utils.validation import check_weight_totals
from mercer.utils.weights import effective_size

__all__ = ["ChunkedPoints", "validate_dask_points"]


def validate_dask_points(
    X: Any, compares: str, *, estimator: Any = None, reset: bool = True
) -> ChunkedPoints:
    """Validate a Dask collection; unknown chunk lengths are computed."""
    columns = getattr(X, "columns", None)
    names = None if columns is None else tuple(str(name) for name in columns)
    rows = validate_dask_rows(X, compares, estimator=estimator, reset=reset)
    return ChunkedPoints(rows, None, names)


class ChunkedPoints(PointSet):
    """Vectors in the chunks of a Dask array, with their weights.

    Chunks contain all columns; their lengths may be unknown. ``survey`` has statistics of the
    weighted rows, if known. ``source`` has all rows and their weights, if rows with zero weight
    were dropped.
    """

    kind: Kind = "vectors"

    def __init__(
        self,
        rows: Any,
        weights: Any = None,
        feature_names: tuple[str, ...] | None = None,
        *,
        survey: Survey | None = None,
        source: tuple[Any, Any] | None = None,
    ) -> None:
        if not lengths_are_known(rows):
            from mercer.data.dask.tasks import with_lengths

            unweighted = survey_rows(rows)
            rows = with_lengths(rows, unweighted.lengths)
            survey = unweighted if weights is None else survey
        check_chunk_memory(rows)
        self.rows = rows
        self.weights = weights
        self.feature_names = feature_names
        self._source = source
        self._weighted: dict[int, tuple[Any, ChunkedPoints]] = {}
        if survey is not None:
            self.__dict__["survey"] = survey

    @cached_property
    def survey(self) -> Survey:
        """Statistics of the weighted rows; the first access reads all chunks."""
        return survey_rows(self.rows, self.weights)

    @property
    def data(self) -> NoReturn:
        """Raise TypeError."""
        raise TypeError(
            "This requires all rows in memory, but X is a Dask collection. With the solvers "
            "'fourier' and 'nystrom', fit, transform, predict and score_samples support Dask; "
            "otherwise pass a sample of the rows, for example X[::100].compute()."
        )

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.n, int(self.rows.shape[1])

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return int(self.rows.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating-point type of the rows."""
        return np.dtype(self.rows.dtype)

    @property
    def is_chunked(self) -> bool:
        """True."""
        return True

    @property
    def passes(self) -> RowPasses:
        """Passes over chunks."""
        return DASK

    def with_weights(self, weights: Any) -> ChunkedPoints:
        """Return the rows with positive weight, with their weights; results are cached."""
        if weights is None or weights is self.weights:
            return self
        if id(weights) not in self._weighted:
            # The cache references the weights, so that their id is not reused.
            self._weighted[id(weights)] = weights, self._with_weights(weights)
        return self._weighted[id(weights)][1]

    def _with_weights(self, weights: Any) -> ChunkedPoints:
        column = validate_dask_column(weights, self.rows, "sample_weight").astype(np.float64)
        survey = survey_rows(self.rows, column)
        check_weight_totals(survey.totals)
        if survey.lengths == self.rows.chunks[0]:
            return ChunkedPoints(self.rows, column, self.feature_names, survey=survey)
        from mercer.data.dask.tasks import with_lengths

        positive, weights = (
            with_lengths(DASK.map(_positive_rows, array, column), survey.lengths)
            for array in (self.rows, column)
        )
        source = self.rows, column
        return ChunkedPoints(positive, weights, self.feature_names, survey=survey, source=source)

    def align(self, values: Any, name: str) -> Any:
        """Return one value per row of X as a lazy column, without rows of zero weight."""
        if self._source is None:
            return validate_dask_column(values, self.rows, name)
        from mercer.data.dask.tasks import with_lengths

        rows, weights = self._source
        column = validate_dask_column(values, rows, name)
        empty = np.empty((0, *column.shape[1:]), column.dtype)
        found = DASK.map(_positive_rows, column, weights, like=empty)
        return with_lengths(found, self.survey.lengths)

    def draw(self, coefficients: Any, count: int, rng: np.random.Generator) -> Array:
        """Draw rows with probabilities proportional to the coefficients."""
        from mercer.data.dask.tasks import draw_rows

        masses = np.array(
            DASK.sum(_mass, coefficients, combine=concatenate_tuples, include_empty=True)
        )
        counts = rng.multinomial(count, masses / masses.sum())
        seeds = rng.integers(2**31, size=len(counts))
        return rng.permutation(
            draw_rows([self.rows, coefficients], _draw_from_chunk, counts, seeds)
        )

    def total(self, weights: Any = None) -> float:
        """Return the sum of the weights."""
        return float(self.n) if weights is None else self.with_weights(weights).survey.totals.total

    def ones(self) -> Any:
        """Return a lazy column of ones."""
        import dask.array as da

        return da.ones(self.n, chunks=(self.rows.chunks[0],))

    def bounds(self) -> tuple[Array, Array]:
        """Return the minimum and maximum of every column."""
        return self.survey.low, self.survey.high

    def take(self, indices: Array | slice) -> Points:
        """Return these rows in memory."""
        return Points(DASK.take(self.rows, indices), "vectors", self.feature_names)

    def sum_rows(
        self,
        function: Callable[..., Any],
        *columns: Any,
        combine: Callable[[Sequence[Any]], Any] = add_up,
    ) -> Any:
        """Return the combined results of ``function(points, *columns)`` of all chunks."""
        return DASK.sum(partial(_call_with_points, function), self.rows, *columns, combine=combine)

    def map_rows(self, function: Callable[..., Array], *columns: Any) -> Any:
        """Return the lazy results of ``function(points, *columns)``, chunk by chunk."""
        return DASK.map(partial(_call_with_points, function), self.rows, *columns)

    def spread(self) -> float:
        """Return the square root of the mean column variance."""
        deviation = self.survey.deviation
        scale = deviation.max()
        return float(scale * np.sqrt(((deviation / scale) ** 2).mean())) if scale > 0 else 0.0

    def representatives(self, most: int, *, grouped: bool = False) -> RepresentativeRows:
        """Return at most ``most`` representative rows and their multiplicities.

        They equal those of rows in memory unless a sketch overflows (16,000 distinct rows, fewer if
        rows are long). Beyond that, the rank of each row has a relative error of less than
        ``levels of the tree / 32,000``. Values are then close in the first column and arbitrary in
        the others, so results differ by the sampling error of ``most`` rows. ``grouped`` as in
        :func:`~mercer.data.subsampling.thin_rows`.
        """
        size = max(2 * most, min(SKETCH_SIZE, 2**23 // (8 * self.dimension + 8)))
        sketch: Sketch = DASK.sum(
            partial(sketch_rows, size=size),
            self.rows,
            self.weights,
            combine=partial(combine_sketches, size=size),
        )
        rows, weights = sketch.rows, sketch.weights
        if len(rows) <= most:
            return RepresentativeRows(rows, weights * self.survey.totals.factor, 1.0)
        all_rows = effective_size(weights) if sketch.complete else self.survey.totals.effective_size
        selected, counts = thin_rows(weights, most, grouped=grouped)
        return RepresentativeRows(rows[selected], counts, effective_size(counts) / all_rows)

    def __reduce__(self) -> Any:
        """Pickle the metadata only; the rows stay on the workers."""
        return RemotePoints.like(self).__reduce__()


def _call_with_points(function: Callable[..., Any], X: Array, *columns: Array | None) -> Any:
    return function(Points(X, "vectors"), *columns)


def _positive_rows(column: Array, weights: Array) -> Array:
    return column[weights > 0]


def _mass(coefficients: Array) -> tuple[float, ...]:
    return (float(coefficients.sum()),)


def _draw_from_chunk(X: Array, coefficients: Array, count_and_seed: tuple[int, int]) -> Array:
    count, seed = count_and_seed
    if count == 0:
        return X[:0]
    probabilities = coefficients / coefficients.sum()
    return X[np.random.default_rng(seed).choice(len(X), count, p=probabilities)]
