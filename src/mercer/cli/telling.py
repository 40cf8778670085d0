"""What commands say: on standard error, so that standard output holds nothing but data."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from mercer.tables.table import SelectedTable

__all__ = ["Teller", "count", "percent", "table_lines"]

_LISTED = 5


class Teller:
    """Says things on standard error, or nothing.

    Parameters
    ----------
    quiet : bool
    """

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet

    def __call__(self, line: str, style: str | None = None) -> None:
        """Say a line."""
        if not self.quiet:
            # soft_wrap: a path that is broken into lines can be neither clicked nor copied
            console = Console(stderr=True, soft_wrap=True, highlight=False)
            console.print(line, style=style, markup=False)

    def all(self, lines: Iterable[str]) -> None:
        """Say several lines."""
        for line in lines:
            self(line)

    @contextmanager
    def telling_warnings(self) -> Iterator[list[str]]:
        """Say the warnings of a block as they come; collect their texts."""
        texts: list[str] = []

        def tell(message: Warning | str, category: type[Warning], *_: object) -> None:
            texts.append(str(message))
            self(f"{category.__name__}: {message}", "yellow")

        with warnings.catch_warnings():
            warnings.simplefilter("default")
            for noise in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
                warnings.simplefilter("ignore", noise)
            warnings.showwarning = tell  # type: ignore[assignment]
            yield texts


def table_lines(table: SelectedTable) -> Iterator[str]:
    """What was read, what was left out, what was guessed."""
    yield f"{table.name}: {count(table.n, 'row')}, {count(len(table.columns), 'column')}"
    if table.rows_omitted:
        yield f"  left out: {count(table.rows_omitted, 'row')} with missing cells"
    for one in table.omissions[:_LISTED]:
        yield f"  left out: column {one.column} ({one.reason})"
    if len(table.omissions) > _LISTED:
        yield f"  left out: {len(table.omissions) - _LISTED} more columns"
    for note in table.notes:
        yield f"  note: {note}"


def count(number: int, noun: str) -> str:
    """A number with its noun, in the plural if need be."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def percent(share: float) -> str:
    """Three digits of a share."""
    return f"{100 * share:.3g} %"
