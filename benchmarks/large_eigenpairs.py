"""Certified eigenpairs of 100,000 rows in 16 and 256 columns, next to other solvers.

Each fit runs in a process of its own that uses all cores. Memory is the peak of the whole process,
including the data. Other solvers get 10,000 rows, where K can be stored; KeOps and ncut_pytorch are
optional.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.measure import _status, in_new_process, table
from mercer.utils.pairwise import row_ranges

ROWS, PEER_ROWS = 100_000, 10_000
COLUMNS = (16, 256)
HEADER = (
    "rows × columns",
    "solver",
    "passes",
    "wall, CPU",
    "peak memory",
    "residual / λ₁",
    "error of eigenvalues / λ₁",
    "proven",
)


def clusters(n: int, d: int) -> np.ndarray:
    """Ten Gaussian clusters: centers of standard deviation 1.5 per column, spread 0.4."""
    rng = np.random.default_rng(0)
    centers = rng.normal(0, 1.5, (10, d))
    labels = rng.integers(0, 10, n)
    X = rng.normal(0, 0.4, (n, d))
    for rows in row_ranges(n, 4096):  # without copies, which would count as peak memory
        X[rows] += centers[labels[rows]]
    return X


# --- one fit, in a process of its own -------------------------------------------------------------


def measure(name: str, n: int, d: int) -> dict[str, Any]:
    """Run one solver; return times, peak memory and what is known about the result."""
    X = clusters(n, d)
    wall, cpu = time.perf_counter(), time.process_time()
    found = SOLVERS[name](X)
    found["wall"] = time.perf_counter() - wall
    found["cpu"] = time.process_time() - cpu
    found["peak"] = _status("VmHWM") / 1e3
    vectors = found.pop("vectors", None)
    if vectors is not None:  # of a peer: its residuals are computed afterwards
        values = np.asarray(found["values"])
        gram = _normalized_gram(X) if "normalized" in found else _centered_gram(X)
        vectors = vectors / np.linalg.norm(vectors, axis=0)
        residuals = np.linalg.norm(gram @ vectors - vectors * values, axis=0)
        found["residual"] = float(residuals.max() / values.max())
        found["values"] = sorted(values.tolist(), reverse=True)
    return found


def leading_pairs(X: np.ndarray) -> dict[str, Any]:
    """Ten leading pairs of the centered kernel matrix."""
    from mercer import KernelPCA, config_context

    with config_context(copy_X=False):  # the data are in memory once
        return _summary(KernelPCA(10, solver="davidson").fit(X).spectrum_)


def entropy_components(X: np.ndarray) -> dict[str, Any]:
    """Three entropy components."""
    from mercer import KernelECA, config_context

    with config_context(copy_X=False):
        return _summary(KernelECA(3, solver="davidson").fit(X).spectrum_)


def _summary(spectrum) -> dict[str, Any]:
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
        "values": values.tolist(),
    }


def randomized(X: np.ndarray) -> dict[str, Any]:
    """scikit-learn's randomized solver, which stores K."""
    from sklearn.decomposition import KernelPCA

    pca = KernelPCA(
        10, kernel="rbf", gamma=_gamma(X), eigen_solver="randomized", random_state=0
    ).fit(X)
    return {"values": pca.eigenvalues_, "vectors": pca.eigenvectors_}


def arpack(X: np.ndarray) -> dict[str, Any]:
    """Call eigsh of scipy with the stored and centered K."""
    from scipy.sparse.linalg import eigsh

    values, vectors = eigsh(_centered_gram(X), 10, which="LA", tol=1e-6)
    return {"values": values, "vectors": vectors}


def keops(X: np.ndarray) -> dict[str, Any]:
    """Call eigsh of scipy with products of KeOps, compiled for this CPU."""
    from pykeops.numpy import LazyTensor
    from scipy.sparse.linalg import LinearOperator, eigsh

    scaled = X * np.sqrt(2 * _gamma(X))
    x, y = LazyTensor(scaled[:, None, :]), LazyTensor(scaled[None, :, :])
    K = (-((x - y) ** 2).sum(-1) / 2).exp()
    n = len(X)
    K @ np.ones((n, 1))  # compiles

    def product(v: np.ndarray) -> np.ndarray:
        w = K @ np.ascontiguousarray(v.reshape(n, 1) - v.mean())
        return w[:, 0] - w.mean()

    A = LinearOperator((n, n), matvec=product, dtype=np.float64)
    begin, cpu = time.perf_counter(), time.process_time()
    values, vectors = eigsh(A, 10, which="LA", tol=1e-6)
    solve = {"wall": time.perf_counter() - begin, "cpu": time.process_time() - cpu}
    return {"values": values, "vectors": vectors, "solve": solve}


def ncut(X: np.ndarray) -> dict[str, Any]:
    """Call ncut_pytorch: pairs of ``D^-½ K D^-½``, extended from sampled rows, in float32."""
    import torch
    from ncut_pytorch import ncut_fn

    gamma = _gamma(X)

    def affinity(A: Any, B: Any = None, sigma: float = 1.0) -> Any:
        return torch.exp(-gamma * torch.cdist(A, A if B is None else B) ** 2)

    points = torch.tensor(X, dtype=torch.float32)
    vectors, values = ncut_fn(
        points, n_eig=10, affinity_fn=affinity, sigma=1.0, device="cpu", make_orthogonal=True
    )
    return {"values": values.numpy(), "vectors": vectors.numpy(), "normalized": True}


SOLVERS = {
    "KernelPCA(10, solver='davidson')": leading_pairs,
    "KernelECA(3, solver='davidson')": entropy_components,
    "scikit-learn KernelPCA(10, eigen_solver='randomized')": randomized,
    "scipy eigsh, stored K": arpack,
    "scipy eigsh, KeOps products": keops,
    "ncut_pytorch, normalized K": ncut,
}
OPTIONAL = {
    "scipy eigsh, KeOps products": "pykeops",
    "ncut_pytorch, normalized K": "ncut_pytorch",
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


def _normalized_gram(X: np.ndarray) -> np.ndarray:
    from sklearn.metrics.pairwise import rbf_kernel

    K = rbf_kernel(X, gamma=_gamma(X))
    roots = np.sqrt(K.sum(axis=0))
    K /= roots
    K /= roots[:, None]
    return K


# --- tables ---------------------------------------------------------------------------------------


def row(
    name: str, n: int, d: int, exact: list[float] | None = None
) -> tuple[tuple[str, ...], list[float]]:
    """Return one row of the table and the eigenvalues; ``exact`` are those that are certified."""
    found = in_new_process("benchmarks.large_eigenpairs", f"measure({name!r}, {n}, {d})")
    proven = "nothing"
    if "sine" in found:
        complete = "selection, " if found["certified"] else "residuals, "
        proven = (
            f"{complete}{found['vectors_proven']} of {found['count']} vectors: sine ≤ "
            f"{found['sine']:.0e}, values to {found['interval']:.0e} λ₁"
        )
    print(f"{name}, {n} × {d}: {found}", file=sys.stderr, flush=True)
    times = found.get("solve", found)  # without the compilation
    error = ""
    if exact is not None and "normalized" not in found:
        error = f"{np.abs(np.subtract(found['values'], exact)).max() / exact[0]:.0e}"
    entry = (
        f"{n:,} × {d}",
        f"`{name}`" if "davidson" in name else name,
        str(found.get("passes", "")),
        f"{times['wall']:.0f} s, {times['cpu']:.0f} s",
        f"{found['peak'] / 1e3:.2f} GB",
        f"{found['residual']:.1e}",
        error,
        proven,
    )
    return entry, found["values"]


def tables(size: int = ROWS) -> Iterator[str]:
    """Return the table; ``size`` is the number of rows of the large cases."""
    certified = [name for name in SOLVERS if "davidson" in name]
    rows = [row(name, size, d)[0] for d in COLUMNS for name in certified]
    small = min(size, PEER_ROWS)
    for d in COLUMNS:
        entry, exact = row(certified[0], small, d)
        rows.append(entry)
        for name in SOLVERS:
            package = OPTIONAL.get(name)
            if package is not None and find_spec(package) is None:
                print(f"{name}: skipped, {package} is not installed", file=sys.stderr, flush=True)
            elif name not in certified:
                rows.append(row(name, small, d, exact)[0])
    yield table("Eigenpairs of many rows in many columns", rows, HEADER)


if __name__ == "__main__":
    print(*tables(int(float(sys.argv[1])) if len(sys.argv) > 1 else ROWS), sep="\n")
