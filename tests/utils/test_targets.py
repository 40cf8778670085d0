"""Location and scale of targets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.utils.targets import TargetScale


@pytest.mark.parametrize("exponent", [-1000, 0, 1000])
def test_targets_are_standardized_in_any_unit(exponent):
    rng = np.random.default_rng(0)
    y = rng.normal(3.0, 2.0, size=(40, 2)) * [1.0, 50.0]
    counts = rng.integers(1, 4, size=40)
    target = TargetScale.of(np.ldexp(y, exponent), counts)
    copies = np.repeat(y, counts, axis=0)
    standardized = target.standardize(np.ldexp(y, exponent))
    assert_allclose(standardized, (y - copies.mean(axis=0)) / copies.std(axis=0), rtol=1e-12)
    assert_allclose(np.ldexp(target.restore(standardized), -exponent), y, rtol=1e-12)
    assert_allclose(np.ldexp(target.restore_deviation(1.0), -exponent), copies.std(axis=0))
    volume = np.log(copies.std(axis=0)).sum() + 2 * exponent * np.log(2)
    assert_allclose(target.log_factor, volume, rtol=1e-12)


def test_equal_targets_keep_their_unit():
    target = TargetScale.of(np.full(3, 5.0), None)
    assert target.standardize(np.array([5.0, 9.0])).tolist() == [0.0, 1.0]
