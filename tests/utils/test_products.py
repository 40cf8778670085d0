"""Compiled products with narrow blocks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import KernelPCA
from mercer.data.points import Points
from mercer.gram.symmetric import SymmetricGram
from mercer.kernels import Gaussian
from mercer.utils import compiled
from mercer.utils.compiled import add_products, uses_compiled_code

pytestmark = pytest.mark.skipif(not uses_compiled_code(), reason="the library is not used here")


@given(
    rows=st.integers(1, 300),
    terms=st.integers(0, 300),
    columns=st.sampled_from([8, 16, 24, 40]),
    padding=st.integers(0, 9),
    both=st.booleans(),
)
def test_products_are_added(rows, terms, columns, padding, both):
    rng = np.random.default_rng(rows + terms)
    A = rng.normal(size=(rows, terms + padding))[:, :terms]
    V, W = (rng.normal(size=(n, columns)) for n in (terms, rows))
    above, below = rng.normal(size=(rows, columns)), rng.normal(size=(terms, columns))
    expected = above + A @ V, below + A.T @ W if both else below.copy()
    add_products(A, V, above, W if both else None, below)
    # sums of up to 300 products of numbers below 6
    tolerance = 300 * 36 * float(np.finfo(np.float64).eps)
    for found, wanted in zip((above, below), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance)


@pytest.mark.parametrize("columns", [2, 8, 9, 31, 32])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_narrow_products_equal_those_of_blas(columns, dtype, weighted, rng, monkeypatch):
    X = rng.normal(size=(600, 3)).astype(dtype)
    weights = rng.uniform(0, 2, 600) if weighted else None
    gram = SymmetricGram(Gaussian(1.0), Points(X), weights)
    V = rng.normal(size=(600, columns))
    found = gram.product(V)
    monkeypatch.setattr(compiled, "_functions", dict)
    expected = gram.product(V)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, atol=600 * float(np.finfo(dtype).eps) * scale)


def test_results_do_not_depend_on_the_number_of_threads(rng):
    from mercer import config_context

    X, V = rng.normal(size=(2200, 3)), rng.normal(size=(2200, 10))
    gram = SymmetricGram(Gaussian(1.0), Points(X))
    results = []
    for threads in (1, 2, 3):
        with config_context(threads=threads):
            results.append(gram.product(V))
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


def test_components_equal_those_of_numpy(rng, monkeypatch):
    X = rng.normal(size=(700, 8))
    kernel = Gaussian(3.0)
    found = KernelPCA(4, kernel=kernel).fit(X)
    monkeypatch.setattr(compiled, "_functions", dict)
    expected = KernelPCA(4, kernel=kernel).fit(X)
    np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-12)
    np.testing.assert_allclose(found.transform(X), expected.transform(X), atol=1e-9)
