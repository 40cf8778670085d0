"""Cost of kernels inside kernels: every operation reads each kernel a fixed number of times."""

import copy
import pickle
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import mercer
from mercer import KernelPCA
from mercer.bandwidth import fit_kernel
from mercer.kernels import Gaussian, On, Product, Scaled, Sum
from mercer.kernels.base import map_leaves
from tests.expectations import raises

X = np.random.default_rng(0).normal(size=(5, 2))
ALL = slice(None)


class Counting(Gaussian):
    """A Gaussian kernel that counts how often each of its attributes is read."""

    reads: ClassVar = {}

    def __getattribute__(self, name):
        reads = Counting.reads
        reads[name] = reads.get(name, 0) + 1
        return super().__getattribute__(name)


def average(kernel, i):
    return Scaled(0.5, Sum((kernel, Gaussian(1.0 + i))))


def multiple(kernel, i):
    return Scaled(0.5, kernel)


def product(kernel, i):
    return Product((kernel, Sum((Gaussian(1.0 + i), Gaussian(2.0 + i)))))


def nested(step, depth, leaf=None):
    kernel = Gaussian(1.0) if leaf is None else leaf
    for i in range(depth):
        kernel = step(kernel, i)
    return kernel


OPERATIONS = {
    "compares": lambda k: k.compares,
    "is_psd": lambda k: k.is_psd,
    "is_density": lambda k: k.is_density,
    "call": lambda k: k(X),
    "diagonal": lambda k: k.diagonal(X),
    "tiles": lambda k: k.tiles(X, X)(slice(1, 3), ALL, None),
    "log_tiles": lambda k: k.log_tiles(X, X)(ALL, ALL, None),
    "features": lambda k: k.features(X),
    "log_normalizer_or_zero": lambda k: k.log_normalizer_or_zero(2),
    "repr": repr,
    "html": lambda k: k._repr_html_(),
    "get_params": lambda k: k.get_params(),
    "with_own_parameters": lambda k: k.with_own_parameters(),
    "clone": clone,
    "deepcopy": copy.deepcopy,
    "pickle": lambda k: pickle.loads(pickle.dumps(k)),
    "equality": lambda k: k == k,
    "hash": hash,
    "fit_kernel": lambda k: fit_kernel(k, X),
    "map_leaves": lambda k: map_leaves(k, lambda leaf: leaf),
    "scale_bandwidths": lambda k: k.scale_bandwidths(2.0),
    "columns": lambda k: On([0, 1], k)(X),
    "fit": lambda k: KernelPCA(1, kernel=k, solver="dense").fit(X).transform(X),
}


@pytest.mark.parametrize("step", [average, multiple, product])
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_read_each_kernel_a_fixed_number_of_times(name, step):
    """The innermost kernel is read as often at 12 levels as at 4: the cost is linear."""
    reads = []
    for depth in (4, 12):
        kernel = nested(step, depth, Counting(1.0))
        Counting.reads = {}
        OPERATIONS[name](kernel)
        reads.append(Counting.reads)
        Counting.reads = {}
    assert reads[0] == reads[1]


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_work_at_the_largest_depth(name):
    OPERATIONS[name](nested(multiple, 98))  # and one more level by "columns"
    OPERATIONS[name](nested(average, 49))


def test_deep_kernels_can_be_saved(tmp_path):
    kernel = nested(average, 20)
    model = KernelPCA(1, kernel=kernel).fit(X)
    mercer.save(model, tmp_path / "model")
    assert mercer.load(tmp_path / "model").kernel_ == model.kernel_


def test_averages_of_averages_are_weighted_sums():
    kernel = nested(average, 20)
    terms = [Gaussian(1.0), *(Gaussian(1.0 + i) for i in range(20))]
    factors = [0.5**20, *(0.5 ** (20 - i) for i in range(20))]
    expected = sum(f * term(X) for f, term in zip(factors, terms, strict=True))
    assert_allclose(kernel(X), expected, rtol=1e-14)


def test_operators_do_not_nest():
    total, product = Gaussian(1.0), Gaussian(1.0)
    for i in range(300):
        total = 0.5 * (total + Gaussian(1.0 + i))
        product = 0.5 * (product * Gaussian(10.0 + i))
    assert len(total.kernel.terms) == len(product.kernel.terms) == 301
    expected = 0.5**300 * Gaussian(1.0)(X)
    expected += sum(0.5 ** (300 - i) * Gaussian(1.0 + i)(X) for i in range(300))
    assert_allclose(total(X), expected, rtol=1e-13)
    assert product.kernel.terms[0] == Gaussian(1.0)
    assert product.factor == 0.5**300


def test_multiples_of_multiples_are_one_multiple():
    kernel = Gaussian(1.0)
    for _ in range(400):
        kernel = 0.5 * kernel
    assert kernel == Scaled(0.5**400, Gaussian(1.0))
    assert 2.0 * (Gaussian(1.0) * 3.0) == Scaled(6.0, Gaussian(1.0))


@pytest.mark.parametrize("step", [average, multiple, product, lambda kernel, i: On([0, 1], kernel)])
def test_kernels_nested_too_deeply_raise(step):
    with raises(ValueError, 100):
        nested(step, 10_000)
