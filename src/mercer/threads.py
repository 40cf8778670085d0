"""Work on tiles by threads, each with a BLAS of one thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any, TypeVar

from mercer.config import thread_count

__all__ = ["blas_threads_for", "run_shares", "single_threaded_blas"]

Task = TypeVar("Task")

# OpenBLAS's threads wait for each other by spinning. Where another process has one of the cores, a
# full decomposition of 500 to 2000 rows took 11 to 40 times as long with two threads as with one;
# where none has, two threads lose at 500 and 1000 rows and save 30 % at 2000.
_WORTH_THREADS = 2000

_lock = threading.Lock()
_users: set[object] = set()
_limiter: Any = None


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread while any caller is inside.

    The limit is a property of the process, so callers are told apart: the first sets it and the
    last lifts it. (Each restoring what it found would leave the limit in place for ever when two
    overlap.) Wherever an interrupt comes, at the entry too, its caller is taken off the list.
    """
    global _limiter
    caller = object()
    try:
        with _lock:
            _users.add(caller)
            if _limiter is None:
                _limiter = _libraries().limit(limits=1, user_api="blas")
        yield
    finally:
        with _lock:
            _users.discard(caller)
            if not _users and _limiter is not None:
                _take_control()
                _limiter.restore_original_limits()
                _take_control()
                _limiter = None


def blas_threads_for(size: int) -> AbstractContextManager[None]:
    """Limit BLAS to one thread for matrices of an order where more are not worth their risk."""
    return single_threaded_blas() if size <= _WORTH_THREADS else nullcontext()


@cache
def _libraries() -> Any:
    """The loaded BLAS libraries; looking for them takes milliseconds, so it is done once."""
    import scipy.linalg  # noqa: F401 (scipy's own copy must be among them)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _take_control() -> None:
    """Let this thread change the limit even if another one set it, where threadpoolctl minds."""
    from threadpoolctl import OpenBLASController

    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread(force=True)


def run_shares(tasks: Sequence[Task], work: Callable[[Sequence[Task]], Any]) -> list[Any]:
    """Split tasks evenly among the threads and return each thread's result of ``work(share)``.

    The split depends only on the number of threads, never on timing, so that sums over tiles are
    the same in every run.
    """
    threads = max(1, min(thread_count(), len(tasks)))
    shares = [tasks[i::threads] for i in range(threads)]
    with single_threaded_blas():
        if threads == 1:
            return [work(shares[0])]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(work, shares))
