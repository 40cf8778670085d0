"""Capture the warnings of one thread; ``warnings.catch_warnings`` affects all threads."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mercer.errors import ApproximationWarning, ConvergenceWarning, IdentifiabilityWarning

__all__ = ["capture_warnings"]

_local = threading.local()
_lock = threading.Lock()
_CATEGORIES = (ApproximationWarning, ConvergenceWarning, IdentifiabilityWarning)


@contextmanager
def capture_warnings() -> Iterator[list[str]]:
    """Collect the distinct messages of mercer's warnings in this thread.

    Nested contexts: the innermost one receives the warning.

    >>> import warnings
    >>> from mercer.errors import ApproximationWarning
    >>> with capture_warnings() as messages:
    ...     warnings.warn("roughly", ApproximationWarning)
    >>> messages
    ['roughly']
    """
    _install()
    messages: list[str] = []
    outer, _local.messages = getattr(_local, "messages", None), messages
    try:
        yield messages
    finally:
        _local.messages = outer


def _install() -> None:
    with _lock:
        if getattr(warnings.showwarning, "captures", False):
            return
        previous: Any = warnings.showwarning

        def show(message: Any, category: Any, *args: Any, **kwargs: Any) -> None:
            messages = getattr(_local, "messages", None)
            if messages is None or not issubclass(category, _CATEGORIES):
                previous(message, category, *args, **kwargs)
            elif str(message) not in messages:
                messages.append(str(message))

        show.captures = True  # type: ignore[attr-defined]
        warnings.showwarning = show
        for category in _CATEGORIES:
            warnings.simplefilter("always", category)
