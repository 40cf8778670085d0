"""The command.

    ./run fuzz [MINUTES] [TARGETS]   60 minutes unless told, split equally over the targets
    ./run fuzz --again FILE          try an input that was kept once more

Inputs that break a promise are kept in ``.fuzz/``, the first of each kind, beside a text that tells
why; inputs that reached new lines are kept in ``.fuzz/corpus/`` and are where the next run begins.
"""

import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz import TARGETS, WATCHED, guided, target


def main(arguments):
    if arguments[:1] == ["--inside"]:
        return inside(*arguments[1:])
    if arguments[:1] == ["--again"]:
        return again(Path(arguments[1]))
    minutes = float(arguments.pop(0)) if arguments and arguments[0] not in TARGETS else 60.0
    names = arguments or list(TARGETS)
    return sum(fuzz(name, 60 * minutes / len(names)) for name in names) > 0


def fuzz(name, seconds):
    """Try a target for so long; return the number of failures."""
    from tests.fuzz.running import run

    is_guided = guided.is_possible()
    how = "guided by atheris" if is_guided else "unguided, since atheris is not installed"
    print(f"{name}: {seconds / 60:.1f} minutes, {how}", flush=True)
    begun = told = time.monotonic()

    def tell(facts):
        nonlocal told
        if time.monotonic() - told > 30:
            told = time.monotonic()
            line(facts)

    def line(facts):
        passed = time.monotonic() - begun
        rate = facts["examples"] / passed
        print(
            f"{name}: {passed:5.0f} s, {facts['examples']} examples, {rate:.0f} per second, "
            f"{facts['failures']} kinds of failure",
            flush=True,
        )

    facts = run(name, seed=int(time.time()), seconds=seconds, guided=is_guided, tell=tell)
    line(facts)
    return facts["failures"]


def again(path):
    """Repeat a kept input; its name begins with its target."""
    name = path.name.partition("-")[0]
    target(name).seeds()  # imports what the target needs, so that importing is no finding
    with tempfile.TemporaryDirectory() as folder:
        target(name).check(path.read_bytes(), Path(folder))
    print(f"{path} is fine now.")
    return 0


def inside(name, scratch, seed, examples, end, is_guided):
    """A process that :mod:`tests.fuzz.running` started."""
    if is_guided == "1":
        with guided.instrument(WATCHED[name]):
            import mercer.chunks.files
            import mercer.explorer.server
            import mercer.persistence
            import mercer.tables.chunked_table  # noqa: F401
    from tests.fuzz import running

    running.inside(name, Path(scratch), int(seed), int(examples), float(end), is_guided == "1")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
