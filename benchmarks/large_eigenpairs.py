"""Certified eigenpairs of 100,000 rows in 16 and 256 columns, next to solvers that store K.

Each fit runs in a process of its own. Memory is the peak of the whole process, including the data.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np

from benchmarks.measure import _status, table

ROWS, PEER_ROWS = 100_000, 10_000
COLUMNS = (16, 256)
HEADER = (
    "rows × columns",
    "solver",
    "passes",
    "wall, CPU",
    "peak memory",
    "residual / λ₁",
    "proven",
)


def clusters(n: int, d: int) -> np.ndarray:
    """Ten Gaussian clusters: centers of standard deviation 1.5 per column, spread 0.4."""
    rng = np.random.default_rng(0)
    centers = rng.normal(0, 1.5, (10, d))
    return centers[rng.integers(0, 10, n)] + rng.normal(0, 0.4, (n, d))


# --- one fit, in a process of its own -------------------------------------------------------------


def measure(name: str, n: int, d: int) -> dict[str, object]:
    """Run one solver; return times, peak memory and what is known about the result."""
    X = clusters(n, d)
    wall, cpu = time.perf_counter(), time.process_time()
    found = SOLVERS[name](X)
    found["wall"] = time.perf_counter() - wall
    found["cpu"] = time.process_time() - cpu
    found["peak"] = _status("VmHWM") / 1e3
    vectors = found.pop("vectors", None)
    if vectors is not None:  # of a peer: its residuals are computed afterwards
        found["residual"] = _residual(X, found.pop("values"), vectors)
    return found


def leading_pairs(X: np.ndarray) -> dict[str, object]:
    """Ten leading pairs of the centered kernel matrix."""
    from mercer import KernelPCA, config_context

    with config_context(copy_X=False):  # the data are in memory once
        return _summary(KernelPCA(10, solver="davidson").fit(X).spectrum_)


def entropy_components(X: np.ndarray) -> dict[str, object]:
    """Three entropy components."""
    from mercer import KernelECA, config_context

    with config_context(copy_X=False):
        return _summary(KernelECA(3, solver="davidson").fit(X).spectrum_)


def _summary(spectrum) -> dict[str, object]:
    values, bounds = spectrum.eigenvalues, spectrum.eigenvalue_bounds
    angles = spectrum.angle_bounds
    known = np.isfinite(angles)
    return {
        "passes": spectrum.passes,
        "residual": float(spectrum.residuals.max() / values.max()),
        "certified": spectrum.certified,
        "certificate": spectrum.certificate,
        "interval": float((bounds[known, 1] - bounds[known, 0]).max() / values.max()),
        "vectors_proven": int(known.sum()),
        "sine": float(angles[known].max()),
        "count": len(values),
    }


def randomized(X: np.ndarray) -> dict[str, object]:
    """scikit-learn's randomized solver, which stores K."""
    from sklearn.decomposition import KernelPCA

    pca = KernelPCA(
        10, kernel="rbf", gamma=_gamma(X), eigen_solver="randomized", random_state=0
    ).fit(X)
    return {"values": pca.eigenvalues_, "vectors": pca.eigenvectors_}


def arpack(X: np.ndarray) -> dict[str, object]:
    """Call eigsh of scipy with the stored and centered K."""
    from scipy.sparse.linalg import eigsh

    values, vectors = eigsh(_centered_gram(X), 10, which="LA", tol=1e-6)
    return {"values": values, "vectors": vectors}


SOLVERS = {
    "KernelPCA(10, solver='davidson')": leading_pairs,
    "KernelECA(3, solver='davidson')": entropy_components,
    "scikit-learn KernelPCA(10, eigen_solver='randomized')": randomized,
    "scipy eigsh, stored K": arpack,
}


def _gamma(X: np.ndarray) -> float:
    from mercer.bandwidth import fit_kernel
    from mercer.kernels import Gaussian

    return 0.5 / float(fit_kernel(Gaussian(), X).bandwidth) ** 2


def _centered_gram(X: np.ndarray) -> np.ndarray:
    from sklearn.metrics.pairwise import rbf_kernel

    K = rbf_kernel(X, gamma=_gamma(X))
    means = K.mean(axis=0)
    K -= means
    K -= (means - means.mean())[:, None]
    return K


def _residual(X: np.ndarray, values: np.ndarray, vectors: np.ndarray) -> float:
    R = _centered_gram(X) @ vectors - vectors * values
    return float(np.linalg.norm(R, axis=0).max() / values.max())


# --- tables ---------------------------------------------------------------------------------------


def run(name: str, n: int, d: int) -> dict[str, object]:
    """Measure in a new process."""
    code = (
        "import json, sys; from benchmarks.large_eigenpairs import measure\n"
        f"print(json.dumps(measure({name!r}, {n}, {d})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def row(name: str, n: int, d: int) -> tuple[str, ...]:
    """Return one row of the table."""
    found = run(name, n, d)
    proven = "nothing"
    if "sine" in found:
        complete = "selection, " if found["certified"] else "residuals, "
        proven = (
            f"{complete}{found['vectors_proven']} of {found['count']} vectors: sine ≤ "
            f"{found['sine']:.0e}, values to {found['interval']:.0e} λ₁"
        )
    print(f"{name}, {n} × {d}: {found}", file=sys.stderr, flush=True)
    return (
        f"{n:,} × {d}",
        f"`{name}`" if "davidson" in name else name,
        str(found.get("passes", "K stored")),
        f"{found['wall']:.0f} s, {found['cpu']:.0f} s",
        f"{found['peak'] / 1e3:.2f} GB",
        f"{found['residual']:.1e}",
        proven,
    )


def tables(size: int = ROWS) -> Iterator[str]:
    """Return the table; ``size`` is the number of rows of the large cases."""
    davidson = [name for name in SOLVERS if "davidson" in name]
    rows = [row(name, size, d) for d in COLUMNS for name in davidson]
    peers = [name for name in SOLVERS if name not in davidson]
    rows += [row(name, min(size, PEER_ROWS), d) for d in COLUMNS for name in [davidson[0], *peers]]
    yield table("Eigenpairs of many rows in many columns", rows, HEADER)


if __name__ == "__main__":
    print(*tables(int(float(sys.argv[1])) if len(sys.argv) > 1 else ROWS), sep="\n")
