"""Capturing the warnings of one thread."""

import warnings

from mercer.errors import ApproximationWarning
from mercer.explorer.capture_warnings import capture_warnings


def test_distinct_warnings_of_mercer_are_captured(recwarn):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with capture_warnings() as messages:
            for text in ("first", "first", "second"):
                warnings.warn(text, ApproximationWarning, stacklevel=1)
            warnings.warn("other category", UserWarning, stacklevel=1)
        warnings.warn("outside", ApproximationWarning, stacklevel=1)
    assert messages == ["first", "second"]
    assert [str(one.message) for one in recwarn] == ["other category", "outside"]
