"""A table prepared for the page: analyzed rows, shown rows and bandwidths of the slider."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.bandwidth import fit_kernel, median_distance, silverman
from mercer.data.subsampling import random_rows
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
from mercer.tables import Table, prepare
from mercer.utils.frames import rows_of
from mercer.utils.types import Array

__all__ = ["ANALYZED", "SHOWN", "UNSCALED", "Classes", "Dataset", "Plane", "is_scaled"]

ANALYZED = 2000  # rows of a subsample; all rows are analyzed where Fourier features are fast
SHOWN = 1000
UNSCALED = ("rings", "ring-and-blob")  # data sets whose two columns have the same unit
_BANDWIDTH_ONLY = {"gaussian": Gaussian, "laplacian": Laplacian, "epanechnikov": Epanechnikov}


@dataclass(frozen=True)
class Classes:
    """Labels for coloring: codes of at most ten classes, or numbers."""

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
    """The data of a view."""

    key: str  # equal keys have equal data
    table: Table
    scale: bool  # whether the columns are standardized
    rows: Array  # indices of the analyzed rows in the table
    data: Any  # the analyzed rows, as input of an estimator
    shown: Array  # indices of the shown rows among the analyzed ones
    is_large: bool  # whether there are so many rows that only Fourier features are fast enough

    @classmethod
    def from_table(cls, key: str, table: Table, scale: bool, kernel: str) -> Dataset:
        """Select the analyzed and the shown rows: all, or a subsample with a fixed seed."""
        has_fourier = table.is_numeric and len(table.columns) == 2 and kernel == "gaussian"
        rows = np.arange(table.n) if has_fourier else random_rows(table.n, ANALYZED)
        all_data = prepare(table, scale=scale).data if table.is_numeric else table.frame
        shown = random_rows(len(rows), SHOWN)
        return cls(key, table, scale, rows, rows_of(all_data, rows), shown, len(rows) > ANALYZED)

    @property
    def n(self) -> int:
        """Number of analyzed rows."""
        return len(self.rows)

    @cached_property
    def is_numeric(self) -> bool:
        """Whether the data are an array of numbers."""
        return self.table.is_numeric

    @property
    def is_planar(self) -> bool:
        """Whether functions of the data can be drawn as contours."""
        return self.is_numeric and self.data.shape[1] == 2

    @property
    def nbytes(self) -> int:
        """Approximate size in memory."""
        return int(self.table.rows_read * (len(self.table.columns) + 2) * 16)

    def take(self, indices: Array) -> Any:
        """Return some of the analyzed rows."""
        return self.data[indices] if self.is_numeric else self.data.iloc[indices]

    @cached_property
    def labels(self) -> Array | None:
        """Labels of the analyzed rows."""
        labels = self.table.labels
        return None if labels is None else labels[self.rows]

    @cached_property
    def classes(self) -> Classes | None:
        """Classes of the shown rows: rare classes are merged into "others"."""
        if self.labels is None:
            return None
        labels = self.labels[self.shown]
        names, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
        if len(names) <= 10:  # colors
            return Classes("class", codes.tolist(), [str(name) for name in names])
        if labels.dtype.kind in "iuf":
            return Classes("number", labels.astype(float).tolist(), [])
        frequent = np.sort(np.argsort(-counts, kind="stable")[:9])
        new_code = np.full(len(names), 9)
        new_code[frequent] = np.arange(9)
        return Classes("class", new_code[codes].tolist(), [*map(str, names[frequent]), "others"])

    # --- coordinates --------------------------------------------------------------------------

    @cached_property
    def numeric_columns(self) -> tuple[Array, list[str]]:
        """The numeric columns and their names; missing values are replaced by the median."""
        if self.is_numeric:
            return self.data, list(self.table.columns)
        names = [name for name, kind in self.table.column_types.items() if kind == "number"]
        columns = self.data[names].astype(float)
        return columns.fillna(columns.median()).to_numpy(), names

    def plane(self, x: str, y: str) -> Plane:
        """Return two columns, or the first two principal axes if no columns are named."""
        X, names = self.numeric_columns
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

        X = self.numeric_columns[0]
        return PCA(2, svd_solver="full").fit(X).transform(X[self.shown])

    # --- kernels ------------------------------------------------------------------------------

    @cached_property
    def marks(self) -> dict[str, float]:
        """Bandwidths that are marked on the slider, and its limits."""
        if not self.is_numeric:  # multipliers of the bandwidths of the table's kernel
            return {"low": 0.1, "high": 10.0, "auto": 1.0}
        median = median_distance(self.data)
        marks = {
            "silverman": silverman(self.data),
            "fraction_low": 0.1 * median,
            "fraction_high": 0.2 * median,
            "auto": float(fit_kernel(Gaussian("auto"), self.data).bandwidth),  # type: ignore[attr-defined]
        }
        low, high = min(0.05 * median, *marks.values()), max(3 * median, *marks.values())
        if self.is_large:  # the number of Fourier features grows with extent / bandwidth
            low = max(low, float(np.ptp(self.data, axis=0).max()) / 80)
        return marks | {"low": low, "high": high}

    @cached_property
    def _table_kernel(self) -> Kernel:
        return prepare(self.table).kernel

    def bandwidth(self, state: State) -> float | None:
        """Return the bandwidth of the state, by default that of the rule "auto".

        None if the kernel has no bandwidth. Large data have a lower limit.
        """
        if self.is_numeric and not state.has_bandwidth:
            return None
        bandwidth = self.marks["auto"] if state.bandwidth is None else state.bandwidth
        return max(bandwidth, self.marks["low"]) if self.is_large else bandwidth

    def kernel(self, state: State, bandwidth: float | None = None) -> Kernel:
        """Return the kernel of the state, optionally with another bandwidth."""
        sigma = self.bandwidth(state) if bandwidth is None else bandwidth
        if not self.is_numeric:
            assert sigma is not None
            return self._table_kernel.scale_bandwidths(sigma)
        if state.kernel == "polynomial":
            return Polynomial(state.degree, constant=state.constant)
        if state.kernel == "linear":
            return Linear(constant=state.constant)
        if state.kernel == "cosine":
            return Cosine()
        assert sigma is not None
        if state.kernel == "matern":
            return Matern(sigma, nu=state.nu)
        return _BANDWIDTH_ONLY[state.kernel](sigma)


def is_scaled(state: State) -> bool:
    """Return whether the columns are standardized: by default, except for the planar examples."""
    return state.data not in UNSCALED if state.scale is None else state.scale
