"""Time the same fits with two checkouts of mercer, interleaved, in fresh processes.

    python tools/compare_revisions.py ../old .            # all cases, 3 rounds
    python tools/compare_revisions.py ../old . -k eca -n 5

Every round runs each case once with each checkout; the table shows the best time of each and their
ratio. Each case runs once before it is timed, and is repeated for a second.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

# name -> setup, statement; ``X(n, d)`` draws standard normal rows
CASES = {
    "KernelECA(3), 500 x 5, dense": ("Y = X(500, 5)", "mercer.KernelECA(3).fit(Y)"),
    "KernelECA(5), 5000 x 10, Lanczos": ("Y = X(5000, 10)", "mercer.KernelECA(5).fit(Y)"),
    "KernelPCA(8), 8000 x 10, stored": ("Y = X(8000, 10)", "mercer.KernelPCA(8).fit(Y)"),
    "KernelPCA(8), 10000 x 10, matrix-free": (
        "Y = X(10_000, 10); s = mercer.solvers.Lanczos(stored=False)",
        "mercer.KernelPCA(8, solver=s).fit(Y)",
    ),
    "KernelECA(3), 10^6 x 2, Fourier": (
        "Y = X(10**6, 2)",
        "mercer.KernelECA(3).fit_transform(Y)",
    ),
    "KernelECA(3), 10^5 x 16, 500 landmarks": (
        "Y = X(10**5, 16); s = mercer.solvers.Nystrom(500)",
        "mercer.KernelECA(3, solver=s).fit_transform(Y)",
    ),
    "EntropyClustering(3), 1000 x 4, sweep": (
        "Y = X(1000, 4)",
        "mercer.EntropyClustering(3).fit(Y)",
    ),
    "ParzenDensity, 10^6 x 2, fit and score": (
        "Y = X(10**6, 2)",
        "mercer.ParzenDensity(kernel=mercer.kernels.Gaussian(0.1)).fit(Y).score_samples(Y[:10**5])",
    ),
    "MercerMixture(3), 1000 x 6": (
        "Y = X(1000, 6)",
        "mercer.MercerMixture(3, random_state=0).fit(Y)",
    ),
    "KernelLDA, 2000 x 8": (
        "Y = X(2000, 8); y = (Y[:, 0] > 0).astype(int)",
        "mercer.KernelLDA().fit(Y, y)",
    ),
    "information_potential, 10^6 x 2": (
        "Y = X(10**6, 2); k = mercer.kernels.Gaussian(0.3)",
        "mercer.information.information_potential(Y, k)",
    ),
    "KernelECA(3).transform, 10^5 x 2": (
        "Y = X(2000, 2); m = mercer.KernelECA(3).fit(Y); Z = X(10**5, 2)",
        "m.transform(Z)",
    ),
}

CHILD = """
import sys, time, warnings
import numpy as np
import mercer
warnings.simplefilter("ignore")
setup, statement = sys.argv[1:]
scope = {"mercer": mercer, "np": np, "X": lambda n, d: np.random.default_rng(0).normal(size=(n, d))}
exec(setup, scope)
code = compile(statement, "case", "eval")
eval(code, scope)  # modules are imported on first use
best, spent = float("inf"), 0.0
while spent < 1.0:
    start = time.perf_counter()
    eval(code, scope)
    took = time.perf_counter() - start
    best, spent = min(best, took), spent + took
print(best)
"""


def time_case(checkout: Path, setup: str, statement: str) -> float:
    """Run one case in a fresh process and return its best time in seconds."""
    environment = os.environ | {"PYTHONPATH": str(checkout.resolve() / "src")}
    command = [sys.executable, "-c", CHILD, setup, statement]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        return float("nan")
    return float(done.stdout)


def main() -> None:
    """Print one line per case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("-n", "--rounds", type=int, default=3)
    parser.add_argument("-k", "--keyword", default="")
    options = parser.parse_args()
    print("| case | before | after | after / before |\n|---|---|---|---|")
    for name, case in CASES.items():
        if options.keyword.lower() not in name.lower():
            continue
        rounds = [
            [time_case(checkout, *case) for checkout in (options.before, options.after)]
            for _ in range(options.rounds)
        ]
        before, after = map(min, zip(*rounds, strict=True))
        print(f"| {name} | {before:.4g} s | {after:.4g} s | {after / before:.2f} |", flush=True)


if __name__ == "__main__":
    main()
