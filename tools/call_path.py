"""Print the files of mercer that one call passes through, in the order of their first use.

    python tools/call_path.py              # KernelECA(3).fit(X) on a plain array

Lambdas, comprehensions and calls made while modules are imported are not counted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import mercer
from mercer import KernelECA

ROOT = Path(mercer.__file__).parent


def trace_calls(function: Callable[[], Any]) -> list[tuple[str, str]]:
    """Run ``function`` and return the (file, function) pairs of mercer that it called."""
    calls: list[tuple[str, str]] = []

    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(ROOT) and not frame.f_code.co_name.startswith("<"):
            calls.append((path.relative_to(ROOT).as_posix(), frame.f_code.co_qualname))

    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


def main() -> None:
    """Trace the fit and print a line per file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--functions", action="store_true", help="list the functions of each file")
    options = parser.parse_args()
    X = np.random.default_rng(0).normal(size=(options.rows, 5))
    KernelECA(3).fit(X)  # import everything first
    calls = trace_calls(lambda: KernelECA(3).fit(X))
    files = list(dict.fromkeys(file for file, _ in calls))
    for position, file in enumerate(files, 1):
        functions = [function for called_file, function in calls if called_file == file]
        print(f"{position:3d}  {file:40s} {len(functions):5d} calls")
        if options.functions:
            for function in dict.fromkeys(functions):
                print(f"       {function} × {functions.count(function)}")
    print(f"{len(files)} files, {len(calls)} calls")


if __name__ == "__main__":
    main()
