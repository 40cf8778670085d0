"""Proportions: valid and invalid values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.utils.weights import checked_proportions
from tests.expectations import raises


def test_proportions_add_up_to_1_exactly():
    found = checked_proportions([0.25, 0.75 + 5e-9], 2, "weights")
    assert found.sum() == 1
    assert_allclose(found, [0.25, 0.75], rtol=1e-8)
    assert checked_proportions(1.0, 1, "weights").tolist() == [1.0]


@pytest.mark.parametrize(
    ("proportions", "values"),
    [
        ([0.5, 0.5], (2, "3 classes")),
        ([[0.2, 0.3, 0.5]], (3, "3 classes")),
        ([0.5, 0.5, 0.0], ([0.5, 0.5, 0.0], "classes")),
        ([0.8, 0.5, -0.3], (-0.3,)),
        ([0.5, 0.5, np.nan], ("nan",)),
        ([np.inf, 0.5, 0.5], ("inf",)),
        ([0.3, 0.3, 0.3], (0.9, 1)),
        ([0.4, 0.4, 0.4], (1.2, 1)),
        ([0.4, 0.3, 0.3 + 2e-8], (1.00000002, 1)),
    ],
)
def test_invalid_proportions_raise(proportions, values):
    with raises(ValueError, "priors", *values):
        checked_proportions(proportions, 3, "priors", "classes")
