"""Fixtures of the tests of Dask collections."""

import pytest


@pytest.fixture
def X(rng):
    """Three clusters on the diagonal of the plane."""
    return 3.0 * rng.integers(3, size=(1000, 1)) + 0.5 * rng.normal(size=(1000, 2))
