"""A thread-safe cache with a limit in bytes that evicts the least recently used values."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar

__all__ = ["Cache"]

Value = TypeVar("Value")


class Cache:
    """Least-recently-used cache for values of known size.

    Two threads that miss the same key at the same time both compute the value. This is rare, and
    waiting would let a slow request delay a fast one.

    Parameters
    ----------
    max_bytes : int
        Larger values are returned but not stored.

    Examples
    --------
    >>> cache = Cache(100)
    >>> cache.get("a", lambda: (1, 60)), cache.get("b", lambda: (2, 60)), len(cache)
    (1, 2, 1)
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._size = 0
        self._entries: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable, compute: Callable[[], tuple[Value, int]]) -> Value:
        """Return the value of a key; if it is missing, call ``compute() -> (value, bytes)``."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key][0]  # type: ignore[return-value]
        value, size = compute()
        with self._lock:
            if key not in self._entries and size <= self.max_bytes:
                self._entries[key] = (value, size)
                self._size += size
            while self._size > self.max_bytes:
                _, (_, freed) = self._entries.popitem(last=False)
                self._size -= freed
        return value
