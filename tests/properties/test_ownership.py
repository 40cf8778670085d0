"""A fitted model owns its data and its kernel: later changes by the caller have no effect."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import mercer
from mercer import KernelECA, KernelPCA, ParzenDensity
from mercer.kernels import Gaussian, Graph, Kernel, NGram, On
from tests.properties.estimator_cases import CASES, fit, results, targets
from tests.properties.strategies import normal_sample

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


class Container:
    """An object that offers its memory as an array."""

    def __init__(self, array):
        self.array, self.shape = array, array.shape

    def __len__(self):
        return len(self.array)

    def __array__(self, dtype=None, copy=None):
        return self.array if dtype in (None, self.array.dtype) else self.array.astype(dtype)


@every
@pytest.mark.parametrize("kind", ["C", "F", "container", "memoryview"])
def test_changes_of_the_training_data_have_no_effect(case, kind):
    X, weights = np.array(normal_sample(), order="F" if kind == "F" else "C"), np.full(24, 2.0)
    y = targets(case, X) if case.y else None
    wrap = {"container": Container, "memoryview": memoryview}.get(kind, np.asarray)
    model = fit(case.make(1.0), wrap(X), None if y is None else wrap(y), wrap(weights))
    before, saved = predictions(model), pickle.dumps(model)
    X *= 10
    weights[:] = 0
    if y is not None:
        y[:] = y[0]
    assert_unchanged(before, predictions(model))
    assert_unchanged(before, predictions(pickle.loads(saved)))


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
