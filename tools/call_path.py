"""Files of mercer that common calls pass through, in the order of their first use.

    python -m tools.call_path              print the paths
    python -m tools.call_path --functions  with the functions of each file
    python -m tools.call_path --update     write the first path to docs/architecture.md

Lambdas, comprehensions and calls made while modules are imported are not counted.
"""

from __future__ import annotations

import argparse
import functools
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import mercer
from mercer import config_context
from tools import generated_section

ROOT = Path(mercer.__file__).parent
NAME = "call path"


@dataclass(frozen=True)
class Call:
    """One call of a function of mercer; ``caller`` is None if another package called it."""

    file: str
    function: str
    caller: str | None


@dataclass(frozen=True)
class CommonCall:
    """A call that many users make, and the number of files that it may pass through."""

    run: Callable[[], Any]
    most_files: int

    def calls(self) -> list[Call]:
        """Return the calls of functions of mercer, without those of imports."""
        self.run()  # import everything first
        with config_context(threads=1):  # calls in other threads are not traced
            return trace_calls(self.run)


def trace_calls(function: Callable[[], Any]) -> list[Call]:
    """Run ``function`` and return the calls of functions of mercer."""
    calls: list[Call] = []

    def profile(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_qualname
        if event == "call" and (file := _file_of(frame)) and not name.startswith("<"):
            calls.append(Call(file, name, _file_of(frame.f_back)))

    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


def _file_of(frame: FrameType | None) -> str | None:
    return None if frame is None else _file_in_package(frame.f_code.co_filename)


@functools.cache
def _file_in_package(name: str) -> str | None:
    path = Path(name)
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else None


def _rows(n: int = 300) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).normal(size=(n, 5))


def _kernel_pca() -> None:
    X = _rows()
    mercer.KernelPCA().fit(X).transform(X)


def _density() -> None:
    X = _rows()
    mercer.ParzenDensity().fit(X).score_samples(X)


def _clusters() -> None:
    mercer.SpectralClustering(3, random_state=0).fit(_rows())


def _report() -> None:
    from mercer.cli import main

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "small.csv")
        header = "a,b,c,d"
        np.savetxt(path, _rows(60)[:, :4], delimiter=",", header=header, comments="", fmt="%.3f")
        main(["report", str(path), "--out", folder])


#: Calls that the tests guard.
PATHS = {
    "KernelPCA().fit(X).transform(X)": CommonCall(_kernel_pca, 15),
    "ParzenDensity().fit(X).score_samples(X)": CommonCall(_density, 14),
    "SpectralClustering(3).fit(X)": CommonCall(_clusters, 20),
    "mercer report small.csv": CommonCall(_report, 80),
}


def text(calls: list[Call], functions: bool = False) -> str:
    """Return a line per file, in the order of first use."""
    files = list(dict.fromkeys(call.file for call in calls))
    lines = []
    for place, file in enumerate(files, 1):
        lines.append(f"{place:2d}  {file}")
        if functions:
            used = [call.function for call in calls if call.file == file]
            lines += [f"      {name} × {used.count(name)}" for name in dict.fromkeys(used)]
    return "\n".join([*lines, f"{len(files)} files"])


def section() -> str:
    """Return the part of the architecture page that is generated."""
    return f"```text\n{text(next(iter(PATHS.values())).calls())}\n```"


def main() -> None:
    """Print the paths or update the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--functions", action="store_true", help="list the functions of each file")
    parser.add_argument("--update", action="store_true", help="write to docs/architecture.md")
    options = parser.parse_args()
    if options.update:
        generated_section.update(NAME, section())
        return
    for name, path in PATHS.items():
        print(f"{name}\n{text(path.calls(), options.functions)}\n")


if __name__ == "__main__":
    main()
