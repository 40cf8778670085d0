"""``python -m benchmarks [NAME ...]``: print the tables of the named modules (default: all)."""

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
    "explorer",
]


def main(names: list[str]) -> None:
    unknown = set(names) - set(MODULES)
    if unknown:
        sys.exit(f"unknown benchmark {', '.join(sorted(unknown))}; there are: {', '.join(MODULES)}")
    print(f"{machine()}\n", flush=True)
    for name in names or MODULES:
        for text in import_module(f"benchmarks.{name}").tables():
            print(text, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
