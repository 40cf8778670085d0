"""Matrix products of finite numbers warn about overflow only."""

import numpy as np

from mercer.utils.pairwise import finite_product
from tests.expectations import warns


def test_only_overflow_warns():
    huge = np.full((2, 2), 1e200)
    with warns(RuntimeWarning, "overflow"):
        finite_product(huge, huge)
    invalid = np.array([[np.inf, -np.inf]])
    with np.errstate(all="raise"):  # as if BLAS set the flag in its padding
        assert np.isnan(finite_product(invalid, np.ones((2, 1)))).all()


def test_product_equals_einsum(rng):
    A, B, out = rng.normal(size=(3, 4)), rng.normal(size=(4, 2)), np.empty((3, 2))
    assert finite_product(A, B, out) is out
    np.testing.assert_allclose(out, np.einsum("ij,jk->ik", A, B), rtol=1e-14)
