"""Run commands as a user does, and read their output."""

import io
import subprocess
import sys
from pathlib import Path

import pandas as pd

from mercer.datasets import make_machines
from tests.expectations import names_values
from tests.processes import environment

MODULE = [sys.executable, "-m", "mercer.cli"]
_SCRIPT = Path(sys.executable).with_name("mercer")
#: The installed entry point, if there is one.
COMMAND = [str(_SCRIPT)] if _SCRIPT.exists() else MODULE
#: Columns of the fixture flowers.
COLUMNS = ["length", "width", "petal", "petal width"]


def run(*arguments, entry=COMMAND, env=None, **options):
    """Run a command to its end; standard output is bytes, standard error is text."""
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
    """Start a process whose output can be read while it runs."""
    return subprocess.Popen(
        [*map(str, command)],
        env=env or environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def table(content):
    """Parse a CSV into a data frame."""
    text = content.decode("utf-8") if isinstance(content, bytes) else content
    return pd.read_csv(io.StringIO(text), float_precision="round_trip")  # not pandas 2's default


def assert_names(text, *values):
    """Check that a text, whose lines may be wrapped in a box, names all the values."""
    text = text.decode("utf-8") if isinstance(text, bytes) else text
    assert names_values(" ".join(text.replace("│", " ").split()), *values) == [], text


def typed_machines():
    """Return the table of the machines fixture, with types that table_kernel accepts."""
    columns, _ = make_machines(80, random_state=5)
    frame = pd.DataFrame(columns)
    frame["coolant"] = frame["coolant"].astype(str).astype("category")
    for name in ("material", "shift"):
        frame[name] = frame[name].astype("category")
    frame["date"] = pd.to_datetime(frame["date"])
    return frame
