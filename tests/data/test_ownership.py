"""Models of Dask arrays do not change with the caller's array or kernel after ``fit``."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from mercer import (
    EntropyClustering,
    KernelECA,
    KernelNovelty,
    KernelPCA,
    MercerMixture,
    ParzenDensity,
)
from mercer.kernels import Gaussian, Laplacian

da = pytest.importorskip("dask.array")

CASES = {
    "Fourier features": (KernelECA(2, kernel=Gaussian(1.0)), "transform"),
    "landmarks": (KernelPCA(2, kernel=Laplacian(1.0)), "transform"),
    "density on a grid": (ParzenDensity(kernel=Gaussian(1.0)), "score_samples"),
    "density by sums": (ParzenDensity(kernel=Laplacian(1.0)), "score_samples"),
    "clusters": (EntropyClustering(2, kernel=Gaussian(1.0)), "predict"),
    "novelty": (KernelNovelty(Gaussian(1.0)), "score_samples"),
    "mixture": (MercerMixture(kernel=Gaussian(1.0), rank=3), "score_samples"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::UserWarning")  # of approximations
def test_changes_after_fit_have_no_effect(name):
    model, method = clone(CASES[name][0]), CASES[name][1]
    rng = np.random.default_rng(0)
    X, weights, new = rng.normal(size=(300, 2)), np.full(300, 2.0), rng.normal(size=(5, 2))
    model.fit(da.from_array(X, chunks=100), sample_weight=da.from_array(weights, chunks=100))
    before = np.asarray(getattr(model, method)(new))
    X *= 10
    weights[::2] = 0
    model.kernel.bandwidth = 7.0
    assert_array_equal(np.asarray(getattr(model, method)(new)), before)
