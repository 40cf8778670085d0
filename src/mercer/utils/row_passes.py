"""Passes over the rows of arrays in memory or in chunks.

K-means, EM and discriminant analysis read all rows several times. They are written as pure
functions of some rows, which return a summary of these rows or one result per row, and a loop that
applies these functions through :class:`RowPasses`. For arrays in memory, :class:`MemoryPasses`
calls each function once, with all rows. Other implementations call it once per chunk and combine
the summaries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from hashlib import blake2b
from operator import add, itemgetter
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from mercer.utils.quantiles import weighted_quantile
from mercer.utils.types import Array

__all__ = ["IN_MEMORY", "MemoryPasses", "RowPasses", "add_up", "fingerprint", "first_minimum"]

Summary = TypeVar("Summary")


def add_up(summaries: Sequence[Any]) -> Any:
    """Return the sum of summaries of any type with ``+``; tuples are added entry by entry."""
    if isinstance(summaries[0], tuple):
        return tuple(add_up(entries) for entries in zip(*summaries, strict=True))
    return reduce(add, summaries)


class RowPasses(Protocol):
    """Interface for passes over columns, that is, arrays with the same number of rows."""

    @property
    def is_chunked(self) -> bool:
        """Whether columns are lazy and divided into chunks, rather than arrays in memory."""

    def sum(
        self,
        function: Callable[..., Summary],
        *columns: Any,
        combine: Callable[[Sequence[Any]], Any] = add_up,
        include_empty: bool = False,
    ) -> Summary:
        """Return the combined summaries of all rows.

        ``function(*chunks)`` summarizes corresponding chunks of the columns, of which None is
        passed on. It is pickled, so it must be a module-level function or a ``partial`` of one.
        ``combine`` takes a sequence of summaries of consecutive chunks. Chunks without rows are
        skipped, unless ``include_empty``.
        """

    def map(self, function: Callable[..., Array], *columns: Any, like: Array | None = None) -> Any:
        """Return one result per row, lazily unless the columns are in memory.

        ``like`` is the result for zero rows; pass it if the function fails on a row of ones.
        """

    def persist(self, column: Any) -> Any:
        """Compute a lazy column and store its chunks where they were computed."""

    def take(self, column: Any, indices: Array | slice) -> Array:
        """Return these rows in memory."""

    def quantile(self, values: Any, weights: Any, level: float) -> float:
        """Return the weighted quantile of a column, exactly or from a sketch."""


class MemoryPasses:
    """Passes over arrays in memory: every function is called once, with all rows."""

    is_chunked: ClassVar[bool] = False

    def sum(
        self,
        function: Callable[..., Summary],
        *columns: Any,
        combine: Callable[[Sequence[Any]], Any] = add_up,
        include_empty: bool = False,
    ) -> Summary:
        """Return ``function(*columns)``."""
        return function(*columns)

    def map(self, function: Callable[..., Array], *columns: Any, like: Array | None = None) -> Any:
        """Return ``function(*columns)``."""
        return function(*columns)

    def persist(self, column: Any) -> Any:
        """Return the column itself."""
        return column

    def take(self, column: Any, indices: Array | slice) -> Array:
        """Return these rows."""
        return np.asarray(column[indices])

    def quantile(self, values: Any, weights: Any, level: float) -> float:
        """Return the weighted quantile of a column."""
        return float(weighted_quantile(values, weights, level))


IN_MEMORY = MemoryPasses()


def first_minimum(pairs: Sequence[tuple[float, Any]]) -> tuple[float, Any]:
    """Return the (value, item) pair with the smallest value, the first one in case of ties."""
    return min(pairs, key=itemgetter(0))


def fingerprint(values: Array) -> tuple[bytes, ...]:
    """Return a hash of an array as a tuple; tuples of consecutive chunks are concatenated.

    Iterations stop when no assignment changes. Comparing hashes avoids storing the n assignments of
    the previous iteration, which may be on a cluster.
    """
    return (blake2b(np.ascontiguousarray(values).tobytes(), digest_size=16).digest(),)
