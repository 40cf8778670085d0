"""Process monitoring: Tennessee Eastman faults, false alarms of autocorrelated data, throughput.

The file ``process/tennessee_eastman_0_10.npz`` is read from the folder in ``MERCER_DATA`` or from
``../shared/data`` next to the checkout. It holds normal operation (``d00``, ``d00_te``) and faults
1 to 10 (``d01_te`` …); faults begin after row 160 of 960. Every limit is set so that 1 % of the
rows of the normal test run exceed it, so all statistics have the same false-alarm rate.

Simulated plants: ``benchmarks/process_plants.py``. A size (``process:200``) is the number of
simulated runs of the false-alarm table.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import mercer
from benchmarks.measure import table
from mercer.datasets.process import simulate_reactors
from mercer.kernels import Gaussian
from mercer.monitoring.control_charts import cusum, ewma
from mercer.monitoring.process_data import lagged_rows

START, RATE = 160, 0.01
RATES = (0.01, 0.05, 0.1)
FIRST_SEED = 10_000  # the limits were chosen on plants with smaller seeds
#: Documented causes (Downs and Vogel 1993) and the variables in which they act.
CAUSES = {
    1: ("A/C feed ratio", {"XMEAS(1)", "XMEAS(4)", "XMV(3)", "XMV(4)"}),
    2: ("B composition of the feed", {"XMEAS(10)", "XMV(6)", "XMEAS(30)", "XMEAS(24)"}),
    4: ("reactor cooling water temperature", {"XMV(10)", "XMEAS(9)"}),
    5: ("condenser cooling water temperature", {"XMEAS(22)", "XMV(11)"}),
    6: ("A feed loss", {"XMEAS(1)", "XMV(3)"}),
    7: ("C header pressure loss", {"XMEAS(4)", "XMV(4)"}),
}
NAMES = [f"XMEAS({i})" for i in range(1, 42)] + [f"XMV({i})" for i in range(1, 12)]
Statistic = Callable[[np.ndarray], np.ndarray]


def tables(n_runs: int = 24) -> Iterator[str]:
    """Yield the tables."""
    data = read_tennessee_eastman()
    if data is None:
        yield "Tennessee Eastman data not found: set MERCER_DATA.\n"
    else:
        yield from tennessee_eastman(data)
        yield contributions(data)
    yield false_alarms(n_runs)
    yield throughput()


def read_tennessee_eastman() -> dict[str, np.ndarray] | None:
    """Return the runs, or None if the file is not found."""
    name = Path("process") / "tennessee_eastman_0_10.npz"
    folders = [os.environ.get("MERCER_DATA"), Path(__file__).parents[2] / "shared" / "data"]
    for folder in folders:
        if folder is not None and (Path(folder) / name).is_file():
            with np.load(Path(folder) / name) as file:
                return {key: file[key] for key in file.files if key.startswith("d")}
    return None


# --- Tennessee Eastman ------------------------------------------------------------------------


def statistics(normal: np.ndarray) -> dict[str, Statistic]:
    """Return name -> function of a run, fitted to normal operation."""
    mean, scale = normal.mean(axis=0), normal.std(axis=0)

    def standardized(X: np.ndarray) -> np.ndarray:
        return (X - mean) / scale

    found: dict[str, Statistic] = {}
    X = standardized(normal)
    precision = np.linalg.inv(np.cov(X.T))
    found["Mahalanobis"] = lambda R: np.einsum(
        "ij,ij->i", standardized(R) @ precision, standardized(R)
    )
    for label, n_lags in (("PCA", 0), ("dynamic PCA, 2 lags", 2)):
        t2, spe = linear_statistics(complete(X, n_lags))
        found[f"{label}, T²"] = lambda R, f=t2, k=n_lags: f(complete(standardized(R), k))
        found[f"{label}, SPE"] = lambda R, f=spe, k=n_lags: f(complete(standardized(R), k))
    # bandwidth √(5 d) as in Lee et al. 2004 (their parameter is 2 σ² = 10 d)
    pca = mercer.KernelPCA(0.9, kernel=Gaussian(np.sqrt(5 * X.shape[1]))).fit(X)
    found["kernel PCA, T²"] = lambda R: pca.hotelling(standardized(R))
    found["kernel PCA, SPE"] = lambda R: pca.reconstruction_error(standardized(R))
    monitors = {
        "ProcessMonitor": mercer.ProcessMonitor(),
        "ProcessMonitor, linear": mercer.ProcessMonitor(kernel="linear"),
    }
    for name, monitor in monitors.items():
        monitor.fit(normal)
        for chart in ("statistic", "ewma", "cusum"):
            label = f"{name} ({monitor.n_lags_} lags), {chart}"
            found[label] = lambda R, m=monitor, c=chart: np.asarray(m.monitor(R)[c])
    # the smoothing of our default chart, applied to the statistics of the literature
    for name in ("Mahalanobis", "dynamic PCA, 2 lags, T²", "dynamic PCA, 2 lags, SPE"):
        found[f"{name}, EWMA"] = lambda R, f=found[name]: smoothed(f(R))
    return found


def smoothed(values: np.ndarray, weight: float = 0.1) -> np.ndarray:
    """Return the moving average of cube roots, as in our default chart."""
    roots = np.cbrt(values)
    return ewma(roots, weight, float(np.median(roots[:20])))


def complete(X: np.ndarray, n_lags: int) -> np.ndarray:
    """Return lagged rows, where the first row repeats before the run."""
    return lagged_rows(X, n_lags, history=np.repeat(X[:1], n_lags, axis=0))


def linear_statistics(Z: np.ndarray, fraction: float = 0.9) -> tuple[Statistic, Statistic]:
    """Return T² and SPE of PCA with components of 90 % of the variance."""
    values, vectors = np.linalg.eigh(np.cov(Z.T))
    values, vectors = values[::-1], vectors[:, ::-1]
    k = int(np.searchsorted(np.cumsum(values) / values.sum(), fraction)) + 1
    return (
        lambda Y: ((Y @ vectors[:, :k]) ** 2 / values[:k]).sum(axis=1),
        lambda Y: ((Y @ vectors[:, k:]) ** 2).sum(axis=1),
    )


def tennessee_eastman(data: dict[str, np.ndarray]) -> Iterator[str]:
    """Yield detection rates and delays, and the rates with the monitor's own limits."""
    rows, delays = [], []
    for name, statistic in statistics(data["d00"]).items():
        normal = statistic(data["d00_te"])
        limit = np.quantile(normal, 1 - RATE)
        false = f"{(normal > limit).mean():.3f}"
        alarms = [statistic(data[f"d{k:02}_te"])[START:] > limit for k in range(1, 11)]
        rates = [a.mean() for a in alarms]
        rows.append((name, false, *(f"{r:.3f}" for r in rates), f"**{np.mean(rates):.3f}**"))
        found = [mercer.ProcessMonitor.detection_delay({"alarm": a}, 0) for a in alarms]
        delays.append((name, *("–" if d is None else str(d) for d in found)))
    faults = tuple(f"{k}" for k in range(1, 11))
    yield table(
        "Tennessee Eastman: detection rate at 1 % false alarms of the normal test run",
        rows,
        ("statistic", "false alarms", *faults, "mean"),
    )
    yield table(
        "Tennessee Eastman: rows (3 min) until the first alarm", delays, ("statistic", *faults)
    )
    monitor = mercer.ProcessMonitor().fit(data["d00"])
    own = []
    for chart in ("statistic", "ewma", "cusum"):
        rates = [
            monitor.monitor(data[f"d{k:02}_te"])[f"{chart}_alarm"].iloc[START:].mean()
            for k in range(1, 11)
        ]
        false = monitor.monitor(data["d00_te"])[f"{chart}_alarm"].mean()
        own.append((chart, f"{false:.3f}", *(f"{r:.3f}" for r in rates), f"{np.mean(rates):.3f}"))
    yield table(
        "Tennessee Eastman: ProcessMonitor() with its own limits, from the training run",
        own,
        ("chart", "false alarms", *faults, "mean"),
    )


def contributions(data: dict[str, np.ndarray]) -> str:
    """Return the leading variables of the faults whose cause is documented."""
    monitor = mercer.ProcessMonitor().fit(data["d00"])
    rows = []
    for fault, (cause, expected) in CAUSES.items():
        found = monitor.contributions(data[f"d{fault:02}_te"])
        for label, part in (("first hour", slice(START, START + 20)), ("all", slice(START, None))):
            order = np.argsort(-found.iloc[part].mean().to_numpy())
            names = [NAMES[j] for j in order[:5]]
            rank = 1 + next(i for i, j in enumerate(order) if NAMES[j] in expected)
            rows.append((str(fault), cause, label, ", ".join(names), str(rank)))
    return table(
        "Tennessee Eastman: variables with the largest mean contributions",
        rows,
        ("fault", "cause", "rows", "leading variables", "rank of the first expected one"),
    )


# --- simulated plants -------------------------------------------------------------------------


def false_alarms(n_runs: int) -> str:
    """Return promised and measured false alarms on new normal data of simulated plants."""
    from benchmarks.process_plants import independent_rows, latent_plant

    plants = {
        "reactor": lambda n, seed: simulate_reactors(n, 1, np.random.default_rng(seed))[0],
        "linear plant": lambda n, seed: latent_plant(seed // 2, n, d=15, run=seed % 2),
        "nonlinear plant": lambda n, seed: latent_plant(
            seed // 2, n, d=15, run=seed % 2, nonlinear=True
        ),
        "independent rows": lambda n, seed: independent_rows(seed // 2, n, run=seed % 2),
    }
    rows = []
    for name, draw in plants.items():
        for n in (500, 2000):
            found = []
            for seed in range(FIRST_SEED, FIRST_SEED + n_runs):
                monitor = mercer.ProcessMonitor().fit(draw(n, 2 * seed))
                distances = monitor.monitor(draw(1000, 2 * seed + 1))["statistic"].to_numpy()
                found.append([alarm_rates(monitor, distances, rate) for rate in RATES])
            mean = np.mean(found, axis=0)
            error = np.std(found, axis=0, ddof=1) / np.sqrt(n_runs)
            for rate, means, errors in zip(RATES, mean, error, strict=True):
                cells = (f"{m:.4f} ± {e:.4f}" for m, e in zip(means, errors, strict=True))
                rows.append((name, str(n), f"{rate:g}", *cells))
                print(rows[-1], file=sys.stderr, flush=True)
    return table(
        f"False alarms in {n_runs} new runs of 1,000 rows (mean ± standard error)",
        rows,
        ("plant", "rows of normal operation", "promise", "statistic", "EWMA", "CUSUM"),
    )


def alarm_rates(monitor: mercer.ProcessMonitor, distances: np.ndarray, rate: float) -> list[float]:
    """Return the fractions of alarms of the three charts with the limits of a promise."""
    calibration = monitor._calibrate(rate)
    scores = calibration.score(distances)
    charts = {
        "statistic": scores,
        "ewma": ewma(scores, calibration.smoothing),
        "cusum": cusum(scores, calibration.allowance),
    }
    return [float((chart > calibration.limits[c]).mean()) for c, chart in charts.items()]


def throughput(n: int = 200_000, d: int = 30) -> str:
    """Return CPU seconds for scoring rows, with one thread."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    rows = []
    for kernel in ("auto", "linear"):
        for n_lags in (0, 2):
            monitor = mercer.ProcessMonitor(n_lags=n_lags, kernel=kernel).fit(X[:3000])
            begin = time.process_time()
            stream = monitor.stream()
            for first in range(0, n, 20_000):
                stream.update(X[first : first + 20_000])
            seconds = (time.process_time() - begin) / n * 1e6
            rows.append((kernel, str(n_lags), f"{seconds:.1f}"))
    return table(
        f"CPU seconds per 10⁶ × {d} rows scored, in batches of 20,000",
        rows,
        ("kernel", "lags", "seconds"),
    )
