"""The command-line application: its commands, and the exit codes of errors."""

from __future__ import annotations

from typing import Any

from cyclopts import App, CycloptsError

from mercer import __version__
from mercer.cli.commands.cluster import cluster
from mercer.cli.commands.completion import completion
from mercer.cli.commands.denoise import denoise
from mercer.cli.commands.density import density
from mercer.cli.commands.discriminate import discriminate
from mercer.cli.commands.diversity import diversity
from mercer.cli.commands.embed import embed
from mercer.cli.commands.entropy import entropy
from mercer.cli.commands.explore import explore
from mercer.cli.commands.monitor import monitor
from mercer.cli.commands.novelty import novelty
from mercer.cli.commands.report import report
from mercer.cli.console import EXPECTED, UsageError, fail, print_error

__all__ = ["app", "run"]

app = App(
    name="mercer",
    version=__version__,
    help="Spectral kernel methods for tables: clusters, components, densities and entropy.",
    help_format="markdown",
    result_action="return_value",
    suppress_keyboard_interrupt=False,  # mercer.cli.main handles it
)

for command in (
    report,
    embed,
    cluster,
    density,
    novelty,
    entropy,
    diversity,
    monitor,
    denoise,
    discriminate,
    explore,
    completion,
):
    app.command(command)


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code: 0, 1 (error) or 2 (invalid arguments)."""
    try:
        code: Any = app(arguments, exit_on_error=False)
    except CycloptsError:  # cyclopts has printed it
        return 2
    except UsageError as error:
        print_error(str(error))
        return 2
    except BrokenPipeError:
        raise
    except EXPECTED as error:
        return fail(error, "--verbose" in arguments)
    return int(code or 0)
