"""Measure the time and memory of functions.

Times are the best of several interleaved rounds, so that other load on the machine affects all
functions. Memory is the growth of the peak resident set of a fresh process during one call.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

Result = TypeVar("Result")


def best_times(
    functions: dict[str, Callable[[], object]],
    rounds: int = 3,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Return the best time of each function in seconds; all functions run in every round.

    With ``clock=time.process_time`` it is the CPU time, also of functions in one thread on a busy
    machine.
    """
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(rounds):
        for name, run in functions.items():
            begin = clock()
            run()
            best[name] = min(best[name], clock() - begin)
    return best


def extra_peak(module: str, setup: str, call: str) -> float:
    """Return the growth of the peak memory, in megabytes, of a new process in ``call(setup())``."""
    code = (
        f"import {module} as m; from benchmarks.measure import measure_memory\n"
        f"measure_memory(m.{setup}, m.{call})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


def measure_memory(setup: Callable[[], object], call: Callable[[object], object]) -> None:
    """Print the growth of the peak memory in megabytes; runs in the new process."""
    data = setup()
    print(json.dumps(peak_growth(lambda: call(data))[0]))


def in_new_process(
    module: str, call: str, python: str = sys.executable, variables: dict[str, str] | None = None
) -> dict[str, Any]:
    """Return the result of a call, a dictionary, in a new process that uses all cores.

    ``variables`` are added to the environment.
    """
    code = f"import json; from {module} import *\nprint(json.dumps({call}))"
    env = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    env |= variables or {}
    done = subprocess.run(
        [python, "-c", code], capture_output=True, text=True, check=False, env=env
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def peak_growth(call: Callable[[], Result]) -> tuple[float, Result]:
    """Return the growth of this process's peak memory in megabytes, and the result of a call."""
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    before = _status("VmRSS")
    result = call()
    return (_status("VmHWM") - before) / 1e3, result


def _status(field: str) -> float:
    """Return a size in kilobytes from the process status."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith(field)))


def machine() -> str:
    """Return the CPU type and the package versions."""
    import numpy
    import scipy
    import sklearn

    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if "model name" in line), "?")
    cores = len(os.sched_getaffinity(0))
    return (
        f"{model}, {cores} cores, Python {sys.version.split()[0]}, numpy {numpy.__version__}, "
        f"scipy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    )


def table(title: str, rows: list[tuple[str, ...]], header: tuple[str, ...]) -> str:
    """Return a Markdown table."""
    lines = [f"### {title}", "", "| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"
