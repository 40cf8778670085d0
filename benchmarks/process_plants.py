"""Simulated plants on which the statistic of ``ProcessMonitor`` was chosen.

    python -m benchmarks.process_plants [plants]

prints the detection rate of kernels and numbers of lags at a false-alarm rate of 1 %, which is set
on a long normal run. The plants have latent variables with linear dynamics, delays, linear or
nonlinear measurements and autocorrelated noise, or are the reactor of ``make_process``.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from scipy.signal import lfilter

import mercer
from benchmarks.measure import table
from mercer.datasets.process import PROCESS_FAULTS, simulate_reactors
from mercer.kernels import Gaussian

FAULTS = (
    *("driver step", "driver variance", "dynamics", "loading"),
    *("sensor variance", "sensor bias", "sensor drift", "freeze"),
)
WARM_UP = 200


def latent_plant(
    seed: int,
    n: int,
    *,
    d: int = 30,
    q: int = 6,
    nonlinear: bool = False,
    fault: str | None = None,
    begin: int = 0,
    run: int = 0,
    size: float = 1.0,
) -> np.ndarray:
    """Return a run of shape (n, d) of a plant with q latent variables.

    Parameters
    ----------
    seed : int
        Of the plant.
    run : int
        Seed of the run of this plant.
    fault : str or None
        One of ``FAULTS``.
    begin : int
        First row with the fault.
    size : float
        Of the fault.
    """
    plant = np.random.default_rng(seed)
    fault_number = 0 if fault is None else 1 + FAULTS.index(fault)
    rng = np.random.default_rng([seed, run, fault_number])
    A = np.diag(plant.uniform(0.5, 0.98, q))
    A = A @ np.linalg.qr(np.eye(q) + 0.1 * plant.normal(size=(q, q)))[0]
    loadings = plant.normal(size=(q, d)) * (plant.random((q, d)) < 0.4)
    curved = plant.normal(size=(q, d)) * (plant.random((q, d)) < 0.3)
    delays = plant.integers(0, 3, d)
    noise_scale = plant.uniform(0.1, 0.8, d)
    sensor, driver = int(plant.integers(d)), int(plant.integers(q))
    total = n + WARM_UP
    faulty = (np.arange(total) >= begin + WARM_UP) & (fault is not None)
    spread = np.sqrt(1 - np.diag(A) ** 2).clip(0.1)
    shocks = rng.normal(size=(total, q)) * spread
    if fault == "driver step":
        shocks[faulty, driver] += 0.5 * size * spread[driver]
    if fault == "driver variance":
        shocks[faulty, driver] *= 1 + size
    z = np.zeros((total, q))
    changed = A * max(0.0, 1 - 0.3 * size)
    for t in range(1, total):
        z[t] = (changed if faulty[t] and fault == "dynamics" else A) @ z[t - 1] + shocks[t]

    def measure(weights: np.ndarray) -> np.ndarray:
        bent = 1.2 * (np.tanh(z) ** 2 - 0.5) @ curved if nonlinear else 0.0
        return z @ weights + bent

    y = measure(loadings)
    if fault == "loading":
        other = loadings.copy()
        other[:, sensor] = np.roll(loadings[:, sensor], 1)
        y = np.where(faulty[:, None], measure(other), y)
    scale = y.std(axis=0).clip(0.3)
    noise = lfilter([1.0], [1.0, -0.3], rng.normal(size=(total, d)), axis=0)
    noise *= np.sqrt(1 - 0.09) * noise_scale * scale
    if fault == "sensor variance":
        noise[faulty, sensor] *= 1 + 1.5 * size
    rows = np.column_stack([np.roll(y[:, j], delays[j]) for j in range(d)]) + noise
    if fault == "sensor bias":
        rows[faulty, sensor] += 1.2 * size * scale[sensor]
    if fault == "sensor drift":
        ramp = (np.arange(total)[faulty] - begin - WARM_UP) / max(1, n - begin)
        rows[faulty, sensor] += 2 * size * scale[sensor] * ramp
    if fault == "freeze":
        rows[faulty, sensor] = rows[begin + WARM_UP - 1, sensor]
    return rows[WARM_UP:]


def independent_rows(seed: int, n: int, *, d: int = 8, run: int = 0) -> np.ndarray:
    """Return independent normal rows with a random covariance."""
    mixing = np.random.default_rng(seed).normal(size=(d, d))
    return np.random.default_rng([seed, run]).normal(size=(n, d)) @ mixing


def plant_runs(kind: str, seed: int, begin: int = 100) -> tuple:
    """Return normal operation, a long normal run, and faulty runs of a plant."""
    if kind == "reactor":
        rng = np.random.default_rng(seed)
        normal, long = (simulate_reactors(n, 1, rng)[0] for n in (600, 3000))
        faulty = [simulate_reactors(500, 1, rng, fault, begin)[0] for fault in PROCESS_FAULTS]
        return normal, long, faulty
    given = {
        "d": (15, 40)[seed % 2],
        "nonlinear": kind == "nonlinear",
        "size": (1.5, 3.0)[seed // 2 % 2],
    }
    faulty = [latent_plant(seed, 500, fault=f, begin=begin, run=2, **given) for f in FAULTS]
    return latent_plant(seed, 600, **given), latent_plant(seed, 3000, run=1, **given), faulty


def main(n_plants: int = 4, begin: int = 100) -> None:
    """Print mean detection rates per family of plants."""
    warnings.simplefilter("ignore")
    rates: dict[tuple, dict[str, list[float]]] = {}
    for kind in ("reactor", "linear", "nonlinear"):
        for seed in range(1000, 1000 + n_plants):
            normal, long, faulty = plant_runs(kind, seed, begin)
            for n_lags in (0, 1, 2, 3, 5, "auto"):
                for label, kernel in kernels(normal.shape[1]).items():
                    monitor = mercer.ProcessMonitor(n_lags=n_lags, kernel=kernel).fit(normal)
                    reference = monitor.monitor(long)
                    runs = [monitor.monitor(X) for X in faulty]
                    for chart in ("statistic", "ewma", "cusum"):
                        limit = reference[chart].iloc[50:].quantile(0.99)
                        found = [(run[chart].iloc[begin:] > limit).mean() for run in runs]
                        key = label, str(n_lags), chart
                        rates.setdefault(key, {}).setdefault(kind, []).append(np.mean(found))
    rows = []
    for (label, n_lags, chart), found in rates.items():
        means = [float(np.mean(found[kind])) for kind in ("reactor", "linear", "nonlinear")]
        rows.append((label, n_lags, chart, *(f"{m:.3f}" for m in means), f"{np.mean(means):.3f}"))
    rows.sort(key=lambda row: -float(row[-1]))
    print(
        table(
            f"Detection rate of faults of {n_plants} plants per family at 1 % false alarms",
            rows,
            ("kernel", "lags", "chart", "reactor", "linear", "nonlinear", "mean"),
        )
    )


def kernels(d: int) -> dict:
    """Return the kernels that are compared."""
    return {"auto": "auto", "linear": "linear", "Gaussian": Gaussian("auto")}


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
