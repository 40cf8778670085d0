"""Clients of an explorer in this process."""

from starlette.testclient import TestClient

from mercer.explorer.server import make_app

__all__ = ["TOKEN", "connect"]

TOKEN = "a-token"


def connect(app=None, *, host="127.0.0.1", token=TOKEN, **options):
    """Return a client of the application, by default of a new one with these options."""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    app = make_app(TOKEN, **options) if app is None else app
    return TestClient(app, base_url=f"http://{host}", headers=headers)
