"""Fixtures of the tests of data sets."""

from urllib.error import URLError

import pytest


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Raise URLError instead of a download from OpenML."""

    def refuse(**_):
        raise URLError("tests do not use the network")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", refuse)
