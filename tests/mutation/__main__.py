"""Mutation testing: whether a test notices when the code is changed.

    ./run mutants [--share S] [--seconds T] [--again] [--list] [PACKAGE or FILE ...]

Mutants of ``maths``, ``kernels`` and ``solvers`` (or of what is named) are tried in an order of
which any first part is an even sample of all files, so a run may be stopped at any time; verdicts
are kept in ``.mutants/log.jsonl``, and the next run goes on. ``--share 0.3`` tries three tenths of
each file. The tests of a mutant take T seconds of CPU at most when nothing is wrong; ``--again``
tries what survived once more, perhaps with a larger T; ``--list`` only prints what survived.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from tests.mutation.operators import Mutant, Program
from tests.mutation.server import Server

SOURCES = Path("src/mercer")
PACKAGES = ["maths", "kernels", "solvers"]
# tests that run within this process, quickly: neither commands, nor clusters, nor browsers
TESTS = [
    *("tests/maths", "tests/kernels", "tests/solvers", "tests/operators", "tests/population"),
    *(
        "tests/estimators",
        "tests/properties/test_laws.py",
        "tests/properties/test_laws_of_kernels.py",
    ),
    *("tests/properties/test_edges.py", "tests/test_bandwidth.py", "tests/test_diagnostics.py"),
    *("tests/test_information.py", "tests/test_points.py", "tests/test_preimages.py"),
    *("tests/test_spectroscopy.py", "tests/test_baselines.py", "tests/test_bad_input.py"),
    *("tests/test_clustering_error.py", "tests/distributed/test_chunks.py", "src/mercer"),
]
FOLDER = Path(".mutants")
LOG = FOLDER / "log.jsonl"
SURVIVING = {"survived", "untested"}


def files_of(named: list[str]) -> list[Path]:
    """Files of packages' names, or files as they are."""
    files: list[Path] = []
    for name in named or PACKAGES:
        package = SOURCES / name
        files += sorted(package.glob("*.py")) if package.is_dir() else [Path(name)]
    return files


def evenly(programs: list[Program], share: float) -> list[Mutant]:
    """A share of each file's mutants, ordered so that any first part is spread over all files."""
    placed = []
    for program in programs:
        mutants = program.mutants.copy()
        random.Random(str(program.path)).shuffle(mutants)
        for at, mutant in enumerate(mutants[: -int(-share * len(mutants) // 1)]):
            placed.append(((at + 0.5) / len(mutants), mutant.file, mutant))
    return [mutant for _, _, mutant in sorted(placed, key=lambda one: one[:2])]


def verdicts() -> dict[str, dict[str, object]]:
    """The last verdict on each mutant."""
    lines = LOG.read_text().splitlines() if LOG.exists() else []
    return {one["name"]: one for one in map(json.loads, lines)}


def table(programs: list[Program]) -> str:
    """Counts per package, of the mutants that the source now has."""
    known = verdicts()
    counts: dict[str, Counter[str]] = {}
    for program in programs:
        count = counts.setdefault(program.path.parent.name, Counter())
        for mutant in program.mutants:
            count["mutants"] += 1
            if mutant.name in known:
                count["tried"] += 1
                count[str(known[mutant.name]["verdict"])] += 1
    columns = ["mutants", "tried", "killed", "timeout", "survived", "untested"]
    rows = [[package, *(str(count[one]) for one in columns)] for package, count in counts.items()]
    total = sum(counts.values(), Counter())
    rows.append(["all", *(str(total[one]) for one in columns)])
    return "\n".join("".join(f"{cell:>10}" for cell in row) for row in [["", *columns], *rows])


def survivors(programs: list[Program]) -> list[Mutant]:
    """Mutants that no test noticed."""
    known = verdicts()
    every = (mutant for program in programs for mutant in program.mutants)
    return [m for m in every if m.name in known and known[m.name]["verdict"] in SURVIVING]


def main() -> None:
    """Try mutants, and tell what became of them."""
    parser = argparse.ArgumentParser(
        prog="./run mutants", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("named", nargs="*", metavar="PACKAGE or FILE")
    parser.add_argument("--share", type=float, default=1.0, help="of each file's mutants")
    parser.add_argument("--seconds", type=float, default=4.0, help="of CPU for a mutant's tests")
    parser.add_argument("--again", action="store_true", help="try once more what survived")
    parser.add_argument("--list", action="store_true", help="print what survived, try nothing")
    options = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    programs = [Program(path) for path in files_of(options.named)]

    def try_all(server: Server) -> None:
        known = verdicts()
        todo = [one for one in evenly(programs, options.share) if one.name not in known]
        todo = survivors(programs) if options.again else todo
        with LOG.open("a") as log:
            for done, mutant in enumerate(todo, start=1):
                started = time.monotonic()
                told = {"name": mutant.name, **server.try_out(mutant)}
                told["seconds"] = round(time.monotonic() - started, 2)
                print(json.dumps(told), file=log, flush=True)
                if told["verdict"] in SURVIVING:
                    print(f"{done}/{len(todo)} {_line(mutant)}", flush=True)

    if not options.list:
        # examples are the same for all mutants, and those that fail need not be made simple
        quick = {"database": None, "derandomize": True, "phases": (Phase.explicit, Phase.generate)}
        settings.register_profile("mutants", deadline=None, **quick)  # type: ignore[arg-type]
        settings.load_profile("mutants")
        arguments = ["-q", "--tb=line", "-p", "no:cacheprovider", "-p", "no:xdist", *TESTS]
        pytest.main(
            arguments,
            plugins=[Server(programs, files_of(PACKAGES), FOLDER, try_all, options.seconds)],
        )
    for mutant in survivors(programs):
        print(_line(mutant))
    print(table(programs))


def _line(mutant: Mutant) -> str:
    return f"{mutant.file}:{mutant.line} {mutant.unit}: {mutant.before} -> {mutant.after}"


if __name__ == "__main__":
    main()
