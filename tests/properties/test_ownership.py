"""A fitted model owns its kernel, frames and objects, and does not change the caller's arrays.

``test_public_names`` changes all kinds of arrays after a fit.
"""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import mercer
from mercer import KernelECA, KernelPCA, ParzenDensity
from mercer.bandwidth import fit_kernel
from mercer.information import information_potential, matrix_renyi_entropy
from mercer.kernels import Gaussian, Graph, Kernel, NGram, On
from tests.properties.estimator_cases import CASES, fit, results, targets
from tests.properties.strategies import Examples, normal_sample, property_test, samples

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

every = pytest.mark.parametrize("case", CASES, ids=repr)
NEW = normal_sample(5, seed=1)


def predictions(model):
    """Return everything that a fitted model computes for new rows."""
    return {name: np.array(value) for name, value in results(model, NEW).items()}


def assert_unchanged(before, after):
    assert before.keys() == after.keys()
    for name, value in before.items():
        assert_array_equal(after[name], value, err_msg=name)


def kernels_of(model):
    """Return the kernel that the caller passed, and the kernels inside it."""
    kernel = getattr(model, "kernel", None)
    inside = [] if not isinstance(kernel, Kernel) else kernel.get_params().values()
    return [one for one in (kernel, *inside) if isinstance(one, Kernel)]


@every
def test_changes_of_the_kernel_have_no_effect(case):
    X = normal_sample()
    model = fit(case.make(1.0), X, targets(case, X) if case.y else None)
    before = predictions(model)
    for kernel in kernels_of(model):
        for name, value in kernel.get_params(deep=False).items():
            if isinstance(value, float):
                setattr(kernel, name, 7 * value + 1)
    assert_unchanged(before, predictions(model))


def test_set_params_after_fit_has_no_effect():
    X = normal_sample()
    model = KernelPCA(2, kernel=Gaussian(1.0)).fit(X)
    before = model.transform(NEW)
    model.set_params(kernel__bandwidth=9.0)
    assert_array_equal(model.transform(NEW), before)


def test_estimators_that_share_a_kernel_do_not_change_each_other():
    kernel = 0.5 * (Gaussian(np.ones(3)) + Gaussian(2.0))
    first = KernelECA(2, kernel=kernel).fit(normal_sample())
    before = first.transform(NEW)
    kernel.kernel.terms[0].bandwidth[:] = 5.0
    KernelECA(2, kernel=kernel).fit(normal_sample())
    assert_array_equal(first.transform(NEW), before)


def test_changes_of_frames_lists_and_graphs_have_no_effect():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": normal_sample()[:, 0], "t": list("abcdefgh") * 3})
    words = [f"word {i} {i * i}" for i in range(20)]
    graphs = [[(0, 1), *((1, j) for j in range(2, 3 + i))] for i in range(4)]
    cases = [
        (frame, On("x", Gaussian(1.0)) * On("t", NGram(1)), lambda: frame.__setitem__("x", 0.0)),
        (words, NGram(2), words.reverse),
        (graphs, Graph(), graphs[0].clear),
    ]
    for X, kernel, change in cases:
        new = X.copy() if hasattr(X, "iloc") else [*X]
        model = KernelPCA(1, kernel=kernel, center=False).fit(X)
        before = model.transform(pickle.loads(pickle.dumps(new)))
        fresh = pickle.loads(pickle.dumps(new))
        change()
        assert_array_equal(model.transform(fresh), before)


def test_read_only_memory_maps_are_not_copied(tmp_path):
    np.save(tmp_path / "X.npy", normal_sample())
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = KernelPCA(2, kernel=Gaussian(1.0)).fit(X)
    assert np.shares_memory(model.spectrum_.points.data, X)


def test_copies_can_be_switched_off():
    X = normal_sample()
    with mercer.config_context(copy_X=False):
        model = ParzenDensity(kernel=Gaussian(1.0)).fit(X)
    assert np.shares_memory(model._density.terms.points.data, X)
    assert mercer.get_config().copy_X


# --- arrays that a user's kernel stores ----------------------------------------------------------


class Stored(Kernel):
    """Returns the same read-only or writable array in every call with the same points."""

    def __init__(self, writable=True):
        self.writable = writable
        self.arrays = {}

    def _stored(self, key, compute):
        if key not in self.arrays:
            values = compute()
            values.flags.writeable = self.writable
            self.arrays[key] = values, values.copy()
        return self.arrays[key][0]

    def matrix(self, X, Y):
        return self._stored((X.tobytes(), Y.tobytes()), lambda: Gaussian(1.0)(X, Y))

    def diagonal(self, X):
        return self._stored(X.tobytes(), lambda: np.ones(len(X)))

    def assert_unchanged(self):
        assert self.arrays
        for values, before in self.arrays.values():
            assert_array_equal(values, before)


class Broadcast(Stored):
    """Returns broadcast arrays, whose entries share memory."""

    def matrix(self, X, Y):
        self.diagonal(X)
        return np.broadcast_to(X.dtype.type(0.5), (len(X), len(Y)))

    def diagonal(self, X):
        return np.broadcast_to(self._stored("diagonal", lambda: np.full(1, 0.5)), (len(X),))


COMBINATIONS = {
    "alone": lambda k: k,
    "sum": lambda k: k + Gaussian(2.0),
    "sum with itself": lambda k: k + k,
    "product": lambda k: k * Gaussian(2.0),
    "multiple": lambda k: 3.0 * k,
    "nested": lambda k: 0.5 * (2.0 * k * Gaussian(1.0) + k),
}


def evaluate(kernel, X, Y):
    kernel(X)
    kernel(X, Y)
    kernel.diagonal(X)
    kernel.tiles(X, Y)(slice(1, 3), slice(0, 2), np.empty((2, 2)))
    kernel.log_tiles(X, Y)(slice(None), slice(None), None)
    kernel.features(X)


@pytest.mark.parametrize("kind", [Stored, Broadcast])
@pytest.mark.parametrize("name", COMBINATIONS)
@property_test
@given(sample=samples(), writable=st.booleans(), missing=st.booleans())
def test_stored_arrays_are_not_changed(kind, name, sample, writable, missing):
    inner = kind(writable)
    kernel, X = COMBINATIONS[name](inner), sample.X
    first = kernel(X)
    evaluate(kernel, X, sample.new)
    assert_array_equal(kernel(X), first)
    table = X.copy()
    if missing:
        table[0, 0] = np.nan
    on = fit_kernel(On(list(range(X.shape[1])), kernel), table)
    before = on(table)
    evaluate(on, table, sample.new)
    assert_array_equal(on(table), before)
    inner.assert_unchanged()
    Examples.count += 1


@pytest.mark.parametrize("kind", [Stored, Broadcast])
@pytest.mark.parametrize("name", COMBINATIONS)
def test_fits_do_not_change_stored_arrays(kind, name):
    """The kernel of a fit shares the stored arrays, so that a change would be seen."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(30, 2)), rng.normal(size=(4, 2))
    inner = kind()
    inner.with_own_parameters = lambda: inner
    kernel = COMBINATIONS[name](inner)
    models = [
        KernelPCA(1, kernel=kernel),
        KernelPCA(1, kernel=kernel, solver="lanczos", center=False),
        KernelECA(1, kernel=kernel),
    ]
    for model in models if kind is Stored else models[1:]:
        for _ in range(2):
            model.fit(X).transform(new)
    if name == "alone":
        information_potential(X, kernel)
        if kind is Stored:
            matrix_renyi_entropy(X, kernel, 1.0)
    inner.assert_unchanged()
