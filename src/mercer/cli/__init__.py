"""The ``mercer`` command. Heavy packages are imported only when a command needs them."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    arguments : sequence of str or None
        Arguments without the name of the program; None for those of this process.

    Returns
    -------
    int
        0 for success; 1 for an error in the data, the files or the system; 2 for invalid
        arguments; 130 after Ctrl-C; 141 if the reader of a pipe closed it.
    """
    with _open_streams():
        try:
            with _terminable():
                return _flush_output(_main(sys.argv[1:] if arguments is None else list(arguments)))
        except KeyboardInterrupt:
            _print_error("interrupted")
            return 130  # 128 + the number of the signal, as in shells; also below
        except BrokenPipeError:
            _discard_output()  # the reader has closed the pipe, as in `| head`
            return 141
        except SystemExit as end:
            if isinstance(end.__context__, BrokenPipeError):  # rich exits by itself, with code 1
                return 141
            raise


def _main(arguments: list[str]) -> int:
    try:
        from mercer.cli.app import run
    except ModuleNotFoundError as error:
        if error.name not in ("cyclopts", "rich"):
            raise
        _print_error(
            f"the command line needs {error.name}, which is not installed. "
            "Run: pip install mercer[cli]"
        )
        return 1
    return run(arguments)


def _print_error(message: str) -> None:
    print(f"mercer: {message}", file=sys.stderr)


def _flush_output(code: int) -> int:
    """Flush standard output and return the exit code, which is not 0 if flushing fails."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        if code == 0:
            _print_error(f"standard output cannot be written: {error.strerror or error}")
        _discard_output()
        return code or 1
    return code


def _discard_output() -> None:
    """Discard buffered output; Python would report at exit that it cannot be written."""
    buffer = getattr(sys.stdout, "buffer", None)
    if isinstance(buffer, _ClosedOutput):
        buffer.seek(0)
        buffer.truncate()
    else:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _ClosedOutput(io.BytesIO):
    """Standard output of a process that was started without one: flushing raises OSError."""

    def flush(self) -> None:
        if not self.closed and self.tell():
            raise OSError("standard output is closed")


@contextmanager
def _open_streams() -> Iterator[None]:
    """Replace standard streams that are closed (``>&-``), for which Python has None.

    Writing to a closed standard output is an error; output to a closed standard error is discarded.
    """
    before: tuple[Any, Any] = sys.stdout, sys.stderr
    with open(os.devnull, "w", encoding="utf-8") as null:
        if sys.stdout is None:
            sys.stdout = io.TextIOWrapper(_ClosedOutput(), encoding="utf-8")
        if sys.stderr is None:
            sys.stderr = null
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before


@contextmanager
def _terminable() -> Iterator[None]:
    """Turn SIGTERM into an exception, so that half-written files are removed."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise SystemExit(143)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
