"""The ``mercer`` command; what it needs is imported when it is needed."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    arguments : sequence of str or None
        Without the program's name; None for those of this process.

    Returns
    -------
    int
        0; 1 where the data or the machine are at fault; 2 where the arguments are.
    """
    try:
        from mercer.cli.app import run
    except ModuleNotFoundError as error:
        if error.name not in ("cyclopts", "rich"):
            raise
        print(
            f"mercer: the command line needs {error.name}, which is not installed: "
            "pip install mercer[cli]",
            file=sys.stderr,
        )
        return 1
    return run(sys.argv[1:] if arguments is None else list(arguments))
