"""Dask's part: one task per chunk, a tree of sums, and errors that say what to change.

A task is fused with whatever makes its chunk, so that a chunk lives and dies where it was read.
What a task needs beside its chunk (a grid of frequencies, landmarks, a fitted model) is one more
node of the graph if it is large: it goes to each worker once, and is still there when a worker is
replaced.
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
from dask._task_spec import DataNode, GraphNode, List, Task, TaskRef, convert_legacy_graph
from dask.array.optimization import optimize
from dask.core import reverse_dict
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph

from mercer.errors import MemoryBudgetError, WorkerError
from mercer.maths.types import Array
from mercer.progress import ProgressBar, progress_is_shown
from mercer.resources import free_memory, single_thread, single_threaded_blas, thread_count

__all__ = ["client", "fused_tasks", "kept", "mapped", "result_of", "summed", "taken"]

_FAN_IN = 8  # summaries that one task of the tree joins
_HELD_SHARE = 0.6  # of the workers' memory that coordinates may take
_SMALL = 20_000  # bytes of a function that may travel with every task

Summary = TypeVar("Summary")


def client() -> Any:
    """Return the client in force, if there is one."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


# --- tasks ----------------------------------------------------------------------------------------


def fused_tasks(
    function: Callable[..., Any],
    columns: Sequence[Any],
    name: str,
    each: Sequence[Any] | None = None,
    extra: Sequence[Any] = (),
) -> tuple[dict[Any, Any], list[Any]]:
    """A graph with one task ``function(*pieces)`` per chunk, and the keys of these tasks.

    ``each`` holds one more, small, argument for every chunk; ``extra`` those that all share.
    """
    arrays = [column for column in columns if column is not None]
    graph = HighLevelGraph.merge(*(array.__dask_graph__() for array in arrays))
    blocks = [_block_keys(array) for array in arrays]
    wanted = [key for keys in blocks for key in keys]
    held = _futures_in(graph)
    graph = convert_legacy_graph(dict(optimize(graph, wanted)))
    call: Any = function
    if len(cloudpickle.dumps(function)) > _SMALL:
        graph[f"{name}-with"] = DataNode(f"{name}-with", function)
        call = TaskRef(f"{name}-with")
    keys = [(name, i) for i in range(len(blocks[0]))]
    for i, key in enumerate(keys):
        own = iter([TaskRef(keys_of[i]) for keys_of in blocks])
        pieces = [None if column is None else next(own) for column in columns]
        own_argument = [] if each is None else [each[i]]
        graph[key] = Task(key, _in_task, call, *pieces, *own_argument, *extra)
    # a future is released with the last reference to it: whoever has the graph must have it too
    return _with_sources_inside(graph, keys) | held, keys


def _futures_in(graph: Any) -> dict[Any, Any]:
    """Chunks that a cluster holds already."""
    if client() is None:
        return {}
    return {key: task for key, task in dict(graph).items() if hasattr(task, "add_done_callback")}


def _block_keys(array: Any) -> list[Any]:
    return list(_flat(array.__dask_keys__()))


def _flat(keys: Any) -> Iterator[Any]:
    for key in keys:
        if isinstance(key, list):
            yield from _flat(key)
        else:
            yield key


def _with_sources_inside(graph: dict[Any, Any], keys: list[Any]) -> dict[Any, Any]:
    """Fuse each of these tasks with all that only it depends on."""
    needed_by = reverse_dict({key: task.dependencies for key, task in graph.items()})
    fused = dict(graph)
    for key in keys:
        inside = {key: graph[key]}
        waiting = set(graph[key].dependencies)
        while waiting:
            source = waiting.pop()
            if source in graph and needed_by[source] <= inside.keys():
                inside[source] = graph[source]
                waiting |= set(graph[source].dependencies) - inside.keys()
        if len(inside) > 1:
            for source in inside:
                fused.pop(source, None)
            fused[key] = GraphNode.fuse(*inside.values(), key=key)
    return fused


def _in_task(function: Callable[..., Any], *pieces: Any) -> Any:
    """Run on a worker: one thread, as the engine has its own, and clear words about memory."""
    try:
        with single_thread(), single_threaded_blas():
            return function(*pieces)
    except MemoryError as error:
        rows = next((len(piece) for piece in pieces if piece is not None), 0)
        words = _out_of_memory(f"A task ran out of memory on a chunk of {rows} rows")
        raise WorkerError(words) from error


def _out_of_memory(what: str) -> str:
    return (
        f"{what}. Use smaller chunks (X.rechunk((rows, -1)) of a Dask array, repartition of a data "
        "frame), give the workers more memory or fewer threads, or use fewer landmarks or "
        "components."
    )


# --- maps and sums --------------------------------------------------------------------------------


def summed(
    summarise: Callable[..., Summary],
    columns: Sequence[Any],
    combine: Callable[[Sequence[Summary]], Summary],
    each: bool = False,
) -> Summary:
    """Summaries of all chunks, joined in a tree; of empty ones too where ``each`` has a place."""
    name = f"mercer-sum-{uuid4().hex}"
    columns = _aligned(columns)
    graph, keys = fused_tasks(summarise, columns, name)
    if not each:
        keys = _of_filled_chunks(keys, columns)
    root = _add_tree(graph, keys, combine, name)
    return result_of(graph, root, keys)


def _of_filled_chunks(keys: list[Any], columns: Sequence[Any]) -> list[Any]:
    """Leave out chunks known to be empty: there is no largest or mean of nothing."""
    lengths = next(column for column in columns if column is not None).chunks[0]
    return [key for key, n in zip(keys, lengths, strict=True) if n != 0] or keys[:1]


def _add_tree(graph: dict[Any, Any], keys: list[Any], combine: Any, name: str) -> Any:
    """Join results in a tree of few at a time; the key of its root."""
    level = 0
    while len(keys) > 1:
        level += 1
        joined = []
        for first in range(0, len(keys), _FAN_IN):
            key = (f"{name}-{level}", first // _FAN_IN)
            parts = List(*(TaskRef(part) for part in keys[first : first + _FAN_IN]))
            graph[key] = Task(key, combine, parts)
            joined.append(key)
        keys = joined
    return keys[0]


def mapped(
    function: Callable[..., Array], columns: Sequence[Any], like: Array | None = None
) -> Any:
    """Lazy results, one chunk for each chunk."""
    columns = _aligned(columns)
    first = next(column for column in columns if column is not None)
    name = f"mercer-map-{uuid4().hex}"
    if like is None:
        few = [None if column is None else _one_row(column) for column in columns]
        with np.errstate(all="ignore"):
            like = np.asarray(function(*few))
    graph, keys = fused_tasks(partial(_of_some_rows, function, like[:0]), columns, name)
    return _array(graph, keys, first.chunks[0], like)


def _of_some_rows(function: Callable[..., Array], nothing: Array, *pieces: Any) -> Array:
    """A piece without rows, which a filter may leave, need not be understood by the function."""
    rows = len(next(piece for piece in pieces if piece is not None))
    return function(*pieces) if rows else nothing


def _array(graph: dict[Any, Any], keys: list[Any], rows: tuple[int, ...], like: Array) -> Any:
    """The results of tasks as one lazy array."""
    inner = like.shape[1:]
    for key in keys:  # an array's keys have a place for every axis
        full = (*key, *(0 for _ in inner))
        graph[full] = graph.pop(key).substitute({}, key=full) if inner else graph[key]
    chunks = (rows, *((size,) for size in inner))
    return da.Array(graph, keys[0][0], chunks, dtype=like.dtype)


def _one_row(column: Any) -> Array:
    """What a row might look like: to learn the type of a result."""
    return np.ones((1, *column.shape[1:]), column.dtype)


def _aligned(columns: Sequence[Any]) -> list[Any]:
    """Let all columns have the chunks of the first, one chunk across."""
    first = next(column for column in columns if is_array(column))
    rows = first.chunks[0]
    out: list[Any] = []
    for column in columns:
        if column is None:
            out.append(None)
            continue
        array = (
            column if is_array(column) else da.from_array(column, chunks=(rows, *column.shape[1:]))
        )
        whole = (rows, *((size,) for size in array.shape[1:]))
        unknown = any(size != size for size in array.chunks[0])
        out.append(array if unknown or array.chunks == whole else array.rechunk(whole))
    return out


def is_array(column: Any) -> bool:
    """Whether this is a Dask array."""
    return isinstance(column, da.Array)


def kept(column: Any) -> Any:
    """Compute now, and hold the chunks on the workers (or in memory without a cluster)."""
    _check_all_fits(column)
    with _clear_errors():
        held = column.persist()
        engine = client()
        if engine is not None:  # an error should come here, not in some later sum
            from distributed import wait

            futures = wait(held).done
            failed = next((future for future in futures if future.status == "error"), None)
            if failed is not None:
                failed.result()
        return held


def _check_all_fits(column: Any) -> None:
    """Refuse what all workers together cannot hold, before it is computed."""
    needed, room = column.nbytes, all_memory()
    if room is not None and needed > _HELD_SHARE * room:
        numbers = " × ".join(map(str, column.shape))
        raise MemoryBudgetError(
            f"The {numbers} numbers that this fit goes over again and again take "
            f"{needed / 1e9:.3g} GB, and {_HELD_SHARE:.0%} of the memory of all workers is "
            f"{_HELD_SHARE * room / 1e9:.3g} GB. Use fewer components (a smaller rank), more "
            "workers, or a sample of the rows."
        )


def taken(column: Any, rows: Array | slice) -> Array:
    """Rows with these numbers, in this order."""
    if isinstance(rows, slice):
        rows = np.arange(*rows.indices(column.shape[0]))
    order = np.argsort(rows, kind="stable")
    starts = np.r_[0, np.cumsum(column.chunks[0])]
    chunk_of = np.searchsorted(starts, rows[order], side="right") - 1
    chosen = np.unique(chunk_of)
    wanted = [rows[order][chunk_of == chunk] - starts[chunk] for chunk in chosen]
    name = f"mercer-take-{uuid4().hex}"
    blocks = da.concatenate([column.blocks[int(chunk)] for chunk in chosen])
    graph, keys = fused_tasks(_rows_of_piece, [blocks], name, wanted)
    graph[name] = Task(name, np.concatenate, List(*(TaskRef(key) for key in keys)))
    found = result_of(graph, name, keys)
    out = np.empty_like(found)
    out[order] = found
    return out


def _rows_of_piece(piece: Array, rows: Array) -> Array:
    return piece[rows]


def drawn(columns: Sequence[Any], draw: Callable[..., Array], counts: Array, seeds: Array) -> Array:
    """``draw(*pieces, (count, seed))`` of every chunk, joined."""
    name = f"mercer-draw-{uuid4().hex}"
    each = list(zip(map(int, counts), map(int, seeds), strict=True))
    graph, keys = fused_tasks(draw, _aligned(columns), name, each)
    graph[name] = Task(name, np.concatenate, List(*(TaskRef(key) for key in keys)))
    return np.asarray(result_of(graph, name, keys))


def counted_parts(write: Callable[..., int], columns: Sequence[Any]) -> int:
    """``write(*pieces, number)`` of every chunk, for what it does; the sum of its results."""
    name = f"mercer-write-{uuid4().hex}"
    columns = _aligned(columns)
    graph, keys = fused_tasks(write, columns, name, range(len(columns[0].chunks[0])))
    total: int = result_of(graph, _add_tree(graph, keys, sum, name), keys)
    return total


def answered(
    rows: Any,
    ask: Callable[..., Any],
    others: Sequence[Any],
    answer: Callable[..., Any],
    combine: Callable[[Sequence[Any]], Any],
    finish: Callable[..., Array],
    like: Array,
) -> Any:
    """Results per row that may need a few questions answered by the chunks of other columns.

    ``ask(piece)`` picks what a chunk cannot answer alone; ``answer(*pieces, questions)`` replies to
    the questions of all chunks (a list) from one chunk of the others, ``combine`` joins replies,
    and ``finish(piece, place, replies)`` makes the results of the chunk at that place.
    """
    name = f"mercer-ask-{uuid4().hex}"
    graph, asking = fused_tasks(ask, [rows], f"{name}-questions")
    questions = f"{name}-all"
    graph[questions] = Task(questions, list, List(*(TaskRef(key) for key in asking)))
    replies, replying = fused_tasks(
        answer, _aligned(others), f"{name}-replies", extra=[TaskRef(questions)]
    )
    root = _add_tree(replies, replying, combine, f"{name}-replies")
    last, keys = fused_tasks(finish, [rows], name, range(len(asking)), [TaskRef(root)])
    return _array(graph | replies | last, keys, rows.chunks[0], like)


def symmetric_product(blocks: Any, tile: Callable[..., Any], V: Array) -> Array:
    """``K V`` from tiles of K, each made once, where the blocks of points are.

    ``tile(x, v, y, u)`` returns ``k(x, y) u`` and ``k(y, x) v``; ``tile(x, v)`` ``k(x, x) v``.
    """
    name = f"mercer-product-{uuid4().hex}"
    held = _futures_in(blocks.__dask_graph__())
    graph = convert_legacy_graph(dict(blocks.__dask_graph__())) | held
    points = _block_keys(blocks)
    vectors = [f"{name}-v{i}" for i in range(len(points))]
    ends = np.cumsum(blocks.chunks[0])[:-1]
    for key, part in zip(vectors, np.split(V, ends), strict=True):
        graph[key] = DataNode(key, part)
    pairs = [(TaskRef(x), TaskRef(v)) for x, v in zip(points, vectors, strict=True)]
    parts: list[list[Any]] = [[] for _ in points]
    for i, mine in enumerate(pairs):
        for j, theirs in enumerate(pairs[: i + 1]):
            place = (f"{name}-tile", i, j)
            graph[place] = Task(place, _in_task, tile, *mine, *(theirs if i != j else ()))
            parts[i].append(List(TaskRef(place), 0))
            if i != j:
                parts[j].append(List(TaskRef(place), 1))
    sums = [(f"{name}-sum", i) for i in range(len(points))]
    for row, found in zip(sums, parts, strict=True):
        graph[row] = Task(row, _sum_of_parts, List(*found))
    graph[name] = Task(name, np.concatenate, List(*map(TaskRef, sums)))
    return np.asarray(result_of(graph, name, sums))


def _sum_of_parts(parts: Sequence[tuple[Any, int]]) -> Array:
    return np.asarray(sum(found[side] for found, side in parts))


# --- running --------------------------------------------------------------------------------------


def result_of(graph: dict[Any, Any], key: Any, leaves: Sequence[Any]) -> Any:
    """Compute one key; ``leaves`` are counted by the progress bar, where one is shown."""
    wanted = Delayed(key, graph)
    with _clear_errors():
        if not progress_is_shown():
            return dask.compute(wanted, traverse=False)[0]
        bar = ProgressBar(len(leaves), "chunks", always=True)
        try:
            return _watched(wanted, graph, leaves, bar)
        finally:
            bar.close()


def _watched(
    wanted: Delayed, graph: dict[Any, Any], leaves: Sequence[Any], bar: ProgressBar
) -> Any:
    engine = client()
    if engine is not None:
        done: list[Any] = []

        def count(future: Any) -> None:
            done.append(future.key)
            bar.step(len(done))

        futures = engine.compute([Delayed(key, graph) for key in leaves])
        for future in futures:
            future.add_done_callback(count)
        return engine.compute(wanted).result()
    from dask.callbacks import Callback

    names, seen = set(leaves), []

    def after(key: Any, *_: Any) -> None:
        if key in names:
            seen.append(key)
            bar.step(len(seen))

    with Callback(posttask=after):
        return dask.compute(wanted, traverse=False)[0]


@contextmanager
def _clear_errors() -> Iterator[None]:
    """Say what to change where a worker was lost too often."""
    try:
        yield
    except WorkerError:
        raise
    except MemoryError as error:
        raise WorkerError(_out_of_memory("A chunk's work did not fit the memory")) from error
    except _lost_workers() as error:
        raise WorkerError(
            _out_of_memory(
                f"Workers died again and again at the same task ({error}), most likely because its "
                "chunk's work exceeds their memory"
            )
        ) from error


def _lost_workers() -> tuple[type[Exception], ...]:
    """What tells of workers that died; nothing does where distributed is not in use."""
    distributed = sys.modules.get("distributed")
    return () if distributed is None else (distributed.KilledWorker,)


def worker_memory() -> int | None:
    """Bytes for each thread of the smallest worker, or of this process; None if unlimited."""
    if client() is None:
        return free_memory() // (dask.config.get("num_workers", None) or thread_count())
    rooms = [w["memory_limit"] // w["nthreads"] for w in _workers() if w["memory_limit"]]
    return min(rooms, default=None)


def all_memory() -> int | None:
    """Bytes that all workers have, or this process; None if unlimited."""
    if client() is None:
        return free_memory()
    rooms = [w["memory_limit"] for w in _workers()]
    return sum(rooms) if rooms and all(rooms) else None


def _workers() -> list[dict[str, Any]]:
    return list(client().scheduler_info(n_workers=-1)["workers"].values())
