"""A kernel on some columns of a table: the only thing that knows about columns.

Missing cells. Let φ be the features of the inner kernel, ``k(x, y) = φ(x)'φ(y)``. A missing cell
gets the feature ``φ(?) = Σ_z s_z φ(z)``, the mean over the observed training cells z with shares
s_z of the weight. Hence ``k(x, ?) = Σ_z s_z k(x, z)`` and ``k(?, ?) = Σ_z Σ_z' s_z s_z' k(z, z')``.
All values are still inner products of features, so every Gram matrix stays positive semi-definite,
whichever cells are missing and whichever cells z are taken; and sums and products of such kernels
stay so too (Schur). Leaving a missing column out of a product would not: k(x, y) would then not
come from features of x and of y alone.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.data import Kind
from mercer.kernels.base import Kernel, Settle, Tiles
from mercer.kernels.cells import as_array, column_of, numbered, numbers_of
from mercer.maths.quantiles import distinct_rows, evenly_spaced
from mercer.maths.types import Array
from mercer.notebook import table

__all__ = ["Observed", "On"]

# Up to so many distinct cells the mean embedding of a missing cell is exact; beyond that it is the
# mean over fewer ones in the middle of equal shares. (For a Gaussian of 0.3 to 3 standard
# deviations on 20,000 normal, exponential or t₃ cells, 256 of them are off by 5e-4 at most.)
_DISTINCT = 2000
_REPRESENTATIVES = 256
_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Observed:
    """Cells whose mean embedding stands for a missing one.

    Parameters
    ----------
    cells : array
        What the inner kernel compares, in its form.
    shares : array
        Their weights; they add up to 1.
    """

    cells: Array
    shares: Array

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Observed)
            and np.array_equal(self.shares, other.shares)
            and np.array_equal(self.cells, other.cells)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self.cells)} cells>"


class On(Kernel):
    """A kernel on some columns of a data frame or an array: ``k(x[columns], y[columns])``.

    Sums and products of such kernels compare tables. Columns chosen by name are found by name:
    their order, and other columns, do not matter. When fitted on a data frame, numbers become
    names.

    A missing cell (None, NaN, NaT, NA) is compared through the mean embedding of the observed
    training cells, ``k(x, ?) = mean k(x, z)`` and ``k(?, ?) = mean k(z, z')``; the module's text
    proves that Gram matrices stay positive semi-definite. Several columns in one ``On`` are one
    cell: a row in which one of them is missing counts as missing. A product of one ``On`` per
    column keeps the others.

    Parameters
    ----------
    columns : name, number, slice, or list of names or numbers
        One name or number selects cells (strings for :class:`NGram`, say), a list or a slice
        selects a table. In a data frame a number is a column's label where there is such a label,
        else its place.
    kernel : Kernel
        Its bandwidth rules see these columns only.
    observed : Observed or None
        What a missing cell is the mean of; None: all that the training sample has, merged and
        weighted, or 256 representatives where there are more than 2000 different ones.

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

    @property
    def is_psd(self) -> bool:
        """As the inner kernel, missing cells or not."""
        return self.kernel.is_psd

    # --- fitting --------------------------------------------------------------------------------

    def replace_parts(self, change: Callable[[Kernel], Kernel]) -> Kernel:
        """Apply ``change`` to the leaves of the inner kernel."""
        return On(self.columns, self.kernel.replace_parts(change), self.observed)

    def fitted(self, X: Any, weights: Array | None, settle: Settle) -> Kernel:
        """Settle the inner kernel on the observed cells, and remember what a missing cell is."""
        cells, missing = self._cells(X)
        counts = np.ones(len(cells)) if weights is None else weights
        seen = ~missing & (counts > 0)
        if not seen.any():
            raise ValueError(
                f"{_words(self.columns)} has no row that is observed among the "
                f"{int((counts > 0).sum())} training rows: there is nothing to compare. Drop it, "
                "or leave it out of the kernel."
            )
        cells, counts = cells[seen], counts[seen]
        try:
            inner = self.kernel.fitted(cells, None if weights is None else counts, settle)
        except ValueError as error:
            raise ValueError(f"{_words(self.columns)}: {error}") from error
        observed = _observed(cells, counts) if self.observed is None else self.observed
        return On(_names(X, self.columns), inner, observed)

    # --- evaluation -----------------------------------------------------------------------------

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """Tiles of the inner kernel, in which rows and columns of missing cells are replaced."""
        x, gone_x = self._filled(X)
        y, gone_y = (x, gone_x) if Y is None else self._filled(Y)
        inner = self.kernel.tiles(x, None if Y is None else y)
        if not gone_x.any() and not gone_y.any():
            return inner
        mean_y = self._means(y, gone_y) if gone_x.any() else np.zeros(len(y))
        mean_x = mean_y if Y is None else np.zeros(len(x))
        if Y is not None and gone_y.any():
            mean_x = self._means(x, gone_x)

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            block = inner(rows, columns, out)
            block[gone_x[rows]] = mean_y[columns]
            block[:, gone_y[columns]] = mean_x[rows, None]
            return block

        return tile

    def diagonal(self, X: Any) -> Array:
        """That of the inner kernel, and k(?, ?) where the cell is missing."""
        cells, missing = self._filled(X)
        diagonal = self.kernel.diagonal(cells)
        return np.where(missing, self._potential(), diagonal) if missing.any() else diagonal

    def _means(self, cells: Array, missing: Array) -> Array:
        """``k(x, ?)`` for every row x, missing ones included."""
        assert self.observed is not None
        tiles = self.kernel.tiles(cells, self.observed.cells)
        parts = [
            tiles(slice(i, i + _ROWS), slice(None), None) @ self.observed.shares
            for i in range(0, len(cells), _ROWS)
        ]
        return np.where(missing, self._potential(), np.concatenate(parts))

    def _potential(self) -> float:
        """``k(?, ?)``, kept as long as parameters stay: small tiles must not pay for it again."""
        assert self.observed is not None
        known = self._squared_mean
        if known is None or known[0] != self.kernel or known[1] is not self.observed:
            values = self.kernel.tiles(self.observed.cells)(slice(None), slice(None), None)
            squared = float(self.observed.shares @ values @ self.observed.shares)
            self._squared_mean = known = (deepcopy(self.kernel), self.observed, squared)
        return known[2]

    # --- columns --------------------------------------------------------------------------------

    def _filled(self, X: Any) -> tuple[Array, Array]:
        """Cells, with an observed one in every gap, and where the gaps are."""
        cells, missing = self._cells(X)
        if missing.any():
            if self.observed is None:
                raise ValueError(
                    f"{_words(self.columns)} has missing cells, which are compared through the "
                    "training sample: fit an estimator, or use mercer.bandwidth.resolve(kernel, X)."
                )
            cells = cells.astype(np.result_type(cells, self.observed.cells))  # a copy
            cells[missing] = self.observed.cells[np.zeros(missing.sum(), dtype=int)]
        return cells, missing

    def _cells(self, X: Any) -> tuple[Array, Array]:
        """Selected cells in the inner kernel's form, and which rows have a gap."""
        if not isinstance(self.kernel, Kernel):
            raise TypeError(
                f"On({self.columns!r}, kernel) needs a kernel object such as Gaussian() or "
                f"Categorical(), not {self.kernel!r}."
            )
        if self.kernel.compares == "gram":
            raise ValueError(f"{self!r}: a precomputed Gram matrix has no columns to choose.")
        names = _names(X, self.columns)
        several = isinstance(names, list)
        columns = [column_of(X, name) for name in (names if several else [names])]
        missing = np.logical_or.reduce([gaps for _, gaps in columns])
        if self.kernel.compares == "vectors":
            listed = zip(names if several else [names], columns, strict=True)
            numbers = [numbers_of(cells, gaps, name) for name, (cells, gaps) in listed]
            return np.column_stack(numbers), missing
        if not several:
            return columns[0][0], missing
        arrays = [cells for cells, _ in columns]
        if not all(cells.dtype.kind in "biuf" for cells in arrays):
            arrays = [cells.astype(object) for cells in arrays]
        return np.stack(arrays, axis=1), missing

    def _parts(self) -> dict[str, Kernel]:
        return {"kernel": self.kernel}

    def __repr__(self) -> str:
        # what stands for missing cells is the training data: too long to print
        return f"On({self.columns!r}, {self.kernel!r})"

    def _repr_html_(self) -> str:
        missing = "not fitted" if self.observed is None else f"the mean of {self.observed!r}"
        rows = [["kernel", repr(self.kernel)], ["a missing cell is", missing]]
        return table(f"Kernel on {_words(self.columns)}", ["", "value"], rows)


def _words(columns: Any) -> str:
    return f"Column {columns!r}" if not isinstance(columns, list | slice) else f"On({columns!r}, …)"


def _names(X: Any, columns: Any) -> Any:
    """Checked names (frames) or numbers (arrays): a list where several are meant."""
    several = isinstance(columns, list | tuple | slice | np.ndarray)
    there = list(X.columns) if hasattr(X, "columns") else list(range(_width(X, columns)))
    if isinstance(columns, slice):
        chosen = there[columns]
    else:
        wanted = list(columns) if several else [columns]
        chosen = [_found(name, there, hasattr(X, "columns")) for name in wanted]
    if not chosen:
        raise ValueError(f"On({columns!r}, …) selects no column of the {len(there)} that X has.")
    return chosen if several else chosen[0]


def _found(name: Any, there: list[Any], named: bool) -> Any:
    if name in there:
        if there.count(name) > 1:
            raise ValueError(f"X has {there.count(name)} columns called {name!r}; rename them.")
        return name
    if isinstance(name, int | np.integer) and -len(there) <= name < len(there):
        return there[name]
    if named:
        listed = ", ".join(repr(other) for other in there[:20]) + ", …" * (len(there) > 20)
        raise ValueError(f"X has no column {name!r}, which the kernel compares; it has: {listed}.")
    has = f"X has {len(there)} columns and no names"
    raise ValueError(f"{has}, so column {name!r} is not there; pass a data frame or a number.")


def _width(X: Any, columns: Any) -> int:
    shape = as_array(X).shape
    if len(shape) != 2:
        raise ValueError(
            f"On({columns!r}, …) compares columns of a table: pass a data frame or a 2-D array, "
            f"not {type(X).__name__} of {len(shape)} axes."
        )
    return shape[1]


def _observed(cells: Array, counts: Array) -> Observed:
    """Distinct cells with their shares, or representatives where there are many."""
    if cells.dtype.kind in "biuf":
        table = cells.reshape(len(cells), -1)
        rows, counts = distinct_rows(table, counts)
        table = table[rows]
        cells = table if cells.ndim == 2 else table[:, 0]
    else:
        cells, counts = _distinct_objects(cells, counts)
    if len(cells) > _DISTINCT:
        cells = cells[evenly_spaced(counts, _REPRESENTATIVES)]
        counts = np.ones(len(cells))
    return Observed(cells, counts / counts.sum())


def _distinct_objects(cells: Array, counts: Array) -> tuple[Array, Array]:
    """As far as they have hashes, and sorted as far as they have an order."""
    known: dict[Any, int] = {}
    keys = cells.tolist() if cells.ndim == 1 else list(map(tuple, cells.tolist()))
    try:
        numbers = numbered(keys, known)
    except TypeError:  # graphs or sets: each is its own
        return cells, counts
    first = np.unique(numbers, return_index=True)[1]
    totals = np.bincount(numbers, counts)
    try:
        order = sorted(range(len(known)), key=list(known).__getitem__)
    except TypeError:
        order = list(range(len(known)))
    return cells[first[order]], totals[order]
