"""Centering of symmetric matrices in place."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram.gram import double_center


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
def test_double_center_projects_in_place(layout, dtype, rng):
    n = 7
    A = rng.normal(size=(n, n))
    A = A + A.T
    unit = rng.normal(size=n)
    unit /= np.linalg.norm(unit)
    P = np.eye(n) - np.outer(unit, unit)
    expected = P @ A @ P
    if layout == "strided":
        given = np.zeros((2 * n, 2 * n), dtype)[::2, ::2]
        given[...] = A
    else:
        given = np.array(A, dtype, order=layout)
    assert double_center(given, unit.astype(dtype)) is given
    assert given.dtype == dtype
    assert_allclose(given, expected, atol=50 * np.finfo(dtype).eps)
