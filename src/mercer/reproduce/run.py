"""Run a paper: tables to the screen, tables and figures to a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from math import isfinite
from pathlib import Path
from typing import Any, Protocol

from mercer import __version__
from mercer.atomic_files import write_together
from mercer.reproduce.frame import Picture, Row, Table, Verdict, count_verdicts
from mercer.reproduce.show import lines, summary

__all__ = ["PAPERS", "Paper", "Reproduction", "load_paper", "reproduce", "write_picture"]

#: Name of a paper -> the module that holds it.
PAPERS = {
    "girolami-2002": "mercer.reproduce.girolami_2002",
    "jenssen-2010": "mercer.reproduce.jenssen_2010",
    "liang-2014": "mercer.reproduce.liang_2014",
    "macready-2003": "mercer.reproduce.macready_2003",
    "paiva-2006": "mercer.reproduce.paiva_2006",
}

_DPI = 150


class Paper(Protocol):
    """What the module of a paper offers."""

    TITLE: str

    def tables(self, quick: bool) -> Iterator[Table]:
        """The tables, each when it is ready."""

    def figures(self, quick: bool) -> Iterator[Picture]:
        """The figures, each when it is ready."""


@dataclass(frozen=True)
class Reproduction:
    """What a run gave.

    Attributes
    ----------
    tables : tuple of Table
    figures : tuple of Path
        Files that were written.
    folder : Path
        Where ``tables.txt``, ``tables.json`` and the figures are.
    """

    tables: tuple[Table, ...]
    figures: tuple[Path, ...]
    folder: Path

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """How many rows there are of each verdict."""
        return count_verdicts(self.tables)

    @property
    def summary(self) -> str:
        """One line on how the rows came out."""
        return summary(*self.verdicts.values())


def load_paper(name: str) -> Paper:
    """Import the module of a paper."""
    if name not in PAPERS:
        raise KeyError(f"There is no paper {name!r} here; there is {', '.join(PAPERS)}.")
    paper: Any = import_module(PAPERS[name])
    return paper


def reproduce(
    paper: Paper,
    out: str | Path,
    *,
    quick: bool = False,
    figures: bool = True,
    on_table: Callable[[Table], None] = lambda table: None,
    on_figure: Callable[[Path], None] = lambda path: None,
) -> Reproduction:
    """Compute the tables of a paper, draw its figures, and write both to a folder.

    Parameters
    ----------
    paper : Paper
        From :func:`load_paper`.
    out : str or Path
        The folder; made if it is not there.
    quick : bool
        Fewer repetitions.
    figures : bool
        Draw too.
    on_table, on_figure : callable
        Told of each table and of each file as it comes.
    """
    folder = Path(out)
    made, written, captions = [], [], {}
    for table in paper.tables(quick):
        made.append(table)
        on_table(table)
    for picture in paper.figures(quick) if figures else ():
        path = write_picture(picture, folder)
        written.append(path)
        captions[path.name] = picture.caption
        on_figure(path)
    done = Reproduction(tuple(made), tuple(written), folder)
    record = {
        "paper": paper.TITLE,
        "version": __version__,
        "quick": quick,
        "verdicts": done.verdicts,
        "tables": [_as_json(table) for table in made],
        "figures": captions,
    }
    write_together(
        {
            folder / "tables.txt": _as_text(done, paper.TITLE, captions),
            folder / "tables.json": json.dumps(record, indent=2, ensure_ascii=False) + "\n",
        }
    )
    return done


def write_picture(picture: Picture, folder: Path) -> Path:
    """Write a figure as a PNG file, complete or not at all, and close it."""
    import matplotlib.pyplot as plt

    path = folder / f"{picture.name}.png"
    image = BytesIO()
    picture.figure.savefig(image, format="png", dpi=_DPI)
    plt.close(picture.figure)
    write_together({path: image.getvalue()})
    return path


def _as_text(done: Reproduction, title: str, captions: dict[str, str]) -> str:
    parts = [title, *("\n".join(lines(table)) for table in done.tables)]
    if captions:
        parts.append("\n".join(f"{name}: {caption}" for name, caption in captions.items()))
    return "\n\n".join([*parts, done.summary]) + "\n"


def _as_json(table: Table) -> dict[str, Any]:
    return {
        "title": table.title,
        "note": table.note,
        "layout": table.layout,
        "rows": [_row_as_json(row) for row in table.rows],
    }


def _row_as_json(row: Row) -> dict[str, Any]:
    is_number = isinstance(row.ours, int | float) and isfinite(row.ours)
    return {
        "item": row.item,
        "paper": row.paper,
        "here": row.shown,
        "number": row.ours if is_number else None,
        "fair_range": row.range,
        "verdict": row.verdict,
        "remark": row.remark,
    }
