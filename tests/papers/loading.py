"""Load data sets that may not be available."""

import pytest

__all__ = ["load_or_skip"]


def load_or_skip(load, *args, **kwargs):
    """Return a data set, or skip the test if its file is missing."""
    try:
        return load(*args, **kwargs)
    except FileNotFoundError as error:
        pytest.skip(str(error).partition("\n")[0])
