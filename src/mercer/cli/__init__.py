"""The ``mercer`` command; what it needs is imported when it is needed."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

__all__ = ["main"]

_INTERRUPTED, _TERMINATED, _PIPE_CLOSED = 130, 143, 141  # 128 + the signal's number, as shells say


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    arguments : sequence of str or None
        Without the program's name; None for those of this process.

    Returns
    -------
    int
        0; 1 where the data or the machine are at fault; 2 where the arguments are; 130 after
        Ctrl-C, 141 where the reader of a pipe has gone.
    """
    try:
        with _terminable():
            code = _main(sys.argv[1:] if arguments is None else list(arguments))
            sys.stdout.flush()
            return code
    except KeyboardInterrupt:
        print("mercer: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # `| head` has seen enough; what is still in the buffer goes nowhere, without complaint
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE_CLOSED


def _main(arguments: list[str]) -> int:
    try:
        from mercer.cli.app import run
    except ModuleNotFoundError as error:
        if error.name not in ("cyclopts", "rich"):
            raise
        print(
            f"mercer: the command line needs {error.name}, which is not installed: "
            "pip install mercer[cli]",
            file=sys.stderr,
        )
        return 1
    return run(arguments)


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end the process as an exception, so that half-written files are removed."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise SystemExit(_TERMINATED)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
