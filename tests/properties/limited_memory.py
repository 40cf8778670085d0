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


def dense():
    KernelECA(2, kernel=kernel, solver="dense").fit(points(20_000))


def all_components():
    KernelPCA(None, kernel=kernel, solver="dense").fit(points(20_000))


def stored():
    KernelECA(2, kernel=kernel, solver=Lanczos(stored=True)).fit(points(20_000))


def many_landmarks():
    KernelPCA(2, kernel=kernel, solver=Nystrom(6000)).fit(points(50_000))


def fine_grid():
    KernelPCA(2, kernel=Gaussian(1e-4), solver=Fourier()).fit(points(5000, 2))


def precomputed_dense():
    K = kernel(points(3000))
    KernelPCA(2, kernel="precomputed", solver="dense").fit(K)


def reconstruction():
    KernelPCA(2, kernel=kernel, solver=Nystrom(50)).fit(points(20_000)).spectrum_.gram()


def automatic():
    KernelECA(2, kernel=kernel).fit(points(4500))


def automatic_variance():
    KernelPCA(2, kernel=Laplacian(2.0)).fit(points(3000))


def landmarks_of_many_points():
    KernelPCA(2, kernel=kernel, solver=Nystrom(200)).fit(points(100_000))


def precomputed():
    K = kernel(points(3000))
    KernelPCA(2, kernel="precomputed").fit(K)


def prediction_of_many_rows():
    model = KernelPCA(2, kernel=kernel).fit(points(500))
    assert model.transform(points(300_000)).shape == (300_000, 2)


def density_of_many_rows():
    density = ParzenDensity(kernel=kernel).fit(points(500))
    assert np.isfinite(density.score_samples(points(200_000))).all()


def clustering():
    EntropyClustering(2, kernel=kernel).fit(points(3500))


def series():
    SeriesDensity(kernel=kernel, terms=3).fit(points(3500))


def discriminants():
    X = points(3000)
    KernelLDA(kernel=kernel, rank=20).fit(X, X[:, 0] > 0)


def mixture():
    MercerMixture(kernel=kernel, rank=5).fit(points(3000))


def potential():
    information_potential(points(12_000), kernel)


def matrix_entropy():
    matrix_renyi_entropy(points(3000), kernel, alpha=2)


REJECTED = [
    dense,
    all_components,
    stored,
    many_landmarks,
    fine_grid,
    precomputed_dense,
    reconstruction,
]
ACCEPTED = [
    automatic,
    automatic_variance,
    landmarks_of_many_points,
    precomputed,
    prediction_of_many_rows,
    density_of_many_rows,
    clustering,
    series,
    discriminants,
    mixture,
    potential,
    matrix_entropy,
]


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
    for request in REJECTED + ACCEPTED:
        try:
            request()
            outcome = "finished"
        except Exception as error:
            outcome = f"{type(error).__name__}: {error}"
        print(json.dumps([request.__name__, outcome]), flush=True)
