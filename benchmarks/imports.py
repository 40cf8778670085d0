"""Import time of mercer and of its command line, compared with scikit-learn.

Each line is measured in a new process. The tables show CPU time, which depends little on other
load, without the startup time of Python.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.measure import table

PEER = "from sklearn.decomposition import KernelPCA"
EMPTY = "pass"
STATEMENTS = (
    EMPTY,
    PEER,
    "import sklearn",
    "import mercer",
    "from mercer import datasets",
    "from mercer import kernels",
    "from mercer import KernelECA",
)
COMMANDS = ("--version", "--help")


def cpu_seconds(command: list[str]) -> float:
    """Return the CPU time of a process and its children."""
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


def shortest_times(runs: dict[str, Callable[[], float]], rounds: int = 5) -> dict[str, float]:
    """Return the shortest time of each run; all runs take place in every round."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            times[name].append(run())
    return {name: min(seconds) for name, seconds in times.items()}


def tables() -> Iterator[str]:
    python = [sys.executable, "-c"]
    runs = {line: partial(cpu_seconds, [*python, line]) for line in STATEMENTS}
    for flag in COMMANDS:
        runs[f"mercer {flag}"] = partial(cpu_seconds, [sys.executable, "-m", "mercer.cli", flag])
    times = shortest_times(runs)
    startup = times.pop(EMPTY)
    own_times = {name: max(0.0, seconds - startup) for name, seconds in times.items()}
    rows = [(f"`{name}`", f"{time / own_times[PEER]:.3f}") for name, time in own_times.items()]
    yield table("Imports", rows, ("process", f"CPU time / `{PEER}`"))
