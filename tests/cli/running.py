"""Running commands as a user does, and reading what they write."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd

import mercer

SOURCES = str(Path(mercer.__file__).parents[1])
MODULE = [sys.executable, "-m", "mercer.cli"]
_SCRIPT = Path(sys.executable).with_name("mercer")
#: The installed entry point, where there is one.
COMMAND = [str(_SCRIPT)] if _SCRIPT.exists() else MODULE


def environment(**more):
    known = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**known, "PYTHONPATH": SOURCES, "PYTHONIOENCODING": "utf-8", **more}


def run(*arguments, entry=COMMAND, env=None, **options):
    """Run to the end; standard output is bytes, standard error text."""
    done = subprocess.run(
        [*entry, *map(str, arguments)],
        env=env or environment(),
        capture_output=True,
        check=False,
        **options,
    )
    done.stderr = done.stderr.decode("utf-8")
    return done


def start(*command, env=None, **options):
    """Start a process whose output is read piece by piece."""
    return subprocess.Popen(
        [*map(str, command)],
        env=env or environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def table(content):
    """A CSV as a data frame."""
    text = content.decode("utf-8") if isinstance(content, bytes) else content
    return pd.read_csv(io.StringIO(text), float_precision="round_trip")  # not pandas 2's default
