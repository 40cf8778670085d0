"""Commands: what they take, what they print, and how they fail."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, CycloptsError, Parameter
from cyclopts.validators import Number
from rich.console import Console

from mercer import __version__
from mercer.cli.clustering import cluster
from mercer.cli.completing import completion
from mercer.cli.denoising import denoise
from mercer.cli.densities import density
from mercer.cli.discriminating import discriminate
from mercer.cli.embedding import embed
from mercer.cli.entropies import entropy
from mercer.cli.exploring import explore
from mercer.cli.failing import EXPECTED, UsageError, fail, tell_error
from mercer.cli.options import Bandwidth, Verbose

if TYPE_CHECKING:
    from mercer.report import Report
    from mercer.tables import Table

__all__ = ["app", "run"]

app = App(
    name="mercer",
    version=__version__,
    help="Spectral kernel methods on a table: see what carries its entropy.",
    help_format="markdown",
    result_action="return_value",
    suppress_keyboard_interrupt=False,  # mercer.cli.main says that it was interrupted
)


for command in (embed, cluster, density, entropy, denoise, discriminate, explore):
    app.command(command)


def run(arguments: list[str]) -> int:
    """Run a command; return 0, 1 (bad data) or 2 (bad usage)."""
    try:
        code: Any = app(arguments, exit_on_error=False)
    except CycloptsError:  # already told on standard error
        return 2
    except UsageError as error:
        tell_error(str(error))
        return 2
    except BrokenPipeError:
        raise
    except EXPECTED as error:
        return fail(error, "--verbose" in arguments)
    return int(code or 0)


@app.command
def report(
    data: str = "wine",
    /,
    *,
    label: str | None = None,
    out: Path = Path("mercer-report"),
    components: Annotated[int | None, Parameter(validator=Number(gte=2))] = None,
    bandwidth: Bandwidth = "auto",
    scale: bool = True,
    verbose: Verbose = False,
) -> int:
    """Write a page on a table: kernel ECA beside kernel PCA, and where the entropy is.

    Makes *report.html*, one file to open in any browser, and *report.json* with its numbers.
    Columns that are not numeric and rows with missing values are left out; the page lists them.

    For example:

    - `mercer report` (the embedded wine data)
    - `mercer report measurements.csv --label species --out pages`
    - `mercer report rings --bandwidth 0.4 --components 3`

    Parameters
    ----------
    data
        A CSV or TSV file with a header line, or an embedded set: wine, iris, digits,
        breast_cancer, diabetes, rings, ring-and-blob, machines.
    label
        Column with classes: it colours the points and is not analysed.
    out
        Folder for the two files.
    components
        How many components kernel ECA keeps, at least 2. Left out: the fewest that hold 99 % of
        the information potential.
    bandwidth
        σ of the Gaussian kernel (in standard deviations if columns are scaled), or a rule: auto,
        silverman, scott, median-distance, distance-fraction.
    scale
        Standardise the columns first, so that units do not decide.
    verbose
        Tell the progress of long work, and show the traceback of an error.
    """
    try:
        from mercer.report import write_report
        from mercer.tables import read_table

        written = write_report(
            read_table(data, label=label),
            out,
            n_components=components,
            bandwidth=bandwidth,
            scale=scale,
            verbose=verbose,
        )
    except EXPECTED as error:
        return fail(error, verbose)
    _summarise(written)
    return 0


@app.command
def reproduce(
    paper: str,
    /,
    *,
    out: Path | None = None,
    quick: Annotated[bool, Parameter(negative="")] = False,
    figures: bool = True,
    verbose: Verbose = False,
) -> int:
    """Compute a paper's tables again, set them beside the printed ones, and draw its figures.

    Each row has a fair range, fixed beforehand; a result outside of it is printed as outside.
    Writes *tables.txt*, *tables.json* and one PNG file per figure. The data sets are looked for
    in the folder named by the environment variable MERCER_DATA.

    For example:

    - `mercer reproduce jenssen-2010`
    - `mercer reproduce jenssen-2010 --quick --no-figures`

    Parameters
    ----------
    paper
        Which: girolami-2002, jenssen-2010, liang-2014, macready-2003, paiva-2006.
    out
        Folder for the files; left out, *mercer-reproduce* and in it the paper's name.
    quick
        Fewer repetitions: about a minute instead of several.
    figures
        Draw the figures too.
    verbose
        Show the traceback of an error.
    """
    from mercer.cli.reproducing import run_paper, unknown_paper

    message = unknown_paper(paper)
    if message:
        tell_error(message)
        return 2
    try:
        run_paper(paper, out or Path("mercer-reproduce", paper), quick=quick, figures=figures)
    except EXPECTED as error:
        return fail(error, verbose)
    return 0


def _summarise(written: Report) -> None:
    from mercer.report.words import percent

    analysis, eca = written.analysis, written.analysis.eca
    table = analysis.table
    lines = [
        (f"{table.n:,} rows, {len(table.columns)} columns", _left_out(table)),
        (f"bandwidth σ = {analysis.sigma:.4g}", f"({_source(analysis.bandwidth)})"),
        (f"{eca.n_components_} components", f"hold {percent(analysis.share_kept)} of V"),
        (f"Renyi entropy {eca.renyi_entropy_:.4g} nats", ""),
    ]
    # soft_wrap: a path that is broken into lines can be neither clicked nor copied
    console = Console(soft_wrap=True, highlight=False)
    console.print(str(written.html), style="bold", markup=False)
    for what, more in lines:
        console.print(f"  {what} {more}".rstrip(), markup=False)
    for one in analysis.raised:
        console.print(f"  {one.category}: {one.message}", style="yellow", markup=False)


def _source(bandwidth: float | str) -> str:
    return f"rule: {bandwidth}" if isinstance(bandwidth, str) else "given"


def _left_out(table: Table) -> str:
    parts = []
    if table.rows_omitted:
        parts.append(f"incomplete rows: {table.rows_omitted:,}")
    if table.omissions:
        parts.append(f"columns: {', '.join(o.column for o in table.omissions)}")
    return f"(left out: {'; '.join(parts)})" if parts else ""


app.command(completion)  # last in the list of commands
