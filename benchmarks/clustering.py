"""Entropy clustering: the sweep over bandwidths, many points, memory."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from scipy.linalg import eigh
from sklearn.cluster import SpectralClustering

from benchmarks.large_samples import clouds, million
from benchmarks.measure import best_times, extra_peak, table
from benchmarks.solvers import seconds
from mercer import EntropyClustering
from mercer.bandwidth import median_distance
from mercer.kernels import Gaussian
from papers.data import load_pendigits


def pen_digits() -> np.ndarray:
    X, y = load_pendigits(subset="test", return_X_y=True)
    X = X[np.isin(y, [0, 1, 2])]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def sweep(X: np.ndarray) -> EntropyClustering:
    return EntropyClustering(3, bandwidths=80).fit(X)


def full_decompositions(X: np.ndarray) -> None:
    """Compute all eigenpairs of K at each bandwidth, as in the paper."""
    for bandwidth in np.linspace(0.1, 0.2, 80) * median_distance(X):
        eigh(Gaussian(bandwidth)(X))


def sweep_times() -> str:
    X = pen_digits()
    times = best_times(
        {"sweep": lambda: sweep(X), "decompositions": lambda: full_decompositions(X)}, rounds=2
    )
    rows = [
        (
            "80 bandwidths, 1091 × 16",
            seconds(times["sweep"]),
            seconds(times["decompositions"]),
            f"{times['sweep'] / times['decompositions']:.2f}",
        )
    ]
    header = ("Pen digits 0, 1, 2", "EntropyClustering", "80 full decompositions", "ratio")
    return table("The sweep over bandwidths", rows, header)


def cluster_plane(X: np.ndarray) -> None:
    EntropyClustering(3).fit(X)


def twenty_thousand() -> np.ndarray:
    return clouds(20_000, 10)


def many_points() -> str:
    X, few = million(), clouds(5000)
    width = Gaussian("silverman")
    times = best_times(
        {
            "swept": lambda: cluster_plane(X),
            "given": lambda: EntropyClustering(3, kernel=width).fit(X),
            "peer": lambda: SpectralClustering(3, random_state=0).fit(few),
        },
        rounds=2,
    )
    rows = [
        (name, seconds(times[key]), f"{times[key] / times['peer']:.2f}")
        for name, key in [
            ("EntropyClustering, 10⁶ × 2, bandwidth given by a rule", "given"),
            ("EntropyClustering, 10⁶ × 2, bandwidth swept on 1000 rows", "swept"),
            ("scikit-learn SpectralClustering, 5000 × 2", "peer"),
        ]
    ]
    return table("Many points", rows, ("fit", "time", "relative to SpectralClustering"))


def memory() -> str:
    rows = [
        ("20,000 × 10", f"{extra_peak(__name__, 'twenty_thousand', 'cluster_plane'):.0f} MB"),
        ("10⁶ × 2", f"{extra_peak(__name__, 'million', 'cluster_plane'):.0f} MB"),
    ]
    return table("Peak memory in addition to the data", rows, ("EntropyClustering(3)", "growth"))


def tables() -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for make in (sweep_times, many_points, memory):
            yield make()
