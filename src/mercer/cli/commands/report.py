"""``mercer report``: an HTML report on a table, with its numbers as JSON and CSV."""

from __future__ import annotations

import json as json_
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.console import Console

from mercer.cli.console import describe_table
from mercer.cli.options import Bandwidth, Data, Flag, Reading
from mercer.utils.formatting import format_count, format_percent

if TYPE_CHECKING:
    from mercer.tables.table import SelectedTable

__all__ = ["report"]


def report(
    data: Data = "wine",
    /,
    *,
    out: Path = Path("mercer-report"),
    clusters: Annotated[int | None, Parameter(validator=Number(gte=1))] = None,
    components: Annotated[int | None, Parameter(validator=Number(gte=2))] = None,
    bandwidth: Bandwidth = "auto",
    scale: bool = True,
    json: Flag = False,
    verbose: Flag = False,
    reading: Reading = Reading(),
) -> int:
    """Write an HTML report on a table: clusters and their profiles, components, unusual rows.

    Writes *report.html*, a single file for any browser; *report.json* with all its numbers; and
    the tables *rows.csv* (*rows.parquet* above 200,000 rows), *clusters.csv*, *components.csv* and
    *columns.csv*. Columns can be numbers, dates, categories and texts; omitted columns are listed
    with the reason.

    For example:

    - `mercer report` (the embedded wine data)
    - `mercer report measurements.csv --label species --out pages`
    - `mercer report rings --bandwidth 0.4 --clusters 3`
    - `cat log.csv | mercer report - --ignore id --json`

    Parameters
    ----------
    data
        A CSV, TSV, Parquet, NPY or NPZ file; - for standard input; or an embedded data set: wine,
        iris, digits, breast_cancer, diabetes, rings, ring-and-blob, machines.
    out
        Output folder.
    clusters
        Number of clusters. Default: estimated from the data; it can be one.
    components
        Number of components of kernel ECA, at least 2. Default: the fewest with 99 % of the
        information potential.
    bandwidth
        Bandwidth σ of the Gaussian kernel (in standard deviations if columns are standardized), or
        a rule: auto, silverman, scott, median-distance, distance-fraction, spectroscopy,
        leave-one-out. For mixed tables: multiplier of all bandwidths (1 leaves them unchanged).
    scale
        Standardize numeric columns to mean 0 and variance 1.
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
        n_components=components,
        n_clusters=clusters,
        bandwidth=bandwidth,
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
    for line in (*describe_table(table), *_describe(results)):
        console.print(f"  {line}", markup=False)
    warnings = [f"{one['category']}: {one['message']}" for one in results["warnings"]]
    for line in (*results["cautions"], *warnings):
        console.print(f"  {line}", style="yellow", markup=False)


def _describe(results: dict[str, Any]) -> Iterator[str]:
    choices, eca = results["choices"], results["kernel_eca"]
    requested, sigma = choices["bandwidth_asked"], choices["bandwidth"]
    if sigma is None:
        yield f"bandwidths: default × {choices['factor']:g}"
    else:
        source = f"rule: {requested}" if isinstance(requested, str) else "as requested"
        yield f"bandwidth σ = {sigma:.4g} ({source})"
    components = format_count(choices["n_components"], "component")
    yield f"{components}: {format_percent(eca['entropy_kept'])} of the information potential"
    yield f"Renyi entropy {eca['renyi_entropy']:.4g} nats"
    sizes = [one["size"] for one in results["clusters"]["each"]]
    listed = ", ".join(f"{size:,}" for size in sizes)
    yield f"{format_count(len(sizes), 'cluster')} of {listed} rows"
