"""A report on a table: one HTML page, its numbers as JSON, and result tables.

Each part of the report is a ``section``: a dataclass of results that is shown on the page by a
Jinja template in ``templates/``, in ``report.json`` and in the tables, and which states its result
in a sentence. Its module also computes it and draws its figures: ``contents``, ``groups``,
``dependence``, ``unusual``, ``distributions``, ``prediction``, ``changes`` and ``methods``.
``analysis`` runs the steps and has the order of the sections. The pages of ``mercer diversity`` and
``mercer monitor`` are in ``diversity`` and ``monitoring``.
"""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer.report.analysis import Analysis, analyze, numbers
from mercer.report.methods import format_versions
from mercer.report.section import render
from mercer.report.unusual import ROW_FILES, rows_file
from mercer.tables import Table
from mercer.tables.text_files import to_csv
from mercer.utils.atomic_files import check_target, write_together
from mercer.utils.formatting import format_count, shorten

__all__ = ["Analysis", "Report", "analyze", "numbers", "write_report"]


@dataclass(frozen=True)
class Report:
    """Paths of the files of a report, and the analysis behind it.

    Examples
    --------
    >>> import tempfile
    >>> from mercer.report import write_report
    >>> from mercer.tables import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = write_report(read_table("rings"), folder)
    ...     report.json.name
    'report.json'
    """

    html: Path
    json: Path
    tables: tuple[Path, ...]
    analysis: Analysis


def write_report(
    table: Table,
    out: str | Path = "mercer-report",
    *,
    n_clusters: int | None = None,
    scale: bool = True,
    verbose: bool = False,
) -> Report:
    """Analyze a table, and write ``report.html``, ``report.json`` and result tables.

    The page is a single file with embedded figures, without scripts or external resources. The
    JSON file holds all numbers of the page. ``rows.csv`` has one line per row (``rows.parquet``
    beyond 200,000 rows); other tables have one line per column, group, unusual cell and so on. Up
    to 100,000 rows are analyzed, drawn at random; scores are computed for all rows. If a file
    cannot be written, all files stay as they were; see
    :func:`mercer.utils.atomic_files.write_together`.

    Parameters
    ----------
    table : Table
        From :func:`mercer.tables.read_table`.
    out : str or Path
        Folder for the files; created if it does not exist.
    n_clusters : int or None
        None for the number that :class:`~mercer.SpectralClustering` chooses.
    scale : bool
        Standardize the columns of a numeric table before groups are searched.
    verbose : bool
        Show progress on standard error.

    Returns
    -------
    Report

    Examples
    --------
    >>> import tempfile
    >>> from mercer.report import write_report
    >>> from mercer.tables import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = write_report(read_table("rings"), folder)
    ...     report.html.name, len(report.analysis.groups.each)
    ('report.html', 3)
    """
    folder = Path(out)
    for name in ("report.html", "report.json"):
        check_target(folder / name)  # before the analysis, which can take minutes
    analysis = analyze(
        table,
        n_clusters=n_clusters,
        scale=scale,
        verbose=verbose,
    )
    tables = {folder / name: content for name, content in result_files(analysis).items()}
    report = Report(folder / "report.html", folder / "report.json", tuple(tables), analysis)
    html = page(analysis)
    text = json.dumps(numbers(analysis), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_together({report.html: html, report.json: text, **tables})
    for name in ROW_FILES:  # remove the table of rows of an earlier report in the other format
        if folder / name not in tables and (folder / name).is_file():
            (folder / name).unlink()
    return report


def page(analysis: Analysis) -> str:
    """Return the page as HTML; it needs no other file."""
    table = analysis.table
    return str(
        render(
            "page.html",
            title=shorten(re.sub(r"\.(csv|tsv|txt|parquet|np[yz])(\.\w+)?$", "", table.name), 80),
            size=f"{format_count(table.n, 'row')} × {format_count(len(table.columns), 'column')}",
            sections=analysis.sections,
            versions=format_versions(),
        )
    ).replace(" %", "\u00a0%")  # lines do not break between a number and its unit


def result_files(analysis: Analysis) -> dict[str, bytes]:
    """Return the contents of the result tables by file name.

    ``rows`` has the row number in the file (the first row below the header is 1), the group (of the
    rows that were analyzed) and the score of how unusual a row is. Up to 200,000 rows the format is
    CSV with seven digits, beyond that Parquet.
    """
    import pandas as pd

    rows = pd.DataFrame({"row": analysis.table.rows + 1})
    tables: dict[str, list[dict[str, Any]]] = {}
    for section in analysis.sections:
        for name, values in section.row_columns().items():
            some = np.arange(len(rows)) if len(values) == len(rows) else analysis.sampled
            rows[name] = pd.Series(values, some)
        tables |= section.tables()
    name = rows_file(analysis.table.n)
    if name.endswith(".csv"):
        files = {name: _csv(rows)}
    else:
        parquet = io.BytesIO()
        rows.to_parquet(parquet, index=False)
        files = {name: parquet.getvalue()}
    return files | {f"{name}.csv": _csv(pd.DataFrame(lines)) for name, lines in tables.items()}


def _csv(frame: Any) -> bytes:
    return to_csv(frame, float_format="%.7g").encode("utf-8")
