"""Errors of commands: a message on standard error, and an exit code."""

from __future__ import annotations

from rich.console import Console

from mercer.errors import MercerError

__all__ = ["EXPECTED", "UsageError", "fail", "print_error"]

#: Errors that data, files or the system can cause. Any other exception is a bug in mercer and is
#: shown with its traceback.
EXPECTED = (ValueError, OSError, ImportError, MemoryError, MercerError)


class UsageError(Exception):
    """Arguments that cannot be combined: exit code 2."""


def fail(error: Exception, verbose: bool) -> int:
    """Print an exception that is being handled, with its traceback if verbose; return 1."""
    if verbose:
        Console(stderr=True, soft_wrap=True).print_exception()
    print_error(str(error) or type(error).__name__)
    return 1


def print_error(message: str) -> None:
    """Print a message in red on standard error."""
    console = Console(stderr=True, soft_wrap=True)
    console.print(f"mercer: {message}", style="red", markup=False, highlight=False)
