"""Fixtures of the tests of estimators."""

import pytest

from mercer import config_context
from mercer.datasets import make_halo


@pytest.fixture
def one_thread():
    """Run on one thread: starting threads is slower than small transforms."""
    with config_context(threads=1):
        yield


@pytest.fixture(scope="module")
def halo():
    return make_halo(random_state=0)
