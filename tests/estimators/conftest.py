"""Fixtures of the tests of estimators."""

import pytest

from mercer import config_context


@pytest.fixture
def one_thread():
    """Run on one thread: starting threads is slower than small transforms."""
    with config_context(threads=1):
        yield
