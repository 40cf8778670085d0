"""Property tests of all estimators: invariances under changes of the data.

``./run test --all`` tries a few samples of each, ``./run properties`` many more.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer import (
    EntropyClustering,
    KernelDenoiser,
    KernelECA,
    KernelPCA,
    MercerMixture,
    RobustKernelPCA,
    SpectralClustering,
)
from mercer.kernels import Gaussian
from mercer.solvers import Dense, Fourier, Lanczos, Nystrom
from tests.properties.estimator_cases import (
    CASES,
    fit,
    results,
    same_label,
    shift_log_density,
    targets,
)
from tests.properties.strategies import (
    ROUNDING,
    Examples,
    Sample,
    assert_same_results,
    condition_or_skip,
    fit_or_skip,
    property_test,
    samples,
)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

seeds = st.integers(0, 2**32 - 1)
PER_ROW = {"decision", "log density", "output", "prediction", "probabilities"}


def every(name):
    """Parametrize over the estimators with this property."""
    return pytest.mark.parametrize(
        "case", [case for case in CASES if name not in case.exempt], ids=repr
    )


def scales_with_n(model):
    """Return whether ``eigenvalues_`` are those of K, which grow with the number of rows."""
    return isinstance(model, KernelPCA | KernelECA | RobustKernelPCA)


@every("permutation")
@property_test
@given(sample=samples(), seed=seeds)
def test_permuted_rows(case, sample, seed):
    y = targets(case, sample.X)
    condition = condition_or_skip(case, sample, y)
    order = np.random.default_rng(seed).permutation(len(sample.X))
    one = fit_or_skip(case.make(sample.bandwidth), sample.X, y)
    other = fit(case.make(sample.bandwidth), sample.X[order], None if y is None else y[order])
    assert_same_results(results(other, sample.new), results(one, sample.new), case, condition)


@every("doubling")
@property_test
@given(sample=samples())
def test_doubled_rows(case, sample):
    """V, densities and projections do not change; eigenvalues of K double."""
    y = targets(case, sample.X)
    condition = condition_or_skip(case, sample, y)
    one = fit_or_skip(case.make(sample.bandwidth), sample.X, y)
    model = case.make(sample.bandwidth).set_params(**case.doubled_params)
    twice = fit(
        model, np.concatenate([sample.X] * 2), None if y is None else np.concatenate([y, y])
    )
    expected = results(one, sample.new)
    if scales_with_n(one):
        expected["eigenvalues"] = 2 * expected["eigenvalues"]
    assert_same_results(results(twice, sample.new), expected, case, condition)


@every("weights")
@property_test
@given(sample=samples(), seed=seeds)
def test_integer_weights_equal_repeated_rows(case, sample, seed):
    counts = np.random.default_rng(seed).integers(0, 4, len(sample.X))
    assume((counts > 0).sum() >= 5)
    rows = np.repeat(np.arange(len(sample.X)), counts)
    y = targets(case, sample.X)

    def target(selection):
        return None if y is None else y[selection]

    condition = condition_or_skip(
        case, Sample(sample.X[rows], sample.new, sample.bandwidth), target(rows)
    )
    repeated = fit_or_skip(case.make(sample.bandwidth), sample.X[rows], target(rows))
    weighted = results(fit(case.make(sample.bandwidth), sample.X, y, counts), sample.new)
    assert_same_results(weighted, results(repeated, sample.new), case, condition)
    some = counts > 0
    positive = fit(case.make(sample.bandwidth), sample.X[some], target(some), counts[some])
    assert_same_results(results(positive, sample.new), weighted, case, condition)


@every("weight scale")
@property_test
@given(sample=samples(), seed=seeds)
def test_scaled_weights(case, sample, seed):
    """The scale of weights changes nothing but the eigenvalues of K, which are proportional to it.

    Where the sample size n matters, results are equal if n = (Σw)²/Σw² on both sides.
    """
    weights = np.random.default_rng(seed).uniform(0.2, 1.0, len(sample.X))  # Σw < (Σw)²/Σw²
    y = targets(case, sample.X)
    condition = condition_or_skip(case, sample, y, weights=weights)
    one = fit_or_skip(case.make(sample.bandwidth), sample.X, y, weights)
    expected = results(one, sample.new)
    for scale in (2.0**-40, 1e-12, 1 / weights.sum(), 1 / 3, 1e6, 1e300):
        model = case.make(sample.bandwidth)
        if scale > 1 and case.uses_sample_size:
            assert_fits_many_copies(model, sample, y, scale * weights)
            continue
        found = results(fit(model, sample.X, y, scale * weights), sample.new)
        if scales_with_n(one):
            found["eigenvalues"] = found["eigenvalues"] / scale
        assert_same_results(found, expected, case, condition)


def assert_fits_many_copies(model, sample, y, weights):
    """Check that a fit succeeds, unless a fixed ``alpha`` is negligible for so many copies."""
    try:
        fitted = fit(model, sample.X, y, weights)
    except ValueError as error:
        if "alpha=" not in str(error):
            raise
        return
    assert not any(np.isnan(value).any() for value in results(fitted, sample.new).values())


@every("scaling")
@property_test
@given(sample=samples(), exponent=st.floats(-30, 30))
def test_scaled_data_and_bandwidth(case, sample, exponent):
    unit = 10.0**exponent
    y = targets(case, sample.X)
    condition = condition_or_skip(case, sample, y)
    one = fit_or_skip(case.make(sample.bandwidth), sample.X, y)
    other = fit(case.make(unit * sample.bandwidth), unit * sample.X, y)
    expected, found = results(one, sample.new), results(other, unit * sample.new)
    if case.is_density or hasattr(one, "normalization_"):
        shift_log_density(expected, -sample.X.shape[1] * np.log(unit))
    if isinstance(one, KernelDenoiser):
        found["output"] = found["output"] / unit
    assert_same_results(found, expected, case, condition)


@every("zeros")
@property_test
@given(sample=samples())
def test_added_column_of_zeros(case, sample):
    def wider(X):
        return np.column_stack([X, np.zeros(len(X))])

    y = targets(case, sample.X)
    condition = condition_or_skip(case, sample, y)
    one = fit_or_skip(case.make(sample.bandwidth), sample.X, y)
    other = fit(case.make(sample.bandwidth), wider(sample.X), y)
    expected, found = results(one, sample.new), results(other, wider(sample.new))
    if case.is_density:  # the kernel is normalized in one more dimension
        d = sample.X.shape[1]
        volume = one.kernel_.log_normalizer(d + 1) - one.kernel_.log_normalizer(d)
        shift_log_density(expected, -volume)
    if isinstance(one, KernelDenoiser):
        assert_allclose(found["output"][:, -1], 0, atol=1e-12)
        found["output"] = found["output"][:, :-1]
    assert_same_results(found, expected, case, condition)


@every("in sample")
@property_test
@given(sample=samples())
def test_training_rows_give_the_same_results_as_new_rows(case, sample):
    y = targets(case, sample.X)
    condition = condition_or_skip(case, sample, y)
    model = fit_or_skip(case.make(sample.bandwidth), sample.X, y)
    scale = 1e-10 * condition
    if hasattr(model, "fit_transform"):
        other = case.make(sample.bandwidth)
        combined = fit_transform(other, sample.X, y)
        if isinstance(other, KernelPCA | KernelECA):
            assert_array_equal(other.spectrum_.projections, combined)
        assert_allclose(abs(combined), abs(model.transform(sample.X)), atol=scale)
    if isinstance(model, EntropyClustering | SpectralClustering):
        assert_array_equal(model.predict(sample.X), model.labels_)
        assert_array_equal(
            same_label(case.make(sample.bandwidth).fit_predict(sample.X)), same_label(model.labels_)
        )
    if isinstance(model, MercerMixture):
        assert_array_equal(
            case.make(sample.bandwidth).fit_predict(sample.X), model.predict(sample.X)
        )
    # the result of a row does not depend on the other rows of the call
    together = results(model, sample.X)
    for name in together.keys() & PER_ROW:
        single = [results(model, sample.X[i : i + 1])[name] for i in range(3)]
        assert_allclose(np.concatenate(single), together[name][:3], atol=scale, rtol=scale)
    Examples.count += 1


def fit_transform(model, X, y):
    return model.fit_transform(X) if y is None else model.fit_transform(X, y)


def solvers_for(case, d):
    """Return the solvers other than Dense; Fourier in one dimension, where it is fast."""
    kernel = case.make(1.0).kernel
    others = [Lanczos(), Lanczos(stored=False)]
    if kernel.is_psd:
        others.append(Nystrom(10_000))
    if isinstance(kernel, Gaussian) and d == 1:
        others.append(Fourier())
    return others


WITH_SOLVER = [case for case in CASES if case.spectral]


@pytest.mark.parametrize("case", WITH_SOLVER, ids=repr)
@property_test
@given(sample=samples(), choice=seeds)
def test_solvers_agree_within_their_error_bound(case, sample, choice):
    others = solvers_for(case, sample.X.shape[1])
    solver = others[choice % len(others)]
    y = targets(case, sample.X)
    condition = condition_or_skip(case, sample, y)
    dense = fit_or_skip(case.make(sample.bandwidth).set_params(solver=Dense()), sample.X, y)
    other = fit_or_skip(case.make(sample.bandwidth).set_params(solver=solver), sample.X, y)
    bound = other.spectrum_.error_bound
    largest = float(dense.spectrum_.eigenvalues.max())
    assert_allclose(
        other.spectrum_.eigenvalues,
        dense.spectrum_.eigenvalues,
        rtol=0,
        atol=bound + ROUNDING * largest,
    )
    # By Davis and Kahan the subspace turns by at most bound / gap, which is (bound / largest) times
    # the condition number; inner products of projections change twice as much. The projection of a
    # new point on the landmarks has an error whose square is at most the bound.
    error = np.sqrt(bound / largest) if isinstance(solver, Nystrom) else bound / largest
    rounding = ROUNDING + 2 * error
    assume(rounding * condition < 1e-3)  # where first-order perturbation theory holds
    found, expected = results(other, sample.new), results(dense, sample.new)
    assert_same_results(found, expected, case, condition, rounding)


@every("single precision")
@property_test
@given(sample=samples())
def test_single_precision(case, sample):
    X, new = sample.X.astype(np.float32), sample.new.astype(np.float32)
    y = targets(case, X)
    condition = condition_or_skip(case, sample, y, tie=1e-4)
    assume(condition < 1e4)
    double = fit_or_skip(case.make(sample.bandwidth), X.astype(np.float64), y)
    single = fit_or_skip(case.make(sample.bandwidth), X, y)
    if hasattr(single, "transform"):
        assert single.transform(new).dtype == np.float32
    expected = results(double, new.astype(np.float64))
    assert_same_results(results(single, new), expected, case, condition, rounding=2e-5)


@pytest.mark.parametrize("case", CASES, ids=repr)
@property_test
@given(sample=samples())
def test_saved_models_give_the_same_results(case, sample):
    y = targets(case, sample.X)
    model = fit_or_skip(case.make(sample.bandwidth), sample.X, y)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.mercer"
        mercer.save(model, path)
        loaded = mercer.load(path)
    expected = results(model, sample.new)
    for name, value in results(loaded, sample.new).items():
        assert_array_equal(value, expected[name], err_msg=name)
    Examples.count += 1


def test_exemptions_have_a_reason():
    properties = {"permutation", "doubling", "weights", "scaling", "zeros", "in sample"}
    properties |= {"weight scale"}
    for case in CASES:
        assert case.exempt.keys() <= properties | {"single precision"}
        assert all(len(reason.split()) > 4 for reason in case.exempt.values())
