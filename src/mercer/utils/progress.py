"""Progress of long computations: one line on standard error, rewritten in place.

``with show_progress():`` turns progress on inside the block. Solvers and passes over chunks report
progress with :func:`report_status` and :class:`ProgressBar`. Outside such a block, only bars are
shown, after two seconds and on a terminal.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["ProgressBar", "progress_is_shown", "report_status", "show_progress"]

_SECONDS_BEFORE_BAR = 2.0
_BAR_WIDTH = 24


class _Line:
    """One line of standard error, rewritten in place."""

    def __init__(self) -> None:
        self.written = False

    def write(self, text: str) -> None:
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()
        self.written = True

    def close(self) -> None:
        """End the line, if there is one."""
        if self.written:
            sys.stderr.write("\n")
            self.written = False


_line: ContextVar[_Line | None] = ContextVar("progress line", default=None)


@contextmanager
def show_progress(shown: bool = True) -> Iterator[None]:
    """Show progress inside a ``with`` block, or hide it with ``shown=False``."""
    line = _Line() if shown else None
    before = _line.set(line)
    try:
        yield
    finally:
        _line.reset(before)
        if line is not None:
            line.close()


def progress_is_shown() -> bool:
    """Return whether progress is turned on."""
    return _line.get() is not None


def report_status(text: str) -> None:
    """Replace the progress line, if progress is turned on."""
    line = _line.get()
    if line is not None:
        line.write(text)


class ProgressBar:
    """Progress bar for a known number of steps.

    Parameters
    ----------
    total : int
        Number of steps.
    what : str
        Plural noun for the steps.
    always : bool
        Whether to show the bar immediately, also if standard error is not a terminal. By default it
        is shown if progress is turned on, or on a terminal after two seconds.
    """

    def __init__(self, total: int, what: str, always: bool = False) -> None:
        self.total, self.what = total, what
        self.always = always or progress_is_shown()
        self.started = time.monotonic()
        self._own_line = _Line()

    def step(self, done: int) -> None:
        """Show that ``done`` steps are finished."""
        spent = time.monotonic() - self.started
        if not self.always and (spent < _SECONDS_BEFORE_BAR or not sys.stderr.isatty()):
            return
        full = round(_BAR_WIDTH * done / self.total)
        left = spent / max(done, 1) * (self.total - done)
        bar = "█" * full + "░" * (_BAR_WIDTH - full)
        self._own_line.write(f"{bar} {done}/{self.total} {self.what}, {left:.0f} s left")

    def close(self) -> None:
        """End the line, if the bar was shown."""
        self._own_line.close()

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
