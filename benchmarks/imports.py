"""Import time of mercer and of its command line, compared with scikit-learn.

Each line is measured in a new process. CPU time is reported, which other load affects little; the
start of Python itself is subtracted.
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


def seconds_of(command: list[str]) -> float:
    """Processor time of a process and of those it started."""
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


def best_of(runs: dict[str, Callable[[], float]], rounds: int = 5) -> dict[str, float]:
    """The least that each took, one after the other in every round."""
    took: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            took[name].append(run())
    return {name: min(times) for name, times in took.items()}


def tables() -> Iterator[str]:
    python = [sys.executable, "-c"]
    runs = {one: partial(seconds_of, [*python, one]) for one in STATEMENTS}
    for flag in COMMANDS:
        runs[f"mercer {flag}"] = partial(seconds_of, [sys.executable, "-m", "mercer.cli", flag])
    found = best_of(runs)
    start = found.pop(EMPTY)
    above = {name: max(0.0, took - start) for name, took in found.items()}
    rows = [(f"`{name}`", f"{took / above[PEER]:.3f}") for name, took in above.items()]
    yield table("Imports", rows, ("process", f"processor time / `{PEER}`"))
