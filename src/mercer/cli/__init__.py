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
            return _flushed(_main(sys.argv[1:] if arguments is None else list(arguments)))
    except KeyboardInterrupt:
        print("mercer: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        _discard_output()  # `| head` has seen enough
        return _PIPE_CLOSED
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # rich ends the process by itself, with 1
            return _PIPE_CLOSED
        raise


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


def _flushed(code: int) -> int:
    """See to it that what was printed has arrived, and return the exit code."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        if code == 0:
            message = f"mercer: standard output cannot be written: {error.strerror}"
            print(message, file=sys.stderr)
        _discard_output()
        return code or 1
    return code


def _discard_output() -> None:
    """What is still in the buffer goes nowhere; Python would complain about it at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
