"""Entropies of normalized eigenvalues: definitions, and bounds from the leading ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.eigen.dense import entropy_order
from mercer.information.entropy import spectral_entropy

ORDERS = [0.5, 1.0, 2.0, 5.0, np.inf]
every_order = pytest.mark.parametrize("order", ORDERS)


@every_order
def test_entropy_equals_its_definition(order):
    p = np.array([0.5, 0.3, 0.2, 0.0])
    naive = {
        1.0: -sum(x * np.log(x) for x in (0.5, 0.3, 0.2)),
        np.inf: -np.log(0.5),
    }
    expected = naive.get(order) or np.log(0.5**order + 0.3**order + 0.2**order) / (1 - order)
    assert_allclose(spectral_entropy(p, order), expected, rtol=1e-14)


def test_powers_do_not_underflow():
    assert_allclose(spectral_entropy(np.full(1000, 1e-3), 400.0), np.log(1000), rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_terms_below_rounding_error_are_ordered_by_eigenvalue(scale):
    terms = scale * np.array([0.5, 4e-14, 1e-14, 1e-12])
    order = entropy_order(terms, np.array([1.0, 2.0, 3.0, 0.5]), float(terms.sum()))
    assert order.tolist() == [0, 3, 2, 1]
