"""Try the laws on many more examples than a test run has time for.

    ./run laws [N]          N examples of all laws together, 100,000 unless told

It goes in rounds, each with a seed of its own and on all cores; what is done is written to
``.laws/log.jsonl``, so a run that was stopped goes on where it was, and the next run tries new
examples. A round that fails keeps its output beside the log, and the next run begins with its seed.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(".laws")
LOG = FOLDER / "log.jsonl"
PER_LAW = 20  # examples in one round
SUMMARY = re.compile(r"(\d+) examples of (\d+) laws were compared")


def rounds_done() -> dict[int, dict[str, int]]:
    """What came of each seed when it was last tried."""
    lines = LOG.read_text().splitlines() if LOG.exists() else []
    return {one["seed"]: one for one in map(json.loads, lines)}


def run_round(seed: int) -> dict[str, int]:
    """One round: what it tried, how long it took, and whether all laws held."""
    started = time.monotonic()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-n", "auto", "-p", "no:cacheprovider"),
            *("--tb=short", f"--hypothesis-seed={seed}", "tests/properties", "-k", "test_laws"),
        ],
        env=os.environ | {"MERCER_LAW_EXAMPLES": str(PER_LAW), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    found = SUMMARY.search(done.stdout)
    if found is None:
        raise SystemExit(done.stdout + done.stderr)
    held = done.returncode == 0
    if not held:
        (FOLDER / f"failed-{seed}.txt").write_text(done.stdout)
    seconds = round(time.monotonic() - started)
    return {"seed": seed, "examples": int(found[1]), "held": held, "seconds": seconds}


def compared(rounds: dict[int, dict[str, int]]) -> int:
    """Examples of all rounds."""
    return sum(one["examples"] for one in rounds.values())


def main(wanted: int) -> int:
    """Go on until this run and those before it have compared so many examples."""
    FOLDER.mkdir(exist_ok=True)
    done = rounds_done()
    again = [seed for seed, one in done.items() if not one["held"]]
    while again or compared(done) < wanted:
        seed = again.pop() if again else max(done, default=0) + 1
        done[seed] = run_round(seed)
        with LOG.open("a") as log:
            log.write(json.dumps(done[seed]) + "\n")
        print(f"{done[seed]}, {compared(done)} of {wanted}", flush=True)
    failed = [seed for seed, one in done.items() if not one["held"]]
    print(f"{compared(done)} examples in {len(done)} rounds; failed: {failed or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000))
