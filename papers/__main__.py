"""Command line: recompute the tables and figures of a paper.

    python -m papers PAPER [--out DIR] [--quick] [--no-figures]

Tables are printed on standard output, progress on standard error. Tables whose data files are
missing are skipped, with the reason on standard error. Exit codes: 0 after a run, 1 if the output
folder cannot be written, 2 for invalid arguments.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from papers.comparison import Table
from papers.runner import PAPERS, Skipped, load_paper, reproduce
from papers.text_tables import print_table

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one paper and return the exit code."""
    options = _parser().parse_args(arguments)
    out = options.out or Path("mercer-reproduce", options.paper)
    try:
        run_paper(options.paper, out, quick=options.quick, figures=options.figures)
    except OSError as error:  # a folder without write access
        print(f"papers: {error}", file=sys.stderr)
        return 1
    return 0


def run_paper(name: str, out: Path, *, quick: bool, figures: bool) -> None:
    """Print the tables as they are computed, then the folder and the number of rows per verdict."""
    if figures:
        import matplotlib as mpl

        mpl.use("Agg")  # never open a window
    started = time.monotonic()

    def log(text: str) -> None:
        print(f"{time.monotonic() - started:4.0f} s  {text}", file=sys.stderr, flush=True)

    def on_table(table: Table) -> None:
        log(table.title)
        print_table(table)

    def on_skip(skipped: Skipped) -> None:
        log(f"skipped: {skipped.what}\n{skipped.reason}")

    log("reading data")
    done = reproduce(
        load_paper(name),
        out,
        quick=quick,
        figures=figures,
        on_table=on_table,
        on_figure=lambda path: log(f"drew {path.name}"),
        on_skip=on_skip,
    )
    print(done.folder)
    print(done.summary)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="papers",
        description="Recompute the tables of a paper, compare them with the published values and "
        "draw its figures. The verdict of each row follows from the printed digits or the sampling "
        "error.",
        epilog="Writes tables.txt, tables.json and one PNG file per figure. Data sets are read "
        "from the folder in the environment variable MERCER_DATA, or fetched from OpenML if it "
        "has them; tables without data are skipped.",
    )
    parser.add_argument("paper", choices=list(PAPERS), help="the paper")
    parser.add_argument("--out", type=Path, help="output folder (default: mercer-reproduce/PAPER)")
    parser.add_argument(
        "--quick", action="store_true", help="fewer seeds, bandwidths and data sets"
    )
    parser.add_argument(
        "--no-figures", dest="figures", action="store_false", help="tables only, no figures"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
