"""Arrays that a user's kernel stores are never changed, whatever the kernel is combined with."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from mercer import KernelECA, KernelPCA
from mercer.bandwidth import fit_kernel
from mercer.information import information_potential, matrix_renyi_entropy
from mercer.kernels import Gaussian, Kernel, On
from tests.properties.strategies import Examples, property_test, samples

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
ALL = slice(None)


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
    kernel.log_tiles(X, Y)(ALL, ALL, None)
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
