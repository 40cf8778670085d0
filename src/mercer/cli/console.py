"""Messages and errors of commands, on standard error: standard output is for data only."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

from mercer.errors import MercerError
from mercer.utils.formatting import format_count

if TYPE_CHECKING:
    from mercer.tables.table import SelectedTable

__all__ = ["EXPECTED", "Messages", "UsageError", "describe_table", "fail", "print_error"]

#: Errors that data, files or the system can cause. Any other exception is a bug in mercer and is
#: shown with its traceback.
EXPECTED = (ValueError, OSError, ImportError, MemoryError, MercerError)


class Messages:
    """Print messages on standard error, or nothing if ``quiet``."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet

    def print(self, line: str, style: str | None = None) -> None:
        """Print a line."""
        if not self.quiet:
            # soft_wrap: a path that is broken into lines can be neither clicked nor copied
            console = Console(stderr=True, soft_wrap=True, highlight=False)
            console.print(line, style=style, markup=False)

    def print_all(self, lines: Iterable[str]) -> None:
        """Print several lines."""
        for line in lines:
            self.print(line)

    def print_results(self, lines: Iterable[str]) -> None:
        """Print lines that need a pass over the rows, which is not made if ``quiet``."""
        if not self.quiet:
            self.print_all(lines)

    @contextmanager
    def showing_warnings(self) -> Iterator[list[str]]:
        """Print each warning of a block once, when it is raised; yield the list of their texts."""
        texts: list[str] = []

        def show(message: Warning | str, category: type[Warning], *_: object) -> None:
            if str(message) in texts:  # of another step of the command
                return
            texts.append(str(message))
            self.print(f"{category.__name__}: {message}", "yellow")

        with warnings.catch_warnings():
            warnings.simplefilter("default")
            for noise in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
                warnings.simplefilter("ignore", noise)
            warnings.showwarning = show  # type: ignore[assignment]
            yield texts


def describe_table(table: SelectedTable) -> Iterator[str]:
    """Yield lines on the rows and columns that are analyzed, those that are not, and notes."""
    columns = format_count(len(table.columns), "column")
    yield f"{table.name}: {format_count(table.n, 'row')}, {columns}"
    if table.rows_omitted:
        yield f"  omitted: {format_count(table.rows_omitted, 'row')} with missing values"
    listed, others = table.omissions[:5], table.omissions[5:]
    for omission in listed:
        yield f"  omitted: column {omission.column} ({omission.reason})"
    if others:
        yield f"  omitted: {len(others)} more columns"
    for note in table.notes:
        yield f"  note: {note}"


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
