"""Tables as text of 100 columns, for files and terminals."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from textwrap import wrap

from papers.comparison import Row, Table, Verdict

__all__ = ["lines", "print_table", "summary"]

WIDTH = 100
_HEADS = ("", "paper", "here", "accepted range", "")
_MAX_WIDTHS = (WIDTH, 17, 17, 17, 18)  # the first column takes the remaining width
_SEPARATOR = "  "


def lines(table: Table) -> Iterator[str]:
    """Yield the lines of a table; a verdict is the last word of its line."""
    yield table.title
    yield "─" * WIDTH
    if table.layout:
        yield from table.layout.splitlines()
        yield ""
    if table.rows:
        cells = [_cells(row) for row in table.rows]
        widths = _widths([_HEADS, *cells])
        yield from _wrapped(_HEADS, widths)
        for row, texts in zip(table.rows, cells, strict=True):
            yield from _wrapped(texts, widths)
            for line in wrap(row.comment, WIDTH - 4):
                yield f"    {line}"
    if table.note:
        yield ""
        yield from wrap(table.note, WIDTH)


def print_table(table: Table) -> None:
    """Print to standard output, in color on a terminal if rich is installed."""
    try:
        from rich.console import Console
        from rich.text import Text
    except ModuleNotFoundError:
        sys.stdout.write("\n".join([*lines(table), "", ""]))
        return
    console = Console(soft_wrap=True, highlight=False)
    for number, line in enumerate(lines(table)):
        text = Text(line, style="bold" if number == 0 else "")
        text.highlight_regex(r"(?<=  )(agrees|identity)$", "green")
        text.highlight_regex(r"(?<=  )corrects the paper$", "cyan")
        text.highlight_regex(r"(?<=  )does not reproduce$", "bold red")
        if line.startswith("    "):
            text.stylize("dim")
        console.print(text)
    console.print()


def summary(
    paper: Mapping[Verdict, int],
    recomputed: Mapping[Verdict, int],
    skipped: Sequence[str] = (),
    searched: int = 0,
) -> str:
    """Return the number of rows per verdict, and what was skipped, as text.

    ``searched`` rows agree in one of several readings that were tried.
    """
    parts = [
        f"{paper['agrees']} agree, {paper['corrects the paper']} correct the print, "
        f"{paper['does not reproduce']} do not reproduce, {paper['identity']} identities; "
        f"{paper['not printed']} more rows have no printed value."
    ]
    if searched:
        parts.append(f"Of those that agree {searched} needed a search among readings.")
    if any(recomputed.values()):
        agree, differ = recomputed["agrees"], recomputed["does not reproduce"]
        parts.append(
            f"Of {agree + recomputed['corrects the paper'] + differ} values of an independent "
            f"recomputation {agree} agree."
        )
    if skipped:
        parts.append(f"Skipped because of missing data: {'; '.join(skipped)}.")
    return " ".join(parts)


def _cells(row: Row) -> tuple[str, ...]:
    verdict = "" if row.verdict == "not printed" else row.verdict
    return (row.item, row.paper, row.shown, row.range, verdict)


def _widths(rows: list[tuple[str, ...]]) -> list[int]:
    widths = [
        min(widest, max(map(len, column)))
        for widest, column in zip(_MAX_WIDTHS, zip(*rows, strict=True), strict=True)
    ]
    widths[0] = min(widths[0], WIDTH - sum(widths[1:]) - len(_SEPARATOR) * (len(widths) - 1))
    return widths


def _wrapped(cells: tuple[str, ...], widths: list[int]) -> Iterator[str]:
    columns = [wrap(text, width) if text else [] for text, width in zip(cells, widths, strict=True)]
    for parts in zip_longest(*columns, fillvalue=""):
        padded = (f"{part:<{width}}" for part, width in zip(parts, widths, strict=True))
        yield _SEPARATOR.join(padded).rstrip()
