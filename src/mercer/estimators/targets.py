"""Admission of targets: numbers for regressors, labels of any kind for classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from mercer.maths.types import Array

__all__ = ["class_labels", "numeric_targets", "several_classes"]


def numeric_targets(y: Any, n: int) -> Array:
    """Check for n finite numbers, or n rows of them."""
    _check_given(y)
    targets = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    _check_length(targets, n)
    return column_or_1d(targets) if targets.ndim == 1 else targets


def class_labels(y: Any, n: int) -> Array:
    """Check for n labels of classes."""
    _check_given(y)
    labels = column_or_1d(y, warn=True)
    _check_length(labels, n)
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    return labels


def several_classes(labels: Array) -> tuple[Array, Array]:
    """The classes in order, and the number of each label among them; one class is refused."""
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y holds one class only (with a positive weight), {classes[0]!r}; a classifier "
            "needs at least two."
        )
    return classes, codes


def _check_given(y: Any) -> None:
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")


def _check_length(y: Array, n: int) -> None:
    if len(y) != n:
        raise ValueError(f"X has {n} rows and y has {len(y)}: inconsistent numbers of samples.")
