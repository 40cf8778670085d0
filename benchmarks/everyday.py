"""Times of everyday tasks, next to a method of scikit-learn or SciPy on the same rows.

Each task runs in a new process. The commands read a folder of Parquet files and write one; they are
compared with the estimator in memory, which reads the folder with pandas and writes nothing.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import gaussian_kde
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.kernel_approximation import Nystroem
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.measure import in_new_process, peak_growth, table
from mercer import (
    EntropyClustering,
    KernelECA,
    KernelNovelty,
    KernelPCA,
    ParzenDensity,
    SpectralClustering,
    StackedDensity,
)

ROUNDS = 3  # of which the best time counts
PARTS = 8  # Parquet files of a folder


def prices() -> np.ndarray:
    """Return a column of 40,000 positive values: two groups with heavy tails."""
    rng = np.random.default_rng(0)
    centers = np.where(rng.random(40_000) < 0.6, 7.0, 8.5)
    return np.exp(centers + 0.5 * rng.normal(size=40_000))[:, None]


def groups(n: int) -> np.ndarray:
    """Return rows of eight normal groups in ten columns."""
    rng = np.random.default_rng(0)
    centers = 2.5 * rng.normal(size=(8, 10))
    return centers[rng.integers(8, size=n)] + rng.normal(size=(n, 10))


def read(folder: str) -> np.ndarray:
    return StandardScaler().fit_transform(pd.read_parquet(folder).to_numpy())


# --- tasks ----------------------------------------------------------------------------------------


class Task(NamedTuple):
    """A call on data, a call of a peer on the same data, and the goal for the ratio or the time."""

    data: Callable[[], Any]
    call: Callable[[Any], object]
    peer: str
    peer_call: Callable[[Any], object]
    goal: str


def density_of_prices() -> ParzenDensity:
    return ParzenDensity(support="positive").fit(prices())


def fitted_novelty() -> tuple[KernelNovelty, np.ndarray]:
    X = groups(10**6)
    return KernelNovelty().fit(X), X


def evaluate_kde(x: np.ndarray) -> np.ndarray:
    return gaussian_kde(x.ravel())(np.linspace(1, 20_000, 200))


def nystroem_pca(X: np.ndarray) -> np.ndarray:
    features = Nystroem(gamma=0.05, n_components=1000, random_state=0)
    return make_pipeline(features, PCA(10, random_state=0)).fit_transform(X)


TASKS = {
    "ParzenDensity(support='positive'): highest-density region, 40,000 × 1": Task(
        density_of_prices,
        lambda model: model.highest_density_region(0.5),
        "SciPy gaussian_kde at 200 points",
        lambda model: evaluate_kde(prices()),
        "≤ 0.5 s",
    ),
    "StackedDensity(), 40,000 × 1": Task(
        prices,
        lambda X: StackedDensity().fit(X),
        "SciPy gaussian_kde at 200 points",
        evaluate_kde,
        "≤ 3 s",
    ),
    "StackedDensity(), 10⁶ × 10": Task(
        partial(groups, 10**6),
        lambda X: StackedDensity().fit(X),
        "scikit-learn GaussianMixture(8)",
        lambda X: GaussianMixture(8, random_state=0).fit(X),
        "≤ 60 s",
    ),
    "KernelPCA(10), 200,000 × 10": Task(
        partial(groups, 200_000),
        lambda X: KernelPCA(10).fit_transform(X),
        "scikit-learn Nystroem(1000) + PCA(10)",
        nystroem_pca,
        "≤ 0.3 of the peer",
    ),
    "EntropyClustering(8), 200,000 × 10": Task(
        partial(groups, 200_000),
        lambda X: EntropyClustering(8).fit(X),
        "scikit-learn KMeans(8, n_init=10)",
        lambda X: KMeans(8, n_init=10, random_state=0).fit(X),
        "≤ 12 s",
    ),
    "KernelNovelty(), scores of 10⁶ × 10": Task(
        fitted_novelty,
        lambda data: data[0].score_samples(data[1]),
        "scikit-learn IsolationForest of 10,000 rows, fit and scores",
        lambda data: IsolationForest(random_state=0).fit(data[1][:10_000]).score_samples(data[1]),
        "≤ 12 s",
    ),
}

COMMANDS: dict[str, tuple[str, Callable[[np.ndarray], object]]] = {
    "cluster --clusters 8": ("SpectralClustering(8)", lambda X: SpectralClustering(8).fit(X)),
    "embed": ("KernelECA(2)", lambda X: KernelECA(2).fit_transform(X)),
    "embed --method pca": ("KernelPCA(2)", lambda X: KernelPCA(2).fit_transform(X)),
    "novelty": ("KernelNovelty()", lambda X: KernelNovelty().fit(X).p_values(X)),
}


# --- measurements ---------------------------------------------------------------------------------

Costs = dict[str, float]


def measured(data: Any, call: Callable[[Any], object]) -> Costs:
    """Return the time in seconds, and the growth of memory in MB."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = time.perf_counter()
        memory, _ = peak_growth(lambda: call(data))
        return {"time": time.perf_counter() - begin, "memory": memory}


def run_task(name: str, peer: bool) -> Costs:
    task = TASKS[name]
    return measured(task.data(), task.peer_call if peer else task.call)


def run_in_memory(words: str, folder: str) -> Costs:
    return measured(folder, lambda folder: COMMANDS[words][1](read(folder)))


def run_command(words: str, folder: str) -> Costs:
    """Return the time and the peak memory of a command."""
    with tempfile.TemporaryDirectory() as out:
        name, *options = words.split()
        line = [sys.executable, "-m", "mercer.cli", name, folder, *options, "--engine", "dask"]
        begin = time.perf_counter()
        subprocess.run([*line, "--quiet", "--out", f"{out}/result"], check=True)
        spent = time.perf_counter() - begin
    return {"time": spent, "memory": getrusage(RUSAGE_CHILDREN).ru_maxrss / 1e3}


def best(*calls: str) -> list[Costs]:
    """Return the best time and the largest memory of calls in new processes, interleaved."""
    rounds = [
        [in_new_process("benchmarks.everyday", call) for call in calls] for _ in range(ROUNDS)
    ]
    return [
        {
            "time": min(costs["time"] for costs in found),
            "memory": max(costs["memory"] for costs in found),
        }
        for found in zip(*rounds, strict=True)
    ]


def compared(name: str, ours: Costs, peer: str, theirs: Costs, goal: str) -> tuple[str, ...]:
    def cell(costs: Costs) -> str:
        return f"{costs['time']:.2f} s, {costs['memory']:.0f} MB"

    ratio = f"{ours['time'] / theirs['time']:.2f}"
    row = (name, cell(ours), f"{peer}: {cell(theirs)}", ratio, goal)
    print(*row, sep=" | ", file=sys.stderr, flush=True)
    return row


def tasks() -> str:
    rows = []
    for name, task in TASKS.items():
        ours, theirs = best(*(f"run_task({name!r}, {peer})" for peer in (False, True)))
        rows.append(compared(name, ours, task.peer, theirs, task.goal))
    header = ("task", "mercer: time, extra memory", "peer", "ratio", "goal")
    return table("Everyday tasks", rows, header)


def commands(n: int) -> str:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        frame = pd.DataFrame(groups(n), columns=[f"x{j}" for j in range(10)])
        for number, part in enumerate(np.array_split(np.arange(n), PARTS)):
            frame.iloc[part].to_parquet(Path(folder, f"part-{number}.parquet"))
        for words, (peer, _) in COMMANDS.items():
            calls = (f"{run}({words!r}, {folder!r})" for run in ("run_command", "run_in_memory"))
            ours, theirs = best(*calls)
            rows.append(compared(f"mercer {words}", ours, peer, theirs, "≤ 1.5"))
    header = ("command", "with Dask: time, memory", "estimator in memory", "ratio", "goal")
    return table(f"Commands on Parquet files, {n:,} × 10", rows, header)


def tables(n: int = 10**6) -> Iterator[str]:
    """Yield both tables; n is the number of rows of the commands."""
    yield tasks()
    yield commands(n)
