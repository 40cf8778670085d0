"""Warnings of one thread are heard; others go where they went before."""

import warnings

from mercer.errors import ApproximationWarning
from mercer.explorer.listening import listening


def test_each_warning_is_heard_once_and_foreign_ones_go_on(recwarn):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with listening() as heard:
            for text in ("roughly", "roughly", "nearly"):
                warnings.warn(text, ApproximationWarning, stacklevel=1)
            warnings.warn("of others", UserWarning, stacklevel=1)
        warnings.warn("nobody listens", ApproximationWarning, stacklevel=1)
    assert heard == ["roughly", "nearly"]
    assert [str(one.message) for one in recwarn] == ["of others", "nobody listens"]
