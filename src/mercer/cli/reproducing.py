"""``mercer reproduce``: tables on standard output as they come, progress on standard error."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console

from mercer.reproduce import PAPERS, Table, load_paper, reproduce
from mercer.reproduce.show import print_table

__all__ = ["run_paper", "unknown_paper"]


def unknown_paper(name: str) -> str:
    """What is wrong with a paper's name, "" where nothing is."""
    return "" if name in PAPERS else f"there is no paper {name!r}; choose from: {', '.join(PAPERS)}"


def run_paper(name: str, out: Path, *, quick: bool, figures: bool) -> None:
    """Run, print, and end with a line on how many rows are inside their fair range."""
    if figures:
        _draw_to_files()
    progress = Console(stderr=True, soft_wrap=True, highlight=False)
    started = time.monotonic()

    def tell(what: str) -> None:
        progress.print(f"{time.monotonic() - started:4.0f} s  {what}", style="dim", markup=False)

    def on_table(table: Table) -> None:
        tell(table.title)
        print_table(table)

    tell("reading data")
    done = reproduce(
        load_paper(name),
        out,
        quick=quick,
        figures=figures,
        on_table=on_table,
        on_figure=lambda path: tell(f"drew {path.name}"),
    )
    console = Console(soft_wrap=True, highlight=False)
    console.print(str(done.folder), style="bold", markup=False)
    console.print(done.summary, markup=False)


def _draw_to_files() -> None:
    """No window is ever opened, whatever the user's settings are."""
    import matplotlib as mpl

    mpl.use("Agg")
