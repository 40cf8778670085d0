"""Counts the examples that laws were tried on; ``tests/conftest.py`` tells the sum."""

import pytest

from tests.properties.strategies import Tally


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    before = Tally.count
    yield
    if Tally.count > before and item.path.name.startswith("test_laws"):
        item.user_properties.append(("examples of laws", Tally.count - before))
