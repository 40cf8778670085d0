"""Ten ordinary jobs of a new user, with the time and the result of each.

    python -m tools.first_hour              sizes of a first hour (3,000 to 1,000,000 rows)
    python -m tools.first_hour --small      a tenth of the rows or fewer, for continuous integration
    python -m tools.first_hour 2 6          only these jobs

Results are printed next to a reference value, such as that of scikit-learn or of the known truth.
Times are CPU seconds of this process, except for the first job.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer.kernels import Kernel

__all__ = ["JOBS", "Outcome", "make_customers", "run_jobs"]

Results = dict[str, Any]
_WORDS = (
    ("delivery late refund broken", "slow support angry late", "refund missing parcel"),
    ("great quality love fast", "excellent gift love", "perfect fast shipping"),
    ("invoice business bulk order", "company invoice wholesale", "bulk pallets order"),
    ("newsletter coupon discount", "discount sale voucher", "coupon code expired"),
)
_FILLER = ("the", "a", "my", "for", "with", "and", "item", "shop", "today", "again")


class Cauchy(Kernel):
    """A kernel of the user, as in CONTRIBUTING.md."""

    def __init__(self, width: float = 1.0) -> None:
        self.width = width

    def matrix(self, X: Any, Y: Any) -> Any:
        """Return the kernel values of all pairs."""
        return 1 / (1 + ((X[:, None] - Y[None]) ** 2).sum(axis=2) / self.width**2)


@dataclass(frozen=True)
class Outcome:
    """Name, CPU seconds and results of a job; ``error`` is the exception that ended it."""

    number: int
    name: str
    seconds: float
    results: Results
    error: str | None = None


def make_customers(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Return a mixed table of 8 columns with an identifier, and its four planted groups."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    group = rng.integers(4, size=n)
    channels = np.array(["phone", "web", "mail", "app"])

    def note(k: int) -> str:
        words = _WORDS[k][rng.integers(3)].split()
        return " ".join(rng.permutation([*words, *rng.choice(_FILLER, 4)]))

    frame = pd.DataFrame(
        {
            "customer_id": np.arange(10_000, 10_000 + n),
            "price": np.exp(rng.normal(np.array([2.5, 3.5, 5.5, 2.0])[group], 0.6)),
            "age": rng.normal(np.array([45, 35, 50, 25])[group], 8).round(),
            "visits": rng.poisson(np.array([3, 6, 10, 4])[group]),
            "region": np.array(["north", "south", "east", "west"])[rng.integers(4, size=n)],
            "channel": channels[np.where(rng.random(n) < 0.7, group, rng.integers(4, size=n))],
            "note": [note(k) for k in group],
            "since": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 1800, n), unit="D"),
        }
    )
    frame.loc[rng.random(n) < 0.05, "age"] = np.nan
    return frame, group


# --- the jobs ---------------------------------------------------------------------------------


def first_contact(size: float) -> Results:
    """Import, and the first example of README."""
    code = "import time; t = time.perf_counter(); import mercer; print(time.perf_counter() - t)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {"seconds to import": round(float(done.stdout), 2)}


def mixed_table(size: float) -> Results:
    """Cluster 3,000 customers in 8 columns; describe the clusters; write a report."""
    from sklearn.metrics import adjusted_rand_score

    from mercer import EntropyClustering, describe_clusters
    from mercer.kernels import table_kernel
    from mercer.report import write_report
    from mercer.tables import as_table

    frame, group = make_customers(int(3000 * size))
    logs = frame.assign(price=np.log(frame["price"]))
    results: Results = {}
    for name, data in (("raw price", frame), ("log price", logs)):
        clustering = EntropyClustering(4, kernel=table_kernel(data)).fit(data)
        agreement = adjusted_rand_score(group, clustering.labels_)
        results[f"adjusted Rand index, {name}"] = round(agreement, 2)
    largest = describe_clusters(logs, clustering.labels_).iloc[0]
    results["largest difference"] = f"cluster {largest['cluster']}: {largest['column']}"
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        report = write_report(as_table(logs), folder)
        results["seconds of the report"] = round(time.process_time() - start, 1)
        results["clusters in the report"] = len(report.analysis.clusters.each)
    return results


def novelty(size: float) -> Results:
    """Find unusual rows among 2,000 × 8, with a stated rate of false alarms, in a pipeline."""
    from sklearn.metrics import roc_auc_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(8, 8))
    usual, fresh = (rng.normal(size=(int(2000 * size), 8)) @ mixing for _ in range(2))
    unusual = rng.normal(scale=2.5, size=(200, 8)) @ np.diag(mixing.std(axis=0) * 3)
    model = make_pipeline(StandardScaler(), _detector(0.01)).fit(usual)
    truth = np.repeat([0, 1], [len(fresh), len(unusual)])
    scores = -model.decision_function(np.concatenate([fresh, unusual]))
    return {
        "detector": type(model[-1]).__name__,
        "area under the curve": round(roc_auc_score(truth, scores), 3),
        "false alarms (promised 0.01)": round(float((model.predict(fresh) == -1).mean()), 3),
    }


def density(size: float) -> Results:
    """Density of 10⁶ × 2 points: fit, evaluate, sample."""
    from mercer import ParzenDensity

    rng = np.random.default_rng(0)
    n = int(1_000_000 * size)
    X, new = rng.normal(size=(n, 2)), rng.normal(size=(10_000, 2))
    model = ParzenDensity().fit(X)
    return {
        "mean log density of new points": round(float(model.score_samples(new).mean()), 4),
        "truth": round(float(-np.log(2 * np.pi) - 0.5 * (new**2).sum(axis=1).mean()), 4),
        "sampled": model.sample(1000).shape,
    }


def embeddings(size: float) -> Results:
    """Diversity, modes and novelty of 20,000 × 384 embeddings with 30 modes."""
    from sklearn.metrics import adjusted_rand_score

    from mercer import EntropyClustering, compare_samples, measure_diversity

    rng = np.random.default_rng(0)
    centers = rng.normal(size=(32, 384)) * 0.1

    def draw(n: int, modes: int) -> tuple[Any, Any]:
        mode = rng.integers(modes, size=n)
        found = centers[mode] + 0.03 * rng.normal(size=(n, 384))
        return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32), mode

    n = int(20_000 * size)
    (A, truth), (B, _) = draw(n, 30), draw(n, 32)
    diversity = measure_diversity(A)
    comparison = compare_samples(A[:2000], B[:2000])
    start = time.process_time()
    labels = EntropyClustering(30).fit(A).labels_
    seconds = time.process_time() - start
    return {
        "seconds of EntropyClustering(30)": round(seconds, 1),
        "adjusted Rand index of 30 modes": round(adjusted_rand_score(truth, labels), 3),
        "Vendi scores of orders 1, 2, inf": np.round(diversity.scores, 2).tolist(),
        "p-value of A against B": float(comparison.p_value),
        "modes listed as novel (2 are new)": len(comparison.novel_modes),
    }


def denoising(size: float) -> Results:
    """Picture of, and noise removal from, handwritten digits."""
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA

    from mercer import KernelDenoiser, KernelPCA

    rng = np.random.default_rng(0)
    X = rng.permutation(load_digits().data / 16)
    n = max(int(1200 * size), 400)
    train, clean = X[:n], X[n : n + 300]
    noisy = clean + rng.normal(scale=0.25, size=clean.shape)
    pca = PCA(20).fit(train)

    def error(found: Any) -> float:
        return round(float(((found - clean) ** 2).mean()), 4)

    return {
        "picture": KernelPCA(2).fit_transform(train).shape,
        "error of the noisy digits": error(noisy),
        "PCA(20)": error(pca.inverse_transform(pca.transform(noisy))),
        "KernelDenoiser()": error(KernelDenoiser().fit(train).transform(noisy)),
        "KernelDenoiser(8)": error(KernelDenoiser(8).fit(train).transform(noisy)),
    }


def monitoring(size: float) -> Results:
    """Control limits of kernel PCA on 1,000 × 10 sensors: false alarms, and a drifting sensor."""
    import mercer

    rng = np.random.default_rng(0)
    n = int(1000 * size)
    usual, fresh = rng.normal(size=(n, 10)), rng.normal(size=(5000, 10))
    drift = rng.normal(size=(200, 10)) + 6 * np.eye(10)[3] * np.linspace(0, 1, 200)[:, None]
    model = mercer.KernelPCA(min(20, n // 5)).fit(usual)
    limit = model.control_limits(0.99)["reconstruction_error"]["quantile"]

    def alarms(X: Any) -> float:
        return round(float((model.reconstruction_error(X) > limit).mean()), 3)

    results: Results = {
        "false alarms (promised 0.01)": alarms(fresh),
        "alarms in the last 50 rows of a drift": alarms(drift[-50:]),
    }
    monitor = getattr(mercer, "ProcessMonitor", None)
    if monitor is not None:
        results["ProcessMonitor"] = type(monitor().fit(usual).monitor(drift)).__name__
    return results


def files(size: float) -> Results:
    """Save a pipeline, apply it with the command line, and fit with Dask."""
    import pandas as pd
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import RobustScaler

    import mercer
    from mercer.cli import main

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(int(2000 * size), 3)), columns=list("abc"))
    model = make_pipeline(RobustScaler(), mercer.KernelPCA(2)).fit(frame)
    results: Results = {}
    with tempfile.TemporaryDirectory() as folder:
        data, saved, out = (Path(folder, name) for name in ("d.csv", "m.mercer", "o.csv"))
        frame.to_csv(data, index=False)
        mercer.save(model, saved)
        code = main(["embed", str(data), "--apply", str(saved), "--out", str(out), "--quiet"])
        found = pd.read_csv(out)[["pca1", "pca2"]]
        results["exit code of --apply"] = code
        results["equal to the pipeline"] = bool(np.allclose(found, model.transform(frame)))
    try:
        import dask.array
    except ImportError:
        return results
    X = dask.array.from_array(frame.to_numpy(), chunks=(len(frame) // 4 + 1, 3))
    results["Dask"] = mercer.KernelECA(2).fit(X).transform(X).shape
    return results


def own_data(size: float) -> Results:
    """Own kernel, precomputed matrix, sparse matrix, frames of other libraries."""
    from scipy.sparse import csr_array

    from mercer import KernelPCA
    from mercer.kernels import check_kernel

    X = np.random.default_rng(0).normal(size=(200, 3))
    check_kernel(Cauchy(2.0))
    own = KernelPCA(2, kernel=Cauchy(2.0)).fit_transform(X)
    K = Cauchy(2.0)(X)
    precomputed = KernelPCA(2, kernel="precomputed").fit_transform(K)
    results: Results = {"equal to precomputed": bool(np.allclose(own, precomputed))}
    counts = np.random.default_rng(0).poisson(0.1, size=(200, 1000)).astype(float)
    dense, sparse = (
        KernelPCA(2, kernel="cosine").fit(rows).eigenvalues_ for rows in (counts, csr_array(counts))
    )
    results["sparse equal to dense"] = bool(np.allclose(dense, sparse))
    results["polars"] = _try_polars()
    return results


def mistakes(size: float) -> Results:
    """Wrong input: each mistake should raise an error that names the value."""
    from mercer import EntropyClustering, KernelPCA, MercerNovelty

    X = np.random.default_rng(0).normal(size=(30, 2))
    broken = X.copy()
    broken[3, 1] = np.nan
    tries: dict[str, Callable[[], Any]] = {
        "missing value": lambda: KernelPCA().fit(broken),
        "text": lambda: KernelPCA().fit([["a", "b"], ["c", "d"]]),
        "gamma": lambda: KernelPCA(gamma=0.5),
        "unknown kernel": lambda: KernelPCA(kernel="rbff").fit(X),
        "too many components": lambda: KernelPCA(31).fit(X),
        "no clusters": lambda: EntropyClustering(0).fit(X),
        "other width": lambda: KernelPCA().fit(X).transform(X[:, :1]),
        "not fitted": lambda: MercerNovelty().predict(X),
    }
    results: Results = {}
    for name, function in tries.items():
        try:
            function()
            results[name] = "no error"
        except (ValueError, TypeError) as error:
            results[name] = str(error).partition("\n")[0][:90]
    return results


JOBS: tuple[Callable[[float], Results], ...] = (
    first_contact,
    mixed_table,
    novelty,
    density,
    embeddings,
    denoising,
    monitoring,
    files,
    own_data,
    mistakes,
)


def _detector(rate: float) -> Any:
    """Return the default novelty detector; KernelNovelty where it exists."""
    import mercer

    if hasattr(mercer, "KernelNovelty"):
        return mercer.KernelNovelty(false_alarm_rate=rate, random_state=0)
    return mercer.MercerNovelty(contamination=rate, random_state=0)


def _try_polars() -> str:
    try:
        import polars
    except ImportError:
        return "not installed"
    from mercer.kernels import table_kernel

    frame = polars.DataFrame({"a": [1.0, 2.0, 3.0, 4.0] * 20, "b": ["x", "y", "w", "z"] * 20})
    try:
        return f"kernel matrix of shape {table_kernel(frame)(frame).shape}"
    except TypeError as error:
        return f"TypeError: {error}"


# --- running ----------------------------------------------------------------------------------


def run_jobs(numbers: list[int], size: float = 1.0) -> list[Outcome]:
    """Run jobs by number, from 1; an error of one job does not stop the others."""
    outcomes = []
    for number in numbers:
        job = JOBS[number - 1]
        start, results, error = time.process_time(), {}, None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                results = job(size)
            except Exception as caught:
                error = f"{type(caught).__name__}: {caught}"
        seconds = time.process_time() - start
        outcomes.append(Outcome(number, job.__name__, seconds, results, error))
    return outcomes


def main() -> None:
    """Parse the arguments, run the jobs, print a line per result."""
    parser = argparse.ArgumentParser(description="Run ten ordinary jobs of a new user.")
    parser.add_argument("jobs", nargs="*", type=int, metavar="N", help=f"1 to {len(JOBS)}")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    if not set(options.jobs) <= set(range(1, len(JOBS) + 1)):
        parser.error(f"jobs are numbered from 1 to {len(JOBS)}")
    for number in options.jobs or range(1, len(JOBS) + 1):
        [outcome] = run_jobs([number], 0.1 if options.small else 1.0)
        print(f"{outcome.number:2}. {outcome.name}: {outcome.seconds:.1f} s of CPU")
        for name, value in outcome.results.items():
            print(f"      {name}: {value}")
        if outcome.error is not None:
            print(f"      ERROR {outcome.error}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
