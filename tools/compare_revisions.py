"""Time the same fits with two checkouts of mercer, interleaved, in fresh processes.

    python tools/compare_revisions.py ../old .            # short cases, 3 rounds
    python tools/compare_revisions.py ../old . -k eca -n 5
    python tools/compare_revisions.py ../old . --cpu      # CPU time with one BLAS thread
    python tools/compare_revisions.py ../old . --long     # long cases, CPU time and memory

Every round runs each case once with each checkout; the table shows the best time of each and their
ratio. Each short case runs once before it is timed, and is repeated for a second. Long cases run
once, with one BLAS thread and a limit of 15 minutes of CPU time; the table also shows the growth
of the peak memory.
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
    "KernelPCA(10), 1000 x 10, one vector": ("Y = X(1000, 10)", "mercer.KernelPCA(10).fit(Y)"),
    "KernelPCA(2), 300 x 5, dense": ("Y = X(300, 5)", "mercer.KernelPCA(2).fit(Y)"),
    "SpectralClustering(3), 2000 x 8": (
        "Y = X(2000, 8); Y[::3] += 4; Y[1::3] -= 4",
        "mercer.SpectralClustering(3, random_state=0).fit(Y)",
    ),
    "SpectralClustering(), 2000 x 8": (
        "Y = X(2000, 8); Y[::3] += 4; Y[1::3] -= 4",
        "mercer.SpectralClustering(random_state=0).fit(Y)",
    ),
    "ParzenDensity(), 2000 x 3, fit and score": (
        "Y = X(2000, 3)",
        "mercer.ParzenDensity().fit(Y).score_samples(Y)",
    ),
    "ParzenDensity(support='positive'), 2000 x 1": (
        "Y = np.exp(X(2000, 1))",
        "mercer.ParzenDensity(support='positive').fit(Y).score_samples(Y)",
    ),
    "ParzenDensity(adaptive=True), 1000 x 2": (
        "Y = X(1000, 2)",
        "mercer.ParzenDensity(adaptive=True).fit(Y).score_samples(Y)",
    ),
    "StackedDensity(), 500 x 2": ("Y = X(500, 2)", "mercer.StackedDensity().fit(Y)"),
    "SeriesDensity(), 2000 x 2": ("Y = X(2000, 2)", "mercer.SeriesDensity().fit(Y)"),
    "KernelNovelty(), 3000 x 10, fit and score": (
        "Y = X(3000, 10)",
        "mercer.KernelNovelty(random_state=0).fit(Y).score_samples(Y)",
    ),
    "KernelNovelty().explain, 100 rows of 10": (
        "Y = X(2000, 10); m = mercer.KernelNovelty(random_state=0).fit(Y)",
        "m.explain(Y[:100])",
    ),
    "ProcessMonitor(n_lags=1), 3000 x 6": (
        "Y = X(3000, 6); m = mercer.ProcessMonitor(n_lags=1)",
        "m.fit(Y).monitor(Y[:1000])",
    ),
    "vendi_score with bounds, 2000 x 20": (
        "Y = X(2000, 20)",
        "mercer.information.vendi_score(Y, mercer.kernels.Gaussian(4.0), bounds=True)",
    ),
    "measure_diversity, 2000 x 32": ("Y = X(2000, 32)", "mercer.measure_diversity(Y)"),
    "compare_samples, 500 and 500 x 8": (
        "Y = X(1000, 8); k = mercer.kernels.Laplacian(8.0)",
        "mercer.compare_samples(Y[:500], Y[500:], k, random_state=0)",
    ),
    "compare_embeddings, 3000 x 32": (
        "Y = X(3000, 64)",
        "mercer.compare_embeddings(Y[:, :32], Y[:, 32:])",
    ),
    "KernelDenoiser(8), 500 x 20": (
        "Y = X(500, 20)",
        "mercer.KernelDenoiser(8).fit(Y).transform(Y)",
    ),
}

# long cases: fits of a mixed table with missing values
_TABLE = "from benchmarks.mixed_tables import mixed_table; from mercer.kernels import table_kernel"
LONG_CASES = {
    f"MercerMixture({m}), {n:,} x 12": (
        f"{_TABLE}; frame = mixed_table({n}); k = table_kernel(frame)",
        f"mercer.MercerMixture({m}, kernel=k, random_state=0).fit(frame)",
    )
    for n in (5_000, 100_000)
    for m in (1, 3)
}
CPU_LIMIT = 15 * 60  # seconds

CHILD = """
import sys, time, warnings
import numpy as np
import mercer
warnings.simplefilter("ignore")
setup, statement, clock = sys.argv[1:]
clock = getattr(time, clock)
scope = {"mercer": mercer, "np": np, "X": lambda n, d: np.random.default_rng(0).normal(size=(n, d))}
exec(setup, scope)
code = compile(statement, "case", "eval")
eval(code, scope)  # modules are imported on first use
best, spent = float("inf"), 0.0
while spent < 1.0:
    start = clock()
    eval(code, scope)
    took = clock() - start
    best, spent = min(best, took), spent + took
print(best)
"""

LONG_CHILD = """
import resource, sys, time, warnings
import mercer
from benchmarks.measure import measure_memory
warnings.simplefilter("ignore")
setup, statement, limit = sys.argv[1:]
scope = {"mercer": mercer}
exec(setup, scope)
used = int(time.process_time())
resource.setrlimit(resource.RLIMIT_CPU, (used + int(limit), used + int(limit)))
def fit(_):
    start = time.process_time()
    model = eval(statement, scope)
    weights = ", ".join(f"{w:.2f}" for w in model.effective_weights_)
    print(f"{time.process_time() - start:.1f} s, rank {model.rank_}, weights {weights}")
measure_memory(lambda: None, fit)
"""


def run(checkout: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run Python code with one of the checkouts."""
    paths = os.pathsep.join(str(checkout.resolve() / folder) for folder in ("src", "."))
    environment = os.environ | {"PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, "-c", *command],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode > 0:
        print(done.stderr, file=sys.stderr)
    return done


def time_case(checkout: Path, setup: str, statement: str, clock: str) -> float:
    """Run one case in a fresh process and return its best time in seconds."""
    done = run(checkout, CHILD, setup, statement, clock)
    return float("nan") if done.returncode else float(done.stdout)


def time_long_case(checkout: Path, setup: str, statement: str) -> str:
    """Run one long case in a fresh process and return its CPU time and memory as text."""
    done = run(checkout, LONG_CHILD, setup, statement, str(CPU_LIMIT))
    if done.returncode < 0:  # by the limit of CPU time
        return f"not finished after {CPU_LIMIT // 60} min"
    if done.returncode:
        return "failed"
    result, memory = done.stdout.splitlines()
    return f"{result}, {float(memory):.0f} MB"


def main() -> None:
    """Print one line per case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("-n", "--rounds", type=int, default=3)
    parser.add_argument("-k", "--keyword", default="")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--long", action="store_true")
    options = parser.parse_args()
    checkouts = options.before, options.after
    cases = LONG_CASES if options.long else CASES
    selected = {name: c for name, c in cases.items() if options.keyword.lower() in name.lower()}
    if options.long or options.cpu:
        os.environ["OMP_NUM_THREADS"] = "1"
    if options.long:
        print("| case | before | after |\n|---|---|---|", flush=True)
        for name, case in selected.items():
            before, after = (time_long_case(checkout, *case) for checkout in checkouts)
            print(f"| {name} | {before} | {after} |", flush=True)
        return
    clock = "process_time" if options.cpu else "perf_counter"
    print("| case | before | after | after / before |\n|---|---|---|---|", flush=True)
    for name, case in selected.items():
        rounds = [
            [time_case(checkout, *case, clock) for checkout in checkouts]
            for _ in range(options.rounds)
        ]
        before, after = map(min, zip(*rounds, strict=True))
        print(f"| {name} | {before:.4g} s | {after:.4g} s | {after / before:.2f} |", flush=True)


if __name__ == "__main__":
    main()
