"""Files of mercer that one fit passes through, in the order of their first use.

    python -m tools.call_path              print the path of KernelECA(3).fit(X) on a plain array
    python -m tools.call_path --functions  with the functions of each file
    python -m tools.call_path --update     write it to docs/architecture.md

Lambdas, comprehensions and calls made while modules are imported are not counted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import mercer
from mercer import KernelECA, config_context
from tools import generated_section

ROOT = Path(mercer.__file__).parent
NAME = "call path"


@dataclass(frozen=True)
class Call:
    """One call of a function of mercer; ``caller`` is None if another package called it."""

    file: str
    function: str
    caller: str | None


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
    path = Path("" if frame is None else frame.f_code.co_filename)
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else None


def calls_of_a_fit(rows: int = 500) -> list[Call]:
    """Return the calls of ``KernelECA(3).fit(X)`` on an array with 5 columns."""
    X = np.random.default_rng(0).normal(size=(rows, 5))
    KernelECA(3).fit(X)  # import everything first
    with config_context(threads=1):  # calls in other threads are not traced
        return trace_calls(lambda: KernelECA(3).fit(X))


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
    return f"```text\n{text(calls_of_a_fit())}\n```"


def main() -> None:
    """Print the path or update the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--functions", action="store_true", help="list the functions of each file")
    parser.add_argument("--update", action="store_true", help="write to docs/architecture.md")
    options = parser.parse_args()
    if options.update:
        generated_section.update(NAME, section())
    else:
        print(text(calls_of_a_fit(options.rows), options.functions))


if __name__ == "__main__":
    main()
