"""Count the examples of property tests; ``tests/conftest.py`` prints the sum."""

import pytest

from tests.properties.strategies import Examples


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    before = Examples.count
    yield
    if Examples.count > before:
        item.user_properties.append(("property examples", Examples.count - before))
