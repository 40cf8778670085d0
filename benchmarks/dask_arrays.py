"""Dask arrays: 10⁸ points generated chunk by chunk, number of workers, memory.

``python -m benchmarks dask_arrays:1e7`` uses another number of points.
"""

from __future__ import annotations

import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import ceil, prod
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import table
from benchmarks.solvers import seconds
from mercer import KernelECA
from mercer.errors import ApproximationWarning, IdentifiabilityWarning

CHUNK = 10**6
FAN_IN = 8


def clouds(rows: int, number: int) -> np.ndarray:
    """Three normal clouds in the plane, from the number of the chunk alone."""
    rng = np.random.default_rng(number)
    group = rng.choice(3, p=(0.5, 0.3, 0.2), size=rows)
    centers = np.array([[0.0, 0.0], [6.0, 1.0], [2.0, 7.0]])
    return centers[group] + rng.normal(size=(rows, 2)) * np.array([1.0, 0.5, 1.5])[group, None]


def _chunk(block: np.ndarray, block_info: Any = None) -> np.ndarray:
    return clouds(len(block), block_info[0]["chunk-location"][0])


def generated(n: int, chunk: int = CHUNK) -> Any:
    """Rows that exist only while a task works on them."""
    import dask.array as da

    empty = da.zeros((n, 1), chunks=(min(chunk, n), 1), dtype=np.int8)
    return da.map_blocks(_chunk, empty, chunks=(empty.chunks[0], (2,)), dtype=float)


def _stored_chunk(block: np.ndarray, path: str, block_info: Any = None) -> np.ndarray:
    (first, last), _ = block_info[0]["array-location"]
    return np.array(np.load(path, mmap_mode="r")[first:last])


def stored(path: str, n: int, chunk: int = CHUNK) -> Any:
    """Rows of a file on disk; every task reads its own."""
    import dask.array as da

    empty = da.zeros((n, 1), chunks=(min(chunk, n), 1), dtype=np.int8)
    chunks = (empty.chunks[0], (2,))
    return da.map_blocks(_stored_chunk, empty, path, chunks=chunks, dtype=float)


@contextmanager
def cluster(workers: int) -> Iterator[Any]:
    """Worker processes of one thread each, and a client."""
    import logging

    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            memory_limit="1.5GB",
            silence_logs=logging.ERROR,
        ) as local,
        Client(local) as client,
    ):
        client.run(_warm_up)  # imports are not what is measured
        yield client


def _warm_up() -> None:
    KernelECA(2, solver="fourier").fit_transform(clouds(5000, 0))


class Peak:
    """The largest sum of resident sets of this process and all its descendants, in gigabytes."""

    def __enter__(self) -> Peak:
        self.gigabytes = 0.0
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self.thread.join()

    def _watch(self) -> None:
        import psutil

        me = psutil.Process()
        while not self.done.wait(0.1):
            total = 0
            for process in [me, *me.children(recursive=True)]:
                with suppress(psutil.Error):
                    total += process.memory_info().rss
            self.gigabytes = max(self.gigabytes, total / 1e9)


def fit_and_write(X: Any, folder: Path) -> KernelECA:
    """The whole job: two passes for the fit, one for the embedding, which goes to Parquet."""
    from mercer.chunks.files import columns_of, write_parts

    model = KernelECA(3, solver="fourier").fit(X)
    write_parts(folder, columns_of(model.transform(X), "component"), overwrite=True)
    return model


def timed(n: int, workers: int) -> tuple[float, float, float]:
    """Seconds and peak memory of the whole job, and V."""
    with cluster(workers), tempfile.TemporaryDirectory() as folder, Peak() as peak:
        begin = time.perf_counter()
        model = fit_and_write(generated(n), Path(folder, "embedding"))
        spent = time.perf_counter() - begin
        size = sum(part.stat().st_size for part in Path(folder, "embedding").iterdir())
        assert size > 8 * n, "something was not written"
    return spent, peak.gigabytes, model.information_potential_


def scale(n: int) -> str:
    times = {}
    rows = []
    for workers in (1, 2):
        times[workers], memory, potential = timed(n, workers)
        rows.append(
            (
                f"KernelECA(3) of {n:.0e} × 2, made chunk by chunk, fitted and embedded to "
                f"Parquet; {workers} worker{'s' if workers > 1 else ''} of one thread",
                seconds(times[workers]),
                f"{memory:.2f} GB in all",
                f"V = {potential:.10f}",
                "under 4 GB",
            )
        )
    rows.append(("two workers against one", "", "", f"{times[1] / times[2]:.2f}× faster", "≥ 1.6×"))
    return table("Scale", rows, ("what", "time", "memory", "result", "wanted"))


def overhead(n: int) -> str:
    """Fit and embed n rows of a file: in one process with two threads, and with two workers."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "rows.npy"))
        np.save(path, np.concatenate([clouds(min(CHUNK, n), i) for i in range(ceil(n / CHUNK))]))

        def in_memory() -> np.ndarray:
            return KernelECA(3, solver="fourier").fit_transform(np.load(path)).sum(axis=0)

        with cluster(2):

            def on_workers() -> np.ndarray:
                X = stored(path, n)
                model = KernelECA(3, solver="fourier").fit(X)
                return np.asarray(model.transform(X).sum(axis=0).compute())

            best = {"memory": np.inf, "workers": np.inf}
            for _ in range(3):
                for name, run in (("memory", in_memory), ("workers", on_workers)):
                    begin = time.perf_counter()
                    found = run()
                    best[name] = min(best[name], time.perf_counter() - begin)
                    assert np.isfinite(found).all()
    rows = [
        (
            f"fit and embed {n:.0e} × 2 from a file",
            seconds(best["workers"]),
            seconds(best["memory"]),
            f"{best['workers'] / best['memory']:.2f}",
            "≤ 1.5",
        )
    ]
    header = ("what", "two workers", "one process, two threads", "ratio", "wanted")
    return table("Overhead", rows, header)


# --- the cost model of docs/distributed.md --------------------------------------------------------


def tree_tasks(chunks: int) -> int:
    """Tasks of one sum over chunks: one each, and a tree that joins eight at a time."""
    tasks = chunks
    while chunks > 1:
        chunks = ceil(chunks / FAN_IN)
        tasks += chunks
    return tasks


def tree_bytes(chunks: int, summary: int, workers: int) -> float:
    """Bytes that the tree moves between workers, if inputs lie anywhere, and its root home."""
    moved, level = 0.0, chunks
    while level > 1:
        moved += level * summary
        level = ceil(level / FAN_IN)
    return moved * (1 - 1 / workers) + summary


def _clear_logs(dask_worker: Any) -> None:
    dask_worker.transfer_outgoing_log.clear()


def _sent(dask_worker: Any) -> int:
    return sum(sum(entry["keys"].values()) for entry in dask_worker.transfer_outgoing_log)


def counts(n: int, chunks: int = 64) -> str:
    from distributed import get_task_stream

    rows = []
    for workers in (1, 2, 4):
        with cluster(workers) as client:
            X = generated(n, ceil(n / chunks))
            client.run(_clear_logs)
            with get_task_stream(client) as stream:
                model = KernelECA(3, solver="fourier").fit(X)
            moved = sum(client.run(_sent).values())
            shape = model.spectrum_.expansion.grid.shape
            summary = 16 * prod(2 * m - 1 for m in shape)
            expected = tree_bytes(chunks, summary, workers)
            rows.append(
                (
                    f"{workers}",
                    f"{len(stream.data)}",
                    f"{2 * tree_tasks(chunks) + 1}",  # survey, sums; the grid is a task too
                    f"{moved / 1e6:.1f} MB",
                    f"{expected / 1e6:.1f} MB",
                    f"{16 * n / 1e6:.0f} MB",
                )
            )
    header = (
        f"workers ({chunks} chunks, {n:.0e} × 2, sums of {summary / 1e6:.2f} MB)",
        "tasks of a fit",
        "model",
        "bytes sent by workers",
        "model, at most",
        "size of the data",
    )
    return table("Tasks and bytes", rows, header)


def tables(n: int = 10**8) -> list[str]:
    """All tables of this module; n for the largest."""
    warnings.simplefilter("ignore", IdentifiabilityWarning)
    warnings.simplefilter("ignore", ApproximationWarning)
    return [counts(min(n, 10**6)), overhead(min(n, 10**7)), scale(n)]
