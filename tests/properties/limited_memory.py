"""Run requests with limited address space and print the results; used by ``test_limits.py``.

python -m tests.properties.limited_memory MEGABYTES
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np

from mercer import (
    EntropyClustering,
    KernelECA,
    KernelLDA,
    KernelPCA,
    MercerMixture,
    ParzenDensity,
    SeriesDensity,
)
from mercer.information import information_potential, matrix_renyi_entropy
from mercer.kernels import Gaussian, Laplacian
from mercer.solvers import Fourier, Lanczos, Nystrom
from mercer.utils.resources import free_memory

kernel = Gaussian(1.0)


def points(n, d=4):
    return np.random.default_rng(0).normal(size=(n, d))


REJECTED = {
    "dense": lambda: KernelECA(2, kernel=kernel, solver="dense").fit(points(20_000)),
    "all components": lambda: KernelPCA(None, kernel=kernel, solver="dense").fit(points(20_000)),
    "stored": lambda: KernelECA(2, kernel=kernel, solver=Lanczos(stored=True)).fit(points(20_000)),
    "landmarks": lambda: KernelPCA(2, kernel=kernel, solver=Nystrom(6000)).fit(points(50_000)),
    "grid": lambda: KernelPCA(2, kernel=Gaussian(1e-4), solver=Fourier()).fit(points(5000, 2)),
    "precomputed": lambda: KernelPCA(2, kernel="precomputed", solver="dense").fit(gram(3000)),
    "reconstruction": lambda: landmarks(50, 20_000).spectrum_.gram(),
}
ACCEPTED = {
    "automatic": lambda: KernelECA(2, kernel=kernel).fit(points(4500)),
    "automatic variance": lambda: KernelPCA(2, kernel=Laplacian(2.0)).fit(points(3000)),
    "few landmarks": lambda: landmarks(200, 100_000),
    "automatic precomputed": lambda: KernelPCA(2, kernel="precomputed").fit(gram(3000)),
    "predictions": lambda: KernelPCA(2, kernel=kernel).fit(points(500)).transform(points(300_000)),
    "densities": lambda: ParzenDensity(kernel=kernel).fit(points(500)).pdf(points(200_000)),
    "clustering": lambda: EntropyClustering(2, kernel=kernel).fit(points(3500)),
    "series": lambda: SeriesDensity(kernel=kernel, terms=3).fit(points(3500)),
    "discriminants": lambda: KernelLDA(kernel=kernel, rank=20).fit(
        points(3000), points(3000)[:, 0] > 0
    ),
    "mixture": lambda: MercerMixture(kernel=kernel, rank=5).fit(points(3000)),
    "potential": lambda: information_potential(points(12_000), kernel),
    "matrix entropy": lambda: matrix_renyi_entropy(points(3000), kernel, alpha=2),
}


def gram(n):
    return kernel(points(n))


def landmarks(count, n):
    return KernelPCA(2, kernel=kernel, solver=Nystrom(count)).fit(points(n))


def limit_address_space(megabytes):
    """Limit the address space to its current size plus ``megabytes``."""
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    KernelECA(2, kernel=kernel).fit(points(1000)).transform(points(1000))  # lazy imports
    limit_address_space(int(sys.argv[1]))
    print(json.dumps(["free memory", free_memory()]))
    for name, request in (REJECTED | ACCEPTED).items():
        try:
            request()
            outcome = "finished"
        except Exception as error:
            outcome = f"{type(error).__name__}: {error}"
        print(json.dumps([name, outcome]), flush=True)
