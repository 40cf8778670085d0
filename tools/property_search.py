"""Run the property tests on many more examples than a normal test run.

    ./run properties [N]        N examples of all property tests together (default: 100,000)

The run consists of rounds, each with its own seed and on all cores. Finished rounds are logged in
``.properties/log.jsonl``: an interrupted run resumes, and the next run tries new examples. The
output of a failed round is stored next to the log, and the next run starts with its seed.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(".properties")
LOG = FOLDER / "log.jsonl"
SUMMARY = re.compile(r"(\d+) examples of (\d+) property tests")

Round = dict[str, int]


def finished_rounds() -> dict[int, Round]:
    """Return the latest result of each seed."""
    lines = LOG.read_text().splitlines() if LOG.exists() else []
    return {record["seed"]: record for record in map(json.loads, lines)}


def run_round(seed: int) -> Round:
    """Run all property tests once with one seed."""
    started = time.monotonic()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-n", "auto", "-p", "no:cacheprovider"),
            *("--tb=short", f"--hypothesis-seed={seed}", "-m", "hypothesis", "tests/properties"),
        ],
        env=os.environ | {"MERCER_TEST_PROFILE": "search", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    found = SUMMARY.search(done.stdout)
    if found is None:
        raise SystemExit(done.stdout + done.stderr)
    passed = done.returncode == 0
    if not passed:
        (FOLDER / f"failed-{seed}.txt").write_text(done.stdout)
    seconds = round(time.monotonic() - started)
    return {"seed": seed, "examples": int(found[1]), "passed": passed, "seconds": seconds}


def count_examples(rounds: dict[int, Round]) -> int:
    """Return the number of examples of all rounds."""
    return sum(record["examples"] for record in rounds.values())


def main(target: int) -> int:
    """Run rounds until this run and earlier ones have tried ``target`` examples."""
    FOLDER.mkdir(exist_ok=True)
    rounds = finished_rounds()
    repeat = [seed for seed, record in rounds.items() if not record["passed"]]
    while repeat or count_examples(rounds) < target:
        seed = repeat.pop() if repeat else max(rounds, default=0) + 1
        rounds[seed] = run_round(seed)
        with LOG.open("a") as log:
            log.write(json.dumps(rounds[seed]) + "\n")
        print(f"{rounds[seed]}, {count_examples(rounds)} of {target}", flush=True)
    failed = [seed for seed, record in rounds.items() if not record["passed"]]
    print(f"{count_examples(rounds)} examples in {len(rounds)} rounds; failed: {failed or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000))
