"""Targets in any unit: predictions are multiplied by the same number as y."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mercer import (
    ComponentClassifier,
    ComponentRegressor,
    JointMixtureClassifier,
    JointMixtureDensity,
    JointMixtureRegressor,
    KernelLDA,
)
from mercer.kernels import Gaussian
from tests.expectations import raises
from tests.properties.estimator_cases import CASES
from tests.properties.strategies import Examples, property_test, samples

REGRESSORS = {
    "components": lambda h: ComponentRegressor(3, kernel=Gaussian(h)),
    "cross-validation": lambda h: ComponentRegressor("cv", kernel=Gaussian(h)),
    "joint": lambda h: JointMixtureRegressor(kernel=Gaussian(h), rank=3),
    "joint density": lambda h: JointMixtureDensity(kernel=Gaussian(h), alpha=0.5, rank=3),
    "two Gaussians": lambda h: JointMixtureRegressor(
        2, kernel=Gaussian(h), alpha=0.05, rank=2, max_iter=20
    ),
}
CLASSIFIERS = {
    "components": lambda h: ComponentClassifier(2, kernel=Gaussian(h)),
    "joint": lambda h: JointMixtureClassifier(kernel=Gaussian(h), rank=3),
    "discriminant": lambda h: KernelLDA(kernel=Gaussian(h), rank=3, regularization=0.1),
}
SMALLEST = 2.0**-1074  # subnormal numbers are multiples of it

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
seeds = st.integers(0, 2**32 - 1)


def drawn_targets(sample, seed, columns):
    rng = np.random.default_rng(seed)
    y = np.sin(3 * sample.X[:, :1]) + 0.1 * rng.normal(size=(len(sample.X), columns))
    return y[:, 0] if columns == 1 else y * 4.0 ** np.arange(columns)


def assert_close(found, expected, rounding=0.0):
    """Compare relative to the largest value.

    Multiplication by a power of two is exact, but equal fits differ in the last bits, which depend
    on the alignment of memory, and coordinates with small eigenvalues amplify this.
    """
    assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max() + rounding)


def test_all_supervised_estimators_are_tested():
    tested = {type(make(1.0)) for make in (*REGRESSORS.values(), *CLASSIFIERS.values())}
    assert tested >= {type(case.make(1.0)) for case in CASES if case.y}


@pytest.mark.parametrize("name", REGRESSORS)
@property_test
@given(sample=samples(), seed=seeds, columns=st.integers(1, 2), exponent=st.integers(-980, 1000))
def test_predictions_have_the_unit_of_y(name, sample, seed, columns, exponent):
    y = drawn_targets(sample, seed, 1 if name == "joint density" else columns)
    make = REGRESSORS[name]
    expected = make(sample.bandwidth).fit(sample.X, y).predict(sample.new)
    scaled = make(sample.bandwidth).fit(sample.X, np.ldexp(y, exponent))
    assert_close(np.ldexp(scaled.predict(sample.new), -exponent), expected)
    Examples.count += 1


@pytest.mark.parametrize("name", REGRESSORS)
@property_test
@given(sample=samples(), seed=seeds, exponent=st.floats(-310, 300))
def test_predictions_in_decimal_units(name, sample, seed, exponent):
    """Subnormal targets are multiples of 2^-1074, and so are the fitted numbers."""
    y = 10.0**exponent * drawn_targets(sample, seed, 1)
    shift = -int(np.frexp(np.abs(y).max())[1])
    make = REGRESSORS[name]
    expected = make(sample.bandwidth).fit(sample.X, np.ldexp(y, shift)).predict(sample.new)
    found = make(sample.bandwidth).fit(sample.X, y).predict(sample.new)
    # up to 18 coefficients are rounded, multiplied by coordinates or standardized targets below 5
    assert_close(np.ldexp(found, shift), expected, np.ldexp(100 * SMALLEST, shift))
    Examples.count += 1


@property_test
@given(sample=samples(), seed=seeds, exponent=st.integers(-960, 1000))
def test_predictive_distributions_have_the_unit_of_y(sample, seed, exponent):
    y = drawn_targets(sample, seed, 1)
    model = JointMixtureRegressor(kernel=Gaussian(sample.bandwidth), rank=3).fit(sample.X, y)
    _, deviation = model.predict(sample.new, return_std=True)
    logs = model.log_density(sample.X, y)
    scaled = JointMixtureRegressor(kernel=Gaussian(sample.bandwidth), rank=3)
    scaled.fit(sample.X, np.ldexp(y, exponent))
    _, found = scaled.predict(sample.new, return_std=True)
    assert_close(np.ldexp(found, -exponent), deviation)
    found = scaled.log_density(sample.X, np.ldexp(y, exponent))
    assert_allclose(found, logs - exponent * np.log(2.0), rtol=1e-6, atol=1e-6)
    Examples.count += 1


@property_test
@given(sample=samples(), seed=seeds, exponent=st.integers(-1060, 1000))
def test_conditional_densities_have_the_unit_of_y(sample, seed, exponent):
    """Also of subnormal targets, where a density exceeds the largest number but is never NaN."""
    y = np.ldexp(np.ldexp(drawn_targets(sample, seed, 1), exponent), -exponent)
    make = REGRESSORS["joint density"]
    model = make(sample.bandwidth).fit(sample.X, y)
    scaled = make(sample.bandwidth).fit(sample.X, np.ldexp(y, exponent))
    rounding = np.ldexp(4 * SMALLEST, -exponent)
    for method in (JointMixtureDensity.predict, JointMixtureDensity.predict_interval):
        found = np.ldexp(method(scaled, sample.new), -exponent)
        assert_close(found, method(model, sample.new), rounding)
    found = scaled.log_density(sample.X, np.ldexp(y, exponent))
    expected = model.log_density(sample.X, y) - exponent * np.log(2.0)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert not np.isnan(scaled.pdf(sample.new)).any()
    Examples.count += 1


@pytest.mark.parametrize("name", CLASSIFIERS)
@property_test
@given(sample=samples(), exponent=st.integers(1, 62))  # scikit-learn's limit of whole numbers
def test_probabilities_do_not_depend_on_the_unit_of_the_labels(name, sample, exponent):
    y = (np.arange(len(sample.X)) % 2).astype(float)
    make = CLASSIFIERS[name]
    model = make(sample.bandwidth).fit(sample.X, y)
    scaled = make(sample.bandwidth).fit(sample.X, np.ldexp(y, exponent))
    assert_array_equal(scaled.classes_, np.ldexp(model.classes_, exponent))
    assert set(scaled.predict(sample.new)) <= set(scaled.classes_)
    if hasattr(model, "predict_proba"):
        assert_close(scaled.predict_proba(sample.new), model.predict_proba(sample.new))
    Examples.count += 1


@pytest.mark.parametrize("value", [0.0, 5e-324, -1e-200, 1e300])
@pytest.mark.parametrize("name", REGRESSORS)
def test_constant_targets(name, value):
    X = np.random.default_rng(0).normal(size=(12, 2))
    model, y = REGRESSORS[name](1.0), np.full(12, value)
    if name == "joint density":
        with raises(ValueError, "12 equal rows", "bandwidth"):
            model.fit(X, y)
        return
    model.fit(X, y)
    assert_allclose(model.predict(X), value, rtol=1e-6, atol=0)


def test_the_number_of_components_does_not_depend_on_the_unit_of_y():
    """Squared errors overflow or underflow here."""
    X = np.random.default_rng(0).uniform(0, 6, size=(60, 1))
    y = np.sin(2 * X[:, 0])
    expected = ComponentRegressor("cv").fit(X, y).n_components_
    assert expected > 2
    for unit in (1e-200, 1e200):
        assert ComponentRegressor("cv").fit(X, unit * y).n_components_ == expected
