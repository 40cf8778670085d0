"""A queue of computations in front of a few worker threads.

Each tab has at most one waiting request of a kind. A newer request replaces the older one and takes
its position in the queue, so a fast slider does not delay other users.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from mercer.utils.resources import single_thread, single_threaded_blas

__all__ = ["QueueFullError", "SupersededError", "WorkQueue"]


class SupersededError(Exception):
    """A newer request of the same tab replaced this one."""


class QueueFullError(Exception):
    """Too many requests are waiting."""


class WorkQueue:
    """Run work in a limited number of threads, first come, first served.

    Parameters
    ----------
    workers : int
        Number of computations that run at the same time.
    max_waiting : int
        Number of requests that may wait, over all tabs.
    """

    def __init__(self, workers: int = 2, max_waiting: int = 100) -> None:
        self._free = workers
        self._max_waiting = max_waiting
        self._is_open = True
        self._waiting: OrderedDict[str, tuple[asyncio.Future[Any], Callable[[], Any]]] = (
            OrderedDict()
        )

    async def run(self, key: str, work: Callable[[], Any]) -> Any:
        """Run the work in a thread and return its result.

        Parameters
        ----------
        key : str
            Identifies the tab and the kind of request.
        work : callable

        Raises
        ------
        SupersededError
            If another request with this key arrives before the work has started.
        QueueFullError
        """
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        older = self._waiting.get(key)
        if older is None and len(self._waiting) >= self._max_waiting:
            raise QueueFullError
        self._waiting[key] = (future, work)  # an existing key keeps its position
        if older is not None and not older[0].done():
            older[0].set_exception(SupersededError())
        self._start()
        try:
            return await future
        finally:  # a cancelled request leaves the queue
            if self._waiting.get(key, (None,))[0] is future:
                del self._waiting[key]

    def _start(self) -> None:
        while self._free and self._waiting and self._is_open:
            _, (future, work) = self._waiting.popitem(last=False)
            if future.done():  # cancelled
                continue
            self._free -= 1
            # Not a thread pool, because the interpreter waits for the pool's threads at exit.
            threading.Thread(
                target=self._work, args=(future, work), name="mercer-explorer", daemon=True
            ).start()

    def _work(self, future: asyncio.Future[Any], work: Callable[[], Any]) -> None:
        result, error = None, None
        try:
            result = _single_threaded(work)
        except BaseException as raised:
            error = raised
        with suppress(RuntimeError):  # the event loop may be closed
            future.get_loop().call_soon_threadsafe(self._finish, future, result, error)

    def _finish(
        self, future: asyncio.Future[Any], result: Any, error: BaseException | None
    ) -> None:
        self._free += 1
        if not future.done():
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)
        self._start()

    def close(self) -> None:
        """Start no more work. Running threads are daemons and do not delay the exit."""
        self._is_open = False


def _single_threaded(work: Callable[[], Any]) -> Any:
    """Run work on one thread; other requests and the browser need the other cores."""
    with single_thread(), single_threaded_blas():
        return work()
