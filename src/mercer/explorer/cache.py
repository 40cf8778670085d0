"""Results that are kept while there is room: the least recently used go first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar

__all__ = ["Cache"]

Kept = TypeVar("Kept")


class Cache:
    """Values by key, within a number of bytes; safe to use from several threads.

    Two threads that miss the same key at once both compute it: that is rare, and waiting for one
    another would let a slow user hold up a quick one.

    Parameters
    ----------
    room : int
        Bytes. A value larger than that is not kept.

    Examples
    --------
    >>> cache = Cache(100)
    >>> cache.get("a", lambda: (1, 60)), cache.get("b", lambda: (2, 60)), len(cache)
    (1, 2, 1)
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self._held = 0
        self._kept: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Hashable, make: Callable[[], tuple[Kept, int]]) -> Kept:
        """Return the value of a key, made by ``make() -> (value, bytes)`` where it is missing."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]  # type: ignore[return-value]
        value, size = make()
        with self._lock:
            if key not in self._kept and size <= self.room:
                self._kept[key] = (value, size)
                self._held += size
            while self._held > self.room:
                _, (_, freed) = self._kept.popitem(last=False)
                self._held -= freed
        return value
