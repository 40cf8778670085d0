"""Computations in a few threads, with a short and fair queue.

Of one tab only the newest request waits: a slider that moves on replaces what it asked for before,
and keeps its place in the queue. So twenty users are served in turn, however fast each of them is.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from mercer.resources import single_thread, single_threaded_blas

__all__ = ["Gate", "SupersededError", "TooBusyError"]


class SupersededError(Exception):
    """A newer request of the same tab took this one's place."""


class TooBusyError(Exception):
    """Too many requests are waiting."""


class Gate:
    """A queue in front of worker threads.

    Parameters
    ----------
    workers : int
        Computations at a time.
    most_waiting : int
        Requests that may wait, over all tabs.
    """

    def __init__(self, workers: int = 2, most_waiting: int = 100) -> None:
        self._free = workers
        self._most = most_waiting
        self._is_open = True
        self._waiting: OrderedDict[str, tuple[asyncio.Future[Any], Callable[[], Any]]] = (
            OrderedDict()
        )

    async def run(self, tab: str, work: Callable[[], Any]) -> Any:
        """Compute in a thread when it is this tab's turn.

        Raises
        ------
        SupersededError
            If the same tab asks for something else before the work has begun.
        TooBusyError
            If the queue is full.
        """
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        older = self._waiting.get(tab)
        if older is None and len(self._waiting) >= self._most:
            raise TooBusyError
        self._waiting[tab] = (future, work)  # an old key keeps its place
        if older is not None and not older[0].done():
            older[0].set_exception(SupersededError())
        self._start()
        try:
            return await future
        finally:  # who is gone does not take a place in the queue
            if self._waiting.get(tab, (None,))[0] is future:
                del self._waiting[tab]

    def _start(self) -> None:
        while self._free and self._waiting and self._is_open:
            _, (future, work) = self._waiting.popitem(last=False)
            if future.done():  # its client has gone
                continue
            self._free -= 1
            # no pool: Python waits for a pool's threads before it ends, and work may be long
            threading.Thread(
                target=self._work, args=(future, work), name="mercer-explorer", daemon=True
            ).start()

    def _work(self, wanted: asyncio.Future[Any], work: Callable[[], Any]) -> None:
        """In a thread of its own: compute, and tell the loop of it unless it has ended."""
        result, error = None, None
        try:
            result = _alone(work)
        except BaseException as raised:
            error = raised
        with suppress(RuntimeError):
            wanted.get_loop().call_soon_threadsafe(self._finish, wanted, result, error)

    def _finish(
        self, wanted: asyncio.Future[Any], result: Any, error: BaseException | None
    ) -> None:
        self._free += 1
        if not wanted.done():
            if error is None:
                wanted.set_result(result)
            else:
                wanted.set_exception(error)
        self._start()

    def close(self) -> None:
        """Start no more; what is running ends when it is done, or with Python."""
        self._is_open = False


def _alone(work: Callable[[], Any]) -> Any:
    """Compute with one thread: other users, and the browser that draws, need the other cores."""
    with single_thread(), single_threaded_blas():
        return work()
