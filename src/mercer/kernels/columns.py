"""Kernel on selected columns of a table, with support for missing values.

Let φ be the features of the inner kernel, ``k(x, y) = φ(x)'φ(y)``. A missing value is represented
by the mean embedding ``φ(?) = Σ_z s_z φ(z)`` of the observed training values z with normalized
weights s_z. Hence ``k(x, ?) = Σ_z s_z k(x, z)`` and ``k(?, ?) = Σ_z Σ_z' s_z s_z' k(z, z')``. All
kernel values are inner products of features, so every Gram matrix is positive semi-definite for any
pattern of missing values and any choice of the values z. The same holds for sums and products of
such kernels (Schur). If missing columns were omitted from a product instead, k(x, y) would not be
an inner product of features of x and features of y.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.data.points import Kind
from mercer.data.subsampling import distinct_rows, evenly_spaced
from mercer.kernels.base import FitParts, Kernel, Tiles, checked_depth
from mercer.kernels.cells import as_array, column_of, distinct_objects, numbers_of_column
from mercer.utils.formatting import table as html_table
from mercer.utils.frames import as_frame, is_frame
from mercer.utils.types import Array

__all__ = ["Observed", "On", "describe_columns", "find_column"]

_ROWS_PER_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class Observed:
    """Observed values whose mean embedding represents a missing one; their weights sum to 1."""

    cells: Array
    weights: Array

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Observed)
            and np.array_equal(self.weights, other.weights)
            and np.array_equal(self.cells, other.cells)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self.cells)} values>"


class On(Kernel):
    """A kernel on some columns of a data frame or an array: ``k(x[columns], y[columns])``.

    Sums and products of such kernels compare tables. Columns selected by name are found by name:
    their order, and other columns, do not matter. When fitted on a data frame, positions become
    names.

    A missing value (None, NaN, NaT, NA) is represented by the mean embedding of the observed
    training values, ``k(x, ?) = mean k(x, z)`` and ``k(?, ?) = mean k(z, z')``; Gram matrices are
    positive semi-definite (see the source for the proof). Several columns in one ``On`` are one
    value: a row in which one of them is missing counts as missing. A product with one ``On`` per
    column still uses the other columns of such a row.

    Parameters
    ----------
    columns : name, position, slice, or list of names or positions
        One name or position selects single values (strings for :class:`NGram`, for example), a list
        or a slice selects a table. In a data frame an integer is a column's label if there is such
        a label, and its position otherwise.
    kernel : Kernel
        Its bandwidth rules use these columns only.
    observed : Observed or None
        The values that represent a missing one. If None, ``fit`` uses all distinct values of the
        training sample with their weights, or 256 representative ones if there are more than 2000.

    Examples
    --------
    >>> from mercer.kernels import Categorical, Gaussian, On
    >>> kernel = On(0, Gaussian(1.0)) * On(1, Categorical(0.5))
    >>> kernel
    On(0, Gaussian(bandwidth=1.0)) * On(1, Categorical(rho=0.5, order=None))
    >>> kernel([[0.0, "red"], [0.0, "blue"]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    compares: ClassVar[Kind] = "objects"

    def __init__(self, columns: Any, kernel: Kernel, observed: Observed | None = None) -> None:
        self.columns = columns
        self.kernel = kernel
        self.observed = observed
        self._squared_mean: tuple[Kernel, Observed, float] | None = None
        self._depth = checked_depth([kernel])

    @property
    def is_psd(self) -> bool:
        """Whether the inner kernel is positive semi-definite; this holds with missing values."""
        return self.kernel.is_psd

    # --- fitting --------------------------------------------------------------------------------

    def inner_kernels(self) -> dict[str, Kernel]:
        """Return the inner kernel."""
        return {"kernel": self.kernel}

    def with_inner_kernels(self, kernels: Sequence[Kernel]) -> Kernel:
        """Return another kernel on the same columns."""
        return On(self.columns, kernels[0], self.observed)

    def split_for_fit(self, X: Any, weights: Array | None) -> FitParts:
        """Return the inner kernel with the observed values, which represent missing ones."""
        cells, missing = self._cells(X)
        counts = np.ones(len(cells)) if weights is None else weights
        present = ~missing & (counts > 0)
        if not present.any():
            raise ValueError(
                f"{describe_columns(self.columns)} is missing in all {int((counts > 0).sum())} "
                "training rows. Drop it, or remove it from the kernel."
            )
        cells, counts = cells[present], counts[present]

        def assemble(kernels: Sequence[Kernel]) -> Kernel:
            observed = _observed(cells, counts) if self.observed is None else self.observed
            return On(_names(X, self.columns), kernels[0], observed)

        part = (self.kernel, cells, None if weights is None else counts)
        return FitParts([part], assemble, describe_columns(self.columns))

    # --- evaluation -----------------------------------------------------------------------------

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """Return tiles of the inner kernel, with rows and columns of missing values replaced."""
        return self._tiles(X, Y, logarithmic=False)

    def log_tiles(self, X: Any, Y: Any) -> Tiles:
        """Return the logarithms of the inner kernel, with those of missing values replaced."""
        return self._tiles(X, Y, logarithmic=True)

    def _tiles(self, X: Any, Y: Any, *, logarithmic: bool) -> Tiles:
        x, missing_x = self._filled(X)
        y, missing_y = (x, missing_x) if Y is None else self._filled(Y)
        if logarithmic:
            inner = self.kernel.log_tiles(x, y)
        else:
            inner = self.kernel.tiles(x, None if Y is None else y)
        if not missing_x.any() and not missing_y.any():
            return inner
        means = self._log_means if logarithmic else self._means
        mean_y = means(y, missing_y) if missing_x.any() else np.zeros(len(y))
        mean_x = mean_y if Y is None else np.zeros(len(x))
        if Y is not None and missing_y.any():
            mean_x = means(x, missing_x)

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            block = inner(rows, columns, out)
            block[missing_x[rows]] = mean_y[columns]
            block[:, missing_y[columns]] = mean_x[rows, None]
            return block

        return tile

    def diagonal(self, X: Any) -> Array:
        """Return the diagonal of the inner kernel, with k(?, ?) for missing values."""
        cells, missing = self._filled(X if is_frame(X) else as_frame(X))
        diagonal = self.kernel.diagonal(cells)
        return np.where(missing, self._potential(), diagonal) if missing.any() else diagonal

    def _means(self, cells: Array, missing: Array) -> Array:
        """Return ``k(x, ?)`` for every row x, including missing ones."""
        assert self.observed is not None
        tiles = self.kernel.tiles(cells, self.observed.cells)
        parts = [
            tiles(slice(i, i + _ROWS_PER_BLOCK), slice(None), None) @ self.observed.weights
            for i in range(0, len(cells), _ROWS_PER_BLOCK)
        ]
        return np.where(missing, self._potential(), np.concatenate(parts))

    def _log_means(self, cells: Array, missing: Array) -> Array:
        """Return ``log k(x, ?)`` for every row x, also where k(x, ?) underflows."""
        assert self.observed is not None
        tiles = self.kernel.log_tiles(cells, self.observed.cells)
        weights = np.log(self.observed.weights)
        with np.errstate(divide="ignore", invalid="ignore"):  # k may be 0 or negative
            parts = [
                np.logaddexp.reduce(
                    tiles(slice(i, i + _ROWS_PER_BLOCK), slice(None), None) + weights, axis=1
                )
                for i in range(0, len(cells), _ROWS_PER_BLOCK)
            ]
            logs = np.where(missing, np.log(self._potential()), np.concatenate(parts))
            undefined = np.isnan(logs)
            if undefined.any():  # the mean of negative and positive values
                logs[undefined] = np.log(self._means(cells, missing)[undefined])
        return logs

    def _potential(self) -> float:
        """Return ``k(?, ?)``, cached until a parameter changes."""
        assert self.observed is not None
        cached = self._squared_mean
        if cached is None or cached[0] != self.kernel or cached[1] is not self.observed:
            values = self.kernel.tiles(self.observed.cells)(slice(None), slice(None), None)
            squared = float(self.observed.weights @ values @ self.observed.weights)
            self._squared_mean = cached = (deepcopy(self.kernel), self.observed, squared)
        return cached[2]

    # --- columns --------------------------------------------------------------------------------

    def _filled(self, X: Any) -> tuple[Array, Array]:
        """Return the values with missing ones replaced by an observed one, and a missing mask."""
        cells, missing = self._cells(X)
        if missing.any():
            if self.observed is None:
                raise ValueError(
                    f"{describe_columns(self.columns)} has missing values, which only a fitted "
                    "kernel can compare. Fit an estimator, or call "
                    "mercer.bandwidth.fit_kernel(kernel, X)."
                )
            cells = cells.astype(np.result_type(cells, self.observed.cells))  # a copy
            cells[missing] = self.observed.cells[np.zeros(missing.sum(), dtype=int)]
        return cells, missing

    def _cells(self, X: Any) -> tuple[Array, Array]:
        """Return the selected values in the form of the inner kernel, and a missing mask."""
        self._check_kernel()
        names = _names(X, self.columns)
        several = isinstance(names, list)
        listed = names if several else [names]
        if self.kernel.compares == "vectors":
            numbers = np.column_stack([numbers_of_column(X, name) for name in listed])
            return numbers, np.isnan(numbers).any(axis=1)
        columns = [column_of(X, name) for name in listed]
        missing = np.logical_or.reduce([absent for _, absent in columns])
        if not several:
            return columns[0][0], missing
        arrays = [cells for cells, _ in columns]
        if not all(cells.dtype.kind in "biuf" for cells in arrays):
            arrays = [cells.astype(object) for cells in arrays]
        return np.stack(arrays, axis=1), missing

    def _check_kernel(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise TypeError(
                f"On({self.columns!r}, kernel) needs a kernel object such as Gaussian() or "
                f"Categorical(), not {self.kernel!r}."
            )
        if self.kernel.compares == "gram":
            raise ValueError(f"{self!r}: a precomputed Gram matrix has no columns to select.")

    def _repr_html_(self) -> str:
        missing = "not fitted" if self.observed is None else f"mean of {self.observed!r}"
        rows = [["kernel", repr(self.kernel)], ["missing values", missing]]
        return html_table(f"Kernel on {describe_columns(self.columns)}", ["", "value"], rows)

    def __repr__(self) -> str:
        # The observed values are omitted: they are training data and too long to print.
        return f"On({self.columns!r}, {self.kernel!r})"


def describe_columns(columns: Any) -> str:
    """Return the selected columns as text for messages."""
    return f"Column {columns!r}" if not isinstance(columns, list | slice) else f"On({columns!r}, …)"


def find_column(X: Any, name: Any) -> Any:
    """Return the validated name (frames) or position (arrays) of one column."""
    named = hasattr(X, "columns")
    return _find_column(name, X.columns if named else range(_n_columns(X, name)), named)


def _names(X: Any, columns: Any) -> Any:
    """Return validated names (frames) or positions (arrays); a list if several are selected."""
    several = isinstance(columns, list | tuple | slice | np.ndarray)
    named = hasattr(X, "columns")
    available = X.columns if named else range(_n_columns(X, columns))
    if isinstance(columns, slice):
        selected = list(available[columns])
    else:
        wanted = list(columns) if several else [columns]
        selected = [_find_column(name, available, named) for name in wanted]
    if not selected:
        raise ValueError(f"On({columns!r}, …) selects none of the {len(available)} columns of X.")
    return selected if several else selected[0]


def _find_column(name: Any, available: Any, named: bool) -> Any:
    # Lookup in an index takes constant time; tables may have thousands of columns.
    if name in available:
        if named and not available.is_unique and list(available).count(name) > 1:
            count = list(available).count(name)
            raise ValueError(f"X has {count} columns named {name!r}; rename them.")
        return name
    if isinstance(name, int | np.integer) and -len(available) <= name < len(available):
        return available[name]
    if named:
        listed = ", ".join(repr(other) for other in available[:20]) + ", …" * (len(available) > 20)
        raise ValueError(f"X has no column {name!r}, which the kernel compares; it has: {listed}.")
    raise ValueError(
        f"X has {len(available)} columns without names, and no column {name!r}. Pass a data frame, "
        "or select columns by position."
    )


def _n_columns(X: Any, columns: Any) -> int:
    shape = as_array(X).shape
    if len(shape) != 2:
        raise ValueError(
            f"On({columns!r}, …) compares columns of a table: pass a data frame or a 2-D array, "
            f"not a {type(X).__name__} with {len(shape)} dimensions."
        )
    return shape[1]


def _observed(cells: Array, counts: Array) -> Observed:
    """Return the distinct values with normalized weights; representative ones if many."""
    if cells.dtype.kind in "biuf":
        table = cells.reshape(len(cells), -1)
        rows, counts = distinct_rows(table, counts)
        table = table[rows]
        cells = table if cells.ndim == 2 else table[:, 0]
    else:
        cells, counts = distinct_objects(cells, counts)
    # the error of a mean over 256 representative values is below 1e-3 for a Gaussian kernel
    if len(cells) > 2000:
        selected, counts = evenly_spaced(counts, 256)
        cells = cells[selected]
    return Observed(cells, counts / counts.sum())
