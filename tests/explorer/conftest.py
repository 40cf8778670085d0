"""Clients of an explorer, without a browser."""

import pytest


@pytest.fixture
def client():
    from tests.explorer_client import connect

    with connect() as one:
        yield one


@pytest.fixture
def two_clients():
    """Two sessions at the same explorer."""
    from tests.explorer_client import connect

    with connect() as first:
        yield first, connect(first.app)
