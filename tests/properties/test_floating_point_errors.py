"""The caller's ``np.errstate(all="raise")`` changes no result: underflow to 0 is not an error."""

import threading

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

import mercer
from mercer import KernelECA, KernelPCA, ParzenDensity
from mercer.bandwidth import fit_kernel
from mercer.bandwidth.rules import RULES
from mercer.cluster.cluster_number import choose_number
from mercer.cluster.diagnostics import cluster_profile
from mercer.data.points import Points
from mercer.information import (
    cauchy_schwarz_divergence,
    entropy_terms,
    feature_variance,
    information_potential,
    matrix_renyi_entropy,
    potential_gradient,
    renyi_entropy,
    vendi_score,
)
from mercer.kernels import Epanechnikov, Gaussian, Kernel, Laplacian, Matern, Polynomial
from papers.baselines import kernel_pca_clustering, njw_clustering
from tests.properties.bandwidth_cases import ALL_RULES
from tests.properties.estimator_cases import CASES, fit, results, targets
from tests.properties.strategies import (
    Examples,
    Sample,
    assert_same_results,
    condition_or_skip,
    fit_or_skip,
    property_test,
    samples,
)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

#: Methods of single estimators, besides those in ``results``.
METHODS = {
    "pdf": lambda model, new: model.pdf(new),
    "sample": lambda model, new: model.sample(3, random_state=0),
    "inverse_transform": lambda model, new: model.inverse_transform(model.transform(new)),
    "hotelling": lambda model, new: model.hotelling(new),
    "reconstruction_error": lambda model, new: model.reconstruction_error(new),
    "component_ranks_": lambda model, new: model.component_ranks_,
    "eigenfunctions": lambda model, new: model.eigenfunctions(new),
}


def with_distant_points(sample):
    """Return training and new rows with kernel values that underflow."""
    X = sample.X.copy()
    X[0] = 40.0
    distant = np.full((2, X.shape[1]), 30.0)
    distant[0] = 1000.0
    return X, np.vstack([sample.new, distant])


def outcome(call):
    """Return the result as an array, or the type of a documented error."""
    try:
        found = call()
    except (ValueError, NotImplementedError) as error:
        return type(error).__name__
    return found


def assert_same(found, expected):
    if isinstance(expected, tuple | list):
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, str) or expected is None:
        assert found == expected
    else:
        # equal calls differ in the last bits, which depend on the alignment of memory
        assert_allclose(found, expected, rtol=1e-7, atol=1e-11)


def compare(call):
    expected = outcome(call)
    with np.errstate(all="raise"):
        found = outcome(call)
    assert_same(found, expected)
    return expected


@pytest.mark.parametrize("case", CASES, ids=repr)
@property_test
@given(sample=samples())
def test_estimators_ignore_the_error_state_of_the_caller(case, sample):
    X, new = with_distant_points(sample)
    y = targets(case, X)
    condition = condition_or_skip(case, Sample(X, new, sample.bandwidth), y)
    expected = results(fit_or_skip(case.make(sample.bandwidth), X, y), new)
    with np.errstate(all="raise"):
        model = fit(case.make(sample.bandwidth), X, y)
        found = results(model, new)
    assert_same_results(found, expected, case, condition)
    for name, method in METHODS.items():
        if hasattr(type(model), name) or hasattr(model, name):
            compare(lambda method=method: method(model, new))


def without_result(labels):
    """Return nothing: labels of isolated points depend on rounding errors."""


KERNELS = [Gaussian(0.1), Laplacian(0.01), Matern(0.05, 2.5), Matern(0.05, 0.8), Epanechnikov(1.0)]
FUNCTIONS = {
    "information_potential": lambda X, Y: information_potential(X, Gaussian(0.5), normalize=True),
    "renyi_entropy": lambda X, Y: renyi_entropy(X, Gaussian(0.5), estimator="integral"),
    "entropy_terms": lambda X, Y: entropy_terms(X, Gaussian(0.5)),
    "feature_variance": lambda X, Y: feature_variance(X, Gaussian(0.5)),
    "potential_gradient": lambda X, Y: potential_gradient(X, Gaussian(0.5)),
    "cauchy_schwarz_divergence": lambda X, Y: cauchy_schwarz_divergence(X, Y, Gaussian(0.5)),
    "matrix_renyi_entropy": lambda X, Y: matrix_renyi_entropy(X, Gaussian(0.5), 1.5),
    "vendi_score": lambda X, Y: vendi_score(X, Gaussian(0.5)),
    "cluster_profile": lambda X, Y: (
        cluster_profile(
            KernelECA(2, kernel=Gaussian(0.5)).fit(X).spectrum_, np.arange(len(X)) % 2
        ).mass
    ),
    "kernel_pca_clustering": lambda X, Y: without_result(kernel_pca_clustering(X, 2)),
    "njw_clustering": lambda X, Y: without_result(njw_clustering(X, 2)),
    "choose_number": lambda X, Y: choose_number(Points(X)),
    **{f"kernel {kernel!r}": lambda X, Y, k=kernel: k(X, Y) for kernel in KERNELS},
    **{
        f"bandwidth {name}": lambda X, Y, name=name: ALL_RULES[name](1e-170 * X)
        for name in ALL_RULES
    },
    **{
        f"fit_kernel {name}": lambda X, Y, name=name: fit_kernel(Gaussian(name), X).bandwidth
        for name in RULES
    },
}


@pytest.mark.parametrize("name", FUNCTIONS)
@property_test
@given(sample=samples())
def test_functions_ignore_the_error_state_of_the_caller(name, sample):
    X, new = with_distant_points(sample)
    compare(lambda: FUNCTIONS[name](X, new))
    Examples.count += 1


def test_large_samples_with_threads():
    """Worker threads start with NumPy's default state, so threads do not change it either."""
    X = np.random.default_rng(0).normal(size=(1200, 3))
    with mercer.config_context(threads=2), np.errstate(all="raise"):
        found = ParzenDensity(kernel=Gaussian(0.03)).fit(X).score_samples(X[::-1])
    expected = ParzenDensity(kernel=Gaussian(0.03)).fit(X).score_samples(X[::-1])
    assert_allclose(found, expected, rtol=1e-12)


def test_other_errors_reach_the_caller_and_the_state_is_restored():
    """Only underflow is ignored; the state of the caller is the same after the call."""

    class Overflowing(Kernel):
        def matrix(self, X, Y):
            self.state = np.geterr()
            return np.exp(1000.0 * np.ones((len(X), len(Y))))

    kernel = Overflowing()
    with np.errstate(all="raise"):
        with pytest.raises(FloatingPointError):
            kernel(np.eye(3))
        with pytest.raises(FloatingPointError):
            KernelPCA(1, kernel=kernel).fit(np.eye(3))
        assert set(np.geterr().values()) == {"raise"}
    assert kernel.state == {**dict.fromkeys(kernel.state, "raise"), "under": "ignore"}


def test_threads_with_different_states_do_not_change_each_other():
    X, states = np.eye(4), []

    def work(state):
        with np.errstate(all=state):
            for _ in range(20):
                Polynomial(2)(1e-170 * X)
                states.append((state, np.geterr()["under"]))

    threads = [threading.Thread(target=work, args=(state,)) for state in ("raise", "warn")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(states) == 40
    assert all(expected == found for expected, found in states)
