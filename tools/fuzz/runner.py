"""Run fuzz inputs in a child process, so that crashes, hangs and memory limits are reported too.

The child writes each input to a file before it checks it. If the child crashes or hangs, the parent
stores that file as a failure and starts another child.
"""

from __future__ import annotations

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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz import load_target

Counts = dict[str, int]

FAILURES = Path(".fuzz")
INPUT_TIMEOUT = 60  # seconds
MEMORY = 1 << 30  # bytes of address space in addition to what the libraries use
CHILD_LIFETIME = 240  # seconds; atheris leaks memory, so guided children are replaced
MAX_CRASHES = 10  # per run
_FAST_DISK = Path("/dev/shm")


@dataclass
class Findings:
    """Inputs that violate an invariant; the first of each kind is stored."""

    name: str
    kinds: dict[str, int] = field(default_factory=dict)

    def add(self, data: bytes, kind: str, details: str) -> None:
        """Store an input unless one of the same kind is stored already."""
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        path = FAILURES / f"{self.name}-{hashlib.sha256(data).hexdigest()[:12]}"
        if self.kinds[kind] == 1 and not path.exists():
            FAILURES.mkdir(exist_ok=True)
            path.write_bytes(data)
            path.with_suffix(".txt").write_text(f"{kind}\n\n{details}")
            print(f"{self.name}: {kind}\n  stored as {path}", flush=True)


def kind_of(error: BaseException) -> str:
    """Classify a failure by type, innermost line of mercer or of the invariants, and message."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "mercer/" in f.filename] or frames
    *_, last = [f for f in own if "invariants.py" not in f.filename] or own
    return f"{type(error).__name__} in {Path(last.filename).name}, {last.name}: {str(error)[:150]}"


def signature(error: BaseException) -> str:
    """Return the kind without the message, which may quote the input."""
    return kind_of(error).partition(":")[0]


# --- child ---------------------------------------------------------------------------------------


class Trial:
    """Check inputs of one target one by one and count them."""

    def __init__(self, name: str, scratch: Path) -> None:
        self.target, self.scratch, self.findings = load_target(name), scratch, Findings(name)
        self.examples = 0
        self._signatures: set[str] = set()
        self._last_write = 0.0

    def __call__(self, data: bytes) -> None:
        (self.scratch / "current").write_bytes(data)
        self.examples += 1
        try:
            self.target.check(data, self.scratch)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            if signature(error) not in self._signatures:
                self._signatures.add(signature(error))
                self.findings.add(data, kind_of(error), "".join(traceback.format_exception(error)))
        if time.monotonic() - self._last_write > 1:
            self.write_counts()

    def write_counts(self) -> None:
        """Write the counts to a file that the parent reads."""
        self._last_write = time.monotonic()
        counts = {"examples": self.examples, "failures": len(self._signatures)}
        temporary = self.scratch / "counts.new"
        temporary.write_text(json.dumps(counts))
        os.replace(temporary, self.scratch / "counts")


def mutants(target: Any, seed: int) -> Iterator[bytes]:
    """Yield the seeds, then mutated seeds without end."""
    random, pool = Random(seed), target.seeds()
    yield from random.sample(pool, len(pool))  # random order: one crash must not hide the others
    while True:
        data = random.choice(pool)
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            data = target.mutate(data, random)
        yield data


def limit_memory() -> None:
    """Limit the address space, so that very large allocations fail."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))


def run_child(name: str, scratch: Path, seed: int, examples: int, end: float, guided: bool) -> None:
    """Check ``examples`` inputs, or until the time ``end``."""
    faulthandler.register(signal.SIGUSR1)
    trial, inputs = Trial(name, scratch), mutants(load_target(name), seed)
    trial(next(inputs))  # triggers lazy imports before memory is limited
    if sys.platform == "linux":
        limit_memory()
    if guided:
        from tools.fuzz.atheris_guide import fuzz

        remaining = int(min(CHILD_LIFETIME, end - time.time()))
        fuzz(trial, FAILURES / "corpus" / name, seed, max(1, remaining))
    while trial.examples < examples and time.time() < end:
        trial(next(inputs))
    trial.write_counts()


# --- parent --------------------------------------------------------------------------------------


def run(
    name: str,
    *,
    seed: int,
    examples: int = 10**12,
    seconds: float = 10**9,
    guided: bool = False,
    on_progress: Callable[[Counts], None] = lambda counts: None,
) -> Counts:
    """Check inputs of a target in child processes; return the counts of examples and failures.

    Parameters
    ----------
    name : str
        One of ``tests.fuzz.TARGETS``.
    seed : int
    examples, seconds : number
        Limits; the run ends at the first that is reached.
    guided : bool
        Whether atheris chooses the inputs.
    on_progress : callable
        Called with the counts several times per second.
    """
    total: Counts = {"examples": 0, "failures": 0}
    crashes, end, n_crashes = Findings(name), time.time() + seconds, 0
    while total["examples"] < examples and time.time() < end - 1 and n_crashes < MAX_CRASHES:
        scratch = Path(tempfile.mkdtemp(dir=_FAST_DISK if _FAST_DISK.is_dir() else None))
        arguments = [name, scratch, seed, examples - total["examples"], end, int(guided)]
        command = [sys.executable, "-m", "tools.fuzz", "--child", *map(str, arguments)]
        before = dict(total)
        with (scratch / "log").open("wb") as log:
            child = subprocess.Popen(command, stdout=None, stderr=log)
            try:
                problem = _watch(child, scratch, before, total, on_progress)
            finally:
                child.kill()
                child.wait()
        if problem is not None:
            current = scratch / "current"
            log_end = (scratch / "log").read_text(errors="replace")[-4000:]
            if not current.exists():
                raise RuntimeError(f"The child process for {name} did not start: {log_end}")
            n_crashes += 1
            crashes.add(current.read_bytes(), problem, log_end)
            total["failures"] += 1
        shutil.rmtree(scratch, ignore_errors=True)
        seed += 1
    return total


def _watch(
    child: subprocess.Popen[bytes],
    scratch: Path,
    before: Counts,
    total: Counts,
    on_progress: Callable[[Counts], None],
) -> str | None:
    """Wait for a child; return a description of the problem if it crashed or timed out."""
    while child.poll() is None:
        time.sleep(0.2)
        _read_counts(scratch, before, total)
        on_progress(total)
        current = scratch / "current"
        if current.exists() and time.time() - current.stat().st_mtime > INPUT_TIMEOUT:
            child.send_signal(signal.SIGUSR1)  # faulthandler writes the traceback
            time.sleep(1)
            return f"an input took more than {INPUT_TIMEOUT} s"
    _read_counts(scratch, before, total)
    return None if child.returncode == 0 else f"the process ended with {child.returncode}"


def _read_counts(scratch: Path, before: Counts, total: Counts) -> None:
    try:
        counts = json.loads((scratch / "counts").read_text())
    except FileNotFoundError:
        return
    total.update({key: before[key] + counts[key] for key in counts})
