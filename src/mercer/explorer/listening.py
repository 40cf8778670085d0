"""Hear the warnings of one thread: ``warnings.catch_warnings`` is about all threads at once."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mercer.errors import ApproximationWarning, ConvergenceWarning, IdentifiabilityWarning

__all__ = ["listening"]

_ears = threading.local()
_lock = threading.Lock()
_CATEGORIES = (ApproximationWarning, ConvergenceWarning, IdentifiabilityWarning)


@contextmanager
def listening() -> Iterator[list[str]]:
    """Collect what mercer warns of in this thread; each text once. The innermost listener hears it.

    >>> import warnings
    >>> from mercer.errors import ApproximationWarning
    >>> with listening() as heard:
    ...     warnings.warn("roughly", ApproximationWarning)
    >>> heard
    ['roughly']
    """
    _install()
    heard: list[str] = []
    outer, _ears.heard = getattr(_ears, "heard", None), heard
    try:
        yield heard
    finally:
        _ears.heard = outer


def _install() -> None:
    with _lock:
        if getattr(warnings.showwarning, "listens", False):
            return
        before: Any = warnings.showwarning

        def show(message: Any, category: Any, *rest: Any, **more: Any) -> None:
            heard = getattr(_ears, "heard", None)
            if heard is None or not issubclass(category, _CATEGORIES):
                before(message, category, *rest, **more)
            elif str(message) not in heard:
                heard.append(str(message))

        show.listens = True  # type: ignore[attr-defined]
        warnings.showwarning = show
        for category in _CATEGORIES:
            warnings.simplefilter("always", category)
