"""``python -m benchmarks [NAME[:SIZE] ...]``: print the tables of the named modules (default: all).

A size, such as ``distributed:1e7``, goes to modules that take one.
"""

from __future__ import annotations

import sys
from importlib import import_module

from benchmarks.harness import machine

MODULES = [
    "house",
    "scale",
    "clustering",
    "bandwidth_rule",
    "density",
    "tables",
    "discriminant",
    "dimension",
    "distributed",
    "explorer",
    "imports",
]


def main(names: list[str]) -> None:
    unknown = {name.partition(":")[0] for name in names} - set(MODULES)
    if unknown:
        sys.exit(f"unknown benchmark {', '.join(sorted(unknown))}; there are: {', '.join(MODULES)}")
    print(f"{machine()}\n", flush=True)
    for entry in names or MODULES:
        name, _, size = entry.partition(":")
        sizes = [int(float(size))] if size else []
        for text in import_module(f"benchmarks.{name}").tables(*sizes):
            print(text, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
