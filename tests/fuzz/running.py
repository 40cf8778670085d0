"""Many inputs, in a process of its own: one that crashes, hangs or eats memory is told as well.

The process writes every input to a file before it is tried. If the process dies, or says nothing
for long, that file is the culprit; the parent keeps it, and starts another process.
"""

import faulthandler
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.fuzz import target

KEPT = Path(".fuzz")
LONGEST = 60  # seconds for one input, on a machine that does other things too
ROOM = 1 << 30  # bytes of address space, beyond what the libraries take
RENEWED = 240  # seconds after which a guided process makes room for another: atheris leaks memory
MOST_LOST = 10  # processes of one run
_FAST = Path("/dev/shm")


@dataclass
class Findings:
    """Inputs that broke a promise: the first of each kind is kept."""

    name: str
    kinds: dict[str, int] = field(default_factory=dict)

    def add(self, data, kind, story):
        """Keep an input, unless one of its kind is kept already."""
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        path = KEPT / f"{self.name}-{hashlib.sha256(data).hexdigest()[:12]}"
        if self.kinds[kind] == 1 and not path.exists():
            KEPT.mkdir(exist_ok=True)
            path.write_bytes(data)
            path.with_suffix(".txt").write_text(f"{kind}\n\n{story}")
            print(f"{self.name}: {kind}\n  kept as {path}", flush=True)


def kind_of(error):
    """What tells failures apart: the type, and the innermost line of mercer or of the promises."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "mercer/" in f.filename] or frames
    *_, last = [f for f in own if "promises.py" not in f.filename] or own
    return f"{type(error).__name__} in {Path(last.filename).name}, {last.name}: {str(error)[:150]}"


def signature(error):
    """The same without the text, in which the input may be quoted."""
    return kind_of(error).partition(":")[0]


# --- inside ------------------------------------------------------------------------------------


class Trial:
    """Tries inputs of one target, one by one, and counts."""

    def __init__(self, name, scratch):
        self.target, self.scratch, self.findings = target(name), scratch, Findings(name)
        self.examples, self._seen, self._told = 0, set(), 0.0

    def __call__(self, data):
        (self.scratch / "current").write_bytes(data)
        self.examples += 1
        try:
            self.target.check(data, self.scratch)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            if signature(error) not in self._seen:
                self._seen.add(signature(error))
                self.findings.add(data, kind_of(error), "".join(traceback.format_exception(error)))
        if time.monotonic() - self._told > 1:
            self.tell()

    def tell(self):
        """Let the parent know how far we are."""
        self._told = time.monotonic()
        facts = {"examples": self.examples, "failures": len(self._seen)}
        new = self.scratch / "facts.new"
        new.write_text(json.dumps(facts))
        os.replace(new, self.scratch / "facts")


def mutants(module, seed):
    """Inputs without end: the seeds, then what becomes of them in a few steps."""
    random, pool = Random(seed), module.seeds()
    yield from random.sample(pool, len(pool))  # if one ends the process, the next begins elsewhere
    while True:
        data = random.choice(pool)
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            data = module.mutate(data, random)
        yield data


def limit_memory():
    """Let an allocation that is far too large fail, as it would on a smaller machine."""
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + ROOM, resource.RLIM_INFINITY))


def inside(name, scratch, seed, examples, end, guided):
    """What the process does: so many inputs, or until some moment."""
    faulthandler.register(signal.SIGUSR1)
    trial, inputs = Trial(name, scratch), mutants(target(name), seed)
    trial(next(inputs))  # whatever is imported late is there now
    if sys.platform == "linux":
        limit_memory()
    if guided:
        from tests.fuzz.guided import fuzz

        left = int(min(RENEWED, end - time.time()))
        fuzz(trial, KEPT / "corpus" / name, seed, max(1, left))
    while trial.examples < examples and time.time() < end:
        trial(next(inputs))
    trial.tell()


# --- outside -----------------------------------------------------------------------------------


def run(name, *, seed, examples=10**12, seconds=10**9, guided=False, tell=lambda facts: None):
    """Try inputs of a target in processes of their own; return counts of examples and failures.

    Parameters
    ----------
    name : str
        One of ``TARGETS``.
    seed : int
    examples, seconds : int
        Whichever ends first.
    guided : bool
        By atheris.
    tell : callable
        Is told the counts now and then.
    """
    total, crashes, end = {"examples": 0, "failures": 0}, Findings(name), time.time() + seconds
    lost = 0
    while total["examples"] < examples and time.time() < end - 1 and lost < MOST_LOST:
        scratch = Path(tempfile.mkdtemp(dir=_FAST if _FAST.is_dir() else None))
        order = [name, scratch, seed, examples - total["examples"], end, int(guided)]
        command = [sys.executable, "-m", "tests.fuzz", "--inside", *map(str, order)]
        before = dict(total)
        with (scratch / "log").open("wb") as log:
            child = subprocess.Popen(command, stdout=None, stderr=log)
            try:
                why = _watched(child, scratch, before, total, tell)
            finally:
                child.kill()
                child.wait()
        if why is not None:
            current = scratch / "current"
            log_end = (scratch / "log").read_text(errors="replace")[-4000:]
            if not current.exists():
                raise RuntimeError(f"{name} did not begin: {log_end}")
            lost += 1
            crashes.add(current.read_bytes(), why, log_end)
            total["failures"] += 1
        shutil.rmtree(scratch, ignore_errors=True)
        seed += 1
    return total


def _watched(child, scratch, before, total, tell):
    """Follow a process to its end; say why, where it was not a good one."""
    while child.poll() is None:
        time.sleep(0.2)
        _count(scratch, before, total)
        tell(total)
        current = scratch / "current"
        if current.exists() and time.time() - current.stat().st_mtime > LONGEST:
            child.send_signal(signal.SIGUSR1)  # it tells where it is
            time.sleep(1)
            return f"an input took more than {LONGEST} s"
    _count(scratch, before, total)
    return None if child.returncode == 0 else f"the process ended with {child.returncode}"


def _count(scratch, before, total):
    try:
        facts = json.loads((scratch / "facts").read_text())
    except FileNotFoundError:
        return
    total.update({key: before[key] + facts[key] for key in facts})
