"""Property tests of kernels, bandwidth rules and information measures."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mercer.information import (
    cauchy_schwarz_divergence,
    feature_variance,
    information_potential,
    matrix_renyi_entropy,
    renyi_entropy,
    vendi_score,
)
from mercer.kernels import (
    Cosine,
    Epanechnikov,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    MinMax,
    Polynomial,
    Product,
    Scaled,
    Sigmoid,
    Sum,
)
from mercer.utils.quantiles import weighted_quantile
from tests.properties.bandwidth_cases import ALL_RULES, TOLERANCES
from tests.properties.strategies import MAX_EXAMPLES, Examples, property_test, samples

many_examples = settings(property_test, max_examples=20 * MAX_EXAMPLES)
seeds = st.integers(0, 2**32 - 1)
bandwidths = st.sampled_from([0.3, 1.0, 4.0])

STATIONARY = st.one_of(
    st.builds(Gaussian, bandwidths),
    st.builds(Laplacian, bandwidths),
    st.builds(Matern, bandwidths, st.sampled_from([0.5, 1.5, 2.5, 0.7, np.inf])),
    st.builds(Epanechnikov, bandwidths),
)
LEAVES = st.one_of(
    STATIONARY,
    st.builds(Linear, st.sampled_from([0.5, 2.0]), st.sampled_from([0.0, 1.0])),
    st.builds(Polynomial, st.integers(1, 4), st.sampled_from([0.0, 1.0]), st.just(0.2)),
    st.builds(Sigmoid, st.just(0.5), st.just(0.1)),
    st.just(Cosine()),
)


def trees(leaves):
    """Draw nested sums, products and multiples of kernels."""
    return st.recursive(
        leaves,
        lambda part: st.one_of(
            st.builds(lambda a, b: a + b, part, part),
            st.builds(lambda a, b: a * b, part, part),
            st.builds(lambda c, a: c * a, st.sampled_from([0.5, 3.0]), part),
        ),
        max_leaves=6,
    )


def by_matrices(kernel, evaluate):
    """Evaluate a tree of kernels with matrix operations."""
    if isinstance(kernel, Sum):
        return sum(by_matrices(term, evaluate) for term in kernel.terms)
    if isinstance(kernel, Product):
        return np.prod([by_matrices(term, evaluate) for term in kernel.terms], axis=0)
    if isinstance(kernel, Scaled):
        return kernel.factor * by_matrices(kernel.kernel, evaluate)
    return evaluate(kernel)


@many_examples
@given(kernel=trees(LEAVES), sample=samples(least=2))
def test_kernel_algebra_is_matrix_algebra(kernel, sample):
    X, Y = sample.X, sample.new
    expected = by_matrices(kernel, lambda leaf: leaf(X, Y))
    largest = max(1.0, float(np.abs(expected).max()))
    assert_allclose(kernel(X, Y), expected, atol=1e-13 * largest)
    own = kernel(X)
    size = max(1.0, float(np.abs(own).max()))
    assert_allclose(own, own.T, atol=1e-13 * size)
    assert_allclose(kernel.diagonal(X), own.diagonal(), atol=1e-13 * size)
    some = kernel.tiles(X, Y)(slice(1, 2), slice(2, 4), None)
    assert_allclose(some, expected[1:2, 2:4], atol=1e-12 * largest)
    if kernel.is_psd:
        assert np.linalg.eigvalsh(own).min() > -1e-12 * size * len(X)
    Examples.count += 1


@many_examples
@given(kernel=trees(LEAVES))
def test_kernels_equal_their_parameters(kernel):
    rebuilt = by_parameters(kernel)
    assert rebuilt == kernel
    assert repr(rebuilt) == repr(kernel)
    assert rebuilt.get_params().keys() == kernel.get_params().keys()
    Examples.count += 1


def by_parameters(kernel):
    return type(kernel)(**kernel.get_params(deep=False))


@many_examples
@given(kernel=trees(STATIONARY), sample=samples(), exponent=st.floats(-140, 140))
def test_stationary_kernels_depend_on_scaled_differences_only(kernel, sample, exponent):
    unit = 2.0 ** round(exponent)  # a power of two: scaling is exact
    expected = kernel(sample.X, sample.new)
    largest = float(np.abs(expected).max())
    wide = kernel.scale_bandwidths(unit)
    assert_allclose(wide(unit * sample.X, unit * sample.new), expected, atol=1e-13 * largest)
    padded = [np.column_stack([part, np.zeros(len(part))]) for part in (sample.X, sample.new)]
    assert_allclose(kernel(*padded), expected, atol=1e-12 * largest)
    shifted = [part + 2.0**20 for part in (sample.X, sample.new)]
    exact = [part - 2.0**20 for part in shifted]
    # some kernels depend on r, not r²: near 0 the error is the root of the rounding error
    assert_allclose(kernel(*shifted), kernel(*exact), atol=1e-6 * largest)
    Examples.count += 1


@many_examples
@given(kernel=trees(STATIONARY), sample=samples())
def test_kernels_in_single_precision(kernel, sample):
    X, Y = sample.X.astype(np.float32), sample.new.astype(np.float32)
    single, double = kernel(X, Y), kernel(X.astype(np.float64), Y.astype(np.float64))
    assert single.dtype == np.float32
    # the root of the rounding error of r² in float32
    assert_allclose(single, double, atol=3e-4 * float(np.abs(double).max()))
    Examples.count += 1


@many_examples
@given(sample=samples())
def test_min_max_kernel_equals_its_formula(sample):
    X = np.abs(sample.X)
    expected = np.array([[np.minimum(x, y).sum() / np.maximum(x, y).sum() for y in X] for x in X])
    assert_allclose(MinMax()(X), expected, atol=1e-14)
    Examples.count += 1


# --- bandwidth rules -----------------------------------------------------------------------------


# the equation of the improved selector has no solution for many small samples
@pytest.mark.parametrize("rule", [rule for rule in ALL_RULES if rule != "improved-sheather-jones"])
@pytest.mark.filterwarnings("ignore::mercer.errors.ApproximationWarning")
@property_test
@given(sample=samples(), seed=seeds, exponent=st.floats(-100, 100))
def test_bandwidth_rules(rule, sample, seed, exponent):
    X = np.unique(sample.X, axis=0) if rule == "leave-one-out" else sample.X
    find = ALL_RULES[rule]
    rng = np.random.default_rng(seed)
    expected = find(X)
    close = {"rtol": TOLERANCES[rule]}
    assert 0 < expected < np.inf
    assert_allclose(find(rng.permutation(X)), expected, **close)
    unit = 10.0**exponent
    assert_allclose(find(unit * X) / unit, expected, **close)
    counts = rng.integers(0, 4, len(X))
    counts[rng.permutation(len(X))[:3]] = 1
    assert_allclose(find(X, counts), find(np.repeat(X, counts, axis=0)), **close)
    Examples.count += 1


# --- information ---------------------------------------------------------------------------------

MEASURES = {
    "potential": lambda X, k, w: information_potential(X, k, sample_weight=w),
    "entropy": lambda X, k, w: renyi_entropy(X, k, sample_weight=w),
    "entropy, integral estimator": lambda X, k, w: renyi_entropy(
        X, k, estimator="integral", sample_weight=w
    ),
    "variance": lambda X, k, w: feature_variance(X, k, sample_weight=w),
    "matrix entropy": lambda X, k, w: matrix_renyi_entropy(X, k, alpha=1.5, sample_weight=w),
    "effective number": lambda X, k, w: vendi_score(X, k, sample_weight=w),
}


@pytest.mark.parametrize("name", MEASURES)
@property_test
@given(sample=samples(), seed=seeds, exponent=st.floats(-30, 30))
def test_information_measures(name, sample, seed, exponent):
    measure, X, h = MEASURES[name], sample.X, sample.bandwidth
    rng = np.random.default_rng(seed)
    expected = measure(X, Gaussian(h), None)
    close = {"rtol": 1e-9, "atol": 1e-12}
    assert_allclose(measure(rng.permutation(X), Gaussian(h), None), expected, **close)
    assert_allclose(measure(np.concatenate([X, X]), Gaussian(h), None), expected, **close)
    counts = rng.integers(0, 4, len(X))
    counts[0] = 2
    repeated = measure(np.repeat(X, counts, axis=0), Gaussian(h), None)
    assert_allclose(measure(X, Gaussian(h), counts), repeated, **close)
    unit = 10.0**exponent
    shift = X.shape[1] * np.log(unit) if name.startswith("entropy") else 0.0
    assert_allclose(measure(unit * X, Gaussian(unit * h), None), expected + shift, **close)
    Examples.count += 1


@property_test
@given(sample=samples(), seed=seeds)
def test_cauchy_schwarz_divergence(sample, seed):
    X, Y, kernel = sample.X, sample.new, Gaussian(sample.bandwidth)
    found = cauchy_schwarz_divergence(X, Y, kernel)
    assert found >= -1e-12
    assert_allclose(cauchy_schwarz_divergence(Y, X, kernel), found, rtol=1e-10, atol=1e-12)
    assert_allclose(cauchy_schwarz_divergence(X, X, kernel), 0, atol=1e-12)
    mixed = np.random.default_rng(seed).permutation(X)
    assert_allclose(cauchy_schwarz_divergence(mixed, Y, kernel), found, rtol=1e-10, atol=1e-12)
    V = [information_potential(part, kernel) for part in (X, Y)]
    cross = kernel(X, Y).mean()
    assert_allclose(found, -np.log(cross / np.sqrt(V[0] * V[1])), rtol=1e-9, atol=1e-12)
    Examples.count += 1


# --- quantiles -----------------------------------------------------------------------------------


@many_examples
@given(seed=seeds, level=st.integers(0, 100))
def test_weighted_quantiles_equal_quantiles_of_repeated_rows(seed, level):
    rng = np.random.default_rng(seed)
    values, counts = rng.normal(size=12), rng.integers(0, 20, 12)
    counts[0] = 101 - counts[1:].sum() % 100  # quantile positions are integers up to rounding error
    expected = np.quantile(np.repeat(values, counts), level / 100)
    found = weighted_quantile(values, counts.astype(float), level / 100)
    assert_allclose(found, expected, atol=1e-12)
    Examples.count += 1
