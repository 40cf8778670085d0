r"""Explicit features of the columns of a table: what :class:`mercer.kernels.Table` adds up.

====================== ===========================================================================
column                 features
====================== ===========================================================================
numbers, dates,        the standardized value, :math:`h((x - m) / s)` with the median m, the
durations              interquartile range / 1.349 as s, and a logarithm beyond 3; and the cosines
                       :math:`\sqrt2 \cos(\pi j u(x))` of the rank u in [0, 1]
categories, booleans   an indicator of each category of probability p, divided by :math:`\sqrt p`
texts, sets            :math:`K_m^{-1/2} k(x)` with the kernel values k between x and at most 30
                       observed values, and those between them
====================== ===========================================================================

Missing values have an indicator of their own, divided by the root of their probability. Their other
features are the mean of the observed ones. A category that training did not contain has an
indicator too, as if it were one row among n + 1. Finally each block is divided by a number, so that
the mean squared norm over the training rows is 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from mercer.data.subsampling import evenly_spaced
from mercer.kernels.base import Kernel
from mercer.kernels.cells import (
    as_days,
    column_of,
    column_type,
    distinct_objects,
    numbers_of_column,
    to_codes,
)
from mercer.kernels.columns import find_column
from mercer.kernels.objects import Jaccard, NGram
from mercer.utils.quantiles import weighted_median, weighted_quantile
from mercer.utils.types import Array

__all__ = [
    "CategoryFeatures",
    "ColumnFeatures",
    "LandmarkFeatures",
    "NumberFeatures",
    "column_features",
]

_N_FUNCTIONS = 5  # of the rank; more follow finer dependence and need more rows
_N_LANDMARKS = 30  # texts or sets
_MAX_KNOTS = 500  # at which ranks are stored
_LINEAR_UP_TO = 3.0  # standard deviations; values beyond enter by their logarithm


@dataclass(frozen=True, eq=False)
class ColumnFeatures(ABC):
    """The block of features of one column, fitted to training rows."""

    name: Any
    factor: float

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of features."""

    @abstractmethod
    def raw(self, X: Any) -> Array:
        """Return the features before the division by the root of their mean square."""

    @abstractmethod
    def expected(self, block: Array) -> list[Any]:
        """Return the cell of each row that corresponds to expected features."""

    def probabilities(self, block: Array, observed: list[Any]) -> Array:
        """Return the probability of each observed cell for expected features; NaN if undefined."""
        return np.full(len(block), np.nan)

    @property
    @abstractmethod
    def cell_weights(self) -> Array:
        """Weights of the squared features in the variation of the cells, of shape (width,)."""

    @property
    def degrees(self) -> Array:
        """Degrees of the features: j of the j-th cosine, 1 of all others."""
        return np.ones(self.width)

    def __call__(self, X: Any) -> Array:
        """Return the block of a table, of shape (n, width)."""
        return self.factor * self.raw(X)

    def cells(self, X: Any) -> list[Any]:
        """Return the cells of this column; None for missing values."""
        name = find_column(X, self.name)
        column = X[name] if hasattr(X, "columns") else X[:, name]
        missing = column_of(X, name)[1]
        return [None if gone else cell for cell, gone in zip(column.tolist(), missing, strict=True)]

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        return all(
            np.array_equal(getattr(self, one.name), getattr(other, one.name))
            for one in fields(self)
        )

    __hash__ = None  # type: ignore[assignment]


def _with_none(cells: Array, missing: Array) -> list[Any]:
    """Return cells as Python objects, with None for missing values."""
    return [None if gone else cell for cell, gone in zip(cells.tolist(), missing, strict=True)]


def _mean_square(raw: Array, weights: Array) -> float:
    return float(weights @ np.einsum("ij,ij->i", raw, raw) / weights.sum())


def _indicator(count: float, total: float) -> float:
    """Return the value ``1 / √p`` of an indicator that is set in ``count`` of the rows.

    An event that no row has is treated as one row among n + 1.
    """
    return float(np.sqrt(total / count if count > 0 else total + 1))


# --- numbers --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _WithMissing(ColumnFeatures):
    """Features whose last one is the indicator of missing values; their value for other cells."""

    means: Array  # of the features without the indicator
    missing: float  # value of the indicator; 0 if all training cells are missing

    def _without_missing(self, cells: list[Any], block: Array) -> list[Any]:
        """Return expected cells, with None where a missing value is more probable than not."""
        limit = 0.5 * self.missing * self.factor
        return [
            None if gone else cell
            for cell, gone in zip(cells, (block[:, -1] >= limit).tolist(), strict=True)
        ]


@dataclass(frozen=True, eq=False)
class NumberFeatures(_WithMissing):
    """Standardized value, cosines of the rank, and an indicator of missing values."""

    center: float
    scale: float
    knots: Array
    ranks: Array
    n_functions: int
    unit: str  # "number", "date" or "duration"

    @classmethod
    def fit(cls, name: Any, X: Any, weights: Array, limit: int) -> Self:
        """Fit to numbers, or to times in days."""
        numbers = numbers_of_column(X, name)
        present = ~np.isnan(numbers)
        values, codes = np.unique(numbers[present], return_inverse=True)
        masses = np.bincount(codes, weights[present], minlength=len(values))
        center, scale = _center_and_scale(values, masses)
        n_functions = max(min(limit - 1, _N_FUNCTIONS, len(values) - 2), 0)
        total, count = float(weights.sum()), float(masses.sum())
        ranks = (np.cumsum(masses) - masses / 2) / max(count, np.finfo(float).tiny)
        kept = np.arange(len(values))
        if len(values) > _MAX_KNOTS:
            kept = np.unique(np.r_[0, evenly_spaced(masses, _MAX_KNOTS)[0], len(values) - 1])
        gone = float(weights[~present].sum())
        indicator = _indicator(gone, total) if count else 0.0
        knots, ranks = (values[kept], ranks[kept]) if len(values) else (np.zeros(1), np.ones(1))
        made = cls(
            name=name,
            factor=1.0,
            means=np.zeros(1 + n_functions),
            missing=indicator,
            center=center,
            scale=scale,
            knots=knots,
            ranks=ranks,
            n_functions=n_functions,
            unit=_unit(X, name),
        )
        if len(values):
            made = replace(made, means=masses @ made._functions(values) / count)
        return _normalized(made, made._raw(numbers), weights)

    @property
    def width(self) -> int:
        """Value, cosines, indicator of missing values."""
        return 2 + self.n_functions

    @property
    def cell_weights(self) -> Array:
        """The value alone."""
        return np.eye(1, self.width)[0]

    @property
    def degrees(self) -> Array:
        """Value, cosines, indicator of missing values."""
        return np.r_[1.0, np.arange(1.0, self.n_functions + 1), 1.0]

    def raw(self, X: Any) -> Array:
        """Return value, cosines and indicator."""
        return self._raw(numbers_of_column(X, find_column(X, self.name)))

    def _raw(self, numbers: Array) -> Array:
        missing = np.isnan(numbers)
        found = np.zeros((len(numbers), self.width))
        found[:, :-1] = self.means
        found[~missing, :-1] = self._functions(numbers[~missing])
        found[missing, -1] = self.missing
        return found

    def _functions(self, numbers: Array) -> Array:
        steps = np.arange(1, self.n_functions + 1)
        ranks = np.interp(numbers, self.knots, self.ranks)
        cosines = np.sqrt(2) * np.cos(np.pi * np.outer(ranks, steps))
        return np.column_stack([self._standardized(numbers), cosines])

    def _standardized(self, numbers: Array) -> Array:
        with np.errstate(over="ignore"):
            z = np.clip((numbers - self.center) / self.scale, -1e300, 1e300)
        beyond = np.log1p(np.maximum(np.abs(z) - _LINEAR_UP_TO, 0))
        return np.asarray(np.sign(z) * (np.minimum(np.abs(z), _LINEAR_UP_TO) + beyond))

    def expected(self, block: Array) -> list[Any]:
        """Return the number with the expected standardized value, within the training range."""
        value = block[:, 0] / self.factor
        beyond = np.expm1(np.clip(np.abs(value) - _LINEAR_UP_TO, 0, 500))
        z = np.sign(value) * (np.minimum(np.abs(value), _LINEAR_UP_TO) + beyond)
        with np.errstate(over="ignore"):
            numbers = np.clip(self.center + self.scale * z, self.knots[0], self.knots[-1])
        found = _in_unit(numbers, self.unit)
        return self._without_missing(found, block)


def _unit(X: Any, name: Any) -> str:
    """Return what the numbers of a column are."""
    if not hasattr(X, "columns") or as_days(X[name]) is None:
        return "number"
    return "date" if column_type(X[name]) == "date" else "duration"


def _in_unit(numbers: Array, unit: str) -> list[Any]:
    """Return numbers, or days as dates or durations."""
    if unit == "number":
        return list(numbers.tolist())
    import pandas as pd

    microseconds = np.round(numbers * (24 * 3600 * 1e6)).astype(np.int64)
    return list(pd.Series(microseconds.astype("M8[us]" if unit == "date" else "m8[us]")))


def _center_and_scale(values: Array, masses: Array) -> tuple[float, float]:
    """Return the median, and the interquartile range / 1.349 or, if that is 0, the deviation."""
    if len(values) < 2:  # any other value is far from a constant
        constant = float(values[0]) if len(values) else 0.0
        return constant, 1e-9 * (abs(constant) or 1.0)
    center = float(weighted_median(values, masses))
    low, high = (float(weighted_quantile(values, masses, level)) for level in (0.25, 0.75))
    spread = (high - low) / 1.349
    if spread > 0:
        return center, spread
    extent = float(np.abs(values - center).max())  # squares must not overflow
    mean_square = masses @ ((values - center) / extent) ** 2 / masses.sum()
    return center, extent * float(np.sqrt(mean_square))


# --- categories -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CategoryFeatures(ColumnFeatures):
    """Indicators of the categories, of missing values if there were any, and of other values."""

    categories: Array
    positions: Array  # index of the indicator of each category
    values: Array  # of the indicators: categories, missing if observed, unseen

    @classmethod
    def fit(cls, name: Any, cells: Array, missing: Array, weights: Array, limit: int) -> Self:
        """Fit to cells; if there are more than ``limit`` categories, the rarest share one."""
        categories, masses = distinct_objects(cells[~missing], weights[~missing])
        total = float(weights.sum())
        ranks = np.argsort(np.argsort(-masses, kind="stable"), kind="stable")
        positions = np.minimum(ranks, max(limit, 2) - 1)
        counts = [*np.bincount(positions, masses), float(weights[missing].sum()), 0.0]
        if not missing.any():
            del counts[-2]
        values = np.array([_indicator(count, total) for count in counts])
        if len(values) == 2:  # the column is constant
            values[0] = 0.0
        made = cls(name, 1.0, categories, positions, values)
        return _normalized(made, made._raw(cells, missing), weights)

    @property
    def width(self) -> int:
        """Number of indicators."""
        return len(self.values)

    @property
    def cell_weights(self) -> Array:
        """Probabilities, so that indicators count with the variance p (1 - p)."""
        squares = self.values**2
        weights = np.where(squares > 0, 1 / np.where(squares > 0, squares, 1), 0.0)
        weights[-1] = 0.0
        return weights

    def raw(self, X: Any) -> Array:
        """Return the indicators."""
        return self._raw(*column_of(X, find_column(X, self.name)))

    def _raw(self, cells: Array, missing: Array) -> Array:
        codes = self._codes(_with_none(cells, missing))
        found = np.zeros((len(cells), self.width))
        found[np.arange(len(cells)), codes] = self.values[codes]
        return found

    def _codes(self, cells: list[Any]) -> Array:
        """Return the index of the indicator of each cell; None is a missing value."""
        known = dict(zip(self.categories.tolist(), self.positions.tolist(), strict=True))
        unseen = self.width - 1
        observed_missing = int(self.positions.max(initial=-1)) + 2 < self.width
        known[None] = unseen - 1 if observed_missing else unseen
        try:
            return np.array([known.get(cell, unseen) for cell in cells], dtype=np.intp)
        except TypeError:
            to_codes(cells, {})  # raises
            raise

    def expected(self, block: Array) -> list[Any]:
        """Return the most probable category."""
        labels: list[Any] = [None] * self.width
        known = zip(self.categories.tolist(), self.positions.tolist(), strict=True)
        for category, position in reversed(list(known)):
            labels[position] = category
        return [labels[i] for i in np.argmax(self._distribution(block), axis=1)]

    def probabilities(self, block: Array, observed: list[Any]) -> Array:
        """Return the probability of each observed category."""
        return self._distribution(block)[np.arange(len(block)), self._codes(observed)]

    def _distribution(self, block: Array) -> Array:
        """Return the probabilities of the categories: expected indicators, if positive."""
        scales = self.factor * self.values
        # the indicator of a constant is 0
        expected = np.where(scales > 0, np.maximum(block, 0) / np.where(scales > 0, scales, 1), 1.0)
        totals = expected.sum(axis=1, keepdims=True)
        return np.asarray(expected / np.where(totals > 0, totals, 1))


# --- texts and sets -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LandmarkFeatures(_WithMissing):
    """Features of a kernel from its values at some cells, and an indicator of missing values."""

    kernel: Kernel
    landmarks: Array
    root: Array

    @classmethod
    def fit(
        cls, name: Any, kernel: Kernel, cells: Array, missing: Array, weights: Array, limit: int
    ) -> Self:
        """Fit to cells, with landmarks evenly spaced among the distinct ones."""
        distinct, masses = _distinct_in_order(cells[~missing], weights[~missing])
        some = np.arange(len(distinct))
        most = min(_N_LANDMARKS, max(limit - 1, 1))
        if len(distinct) > most:
            some = evenly_spaced(np.ones(len(distinct)), most)[0]
        landmarks = distinct[some]
        values, vectors = np.linalg.eigh(kernel(landmarks))
        used = values > 1e-10 * values[-1]
        root = vectors[:, used] / np.sqrt(values[used])
        indicator = _indicator(float(weights[missing].sum()), float(weights.sum()))
        made = cls(name, 1.0, np.zeros(root.shape[1]), indicator, kernel, landmarks, root)
        made = replace(made, means=masses @ made._functions(distinct) / masses.sum())
        return _normalized(made, made._raw(cells, missing), weights)

    @property
    def width(self) -> int:
        """Number of landmarks, and the indicator."""
        return self.root.shape[1] + 1

    @property
    def cell_weights(self) -> Array:
        """All features alike, without the indicator."""
        return np.r_[np.ones(self.root.shape[1]), 0.0]

    def raw(self, X: Any) -> Array:
        """Return kernel features and indicator."""
        return self._raw(*column_of(X, find_column(X, self.name)))

    def _raw(self, cells: Array, missing: Array) -> Array:
        found = np.zeros((len(cells), self.width))
        found[:, :-1] = self.means
        if not missing.all():
            found[~missing, :-1] = self._functions(cells[~missing])
        found[missing, -1] = self.missing
        return found

    def _functions(self, cells: Array) -> Array:
        return np.asarray(self.kernel(cells, self.landmarks) @ self.root)

    def expected(self, block: Array) -> list[Any]:
        """Return the most similar landmark."""
        own = self._functions(self.landmarks)
        norms = np.maximum(np.sqrt(np.einsum("ij,ij->i", own, own)), np.finfo(float).tiny)
        best = np.argmax(block[:, :-1] @ (own / norms[:, None]).T, axis=1)
        cells = [self.landmarks[i] for i in best]
        return self._without_missing(cells, block)


def _distinct_in_order(cells: Array, weights: Array) -> tuple[Array, Array]:
    """Return the distinct texts or sets in an order that does not depend on the rows."""
    known: dict[Any, list[Any]] = {}
    for cell, weight in zip(cells, weights.tolist(), strict=True):
        key = cell if isinstance(cell, str) else tuple(sorted(map(repr, cell)))
        known.setdefault(key, [cell, 0.0])[1] += weight
    found = np.empty(len(known), dtype=object)
    found[:] = [known[key][0] for key in sorted(known)]
    return found, np.array([known[key][1] for key in sorted(known)])


# --- choice ---------------------------------------------------------------------------------------


def _normalized(made: Any, raw: Array, weights: Array) -> Any:
    """Return the features with a mean squared norm of 1 (those of a constant column may be 0)."""
    square = _mean_square(raw, weights)
    return replace(made, factor=1 / float(np.sqrt(square)) if square > 0 else 1.0)


def column_features(X: Any, name: Any, weights: Array, limit: int) -> ColumnFeatures:
    """Fit the features of a column by its type.

    ``X``: a data frame or an array of numbers, rows of positive weight only. ``weights``:
    multiplicities of the rows. ``limit``: largest number of features, as far as possible.
    """
    if not hasattr(X, "columns"):
        return NumberFeatures.fit(name, X, weights, limit)
    cells, missing = column_of(X, name)
    observed = cells[~missing]
    if observed.dtype.kind == "O" and len(observed) and _are_sets(observed):
        return LandmarkFeatures.fit(name, Jaccard(), cells, missing, weights, limit)
    kind = column_type(X[name], size=float(weights[~missing].sum()))
    if kind in ("number", "date"):
        return NumberFeatures.fit(name, X, weights, limit)
    if kind == "text":
        kernel = NGram(3, normalize=True)
        return LandmarkFeatures.fit(name, kernel, cells, missing, weights, limit)
    return CategoryFeatures.fit(name, cells, missing, weights, limit)


def _are_sets(cells: Array) -> bool:
    return all(isinstance(cell, set | frozenset) for cell in cells)
