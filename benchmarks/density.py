"""Densities: cost and gain of learned weights, speed."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec

import numpy as np
from scipy.stats import gaussian_kde
from sklearn.neighbors import KernelDensity

from benchmarks.large_samples import clouds
from benchmarks.measure import best_times, table
from mercer import ParzenDensity, SeriesDensity
from mercer.bandwidth import silverman
from mercer.datasets import make_clusters
from mercer.kernels import Gaussian


def learned_weights() -> str:
    rows = []
    for n in (300, 1000, 3000):
        X, _ = make_clusters((n // 3,) * 3, spread=0.3, random_state=0)
        Y, _ = make_clusters((3000,) * 3, spread=0.3, random_state=1)
        plain = ParzenDensity(kernel=Gaussian("leave-one-out")).fit(X)
        learned = ParzenDensity(kernel=plain.kernel_, weights="learned").fit(X)
        times = best_times(
            {
                "plain": partial(plain.score_samples, Y),
                "learned": partial(learned.score_samples, Y),
            }
        )
        rows.append(
            (
                f"n={n}",
                f"{len(learned.support_)}",
                f"{plain.score(Y):.4f}",
                f"{learned.score(Y):.4f}",
                f"{times['plain'] / times['learned']:.1f}×",
            )
        )
    return table(
        "Learned weights: kernels with positive weight, held-out log density, evaluation",
        rows,
        ("sample", "kernels with positive weight", "equal", "learned", "speedup of evaluation"),
    )


MAX_SECONDS = 60.0  # per run of another library
MILLION = 10**6


def _seconds(run: Callable[[], object]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def _extrapolated_time(run: Callable[[np.ndarray, np.ndarray], object]) -> tuple[float, int]:
    """Extrapolate the time for a million points at a million others; return it and the largest n.

    The sample size doubles as long as a run is expected to take at most MAX_SECONDS. The time of
    the other libraries is proportional to the number of pairs, or slightly less for a tree.
    """
    n, spent, steps = 1000, 0.0, []
    while True:
        X, Y = clouds(n), clouds(n)[::-1].copy()
        spent = _seconds(lambda X=X, Y=Y: run(X, Y))
        steps.append((n, spent))
        growth = 4.0 if len(steps) < 2 else max(steps[-1][1] / steps[-2][1], 1.0)
        if spent * growth > MAX_SECONDS or n >= MILLION:
            break
        n *= 2
    (small, before), (large, after) = steps[-2:]
    power = np.log(after / before) / np.log(large / small)
    return after * (MILLION / large) ** power, large


def speed() -> str:
    X, Y = clouds(MILLION), clouds(MILLION)[::-1].copy() + 1e-3
    width = silverman(X)

    def million() -> np.ndarray:
        return ParzenDensity(kernel=Gaussian(width)).fit(X).score_samples(Y)

    mine = min(_seconds(million) for _ in range(3))
    rows = [("ParzenDensity", f"{mine:.2f} s", "1", "measured")]
    for name, run in {
        "scikit-learn KernelDensity (rtol 1e-6)": lambda A, B: (
            KernelDensity(bandwidth=silverman(A), rtol=1e-6).fit(A).score_samples(B)
        ),
        "scipy gaussian_kde": lambda A, B: gaussian_kde(A.T).logpdf(B.T),
    }.items():
        expected, largest = _extrapolated_time(run)
        note = f"extrapolated from n = {largest}"
        rows.append((name, f"{expected:.0f} s", f"{expected / mine:.0f}×", note))
    if find_spec("KDEpy"):
        from KDEpy import FFTKDE

        fft = min(_seconds(lambda: FFTKDE(bw=width).fit(X).evaluate((512, 512))) for _ in range(3))
        rows.append(
            ("KDEpy FFTKDE, grid 512 × 512", f"{fft:.2f} s", f"{fft / mine:.2f}×", "measured")
        )
    few = SeriesDensity(kernel=Gaussian(width), terms=50, positive=False)
    series = _seconds(lambda: few.fit(X).pdf(Y))
    rows.append(("SeriesDensity, 50 terms", f"{series:.1f} s", f"{series / mine:.1f}×", "measured"))
    return table(
        "A million points at a million others, two columns, fit and evaluation",
        rows,
        ("density", "time", "relative to ParzenDensity", ""),
    )


def accuracy() -> str:
    """Return the largest relative error of the fast sum at 200 points, by direct summation."""
    X = clouds(MILLION)
    Y = clouds(MILLION)[:: MILLION // 200]
    kernel = Gaussian(silverman(X))
    fast = ParzenDensity(kernel=kernel).fit(X).pdf(Y)
    exact = np.array([kernel(Y[i : i + 1], X).mean() for i in range(len(Y))]) / kernel.normalizer(2)
    worst = np.abs(fast / exact - 1).max()
    rows = [("ParzenDensity, 10⁶ points", f"{worst:.1e}")]
    return table("Accuracy of the fast sum", rows, ("density", "largest relative error"))


def tables() -> Iterator[str]:
    """Yield all tables of this module."""
    for make in (speed, accuracy, learned_weights):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield make()
