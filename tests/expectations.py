"""Expected exceptions and warnings, by type and by the values that the message names.

Tests check what a message is about, not how it is worded, so that wording can improve.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

__all__ = ["names_values", "raises", "warns"]


@contextmanager
def raises(
    error: type[BaseException] | tuple[type[BaseException], ...], *values: object
) -> Iterator[Any]:
    """Expect an exception of this type whose message names all the values.

    Parameters
    ----------
    error : exception type or tuple of them
    *values : object
        What the message has to name: the offending value, the limit, the remedy. Compared with the
        text of the exception and its notes as ``str(value)``.

    Examples
    --------
    >>> with raises(ValueError, -1, "bandwidth"):
    ...     raise ValueError("bandwidth=-1 must be positive.")
    """
    with pytest.raises(error) as caught:
        yield caught
    text = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert names_values(text, *values) == [], text


@contextmanager
def warns(category: type[Warning] | tuple[type[Warning], ...], *values: object) -> Iterator[Any]:
    """Expect a warning of this category whose message names all the values."""
    with pytest.warns(category) as caught:
        yield caught
    texts = [str(found.message) for found in caught if issubclass(found.category, category)]
    assert any(names_values(text, *values) == [] for text in texts), texts


def names_values(text: str, *values: object) -> list[str]:
    """Return the values that a text does not name."""
    return [str(value) for value in values if str(value) not in text]
