"""One table in, one readable page out: what kernel ECA and kernel PCA see in it, and how sure.

``analysis`` asks the estimators, ``words`` explains, ``figures`` draws and ``page`` sets the HTML;
none of them computes anything of its own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from mercer.report.analysis import Analysis, analyse, numbers
from mercer.report.page import page
from mercer.tables import Table
from mercer.writing import write_together

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
    analysis: Analysis


def write_report(
    table: Table,
    out: str | Path = "mercer-report",
    *,
    n_components: int | None = None,
    bandwidth: float | str = "auto",
    scale: bool = True,
    verbose: bool = False,
) -> Report:
    """Analyse a table and write ``report.html`` and ``report.json``.

    The page is one file: figures are inside it, nothing is fetched and nothing runs. The JSON file
    holds every number of the page. Either both files are complete or nothing was changed.

    Parameters
    ----------
    table : Table
        From :func:`mercer.tables.read_table`.
    out : str or Path
        Folder for the two files; made if it is not there.
    n_components : int or None
        Components that kernel ECA keeps, at least 2; None for the fewest that hold 99 per cent of
        the information potential (2 to 10).
    bandwidth : float or str
        σ of the Gaussian kernel, or a rule's name (see :mod:`mercer.bandwidth`).
    scale : bool
        Standardise the columns.
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
    ...     report.html.name, report.analysis.eca.n_components_
    ('report.html', 3)
    """
    analysis = analyse(
        table, n_components=n_components, bandwidth=bandwidth, scale=scale, verbose=verbose
    )
    html = page(analysis)
    text = json.dumps(numbers(analysis), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    folder = Path(out)
    report = Report(folder / "report.html", folder / "report.json", analysis)
    write_together({report.html: html, report.json: text})
    return report
