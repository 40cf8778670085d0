"""Fourier features with and without finufft: CPU time of one thread, and memory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import numpy as np

from benchmarks.large_samples import clouds, million
from benchmarks.measure import extra_peak, table
from mercer import KernelECA, ParzenDensity, config_context
from mercer.gram import nonuniform_fft as transforms
from mercer.gram.nonuniform_fft import real_series, trigonometric_sums
from mercer.information import information_potential
from mercer.kernels import Gaussian

_ROUNDS = 3
_TOLERANCE = 1e-11


@contextmanager
def without_finufft() -> Iterator[None]:
    before = os.environ.get("MERCER_FINUFFT")
    os.environ["MERCER_FINUFFT"] = "0"
    try:
        yield
    finally:
        del os.environ["MERCER_FINUFFT"]
        if before is not None:
            os.environ["MERCER_FINUFFT"] = before


def cpu_times(functions: Iterable[Callable[[], object]]) -> list[float]:
    """Return the least CPU time of each function; all functions run in every round."""
    functions = list(functions)
    best = [float("inf")] * len(functions)
    for _ in range(_ROUNDS):
        for i, run in enumerate(functions):
            begin = time.process_time()
            run()
            best[i] = min(best[i], time.process_time() - begin)
    return best


# --- transforms -----------------------------------------------------------------------------------

#: Name, columns, points, frequencies per dimension, functions of type 2.
CASES = [
    ("10⁶ × 1, 445 frequencies", 1, 10**6, 445, 10),
    ("10⁶ × 2, 205² frequencies", 2, 10**6, 205, 10),
    ("10⁶ × 2, 901² frequencies", 2, 10**6, 901, 2),
    ("10⁶ × 3, 151³ frequencies", 3, 10**6, 151, 1),
    ("10⁴ × 2, 205² frequencies", 2, 10**4, 205, 10),
]


def transform_rows() -> Iterator[tuple[str, ...]]:
    rng = np.random.default_rng(0)
    for name, d, n, size, k in CASES:
        angles = list(0.6 * rng.normal(size=(d, n)))
        modes = (size,) * d
        weights, out = np.ones(n), np.empty((n, k))
        sums = trigonometric_sums(angles, weights, modes, _TOLERANCE)
        functions = np.repeat(sums[None] / n, k, axis=0)
        times = cpu_times(
            [
                lambda: transforms.fourier_sums(angles, weights, modes, _TOLERANCE),  # noqa: B023
                lambda: trigonometric_sums(angles, weights, modes, _TOLERANCE),  # noqa: B023
                lambda: transforms.fourier_series(functions, angles, _TOLERANCE, out),  # noqa: B023
                lambda: real_series(functions, angles, _TOLERANCE, out=out),  # noqa: B023
            ]
        )
        difference = np.abs(
            transforms.fourier_sums(angles, weights, modes, _TOLERANCE) - sums
        ).max()
        for kind, (fast, own) in (
            ("sums", times[:2]),
            (f"series, {k} function{'s' * (k > 1)}", times[2:]),
        ):
            error = f"{difference / n:.0e}" if kind == "sums" else ""
            yield f"{name}: {kind}", f"{fast:.3f} s", f"{own:.3f} s", f"{own / fast:.1f}", error


# --- estimators -----------------------------------------------------------------------------------


def embed(X: np.ndarray) -> None:
    KernelECA(3).fit_transform(X)


def potential(X: np.ndarray) -> None:
    information_potential(X, Gaussian(0.3))


def density(X: np.ndarray) -> None:
    ParzenDensity(kernel=Gaussian(0.2)).fit(X).score_samples(X)


def embed_without_finufft(X: np.ndarray) -> None:
    with without_finufft():
        embed(X)


def potential_without_finufft(X: np.ndarray) -> None:
    with without_finufft():
        potential(X)


def density_without_finufft(X: np.ndarray) -> None:
    with without_finufft():
        density(X)


ESTIMATORS = {
    "KernelECA(3).fit_transform": (embed, embed_without_finufft),
    "information_potential": (potential, potential_without_finufft),
    "ParzenDensity: fit, and values at the same points": (density, density_without_finufft),
}


def estimator_rows() -> Iterator[tuple[str, ...]]:
    X = clouds(10**6)
    for name, (fast, own) in ESTIMATORS.items():
        times = cpu_times([lambda f=f: f(X) for f in (fast, own)])  # type: ignore[misc]
        memory = [
            extra_peak("benchmarks.nonuniform_fft", million.__name__, f.__name__)
            for f in (fast, own)
        ]
        yield (
            f"{name}, 10⁶ × 2",
            *(f"{t:.2f} s, {m:.0f} MB" for t, m in zip(times, memory, strict=True)),
            f"{times[1] / times[0]:.1f}",
        )


def tables() -> Iterator[str]:
    if not transforms.uses_finufft():
        yield "Nonuniform FFTs: finufft is not installed, so there is nothing to compare with.\n"
        return
    with config_context(threads=1):
        yield table(
            "Nonuniform FFTs with and without finufft, CPU time of one thread, tolerance 1e-11",
            list(transform_rows()),
            ("transform", "finufft", "mercer", "ratio", "largest difference / Σw"),
        )
        yield table(
            "Estimators with and without finufft, CPU time of one thread, additional peak memory",
            list(estimator_rows()),
            ("call", "with finufft", "without", "ratio of times"),
        )
