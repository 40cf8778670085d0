"""``mercer report``: an HTML report on a table, with its numbers as JSON and CSV."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.console import Console

from mercer.cli.console import describe_table
from mercer.cli.options import Data, Flag, Reading

if TYPE_CHECKING:
    from mercer.tables.table import SelectedTable

__all__ = ["report"]


def report(
    data: Data = "wine",
    /,
    *,
    out: Path = Path("mercer-report"),
    clusters: Annotated[int | None, Parameter(validator=Number(gte=1))] = None,
    scale: bool = True,
    json: Flag = False,
    verbose: Flag = False,
    reading: Reading = Reading(),
) -> int:
    """Write an HTML report on a table: its groups, related columns, unusual rows and cells.

    Writes *report.html*, a single file for any browser; *report.json* with all its numbers; and
    tables as CSV (rows, columns, groups, unusual cells and more; *rows.parquet* above 200,000
    rows). Columns can be numbers, dates, categories and texts; omitted columns are listed with the
    reason. With a label the report says how well it can be predicted, with dates what changes.

    For example:

    - `mercer report` (the embedded wine data)
    - `mercer report measurements.csv --label species --out pages`
    - `mercer report rings --clusters 3`
    - `cat log.csv | mercer report - --ignore id --json`

    Parameters
    ----------
    data
        A CSV, TSV, Parquet, NPY or NPZ file; - for standard input; or an embedded data set: wine,
        iris, digits, breast_cancer, diabetes, rings, ring-and-blob, machines.
    out
        Output folder.
    clusters
        Number of groups. Default: estimated from the data; it can be one.
    scale
        Standardize the columns of a table of numbers before groups are searched.
    json
        Print all numbers as JSON on standard output, instead of a summary.
    verbose
        Print the progress of long computations, and the traceback of an error.
    """
    from mercer.cli.files import open_data
    from mercer.report import numbers, write_report
    from mercer.tables import read_table

    table = read_table(
        open_data(data),
        label=reading.label,
        ignore=reading.ignore,
        include=reading.include,
        categorical=reading.categorical,
        missing=reading.missing,
        encoding=reading.encoding,
    )
    written = write_report(
        table,
        out,
        n_clusters=clusters,
        scale=scale,
        verbose=verbose,
    )
    results = numbers(written.analysis)
    if json:
        print(json_.dumps(results, ensure_ascii=False, allow_nan=False))
    else:
        _print_summary(written.html, table, results)
    return 0


def _print_summary(html: Path, table: SelectedTable, results: dict[str, Any]) -> None:
    # soft_wrap: a path that is broken into lines can be neither clicked nor copied
    console = Console(soft_wrap=True, highlight=False)
    console.print(str(html), style="bold", markup=False)
    for line in (*describe_table(table), *(section["answer"] for section in results.values())):
        console.print(f"  {line}", markup=False)
