"""Task graphs: one task per chunk, tree reductions, and errors that name a remedy.

Each task is fused with the tasks that produce its chunk. Other large arguments of a task (a grid
of frequencies, landmarks, a fitted model) are nodes of the graph: each is sent to a worker once,
and is sent again if a worker is replaced.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

import cloudpickle
import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph

from mercer.data.dask.cluster import client, total_memory
from mercer.data.dask.dask_internals import fuse_sources
from mercer.errors import MemoryBudgetError, WorkerError
from mercer.utils.resources import (
    ProgressBar,
    progress_is_shown,
    single_thread,
    single_threaded_blas,
)
from mercer.utils.types import Array

__all__ = [
    "compute",
    "draw_rows",
    "fused_tasks",
    "map_chunks",
    "map_with_cross_sums",
    "persist",
    "sum_chunks",
    "symmetric_product",
    "take",
    "with_lengths",
    "write_chunks",
]

_FAN_IN = 8  # summaries that one task of the tree combines
_PERSISTED_FRACTION = 0.6  # of the workers' memory, for persisted arrays

Summary = TypeVar("Summary")


# --- graphs ---------------------------------------------------------------------------------------


def fused_tasks(
    function: Callable[..., Any],
    columns: Sequence[Any],
    name: str,
    per_chunk: Sequence[Any] | None = None,
    shared: tuple[Any, dict[Any, Any]] | None = None,
    axes: int = 1,
) -> tuple[dict[Any, Any], list[Any]]:
    """Return a graph with one task ``function(*chunks)`` per chunk, and the keys of these tasks.

    The keys are ``(name, i, 0, …)`` with ``axes`` indices. Further arguments are an entry of
    ``per_chunk`` for every chunk, and the result of the key in ``shared``, a key and the graph that
    computes it.
    """
    shared_arguments, graph = ([], {}) if shared is None else ([shared[0]], dict(shared[1]))
    arrays = [column for column in columns if column is not None]
    sources, futures = _optimized_graph(arrays, graph)
    graph |= sources
    call: Any = function
    # large functions are separate nodes of the graph
    if len(cloudpickle.dumps(function)) > 20_000:
        call = f"{name}-function"
        graph[call] = function
    blocks = [None if column is None else _block_keys(column) for column in columns]
    keys = [(name, i, *(0,) * (axes - 1)) for i in range(len(_block_keys(arrays[0])))]
    for i, key in enumerate(keys):
        chunks = [None if block is None else block[i] for block in blocks]
        own_arguments = [] if per_chunk is None else [per_chunk[i]]
        graph[key] = (_run, call, *chunks, *own_arguments, *shared_arguments)
    # A future is released with its last reference, so the graph must reference it.
    return fuse_sources(graph, keys) | futures, keys


def _optimized_graph(
    arrays: Sequence[Any], shared: dict[Any, Any]
) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Return the graph of the chunks of arrays, and the futures in it and in a shared graph."""
    sources = HighLevelGraph.merge(*(array.__dask_graph__() for array in arrays))
    futures = _futures_in(shared | dict(sources))
    keys = [key for array in arrays for key in _block_keys(array)]
    # the optimization drops futures
    return dict(arrays[0].__dask_optimize__(sources, keys)) | futures, futures


def _futures_in(graph: dict[Any, Any]) -> dict[Any, Any]:
    """Return the chunks that are stored on a cluster."""
    if client() is None:
        return {}
    return {key: task for key, task in graph.items() if hasattr(task, "add_done_callback")}


def _block_keys(array: Any) -> list[Any]:
    return list(_flatten(array.__dask_keys__()))


def _flatten(keys: Any) -> Iterator[Any]:
    for key in keys:
        if isinstance(key, list):
            yield from _flatten(key)
        else:
            yield key


def _run(function: Callable[..., Any], *chunks: Any) -> Any:
    """Call a function on a worker in one thread; raise WorkerError if it runs out of memory."""
    try:
        with single_thread(), single_threaded_blas():
            return function(*chunks)
    except MemoryError as error:
        rows = next((len(chunk) for chunk in chunks if chunk is not None), 0)
        raise WorkerError(
            _out_of_memory(f"A task ran out of memory on a chunk of {rows} rows")
        ) from error


def _out_of_memory(problem: str) -> str:
    return (
        f"{problem}. Use smaller chunks (X.rechunk((rows, -1)) of a Dask array, repartition of a "
        "data frame), give the workers more memory or fewer threads, or use fewer landmarks or "
        "components."
    )


def _reduce_tree(graph: dict[Any, Any], keys: list[Any], combine: Any, name: str) -> Any:
    """Add tasks that combine results, a few at a time; return the key of the last one."""
    level = 0
    while len(keys) > 1:
        level += 1
        combined = []
        for first in range(0, len(keys), _FAN_IN):
            key = (f"{name}-{level}", first // _FAN_IN)
            graph[key] = (combine, keys[first : first + _FAN_IN])
            combined.append(key)
        keys = combined
    return keys[0]


def _as_array(graph: dict[Any, Any], keys: list[Any], rows: tuple[int, ...], like: Array) -> Any:
    """Return the results of tasks as one lazy array."""
    chunks = (rows, *((size,) for size in like.shape[1:]))
    return da.Array(graph, keys[0][0], chunks, dtype=like.dtype)


def with_lengths(array: Any, lengths: tuple[int, ...]) -> Any:
    """Return the same lazy array with known chunk lengths."""
    return da.Array(array.dask, array.name, (lengths, *array.chunks[1:]), dtype=array.dtype)


def _aligned(columns: Sequence[Any]) -> list[Any]:
    """Give all columns the chunks of the first Dask array, undivided along other axes."""
    first = next(column for column in columns if isinstance(column, da.Array))
    rows = first.chunks[0]
    return [None if column is None else _align(column, rows) for column in columns]


def _align(column: Any, rows: tuple[int, ...]) -> Any:
    if not isinstance(column, da.Array):
        column = da.from_array(column, chunks=(rows, *column.shape[1:]))
    chunks = (rows, *((size,) for size in column.shape[1:]))
    unknown = any(np.isnan(size) for size in column.chunks[0])
    return column if unknown or column.chunks == chunks else column.rechunk(chunks)


# --- sums, maps, rows -----------------------------------------------------------------------------


def sum_chunks(
    function: Callable[..., Summary],
    columns: Sequence[Any],
    combine: Callable[[Sequence[Summary]], Summary],
    include_empty: bool = False,
) -> Summary:
    """Return the summaries of all chunks, combined in a tree."""
    name = f"mercer-sum-{uuid4().hex}"
    columns = _aligned(columns)
    graph, keys = fused_tasks(function, columns, name)
    if not include_empty:
        keys = _non_empty(keys, columns)
    root = _reduce_tree(graph, keys, combine, name)
    return compute(graph, root, keys)


def _non_empty(keys: list[Any], columns: Sequence[Any]) -> list[Any]:
    """Skip chunks known to be empty, which have no mean or maximum."""
    lengths = next(column for column in columns if column is not None).chunks[0]
    return [key for key, n in zip(keys, lengths, strict=True) if n != 0] or keys[:1]


def map_chunks(
    function: Callable[..., Array], columns: Sequence[Any], like: Array | None = None
) -> Any:
    """Return a lazy array of results, chunk by chunk."""
    columns = _aligned(columns)
    first = next(column for column in columns if column is not None)
    name = f"mercer-map-{uuid4().hex}"
    if like is None:
        trial = [None if column is None else _row_of_ones(column) for column in columns]
        with np.errstate(all="ignore"):
            like = np.asarray(function(*trial))
    apply = partial(_unless_empty, function, like[:0])
    graph, keys = fused_tasks(apply, columns, name, axes=like.ndim)
    return _as_array(graph, keys, first.chunks[0], like)


def _unless_empty(function: Callable[..., Array], empty: Array, *chunks: Any) -> Array:
    """Return ``empty`` for chunks without rows, which a filter may produce."""
    rows = len(next(chunk for chunk in chunks if chunk is not None))
    return function(*chunks) if rows else empty


def _row_of_ones(column: Any) -> Array:
    """Return a row of the column's type, to infer the type of a result."""
    return np.ones((1, *column.shape[1:]), column.dtype)


def persist(column: Any) -> Any:
    """Compute a lazy array and store its chunks on the workers (without a cluster: in memory)."""
    _check_total_memory(column)
    with _clear_errors():
        stored = column.persist()
        if client() is not None:  # raise errors now instead of in a later pass
            from distributed import wait

            futures = wait(stored).done
            failed = next((future for future in futures if future.status == "error"), None)
            if failed is not None:
                failed.result()
        return stored


def _check_total_memory(column: Any) -> None:
    """Raise before computing an array that all workers together cannot store."""
    needed, available = column.nbytes, total_memory()
    if available is not None and needed > _PERSISTED_FRACTION * available:
        shape = " × ".join(map(str, column.shape))
        raise MemoryBudgetError(
            f"This fit stores an array of {shape} numbers, which takes {needed / 1e9:.3g} GB. "
            f"The limit is {_PERSISTED_FRACTION:.0%} of the memory of all workers, "
            f"{_PERSISTED_FRACTION * available / 1e9:.3g} GB. Use fewer components (a smaller "
            "rank), more workers, or a sample of the rows."
        )


def take(column: Any, indices: Array | slice) -> Array:
    """Return the rows with these indices, in this order."""
    if isinstance(indices, slice):
        indices = np.arange(*indices.indices(column.shape[0]))
    order = np.argsort(indices, kind="stable")
    ordered = indices[order]
    starts = np.r_[0, np.cumsum(column.chunks[0])]
    chunk_of = np.searchsorted(starts, ordered, side="right") - 1
    chunks = np.unique(chunk_of)
    within = [ordered[chunk_of == chunk] - starts[chunk] for chunk in chunks]
    name = f"mercer-take-{uuid4().hex}"
    blocks = da.concatenate([column.blocks[int(chunk)] for chunk in chunks])
    graph, keys = fused_tasks(_take_from_chunk, [blocks], name, within)
    graph[name] = (np.concatenate, list(keys))
    found = compute(graph, name, keys)
    out = np.empty_like(found)
    out[order] = found
    return out


def _take_from_chunk(chunk: Array, indices: Array) -> Array:
    return chunk[indices]


def draw_rows(
    columns: Sequence[Any], draw: Callable[..., Array], counts: Array, seeds: Array
) -> Array:
    """Return the concatenated results of ``draw(*chunks, (count, seed))`` for every chunk."""
    name = f"mercer-draw-{uuid4().hex}"
    per_chunk = list(zip(map(int, counts), map(int, seeds), strict=True))
    graph, keys = fused_tasks(draw, _aligned(columns), name, per_chunk)
    graph[name] = (np.concatenate, list(keys))
    return np.asarray(compute(graph, name, keys))


def write_chunks(write: Callable[..., int], columns: Sequence[Any]) -> int:
    """Call ``write(*chunks, i)`` for every chunk i; return the sum of the results."""
    name = f"mercer-write-{uuid4().hex}"
    columns = _aligned(columns)
    graph, keys = fused_tasks(write, columns, name, range(len(columns[0].chunks[0])))
    rows: int = compute(graph, _reduce_tree(graph, keys, sum, name), keys)
    return rows


def map_with_cross_sums(
    rows: Any,
    select: Callable[..., Any],
    others: Sequence[Any],
    evaluate: Callable[..., Any],
    combine: Callable[[Sequence[Any]], Any],
    finish: Callable[..., Array],
    like: Array,
) -> Any:
    """Return lazy results per row, where some rows need sums over all chunks of other columns.

    ``select(chunk)`` returns the rows of a chunk of ``rows`` that need such sums,
    ``evaluate(*chunks, selected)`` the contribution of one chunk of ``others`` to the sums at the
    rows selected from all chunks, ``combine`` combines contributions, and
    ``finish(chunk, i, sums)`` returns the results of chunk i. ``like`` is a result for zero rows.
    """
    name = f"mercer-cross-sums-{uuid4().hex}"
    graph, selecting = fused_tasks(select, [rows], f"{name}-selected")
    selected = f"{name}-all"
    graph[selected] = (list, list(selecting))
    graph, evaluating = fused_tasks(
        evaluate, _aligned(others), f"{name}-sums", shared=(selected, graph)
    )
    root = _reduce_tree(graph, evaluating, combine, f"{name}-sums")
    graph, keys = fused_tasks(
        finish, [rows], name, range(len(selecting)), shared=(root, graph), axes=like.ndim
    )
    return _as_array(graph, keys, rows.chunks[0], like)


def symmetric_product(blocks: Any, tile: Callable[..., Any], V: Array) -> Array:
    """Return ``K V`` from tiles of the symmetric matrix K, each evaluated once.

    ``tile(x, v, y, u)`` returns ``k(x, y) u`` and ``k(y, x) v``; ``tile(x, v)`` returns
    ``k(x, x) v`` as its first entry.
    """
    name = f"mercer-product-{uuid4().hex}"
    graph = dict(blocks.__dask_graph__())
    points = _block_keys(blocks)
    vectors = [f"{name}-v{i}" for i in range(len(points))]
    ends = np.cumsum(blocks.chunks[0])[:-1]
    graph |= dict(zip(vectors, np.split(V, ends), strict=True))
    pairs = list(zip(points, vectors, strict=True))
    parts: list[list[Any]] = [[] for _ in points]
    for i, first in enumerate(pairs):
        for j, second in enumerate(pairs[: i + 1]):
            key = (f"{name}-tile", i, j)
            graph[key] = (_run, tile, *first, *(second if i != j else ()))
            parts[i].append([key, 0])
            if i != j:
                parts[j].append([key, 1])
    sums = [(f"{name}-sum", i) for i in range(len(points))]
    for i, found in enumerate(parts):
        graph[sums[i]] = (_sum_of_parts, found)
    graph[name] = (np.concatenate, list(sums))
    return np.asarray(compute(graph, name, sums))


def _sum_of_parts(parts: Sequence[tuple[Any, int]]) -> Array:
    return np.asarray(sum(found[side] for found, side in parts))


# --- execution ------------------------------------------------------------------------------------


def compute(graph: dict[Any, Any], key: Any, leaves: Sequence[Any]) -> Any:
    """Compute one key; the progress bar, if shown, counts the ``leaves``."""
    target = Delayed(key, graph)
    with _clear_errors():
        if not progress_is_shown():
            return dask.compute(target, traverse=False)[0]
        bar = ProgressBar(len(leaves), "chunks", always=True)
        try:
            return _compute_with_progress(target, graph, leaves, bar)
        finally:
            bar.close()


def _compute_with_progress(
    target: Delayed, graph: dict[Any, Any], leaves: Sequence[Any], bar: ProgressBar
) -> Any:
    cluster = client()
    if cluster is not None:
        done: list[Any] = []

        def count(future: Any) -> None:
            done.append(future.key)
            bar.step(len(done))

        futures = cluster.compute([Delayed(key, graph) for key in leaves])
        for future in futures:
            future.add_done_callback(count)
        return cluster.compute(target).result()
    from dask.callbacks import Callback

    names, seen = set(leaves), []

    def after(key: Any, *_: Any) -> None:
        if key in names:
            seen.append(key)
            bar.step(len(seen))

    with Callback(posttask=after):
        return dask.compute(target, traverse=False)[0]


@contextmanager
def _clear_errors() -> Iterator[None]:
    """Raise WorkerError with a remedy if workers ran out of memory or died."""
    try:
        yield
    except WorkerError:
        raise
    except MemoryError as error:
        raise WorkerError(_out_of_memory("A chunk did not fit into memory")) from error
    except _killed_worker() as error:
        raise WorkerError(
            _out_of_memory(
                f"Workers died repeatedly at the same task ({error}), most likely because it "
                "exceeds their memory"
            )
        ) from error


def _killed_worker() -> tuple[type[Exception], ...]:
    """Return the exception type for workers that died, if distributed is loaded."""
    distributed = sys.modules.get("distributed")
    return () if distributed is None else (distributed.KilledWorker,)
