"""``mercer report``: a page on a table, its numbers, and result tables."""

from __future__ import annotations

import json as jsons
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.console import Console

from mercer.cli.options import Bandwidth, Data, Reading, Verbose
from mercer.cli.telling import count, table_lines

if TYPE_CHECKING:
    from mercer.report import Report

__all__ = ["report"]

_Flag = Parameter(negative="", show_default=False)


def report(
    data: Data = "wine",
    /,
    *,
    out: Path = Path("mercer-report"),
    clusters: Annotated[int | None, Parameter(validator=Number(gte=1))] = None,
    components: Annotated[int | None, Parameter(validator=Number(gte=2))] = None,
    bandwidth: Bandwidth = "auto",
    scale: bool = True,
    json: Annotated[bool, _Flag] = False,
    verbose: Verbose = False,
    reading: Reading = Reading(),
) -> int:
    """Write a page on a table: clusters and what distinguishes them, components, novel rows.

    Makes *report.html*, one file to open in any browser; *report.json* with all its numbers; and
    tables to go on with: *rows.csv* (*rows.parquet* beyond 200,000 rows), *clusters.csv*,
    *components.csv* and *columns.csv*. Columns may be numbers, dates, categories and texts; what
    is left out is listed with the reason.

    For example:

    - `mercer report` (the embedded wine data)
    - `mercer report measurements.csv --label species --out pages`
    - `mercer report rings --bandwidth 0.4 --clusters 3`
    - `cat log.csv | mercer report - --ignore id --json`

    Parameters
    ----------
    data
        A CSV, TSV, Parquet, NPY or NPZ file; - for standard input; or an embedded set: wine, iris,
        digits, breast_cancer, diabetes, rings, ring-and-blob, machines.
    out
        Folder for the files.
    clusters
        How many clusters. Left out: the number that the data suggest, which may be one.
    components
        How many components kernel ECA keeps, at least 2. Left out: the fewest that hold 99 % of
        the information potential.
    bandwidth
        σ of the Gaussian kernel (in standard deviations if columns are scaled), or a rule: auto,
        silverman, scott, median-distance, distance-fraction, leave-one-out. For a table with other
        columns than numbers a factor for the widths of all columns: 1 changes nothing.
    scale
        Standardise columns of numbers first, so that units do not decide.
    json
        Print the numbers as JSON on standard output, instead of a summary.
    verbose
        Tell the progress of long work, and show the traceback of an error.
    """
    from mercer.report import write_report
    from mercer.tables import read_table

    table = read_table(
        data,
        label=reading.label,
        ignore=reading.ignore,
        categorical=reading.categorical,
        missing=reading.missing,
        encoding=reading.encoding,
    )
    written = write_report(
        table,
        out,
        n_components=components,
        n_clusters=clusters,
        bandwidth=bandwidth,
        scale=scale,
        verbose=verbose,
    )
    if json:
        _print_numbers(written)
    else:
        _summarise(written)
    return 0


def _print_numbers(written: Report) -> None:
    numbers: Any = jsons.loads(written.json.read_text(encoding="utf-8"))
    print(jsons.dumps(numbers, ensure_ascii=False, allow_nan=False))


def _summarise(written: Report) -> None:
    from mercer.formatting import format_percent
    from mercer.report.cautions import cautions

    analysis, eca = written.analysis, written.analysis.eca
    sizes = ", ".join(f"{one.size:,}" for one in analysis.clusters.each)
    if analysis.sigma is None:
        width = f"widths: {analysis.factor:g} × the table's own"
    else:
        asked = analysis.bandwidth
        source = f"rule: {asked}" if isinstance(asked, str) else "given"
        width = f"bandwidth σ = {analysis.sigma:.4g} ({source})"
    lines = [
        *table_lines(analysis.table),
        width,
        f"{count(eca.n_components_, 'component')} hold {format_percent(analysis.share_kept)} of V",
        f"Renyi entropy {eca.renyi_entropy_:.4g} nats",
        f"{count(len(analysis.clusters.each), 'cluster')} of {sizes} rows",
    ]
    # soft_wrap: a path that is broken into lines can be neither clicked nor copied
    console = Console(soft_wrap=True, highlight=False)
    console.print(str(written.html), style="bold", markup=False)
    for line in lines:
        console.print(f"  {line}", markup=False)
    for text in cautions(analysis):
        console.print(f"  {text}", style="yellow", markup=False)
    for one in analysis.raised:
        console.print(f"  {one.category}: {one.message}", style="yellow", markup=False)
