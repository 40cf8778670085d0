"""Values that the mathematics fixes exactly, or bounds, hold in floating point too."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mercer import KernelPCA
from mercer.cluster.diagnostics import clustering_error
from mercer.information import (
    cauchy_schwarz_divergence,
    entropy_terms,
    feature_variance,
    information_potential,
    matrix_renyi_entropy,
    renyi_entropy,
    vendi_score,
)
from mercer.kernels import (
    Categorical,
    Cosine,
    Epanechnikov,
    Gaussian,
    Hamming,
    Jaccard,
    Laplacian,
    Matern,
    MinMax,
    NGram,
)
from mercer.supervised.scatter import ClassMoments, LeaveOneOutScore
from tests.properties.estimator_cases import CASES, targets
from tests.properties.strategies import Examples, fit_or_skip, property_test, samples

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
EPS = np.finfo(float).eps
seeds = st.integers(0, 2**32 - 1)
offsets = st.sampled_from([0.0, 1.0, 1e3, 1e6])

NORMALIZED = {
    "gaussian": Gaussian(0.7),
    "gaussian per column": Gaussian(np.array([0.5, 1.0, 2.0])),
    "laplacian": Laplacian(0.7),
    "matern": Matern(0.7),
    "matern 0.8": Matern(0.7, 0.8),
    "epanechnikov": Epanechnikov(2.0),
    "cosine": Cosine(),
    "min-max": MinMax(),
    "convex sum": 0.5 * Gaussian(0.7) + 0.5 * Matern(1.0),
    "product": Gaussian(0.7) * Laplacian(1.0),
}


def three_columns(sample, offset=0.0):
    return np.abs(np.resize(sample.X, (len(sample.X), 3))) + 0.1 + offset


@pytest.mark.parametrize("name", NORMALIZED)
@property_test
@given(sample=samples(least=2), offset=offsets, double=st.booleans())
def test_normalized_kernels(name, sample, offset, double):
    """k(x, x) is exactly 1, and no value exceeds 1."""
    kernel, X = NORMALIZED[name], three_columns(sample, offset)
    X = X if double else X.astype(np.float32)
    own, cross = kernel(X), kernel(X, X.copy())
    assert_array_equal(own.diagonal(), 1)
    assert_array_equal(kernel.diagonal(X), 1)
    assert own.max() <= 1
    assert cross.max() <= 1
    assert own.min() >= 0
    assert_array_equal(kernel.tiles(X)(slice(1, 2), slice(1, 2), None), 1)
    Examples.count += 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("nu", [0.5, 0.8, 1.5, 2.5, 3.5])
def test_matern_kernels_of_close_points_do_not_exceed_1(nu, dtype):
    """(1 + r) exp(-r) is 1 up to rounding error here."""
    r = np.logspace(-12, -1, 2001).astype(dtype)[:, None]
    assert Matern(1.0, nu)(r, np.zeros((1, 1), dtype)).max() <= 1


def test_cosine_of_opposite_and_zero_rows():
    X = np.array([[1.0, 2.0, 3.0], [-3.0, -6.0, -9.0], [0.0, 0.0, 0.0]]) / 7
    K = Cosine()(X)
    assert_array_equal(K.diagonal(), [1, 1, 0])
    assert_allclose(K[0], [1, -1, 0], rtol=4 * EPS)
    assert K.min() >= -1


@property_test
@given(seed=seeds)
def test_kernels_of_objects(seed):
    rng = np.random.default_rng(seed)
    words = ["".join(rng.choice(list("abc"), rng.integers(1, 9))) for _ in range(8)]
    sets = [set(word) for word in words]
    codes = rng.integers(0, 3, size=(8, 4))
    for kernel, X in [
        (NGram(2, normalize=True), words),
        (Jaccard(), sets),
        (Hamming(0.5), codes),
        (Categorical(0.3), codes[:, 0]),
    ]:
        K = kernel(X)
        assert_allclose(K.diagonal(), 1, rtol=4 * EPS)
        assert_array_equal(kernel.diagonal(X), 1)
        assert K.min() >= 0
        assert K.max() <= 1 + 4 * EPS
    Examples.count += 1


@property_test
@given(sample=samples(least=2), seed=seeds, offset=offsets, copies=st.integers(1, 3))
def test_divergences(sample, seed, offset, copies):
    """The divergence of equal samples is 0, and no divergence is negative."""
    rng = np.random.default_rng(seed)
    X, kernel = sample.X + offset, Gaussian(sample.bandwidth)
    again = rng.permutation(np.repeat(X, copies, axis=0))
    assert cauchy_schwarz_divergence(X, X, kernel) == 0
    assert cauchy_schwarz_divergence(X, X.copy(), kernel) == 0
    assert cauchy_schwarz_divergence(X, again, kernel) == 0
    weights = (np.full(len(X), float(copies)), None)
    assert cauchy_schwarz_divergence(X, again, kernel, sample_weight=weights) == 0
    assert cauchy_schwarz_divergence(X.astype(np.float32), again.astype(np.float32), kernel) == 0
    assert cauchy_schwarz_divergence(X, sample.new + offset, kernel) >= 0
    assert cauchy_schwarz_divergence(X, X + 1e-3 * sample.bandwidth, kernel) >= 0
    Examples.count += 1


def test_divergence_of_equal_large_samples():
    """Sums by Fourier features have an error of 1e-10; sums over pairs are rounded."""
    rng = np.random.default_rng(0)
    for X in (rng.normal(size=(5000, 1)), rng.normal(size=(3000, 5))):
        assert cauchy_schwarz_divergence(X, rng.permutation(X), Gaussian(0.5)) == 0
        assert cauchy_schwarz_divergence(X, X + 0.1, Gaussian(0.5)) > 1e-4


@property_test
@given(sample=samples(), seed=seeds, offset=offsets)
def test_information_measures_are_within_their_bounds(sample, seed, offset):
    rng = np.random.default_rng(seed)
    X, kernel, n = sample.X + offset, Gaussian(sample.bandwidth), len(sample.X)
    weights = [None, rng.exponential(size=n), np.full(n, 1 / n)][seed % 3]
    V = information_potential(X, kernel, sample_weight=weights)
    assert 0 < V <= 1
    assert 0 <= feature_variance(X, kernel, sample_weight=weights) <= 1
    terms = entropy_terms(X, kernel, sample_weight=weights)
    assert (terms >= 0).all()
    assert terms.sum() <= V * (1 + 100 * EPS)
    for order in (0, 0.5, 1, 2, np.inf):
        entropy = matrix_renyi_entropy(X, kernel, order, sample_weight=weights)
        assert 0 <= entropy <= np.log(n) * (1 + 10 * EPS)
        assert 1 <= vendi_score(X, kernel, order, sample_weight=weights) <= n * (1 + 10 * n * EPS)
    Examples.count += 1


@property_test
@given(n=st.integers(1, 20), d=st.integers(1, 5), value=st.floats(-1e6, 1e6), seed=seeds)
def test_one_distinct_point(n, d, value, seed):
    """All measures of copies of a point are exact, with weights up to the rounding of their sum."""
    X, kernel = np.full((n, d), value), Gaussian(0.5)
    assert information_potential(X, kernel) == 1
    assert renyi_entropy(X, kernel) == kernel.log_normalizer(d)
    assert feature_variance(X, kernel) == 0
    assert_allclose(entropy_terms(X, kernel, n_components=1), [1.0], rtol=100 * EPS)
    for order in (0, 0.5, 1, 2, np.inf):
        assert_allclose(matrix_renyi_entropy(X, kernel, order), 0, atol=100 * EPS)
    weights = np.random.default_rng(seed).exponential(size=n)
    V = information_potential(X, kernel, sample_weight=weights)
    assert_allclose(V, 1, rtol=4 * n * EPS)
    assert cauchy_schwarz_divergence(X, X, kernel) == 0
    Examples.count += 1


@pytest.mark.parametrize("case", [case for case in CASES if case.y == "classification"], ids=repr)
@property_test
@given(sample=samples())
def test_probabilities(case, sample):
    y = targets(case, sample.X)
    model = fit_or_skip(case.make(sample.bandwidth), sample.X, y)
    if not hasattr(model, "predict_proba"):
        return
    for X in (sample.X, sample.new, 1e3 + sample.new):
        P = model.predict_proba(X)
        assert (P >= 0).all()
        assert (P <= 1).all()
        assert_allclose(P.sum(axis=1), 1, rtol=10 * EPS)
    Examples.count += 1


@property_test
@given(sample=samples())
def test_ratios_are_between_0_and_1(sample):
    model = fit_or_skip(KernelPCA(2, kernel=Gaussian(sample.bandwidth)), sample.X, None)
    ratios = model.explained_variance_ratio_
    assert (ratios >= 0).all()
    # centering subtracts means of K, whose entries are 1
    assert ratios.sum() <= 1 + 10 * EPS * len(sample.X) / model.spectrum_.trace
    assert (model.reconstruction_error(sample.new) >= 0).all()
    labels = np.arange(len(sample.X)) % 3
    assert clustering_error(labels, labels) == 0
    assert clustering_error(labels, (labels + 1) % 3) == 0
    codes = (np.arange(len(sample.X)) % 2).astype(int)
    moments = ClassMoments.of(sample.X, codes)
    residuals = moments.residuals(sample.X, codes)
    score = LeaveOneOutScore.of(residuals, codes, None, moments, 0.1)
    assert 0 <= score.error <= 1
    assert 0 <= score.confidence <= 1
    assert score.log_probability >= -np.log(2) - 0.1  # close to that of the priors or better
    Examples.count += 1
