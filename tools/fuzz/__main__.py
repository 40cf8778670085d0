"""Command line of the fuzzers.

    ./run fuzz [MINUTES] [TARGET ...]   60 minutes by default, split equally over the targets
    ./run fuzz --repeat FILE            check a stored input again

The first input of each kind of failure is stored in ``.fuzz/`` with a text file that holds the
traceback. Inputs that reached new lines are stored in ``.fuzz/corpus/``, where the next run starts.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz import INSTRUMENTED, TARGETS, load_target
from tools.fuzz import atheris_guide

LOG_INTERVAL = 30  # seconds


def main(arguments: list[str]) -> int:
    """Run the command and return the exit code."""
    if arguments[:1] == ["--child"]:
        return run_child(*arguments[1:])
    if arguments[:1] == ["--repeat"]:
        return repeat(Path(arguments[1]))
    minutes = float(arguments.pop(0)) if arguments and arguments[0] not in TARGETS else 60.0
    names = arguments or list(TARGETS)
    return int(sum(fuzz(name, 60 * minutes / len(names)) for name in names) > 0)


def fuzz(name: str, seconds: float) -> int:
    """Fuzz one target and return the number of kinds of failure."""
    from tools.fuzz.runner import run

    guided = atheris_guide.is_available()
    mode = "guided by atheris" if guided else "unguided, since atheris is not installed"
    print(f"{name}: {seconds / 60:.1f} minutes, {mode}", flush=True)
    started = last_log = time.monotonic()

    def log(counts: dict[str, int]) -> None:
        elapsed = time.monotonic() - started
        print(
            f"{name}: {elapsed:5.0f} s, {counts['examples']} examples, "
            f"{counts['examples'] / elapsed:.0f} per second, "
            f"{counts['failures']} kinds of failure",
            flush=True,
        )

    def on_progress(counts: dict[str, int]) -> None:
        nonlocal last_log
        if time.monotonic() - last_log > LOG_INTERVAL:
            last_log = time.monotonic()
            log(counts)

    counts = run(
        name, seed=int(time.time()), seconds=seconds, guided=guided, on_progress=on_progress
    )
    log(counts)
    return counts["failures"]


def repeat(path: Path) -> int:
    """Check a stored input again; its file name starts with its target."""
    target = load_target(path.name.partition("-")[0])
    target.seeds()  # triggers lazy imports, which the check would report as failures
    with tempfile.TemporaryDirectory() as folder:
        target.check(path.read_bytes(), Path(folder))
    print(f"{path}: passes")
    return 0


def run_child(name: str, scratch: str, seed: str, examples: str, end: str, guided: str) -> int:
    """Entry point of the process that :mod:`tools.fuzz.runner` starts."""
    if guided == "1":
        with atheris_guide.instrument(INSTRUMENTED[name]):
            pass

    from tools.fuzz import runner

    runner.run_child(name, Path(scratch), int(seed), int(examples), float(end), guided == "1")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
