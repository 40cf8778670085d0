"""Validation of the targets of supervised estimators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from mercer.utils.row_passes import RowPasses
from mercer.utils.types import Array

__all__ = [
    "TargetScale",
    "class_labels",
    "encode_classes",
    "encode_lazy_classes",
    "numeric_targets",
    "unit_exponent",
]


def numeric_targets(y: Any, n: int) -> Array:
    """Return targets of shape (n,) or (n, n_targets), all finite."""
    _check_given(y)
    targets = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    _check_length(targets, n)
    return column_or_1d(targets) if targets.ndim == 1 else targets


def unit_exponent(values: Array, axis: int | None = None) -> Array:
    """Return e such that the largest absolute value divided by 2^e is between 1 and 2.

    Squares of targets overflow or underflow in some units. Divided by 2^e, which is exact, they do
    not; ``np.ldexp(values, -e)`` divides.
    """
    return np.asarray(np.frexp(np.abs(values).max(axis=axis))[1] - 1)


@dataclass(frozen=True, eq=False)
class TargetScale:
    """Location and scale of each column of targets, in units that are powers of two."""

    exponents: Array  # e: location and scale are those of targets divided by 2^e
    location: Array
    scale: Array

    @classmethod
    def of(cls, targets: Array, weights: Array | None) -> Self:
        """Return weighted means and standard deviations; 2^e where the targets are equal."""
        exponents = unit_exponent(targets, axis=0)
        units = np.ldexp(targets, -exponents)
        location = np.average(units, axis=0, weights=weights)
        spread = np.average((units - location) ** 2, axis=0, weights=weights)
        return cls(exponents, location, np.where(spread > 0, np.sqrt(spread), 1.0))

    def standardize(self, targets: Array) -> Array:
        """Return targets with mean 0 and standard deviation 1; distant ones may be infinite."""
        with np.errstate(over="ignore"):
            return np.asarray((np.ldexp(targets, -self.exponents) - self.location) / self.scale)

    def restore(self, values: Array) -> Array:
        """Return targets from standardized ones."""
        with np.errstate(over="ignore"):  # beyond the largest number
            return np.asarray(np.ldexp(self.location + self.scale * values, self.exponents))

    def restore_deviation(self, values: Array) -> Array:
        """Return standard deviations of targets from those of standardized ones."""
        return np.asarray(np.ldexp(self.scale * values, self.exponents))

    @property
    def log_factor(self) -> float:
        """Logarithm of the volume by which densities of standardized targets are divided."""
        return float(np.sum(np.log(self.scale) + np.multiply(self.exponents, np.log(2))))


def class_labels(y: Any, n: int) -> Array:
    """Return n labels of any type."""
    _check_given(y)
    labels = column_or_1d(y, warn=True)
    _check_length(labels, n)
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    return labels


def encode_classes(labels: Array) -> tuple[Array, Array]:
    """Return the sorted classes, at least two, and the class index of every label."""
    classes, codes = np.unique(labels, return_inverse=True)
    _check_class_count(classes)
    return classes, codes


def encode_lazy_classes(labels: Any, rows: RowPasses) -> tuple[Array, Any]:
    """Return the sorted classes, at least two, and lazy class indices of labels in chunks."""
    classes = rows.sum(_distinct, labels, combine=_combined_distinct)
    check_classification_targets(classes)
    _check_class_count(classes)
    codes = rows.map(partial(_codes, classes), labels, like=np.empty(0, dtype=np.intp))
    return classes, codes


def _codes(classes: Array, labels: Array) -> Array:
    return np.asarray(np.searchsorted(classes, labels))


def _distinct(labels: Array) -> Array:
    assert_all_finite(labels, input_name="y")
    return np.unique(labels)


def _combined_distinct(parts: Sequence[Array]) -> Array:
    return np.unique(np.concatenate(parts))


def _check_class_count(classes: Array) -> None:
    if len(classes) < 2:
        raise ValueError(
            f"y has only one class with positive weight, {classes.tolist()[0]!r}. A classifier "
            "needs at least 2 classes."
        )


def _check_given(y: Any) -> None:
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")


def _check_length(y: Array, n: int) -> None:
    if len(y) != n:
        raise ValueError(f"X has {n} rows and y has {len(y)}: inconsistent numbers of samples.")
