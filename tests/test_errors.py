"""Suppression of warnings: by category, by thread and nested."""

import threading
import warnings

from mercer.errors import (
    ApproximationWarning,
    ConvergenceWarning,
    suppress_warnings,
    warn,
)


def caught(action):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        action()
    return [warning.category for warning in found]


def test_suppression_is_limited_to_the_categories():
    def act():
        with suppress_warnings(ApproximationWarning):
            warn("about 2 digits", ApproximationWarning)
            warn("after 3 steps", ConvergenceWarning)

    assert caught(act) == [ConvergenceWarning]


def test_suppression_without_categories_covers_all():
    def act():
        with suppress_warnings():
            warn("about 2 digits", ApproximationWarning)
        warn("after 3 steps", ConvergenceWarning)

    assert caught(act) == [ConvergenceWarning]


def test_suppression_does_not_affect_other_threads():
    def act():
        with suppress_warnings():
            thread = threading.Thread(target=warn, args=("2 digits", ApproximationWarning))
            thread.start()
            thread.join()

    assert caught(act) == [ApproximationWarning]


def test_nested_suppression_restores_the_outer_one():
    def act():
        with suppress_warnings(ApproximationWarning):
            with suppress_warnings():
                warn("inner", ConvergenceWarning)
            warn("outer", ApproximationWarning)
            warn("outer", ConvergenceWarning)

    assert caught(act) == [ConvergenceWarning]
