"""Run a paper and write its tables and figures to a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import Any, Protocol

from mercer import __version__
from papers.comparison import Picture, Row, Table, Verdict, count_searched, count_verdicts
from papers.data.files import DataNotFoundError
from papers.text_tables import lines, summary

__all__ = ["PAPERS", "Paper", "Reproduction", "Skipped", "load_paper", "reproduce", "write_picture"]

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
    """The interface of a paper's module: functions of ``quick``, in the order of the paper."""

    TITLE: str
    TABLES: Mapping[str, Callable[[bool], Table]]  # by title
    FIGURES: Mapping[str, Callable[[bool], Iterator[Picture]]]  # by description


@dataclass(frozen=True)
class Skipped:
    """A table, or figures, whose data are not available."""

    what: str
    reason: str


@dataclass
class Reproduction:
    """Result of a run.

    Attributes
    ----------
    title : str
        The paper.
    folder : Path
        Holds ``tables.txt``, ``tables.json`` and the figures.
    quick : bool
    tables : list of Table
    figures : dict of Path to str
        Paths of the written files, with captions.
    skipped : list of Skipped
    """

    title: str
    folder: Path
    quick: bool = False
    tables: list[Table] = field(default_factory=list)
    figures: dict[Path, str] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """Number of rows per verdict."""
        return count_verdicts(self.tables)

    @property
    def recomputed(self) -> dict[Verdict, int]:
        """Number of rows per verdict, for values of an independent recomputation."""
        return count_verdicts(self.tables, recomputed=True)

    @property
    def summary(self) -> str:
        """The number of rows per verdict, and the skipped tables, as text."""
        skipped = [item.what for item in self.skipped]
        return summary(self.verdicts, self.recomputed, skipped, count_searched(self.tables))


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
    on_skip: Callable[[Skipped], None] = lambda skipped: None,
) -> Reproduction:
    """Compute the tables of a paper, draw its figures, and write both to a folder.

    The files are written after each table and figure. Tables and figures whose data are not
    available are skipped.

    Parameters
    ----------
    paper : Paper
        From :func:`load_paper`.
    out : str or Path
        The folder; created if necessary.
    quick : bool
        Fewer repetitions, bandwidths and data sets.
    figures : bool
        Whether to draw the figures.
    on_table, on_figure, on_skip : callable
        Called with each table, with the path of each figure, and with what was skipped.
    """
    done = Reproduction(paper.TITLE, Path(out), quick)
    done.folder.mkdir(parents=True, exist_ok=True)

    def skip(what: str, error: DataNotFoundError) -> None:
        skipped = Skipped(what, str(error))
        done.skipped.append(skipped)
        on_skip(skipped)

    for title, make in paper.TABLES.items():
        try:
            table = replace(make(quick), title=title)
        except DataNotFoundError as error:
            skip(title, error)
        else:
            done.tables.append(table)
            on_table(table)
        _write(done)
    for what, draw in paper.FIGURES.items() if figures else ():
        try:
            for picture in draw(quick):
                path = write_picture(picture, done.folder)
                done.figures[path] = picture.caption
                on_figure(path)
        except DataNotFoundError as error:
            skip(what, error)
        _write(done)
    return done


def write_picture(picture: Picture, folder: Path) -> Path:
    """Write a figure as a PNG file and close it."""
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{picture.name}.png"
    picture.figure.savefig(path, dpi=_DPI)
    plt.close(picture.figure)
    return path


def _write(done: Reproduction) -> None:
    """Write tables.txt and tables.json; a later call replaces them."""
    captions = {path.name: caption for path, caption in done.figures.items()}
    parts = [done.title, *("\n".join(lines(table)) for table in done.tables)]
    if captions:
        parts.append("\n".join(f"{name}: {caption}" for name, caption in captions.items()))
    parts += [f"Skipped: {item.what}\n{item.reason}" for item in done.skipped]
    text = "\n\n".join([*parts, done.summary]) + "\n"
    (done.folder / "tables.txt").write_text(text, encoding="utf-8")
    record = {
        "paper": done.title,
        "version": __version__,
        "quick": done.quick,
        "verdicts": done.verdicts,
        "recomputed": done.recomputed,
        "summary": done.summary,
        "tables": [_as_json(table) for table in done.tables],
        "figures": captions,
        "skipped": {item.what: item.reason for item in done.skipped},
    }
    text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
    (done.folder / "tables.json").write_text(text, encoding="utf-8")


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
        "readings": row.readings,
        "comment": row.comment,
    }
