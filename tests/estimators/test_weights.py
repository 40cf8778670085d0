"""Sample weights of every estimator: scalars, and totals below 1."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import (
    ComponentClassifier,
    ComponentRegressor,
    EntropyClustering,
    JointMixtureClassifier,
    JointMixtureRegressor,
    KernelDenoiser,
    KernelECA,
    KernelLDA,
    KernelPCA,
    MaximumEntropyProjection,
    MercerMixture,
    MercerNovelty,
    OrthogonalSeries,
    ParzenDensity,
    SeriesDensity,
)
from mercer.kernels import Gaussian

pytestmark = pytest.mark.filterwarnings("ignore")
KERNEL = Gaussian(1.0)
MODELS = [
    (ComponentClassifier(2, kernel=KERNEL), "predict"),
    (ComponentRegressor(2, kernel=KERNEL), "predict"),
    (EntropyClustering(2, kernel=KERNEL), "predict"),
    (JointMixtureClassifier(kernel=KERNEL, alpha=1.0), "predict_proba"),
    (JointMixtureRegressor(kernel=KERNEL, alpha=1.0), "predict"),
    (KernelDenoiser(2, kernel=KERNEL), "transform"),
    (KernelECA(2, kernel=KERNEL), "transform"),
    (KernelLDA(kernel=KERNEL), "transform"),
    (KernelPCA(2, kernel=KERNEL), "transform"),
    (MaximumEntropyProjection(random_state=0), "transform"),
    (MercerMixture(kernel=KERNEL), "score_samples"),
    (MercerNovelty(kernel=KERNEL), "score_samples"),
    (OrthogonalSeries(), "score_samples"),
    (ParzenDensity(kernel=KERNEL), "score_samples"),
    (ParzenDensity(kernel=KERNEL, weights="learned"), "score_samples"),
    (SeriesDensity(kernel=KERNEL), "score_samples"),
]


@pytest.fixture
def X(rng):
    return 3.0 * rng.integers(2, size=(60, 1)) + rng.normal(size=(60, 2))


@pytest.mark.parametrize(("model", "method"), MODELS, ids=lambda value: str(value)[:32])
def test_scalar_weight_equals_a_constant_column(model, method, X):
    y = (X[:, 0] > 1.5).astype(int)
    expected = getattr(model.fit(X, y, sample_weight=np.full(60, 2.0)), method)(X)
    assert_array_equal(getattr(model.fit(X, y, sample_weight=2.0), method)(X), expected)


@pytest.mark.parametrize("weights", [None, "learned"])
def test_support_of_a_parzen_density_with_weights(X, weights):
    w = np.where(np.arange(60) % 3 == 0, 0.0, 2.0)
    density = ParzenDensity(kernel=KERNEL, weights=weights).fit(X, sample_weight=w)
    assert (w[density.support_] > 0).all()
    alone = ParzenDensity(kernel=KERNEL, weights=weights).fit(X[w > 0])
    assert_array_equal(density.support_, np.flatnonzero(w)[alone.support_])
    scalar = ParzenDensity(kernel=KERNEL, weights=weights).fit(X, sample_weight=2.0)
    plain = ParzenDensity(kernel=KERNEL, weights=weights).fit(X)
    assert_array_equal(scalar.support_, plain.support_)


def test_rank_of_novelty_does_not_depend_on_the_scale_of_small_weights(X):
    assert MercerNovelty(kernel=KERNEL).fit(X).rank_ == 6
    small = MercerNovelty(kernel=KERNEL).fit(X, sample_weight=np.full(60, 1 / 60))
    assert small.rank_ == 6


def test_integer_weights_of_novelty_equal_repeated_rows(X, rng):
    weights = rng.integers(0, 4, size=60)
    weighted = MercerNovelty(kernel=KERNEL).fit(X, sample_weight=weights)
    repeated = MercerNovelty(kernel=KERNEL).fit(np.repeat(X, weights, axis=0))
    assert weighted.rank_ == repeated.rank_
    assert_allclose(weighted.offset_, repeated.offset_, rtol=1e-8)
