"""Shared by all tests: one seeded generator, and where the papers' data are."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(0)
