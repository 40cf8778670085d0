"""Maps and sums over rows, in memory or in chunks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from hashlib import blake2b
from operator import add, itemgetter
from typing import Any, TypeVar

import numpy as np

from mercer.maths.types import Array

__all__ = [
    "added",
    "fingerprint",
    "first_least",
    "is_dask",
    "kept",
    "mapped",
    "summed",
    "taken",
]

Summary = TypeVar("Summary")


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection; found out without importing Dask.

    >>> is_dask(np.zeros(3))
    False
    """
    return type(X).__module__.partition(".")[0] == "dask" and hasattr(X, "__dask_graph__")


def added(parts: Sequence[Any]) -> Any:
    """Add up summaries: anything with a sum, and tuples of such things place by place.

    >>> added([(1, 2.0), (3, 4.0)])
    (4, 6.0)
    """
    if isinstance(parts[0], tuple):
        return tuple(added(place) for place in zip(*parts, strict=True))
    return reduce(add, parts)


def summed(
    summarise: Callable[..., Summary],
    *columns: Any,
    combine: Callable[[Sequence[Any]], Any] = added,
    each: bool = False,
) -> Summary:
    """Summary of all rows.

    Parameters
    ----------
    summarise : callable
        ``summarise(*pieces)``, with matching pieces of the columns; to be pickled, so a function
        of a module or a ``partial`` of one.
    *columns : array with the same number of rows, or None
        None is handed on as it is.
    combine : callable
        Joins the summaries of consecutive pieces.
    each : bool
        Ask for a summary of every piece. Otherwise those known to be empty are passed over.
    """
    if not any(is_dask(column) for column in columns):
        return summarise(*columns)
    from mercer.chunks import dask_tasks

    return dask_tasks.summed(summarise, columns, combine, each)


def mapped(function: Callable[..., Array], *columns: Any, like: Array | None = None) -> Any:
    """One result per row; of rows in chunks a Dask array that is computed when it is asked for.

    ``like`` is a result for no rows, where it cannot be found by trying a row of ones.
    """
    if not any(is_dask(column) for column in columns):
        return function(*columns)
    from mercer.chunks import dask_tasks

    return dask_tasks.mapped(function, columns, like)


def kept(column: Any) -> Any:
    """Compute a lazy column once, and keep its chunks where they are made."""
    if not is_dask(column):
        return column
    from mercer.chunks import dask_tasks

    return dask_tasks.kept(column)


def taken(column: Any, rows: Array | slice) -> Array:
    """These rows, in memory."""
    if not is_dask(column):
        return np.asarray(column[rows])
    from mercer.chunks import dask_tasks

    return dask_tasks.taken(column, rows)


def first_least(parts: Sequence[tuple[float, Any]]) -> tuple[float, Any]:
    """Of values with something that goes with each, the least, and the first of equal ones.

    >>> first_least([(2.0, "a"), (1.0, "b"), (1.0, "c")])
    (1.0, 'b')
    """
    return min(parts, key=itemgetter(0))


def fingerprint(values: Array) -> tuple[bytes, ...]:
    """A few bytes that differ where the values do; fingerprints of pieces are put in a row."""
    return (blake2b(np.ascontiguousarray(values).tobytes(), digest_size=16).digest(),)
