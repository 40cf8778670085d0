"""``python -m benchmarks [NAME[:SIZE] ...]``: print the tables of the named modules (default: all).

A size, such as ``dask_arrays:1e7``, is passed to modules that accept one.
"""

from __future__ import annotations

import sys
from importlib import import_module

from benchmarks.measure import machine

MODULES = [
    "solvers",
    "speed",
    "everyday",
    "large_samples",
    "slopes",
    "plan_choices",
    "nonuniform_fft",
    "clustering",
    "cluster_sets",
    "cluster_tables",
    "cluster_scale",
    "bandwidth_rule",
    "density",
    "density_tables",
    "density_sums",
    "mixed_tables",
    "mixed_density",
    "table_labels",
    "novelty",
    "table_rows",
    "discriminant",
    "high_dimension",
    "process",
    "denoising",
    "dask_arrays",
    "explorer",
    "imports",
]


def main(names: list[str]) -> None:
    unknown = {name.partition(":")[0] for name in names} - set(MODULES)
    if unknown:
        sys.exit(
            f"Unknown benchmark {', '.join(sorted(unknown))}; choose from {', '.join(MODULES)}"
        )
    print(f"{machine()}\n", flush=True)
    for entry in names or MODULES:
        name, _, size = entry.partition(":")
        sizes = [int(float(size))] if size else []
        for text in import_module(f"benchmarks.{name}").tables(*sizes):
            print(text, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
