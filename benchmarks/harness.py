"""Racing callables and weighing them.

Times are the best of several interleaved rounds, so that a busy moment of the machine hits all
alike. Memory is the growth of the peak resident set of a fresh process during one call.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path


def race(contestants: dict[str, Callable[[], object]], rounds: int = 3) -> dict[str, float]:
    """Best time of each contestant, in seconds; one contestant after the other in every round."""
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(rounds):
        for name, run in contestants.items():
            begin = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - begin)
    return best


def extra_peak(module: str, setup: str, call: str) -> float:
    """Megabytes by which the peak memory of a fresh process grows during ``call(setup())``."""
    code = f"from benchmarks.harness import weigh; import {module} as m; weigh(m.{setup}, m.{call})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


def weigh(setup: Callable[[], object], call: Callable[[object], object]) -> None:
    """Run inside the fresh process: print the growth in megabytes."""
    data = setup()
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _status("VmRSS")
    call(data)
    print(json.dumps((_status("VmHWM") - before) / 1e3))


def _status(field: str) -> float:
    """A size from the process status, in kilobytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith(field)))


def machine() -> str:
    """The machine and the versions, for the record."""
    import os

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
    """A Markdown table."""
    lines = [f"### {title}", "", "| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"
