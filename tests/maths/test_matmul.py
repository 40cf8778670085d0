"""Products of finite numbers: exact, silent about "invalid", loud about overflow."""

import numpy as np
import pytest

from mercer.maths.pairwise import finite_product


def test_only_overflow_warns():
    huge = np.full((2, 2), 1e200)
    with pytest.warns(RuntimeWarning, match="overflow"):
        finite_product(huge, huge)
    invalid = np.array([[np.inf, -np.inf]])
    with np.errstate(all="raise"):  # stands for a flag that BLAS sets for its own padding
        assert np.isnan(finite_product(invalid, np.ones((2, 1)))).all()


def test_product_equals_einsum(rng):
    A, B, out = rng.normal(size=(3, 4)), rng.normal(size=(4, 2)), np.empty((3, 2))
    assert finite_product(A, B, out) is out
    np.testing.assert_allclose(out, np.einsum("ij,jk->ik", A, B), rtol=1e-14)
