"""Clients of an explorer, without a browser."""

import pytest


@pytest.fixture
def client():
    from starlette.testclient import TestClient

    from mercer.explorer.server import make_app

    with TestClient(make_app(), base_url="http://127.0.0.1") as one:
        yield one


@pytest.fixture
def two_clients():
    """Two sessions at the same explorer."""
    from starlette.testclient import TestClient

    from mercer.explorer.server import make_app

    app = make_app()
    with TestClient(app, base_url="http://127.0.0.1") as first:
        yield first, TestClient(app, base_url="http://127.0.0.1")
