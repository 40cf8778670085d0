"""Writers that are killed, or that fail, at a given step inside of a write.

A step is a call into the operating system that creates, writes, synchronizes, renames, changes or
removes a file. This module is also the script of a process that forks for every request: the child
counts its steps and stops at the requested one. The library itself has no hooks for this.
"""

from __future__ import annotations

import builtins
import errno
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.processes import environment

__all__ = ["NOBODY", "Outcome", "Writers"]

#: User without privileges.
NOBODY = 65534
_AUDITED = ("open", "os.", "fcntl.")


@dataclass(frozen=True)
class Outcome:
    """How a writer ended.

    Attributes
    ----------
    killed : bool
    error : str
        Type and message of the exception that it raised; empty if none.
    steps : int
        Number of steps; 0 if it was killed.
    """

    killed: bool
    error: str
    steps: int


class Writers:
    """A process that starts writers (see the functions ``write_*`` below)."""

    def __enter__(self):
        root = str(Path(__file__).parents[1])
        env = environment(OMP_NUM_THREADS="1")
        env["PYTHONPATH"] += os.pathsep + root
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.stopped_writers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=env,
            cwd=root,
            text=True,
        )
        return self

    def __exit__(self, *error):
        self._process.stdin.close()
        assert self._process.wait(60) == 0
        self._process.stdout.close()

    def run(self, writer, paths, text, *, action="kill", step=0, user=None, umask=0o022):
        """Write ``text`` to all paths, and stop at a step (counted from 1; 0 for none).

        Parameters
        ----------
        writer : str
            "together", "file", "model", "parts" or "command".
        paths : sequence of Path
        text : str
        action : "kill", "fail" or "interrupt"
            SIGKILL, an OSError or a KeyboardInterrupt.
        step : int
        user : int or None
        umask : int
        """
        request = {
            "writer": writer,
            "paths": [str(path) for path in paths],
            "text": text,
            "action": action,
            "step": step,
            "user": user,
            "umask": umask,
        }
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return Outcome(**json.loads(self._process.stdout.readline()))


# --- writers ----------------------------------------------------------------------------------


def write_together(paths, text):
    from mercer.utils.atomic_files import write_together

    write_together({path: f"{text} {path.name}" for path in paths})


def write_file(paths, text):
    from mercer.utils.atomic_files import atomic_write

    for path in paths:
        with atomic_write(path) as file:
            file.write(f"{text} ".encode())
            file.flush()
            file.write(path.name.encode())


def write_model(paths, text):
    import mercer
    from mercer.kernels import Gaussian

    for path in paths:
        mercer.save(Gaussian(float(len(text))), path)


def write_parts(paths, text):
    import dask
    import dask.array as da

    from mercer.data.dask.files import write_parts

    columns = {text: da.arange(4, chunks=2)}
    with dask.config.set(scheduler="synchronous"):
        for path in paths:
            write_parts(path, columns, overwrite=True)


def write_command(paths, text):
    from mercer.cli import main

    for path in paths:
        code = main(["embed", "rings", "--quiet", "--bandwidth", text, "--out", str(path)])
        if code:
            raise OSError(f"exit code {code}")


WRITERS = {
    "together": write_together,
    "file": write_file,
    "model": write_model,
    "parts": write_parts,
    "command": write_command,
}


# --- the process ------------------------------------------------------------------------------


class Steps:
    """Count the steps of this process, and act at one of them."""

    def __init__(self, action, step):
        self.action, self.step, self.count = action, step, 0
        sync = os.fsync

        def synchronize(file):
            self.take()
            sync(file)
            self.take()

        os.fsync = synchronize
        builtins.open = self.open
        sys.addaudithook(self.audit)

    def audit(self, event, arguments):
        if event.startswith(_AUDITED):
            self.take()

    def take(self):
        self.count += 1
        if self.count != self.step:
            return
        if self.action == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.action == "interrupt":
            raise KeyboardInterrupt
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def open(self, path, mode="r", *arguments, **options):
        """Open binary files for writing such that every write takes two steps."""
        if "x" not in mode or "b" not in mode:
            return io.open(path, mode, *arguments, **options)  # noqa: UP020 - builtins.open
        file = HalfWrites(path, mode.replace("b", ""))
        file.take = self.take
        return io.BufferedRandom(file) if "+" in mode else io.BufferedWriter(file)


class HalfWrites(io.FileIO):
    """A file that needs two calls for everything that is written."""

    half = False

    def write(self, data):
        self.take()
        self.half = not self.half and len(data) > 1
        return super().write(data[: len(data) // 2] if self.half else data)


def _run(request):
    """Run a writer in this process; return the exception and the number of steps."""
    paths = [Path(path) for path in request["paths"]]
    os.umask(request["umask"])
    if request["user"] is not None:
        os.setgroups([])
        os.setgid(request["user"])
        os.setuid(request["user"])
    steps = Steps(request["action"], request["step"])
    error = ""
    try:
        WRITERS[request["writer"]](paths, request["text"])
    except BaseException as raised:
        error = f"{type(raised).__name__}: {raised}"
    steps.step = 0
    return {"killed": False, "error": error, "steps": steps.count}


def _answer(request):
    """Run a writer in a child process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.write(writing, json.dumps(_run(request)).encode())
        os._exit(0)
    os.close(writing)
    with io.open(reading, "rb") as pipe:  # noqa: UP020
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return {"killed": True, "error": "", "steps": 0}
    return json.loads(text)


def main():
    """Answer requests.

    Every writer is called once before, because its user may not be able to read Python modules.
    """
    known = set()
    for line in sys.stdin:
        request = json.loads(line)
        if request["writer"] not in known:
            known.add(request["writer"])
            with tempfile.TemporaryDirectory() as folder:
                WRITERS[request["writer"]]([Path(folder, "a.csv")], "1")
                with suppress(BaseException):  # printing an error imports modules too
                    WRITERS[request["writer"]]([Path(folder)], "1")
        print(json.dumps(_answer(request)), flush=True)


if __name__ == "__main__":
    main()
