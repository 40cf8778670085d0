"""Environment of processes that tests start."""

import os
from pathlib import Path

import mercer

__all__ = ["SOURCES", "environment"]

#: Folder of the package under test.
SOURCES = str(Path(mercer.__file__).parents[1])


def environment(**variables):
    """Return the environment of a process that imports the package under test.

    Standard streams are buffered, and encoded as UTF-8.
    """
    known = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**known, "PYTHONPATH": SOURCES, "PYTHONIOENCODING": "utf-8", **variables}
