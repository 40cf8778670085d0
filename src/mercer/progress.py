"""What long work shows while it goes on: one line on standard error, rewritten in place."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Bar", "Ticker", "progress_is_shown", "show_progress"]

_PATIENCE = 2.0  # seconds before a bar appears by itself
_WIDTH = 24

_shown: ContextVar[bool] = ContextVar("progress is shown", default=False)


@contextmanager
def show_progress(verbose: bool) -> Iterator[None]:
    """Let work inside show its bars, where the user asked for them."""
    before = _shown.set(bool(verbose))
    try:
        yield
    finally:
        _shown.reset(before)


def progress_is_shown() -> bool:
    """Whether the user asked for bars."""
    return _shown.get()


class Ticker:
    """One line, rewritten with whatever the work has to say."""

    def __call__(self, line: str) -> None:
        """Replace the line."""
        sys.stderr.write(f"\r\033[K{line}")
        sys.stderr.flush()

    def close(self) -> None:
        """Leave the last line standing."""
        sys.stderr.write("\n")


class Bar:
    """A bar for work of known length.

    Parameters
    ----------
    total : int
        Steps.
    what : str
        What is counted, in the plural.
    always : bool
        From the start and anywhere; otherwise only on a terminal, once it takes longer than two
        seconds.
    """

    def __init__(self, total: int, what: str, always: bool = False) -> None:
        self.total, self.what, self.always = total, what, always
        self.started = time.monotonic()
        self.shown = False
        self.ticker = Ticker()

    def step(self, done: int) -> None:
        """Say that ``done`` steps are behind us."""
        spent = time.monotonic() - self.started
        if not self.always and (spent < _PATIENCE or not sys.stderr.isatty()):
            return
        self.shown = True
        full = round(_WIDTH * done / self.total)
        left = spent / max(done, 1) * (self.total - done)
        bar = "█" * full + "░" * (_WIDTH - full)
        self.ticker(f"{bar} {done}/{self.total} {self.what}, {left:.0f} s left")

    def close(self) -> None:
        """End the line, if there was one."""
        if self.shown:
            self.ticker.close()
