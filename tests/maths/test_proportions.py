"""Shares of a whole: what is accepted, and what is refused in words."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.maths.proportions import checked_proportions


def test_shares_add_up_to_1_exactly():
    found = checked_proportions([0.25, 0.75 + 5e-9], 2, "weights")
    assert found.sum() == 1
    assert_allclose(found, [0.25, 0.75], rtol=1e-8)
    assert checked_proportions(1.0, 1, "weights").tolist() == [1.0]


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ([0.5, 0.5], "priors has 2 entries for 3 classes"),
        ([[0.2, 0.3, 0.5]], "priors has 3 entries for 3 classes"),
        ([0.5, 0.5, 0.0], "must be positive; leave out classes"),
        ([0.8, 0.5, -0.3], "must be positive"),
        ([0.5, 0.5, np.nan], "must be positive"),
        ([np.inf, 0.5, 0.5], "must be positive"),
        ([0.3, 0.3, 0.3], "adds up to 0.9, not to 1"),
        ([0.4, 0.4, 0.4], "adds up to 1.2, not to 1"),
        ([0.4, 0.3, 0.3 + 2e-8], "not to 1"),
    ],
)
def test_refusals(shares, message):
    with pytest.raises(ValueError, match=message):
        checked_proportions(shares, 3, "priors", "classes")
