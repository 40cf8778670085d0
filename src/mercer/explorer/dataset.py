"""A table made ready: which rows are analysed, which are shown, and which bandwidths make sense."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.bandwidth import median_distance, resolve, silverman
from mercer.explorer.state import State
from mercer.kernels import (
    Cosine,
    Epanechnikov,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
)
from mercer.maths.types import Array
from mercer.tables import Table, modelling

__all__ = ["ANALYSED", "IN_THE_PLANE", "SHOWN", "Classes", "Dataset", "Plane", "is_scaled"]

ANALYSED = 2000  # rows; of more, so many are drawn, unless plane waves make all of them cheap
SHOWN = 1000
IN_THE_PLANE = ("rings", "ring-and-blob")  # sets whose two columns have one unit
_MOST_CLASSES = 9
_WIDTHS_ALONE = {"gaussian": Gaussian, "laplacian": Laplacian, "epanechnikov": Epanechnikov}


@dataclass(frozen=True)
class Classes:
    """Labels as pictures use them: codes of at most ten classes, or numbers."""

    kind: str
    values: list[Any]
    names: list[str]


@dataclass(frozen=True)
class Plane:
    """Two coordinates of the shown rows."""

    points: Array
    names: tuple[str, str]


@dataclass(frozen=True, eq=False)
class Dataset:
    """What a view is computed from.

    Attributes
    ----------
    key : str
        Tells data sets apart; two with one key hold the same numbers.
    table : Table
    scale : bool
        Whether the columns are standardised.
    rows : int array
        The analysed rows of the table.
    data : array or data frame
        The analysed rows, as an estimator takes them.
    shown : int array
        Places among the analysed rows.
    is_large : bool
        All rows are analysed, and they are too many for anything but plane waves.
    """

    key: str
    table: Table
    scale: bool
    rows: Array
    data: Any
    shown: Array
    is_large: bool

    @classmethod
    def of(cls, key: str, table: Table, scale: bool, kernel: str) -> Dataset:
        """Choose the rows: all, or a sample of them that is the same every time."""
        n, is_numeric = table.n, table.is_numeric
        waves = is_numeric and len(table.columns) == 2 and kernel == "gaussian"
        rows = np.arange(n) if n <= ANALYSED or waves else draw_rows(n, ANALYSED)
        whole = modelling(table, scale=scale).data if is_numeric else table.frame
        data = whole[rows] if is_numeric else whole.iloc[rows].reset_index(drop=True)
        shown = np.arange(len(rows))
        if len(rows) > SHOWN:
            shown = draw_rows(len(rows), SHOWN)
        return cls(key, table, scale, rows, data, shown, len(rows) > ANALYSED)

    @property
    def n(self) -> int:
        """Number of analysed rows."""
        return len(self.rows)

    @cached_property
    def is_numeric(self) -> bool:
        """Whether it is an array of numbers."""
        return self.table.is_numeric

    @property
    def is_planar(self) -> bool:
        """Whether functions of the data can be drawn as contours."""
        return self.is_numeric and self.data.shape[1] == 2

    @property
    def nbytes(self) -> int:
        """Memory that it takes, roughly."""
        return int(self.table.rows_read * (len(self.table.columns) + 2) * 16)

    def take(self, places: Array) -> Any:
        """Some of the analysed rows."""
        return self.data[places] if self.is_numeric else self.data.iloc[places]

    @cached_property
    def labels(self) -> Array | None:
        """Of the analysed rows."""
        labels = self.table.labels
        return None if labels is None else labels[self.rows]

    @cached_property
    def classes(self) -> Classes | None:
        """Of the shown rows."""
        if self.labels is None:
            return None
        labels = self.labels[self.shown]
        names, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
        if labels.dtype.kind in "iuf" and len(names) > _MOST_CLASSES + 1:
            return Classes("number", labels.astype(float).tolist(), [])
        if len(names) <= _MOST_CLASSES + 1:
            return Classes("class", codes.tolist(), [str(name) for name in names])
        often = np.sort(np.argsort(-counts, kind="stable")[:_MOST_CLASSES])
        place = np.full(len(names), _MOST_CLASSES)
        place[often] = np.arange(_MOST_CLASSES)
        return Classes("class", place[codes].tolist(), [*map(str, names[often]), "others"])

    # --- coordinates --------------------------------------------------------------------------

    @cached_property
    def numbers(self) -> tuple[Array, list[str]]:
        """The columns of numbers, gaps filled with the median, and their names."""
        if self.is_numeric:
            return self.data, list(self.table.columns)
        names = [name for name, kind in self.table.kinds.items() if kind == "number"]
        columns = self.data[names].astype(float)
        return columns.fillna(columns.median()).to_numpy(), names

    def plane(self, x: str, y: str) -> Plane:
        """Two columns, or the two principal axes where none are named."""
        X, names = self.numbers
        if x in names and y in names:
            return Plane(X[self.shown][:, [names.index(x), names.index(y)]], (x, y))
        if len(names) == 2:
            return Plane(X[self.shown], (names[0], names[1]))
        if len(names) < 2:
            first = X[self.shown] if names else np.zeros((len(self.shown), 1))
            row = self.rows[self.shown, None].astype(float)
            return Plane(np.hstack([first, row]), (names[0] if names else "", "row"))
        return Plane(self._principal, ("first principal axis", "second principal axis"))

    @cached_property
    def _principal(self) -> Array:
        from sklearn.decomposition import PCA

        X = self.numbers[0]
        return PCA(2, svd_solver="full").fit(X).transform(X[self.shown])

    # --- kernels ------------------------------------------------------------------------------

    @cached_property
    def marks(self) -> dict[str, float]:
        """Bandwidths worth a mark on the slider, and its two ends."""
        if not self.is_numeric:  # a factor on the table's own widths
            return {"low": 0.1, "high": 10.0, "auto": 1.0}
        median = median_distance(self.data)
        marks = {
            "silverman": silverman(self.data),
            "fraction_low": 0.1 * median,
            "fraction_high": 0.2 * median,
            "auto": float(resolve(Gaussian("auto"), self.data).bandwidth),  # type: ignore[attr-defined]
        }
        low, high = min(0.05 * median, *marks.values()), max(3 * median, *marks.values())
        if self.is_large:  # waves become many where the bandwidth is far below the extent
            low = max(low, float(np.ptp(self.data, axis=0).max()) / 80)
        return marks | {"low": low, "high": high}

    @cached_property
    def _table_kernel(self) -> Kernel:
        return modelling(self.table).kernel

    def bandwidth(self, state: State) -> float | None:
        """The view's bandwidth, by the rule "auto" where it names none; on large data not tiny."""
        if self.is_numeric and not state.has_bandwidth:
            return None
        wanted = self.marks["auto"] if state.bandwidth is None else state.bandwidth
        return max(wanted, self.marks["low"]) if self.is_large else wanted

    def kernel(self, state: State, bandwidth: float | None = None) -> Kernel:
        """The view's kernel with its numbers (or with another bandwidth)."""
        width = self.bandwidth(state) if bandwidth is None else bandwidth
        if not self.is_numeric:
            assert width is not None
            return self._table_kernel.widened(width)
        if state.kernel == "polynomial":
            return Polynomial(state.degree, constant=state.constant)
        if state.kernel == "linear":
            return Linear(constant=state.constant)
        if state.kernel == "cosine":
            return Cosine()
        assert width is not None
        if state.kernel == "matern":
            return Matern(width, nu=state.nu)
        return _WIDTHS_ALONE[state.kernel](width)


def is_scaled(state: State) -> bool:
    """Whether columns are standardised: unless told, all but those of the plane."""
    return state.data not in IN_THE_PLANE if state.scale is None else state.scale


def draw_rows(n: int, count: int) -> Array:
    """So many of n rows, the same every time, in their order."""
    return np.sort(np.random.default_rng(0).choice(n, count, replace=False))
