"""Clients of an explorer, without a browser."""

import pytest


@pytest.fixture
def client():
    from tests.explorer_client import connect

    with connect() as one:
        yield one
