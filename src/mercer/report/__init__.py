"""A report on a table: one HTML page, its numbers as JSON, and result tables.

``analysis`` runs the estimators, with one module per part: ``spectra``, ``clusters``,
``densities``, ``scores``, ``labels`` and ``columns``. ``figures`` and ``svg`` draw,
``sections`` prepares the text, and ``page`` renders the Jinja templates in ``templates/``.
``numbers`` and ``results`` write the same results as JSON and as tables.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from mercer.report.analysis import Analysis, analyze
from mercer.report.numbers import numbers
from mercer.report.page import page
from mercer.report.results import ROW_FILES, result_files
from mercer.tables import Table
from mercer.utils.atomic_files import check_target, write_together

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
    n_components: int | None = None,
    n_clusters: int | None = None,
    bandwidth: float | str = "auto",
    scale: bool = True,
    verbose: bool = False,
) -> Report:
    """Analyze a table, and write ``report.html``, ``report.json`` and result tables.

    The page is a single file with embedded figures, without scripts or external resources. The
    JSON file holds all numbers of the page. ``rows.csv`` has one line per row (``rows.parquet``
    beyond 200,000 rows); ``clusters.csv``, ``components.csv`` and ``columns.csv`` one per item.
    If a file cannot be written, all files stay as they were; see
    :func:`mercer.utils.atomic_files.write_together`.

    Parameters
    ----------
    table : Table
        From :func:`mercer.tables.read_table`.
    out : str or Path
        Folder for the files; created if it does not exist.
    n_components : int or None
        Number of kernel ECA components, at least 2; None for the fewest that hold 99 % of the
        information potential (2 to 10).
    n_clusters : int or None
        None for the number that :class:`~mercer.SpectralClustering` chooses.
    bandwidth : float or str
        σ of the Gaussian kernel, or the name of a rule (see :mod:`mercer.bandwidth`). For mixed
        tables: multiplier of all bandwidths (1 leaves them unchanged). The kernel of the
        clusters is chosen separately, among neighbor graphs and kernels.
    scale : bool
        Standardize the columns of a numeric table.
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
    ...     report.html.name, report.analysis.counting.chosen
    ('report.html', 3)
    """
    folder = Path(out)
    for name in ("report.html", "report.json"):
        check_target(folder / name)  # before the analysis, which can take minutes
    analysis = analyze(
        table,
        n_components=n_components,
        n_clusters=n_clusters,
        bandwidth=bandwidth,
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
