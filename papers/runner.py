"""Run a paper and write its tables and figures to a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import Any, Protocol

from mercer import __version__
from papers.comparison import Picture, Row, Table, Verdict, count_verdicts
from papers.text_tables import lines, summary

__all__ = ["PAPERS", "Paper", "Reproduction", "load_paper", "reproduce", "write_picture"]

#: Module of each paper.
PAPERS = {
    "girolami-2002": "papers.girolami_2002",
    "jenssen-2010": "papers.jenssen_2010",
    "liang-2014": "papers.liang_2014",
    "macready-2003": "papers.macready_2003",
    "paiva-2006": "papers.paiva_2006",
}

_DPI = 150


class Paper(Protocol):
    """The interface of a paper's module."""

    TITLE: str

    def tables(self, quick: bool) -> Iterator[Table]:
        """Yield the tables as they are computed."""

    def figures(self, quick: bool) -> Iterator[Picture]:
        """Yield the figures as they are drawn."""


@dataclass(frozen=True)
class Reproduction:
    """Result of a run.

    Attributes
    ----------
    tables : tuple of Table
    figures : tuple of Path
        Paths of the written files.
    folder : Path
        Holds ``tables.txt``, ``tables.json`` and the figures.
    """

    tables: tuple[Table, ...]
    figures: tuple[Path, ...]
    folder: Path

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """Number of rows per verdict."""
        return count_verdicts(self.tables)

    @property
    def summary(self) -> str:
        """One line with the number of rows per verdict."""
        return summary(*self.verdicts.values())


def load_paper(name: str) -> Paper:
    """Import the module of a paper."""
    if name not in PAPERS:
        raise KeyError(f"Unknown paper {name!r}; choose from {', '.join(PAPERS)}.")
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
        The folder; created if necessary.
    quick : bool
        Fewer repetitions.
    figures : bool
        Whether to draw the figures.
    on_table, on_figure : callable
        Called with each table and with the path of each figure.
    """
    folder = Path(out)
    tables, written, captions = [], [], {}
    for table in paper.tables(quick):
        tables.append(table)
        on_table(table)
    for picture in paper.figures(quick) if figures else ():
        path = write_picture(picture, folder)
        written.append(path)
        captions[path.name] = picture.caption
        on_figure(path)
    done = Reproduction(tuple(tables), tuple(written), folder)
    record = {
        "paper": paper.TITLE,
        "version": __version__,
        "quick": quick,
        "verdicts": done.verdicts,
        "tables": [_as_json(table) for table in tables],
        "figures": captions,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tables.txt").write_text(_as_text(done, paper.TITLE, captions), encoding="utf-8")
    text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
    (folder / "tables.json").write_text(text, encoding="utf-8")
    return done


def write_picture(picture: Picture, folder: Path) -> Path:
    """Write a figure as a PNG file and close it."""
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{picture.name}.png"
    picture.figure.savefig(path, dpi=_DPI)
    plt.close(picture.figure)
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
        "accepted_range": row.range,
        "verdict": row.verdict,
        "remark": row.remark,
    }
