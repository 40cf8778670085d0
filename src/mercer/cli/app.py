"""Commands: what they take, what they print, and how they fail."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, CycloptsError, Parameter

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
from mercer.cli.options import Verbose
from mercer.cli.reporting import report

__all__ = ["app", "run"]

app = App(
    name="mercer",
    version=__version__,
    help="Spectral kernel methods on a table: see what carries its entropy.",
    help_format="markdown",
    result_action="return_value",
    suppress_keyboard_interrupt=False,  # mercer.cli.main says that it was interrupted
)


for command in (report, embed, cluster, density, entropy, denoise, discriminate, explore):
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


app.command(completion)  # last in the list of commands
