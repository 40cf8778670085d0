"""Work on tiles by threads, each with a BLAS of one thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from mercer.config import thread_count

__all__ = ["run_shares", "single_threaded_blas"]

Task = TypeVar("Task")

_lock = threading.Lock()
_users = 0
_limiter: Any = None


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread while any caller is inside.

    The limit is a property of the process, so callers are counted: the first sets it and the last
    lifts it. (Each restoring what it found would leave the limit in place for ever when two
    overlap.)
    """
    global _users, _limiter
    with _lock:
        if _users == 0:
            _limiter = _libraries().limit(limits=1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _take_control()
                _limiter.restore_original_limits()
                _take_control()
                _limiter = None


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
