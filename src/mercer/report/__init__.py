"""One table in, one readable page out: what kernel methods see in it, and how sure that is.

``analysis`` asks the estimators (a module per question: ``spectra``, ``counting``, ``clusters``,
``profiles``, ``densities``, ``novelty``, ``labels``), ``figures`` draws, ``sections`` explains and
``page`` sets the HTML; ``numbers`` and ``results`` are the same for machines.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from mercer.atomic_files import write_together
from mercer.report.analysis import Analysis, analyse
from mercer.report.numbers import numbers
from mercer.report.page import page
from mercer.report.results import ROW_FILES, result_files
from mercer.tables import Table

__all__ = ["Analysis", "Report", "analyse", "numbers", "write_report"]


@dataclass(frozen=True)
class Report:
    """Where a report was written, and what it is about.

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
    n_components: int | None = None,
    n_clusters: int | None = None,
    bandwidth: float | str = "auto",
    scale: bool = True,
    verbose: bool = False,
) -> Report:
    """Analyse a table; write ``report.html``, ``report.json`` and result tables.

    The page is one file: figures are inside it, nothing is fetched and nothing runs. The JSON file
    holds every number of the page. ``rows.csv`` has a line per row (``rows.parquet`` beyond
    200,000), ``clusters.csv``, ``components.csv`` and ``columns.csv`` one per item. Either all
    files are complete or nothing was changed.

    Parameters
    ----------
    table : Table
        From :func:`mercer.tables.read_table`.
    out : str or Path
        Folder for the files; made if it is not there.
    n_components : int or None
        Components that kernel ECA keeps, at least 2; None for the fewest that hold 99 per cent of
        the information potential (2 to 10).
    n_clusters : int or None
        None for the number that the data suggest.
    bandwidth : float or str
        σ of the Gaussian kernel, or a rule's name (see :mod:`mercer.bandwidth`). For a table that
        is not all numbers, a factor for the widths of its columns. With "auto" clusters have a
        bandwidth of their own, chosen by a sweep.
    scale : bool
        Standardise the columns, where all are numbers.
    verbose : bool
        Tell the progress of long fits on standard error.

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
    ...     report.html.name, report.analysis.counting.chosen
    ('report.html', 3)
    """
    analysis = analyse(
        table,
        n_components=n_components,
        n_clusters=n_clusters,
        bandwidth=bandwidth,
        scale=scale,
        verbose=verbose,
    )
    folder = Path(out)
    tables = {folder / name: content for name, content in result_files(analysis).items()}
    report = Report(folder / "report.html", folder / "report.json", tuple(tables), analysis)
    html = page(analysis)
    text = json.dumps(numbers(analysis), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_together({report.html: html, report.json: text, **tables})
    for name in ROW_FILES:  # one of an earlier report must not pass for this one's
        if folder / name not in tables:
            (folder / name).unlink(missing_ok=True)
    return report
