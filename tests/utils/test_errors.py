"""Warnings: the place they refer to, and their suppression by category, by thread and nested."""

import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer.errors import (
    ApproximationWarning,
    ConvergenceWarning,
    suppress_warnings,
    warn,
)
from mercer.information import entropy_terms
from mercer.kernels import Gaussian


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


@pytest.mark.parametrize("call", ["fit", "function"])
def test_warnings_refer_to_the_code_of_the_user(call):
    X = np.arange(12.0).reshape(-1, 1)
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        if call == "fit":
            mercer.ParzenDensity(kernel=Gaussian(0.01)).fit(X)
        else:
            entropy_terms(X, Gaussian(0.01), n_components=2)
    assert {Path(warning.filename).name for warning in raised} == {"test_errors.py"}
