"""How commands fail: one sentence on standard error, an exit code, and a traceback if asked."""

from __future__ import annotations

from rich.console import Console

from mercer.errors import MercerError

__all__ = ["EXPECTED", "UsageError", "fail", "tell_error"]

#: What a user's data, files or machine may cause; anything else is our mistake and shows itself.
EXPECTED = (ValueError, OSError, ImportError, MemoryError, MercerError)


class UsageError(Exception):
    """Arguments that do not go together: exit code 2."""


def fail(error: Exception, verbose: bool) -> int:
    """Tell what went wrong, and return the exit code 1; to be called while it is handled."""
    if verbose:
        Console(stderr=True, soft_wrap=True).print_exception()
    tell_error(str(error) or type(error).__name__)
    return 1


def tell_error(message: str) -> None:
    """Print a sentence in red on standard error."""
    console = Console(stderr=True, soft_wrap=True)
    console.print(f"mercer: {message}", style="red", markup=False, highlight=False)
