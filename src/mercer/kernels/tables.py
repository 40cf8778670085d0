"""A kernel for a whole table: one kernel per column, chosen by its type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import exp, sqrt
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from mercer.data.points import Kind, select_rows
from mercer.errors import ColumnWarning, warn
from mercer.kernels.algebra import Product
from mercer.kernels.base import FitParts, Kernel, Tiles, copy_into
from mercer.kernels.categories import Categorical
from mercer.kernels.cells import (
    are_texts,
    as_array,
    codes_of,
    column_of,
    column_type,
    numbers_of_column,
)
from mercer.kernels.column_features import ColumnFeatures, column_features
from mercer.kernels.columns import On
from mercer.kernels.objects import NGram
from mercer.kernels.stationary import Gaussian
from mercer.utils.formatting import table as html_table
from mercer.utils.frames import as_frame, check_distinct_names, is_frame
from mercer.utils.quantiles import weighted_quantile
from mercer.utils.types import Array
from mercer.utils.weights import multiplicities

__all__ = [
    "MANY_ROWS",
    "Skewness",
    "Table",
    "are_texts",
    "counts_from_offset",
    "has_identifier_name",
    "identify_rows",
    "logarithm_helps",
    "skewness",
    "table_kernel",
]

#: Values of fewer rows may all differ by chance.
MANY_ROWS = 20

_MAX_FEATURES = 1000  # of a sum: work and memory grow with their square


def table_kernel(
    X: Any, *, combine: Literal["product", "sum"] = "product", include: Iterable[Any] = ()
) -> Kernel:
    """Return a kernel per column of a data frame, multiplied or added, fitted to the frame.

    ============================== ============================ =================================
    column                         factor of a product          features of a sum
    ============================== ============================ =================================
    numbers, dates, durations      ``Gaussian``                 value, functions of its rank
    booleans, categories, labels   ``Categorical``; ordered if  indicators divided by the root of
                                   the column's type is         their probability
    texts                          ``NGram(3, normalize=True)`` similarities to 30 of the texts
    sets                           none                         similarities to 30 of the sets
    constant                       none                         an indicator of other values
    identifiers                    none                         none
    ============================== ============================ =================================

    A product is close to 0 for rows that differ in any column. With many columns nearly all pairs
    of rows differ in some, and the kernel matrix is nearly diagonal. In a sum, each column
    contributes alike, and what columns have in common remains visible; see :class:`Table`, which is
    the same kernel for estimators to fit.

    Strings are texts if there are more than max(50, √n) distinct ones, or if the distinct ones
    are more than half as many as the rows and longer than 12 characters.

    Identifiers are left out, with a :class:`~mercer.errors.ColumnWarning`: at least 20 values, all
    different, that are whole numbers or strings without white space in a column with the word id,
    key or serial in its name; whole numbers that increase by 1 from row to row, starting above the
    number of rows; or strings of similar length that all contain digits. ``include`` keeps them.

    For a product, the same warning names columns of positive numbers whose skewness is at least 2
    and at most half as large after taking logarithms. Their bandwidth suits either most rows or the
    long tail: take logarithms, as in ``frame.assign(price=np.log(frame["price"]))``.

    Bandwidths of a product depend on the number D of columns. If each column had a bandwidth chosen
    for it alone, the product would decrease like ``c^D``: with Silverman's bandwidth for each of 12
    standard normal columns of 1000 rows, the median of the product over pairs of rows is 2e-69, and
    K is the identity. Therefore, the mean of ``log k`` over pairs of rows is set to -1/D per
    column, and a typical value of the product is about 1/e = 0.37 for every D (0.38 in that
    example). For a numeric column with standard deviation s (or interquartile range / 1.349, if
    that is smaller) this gives ``σ = s √D``. For categories, where two rows differ with probability
    p, it gives ``ρ = exp(-1/(D p))``; ranks and texts are treated alike. For a more local kernel,
    use ``scale_bandwidths`` or ``set_params``, or write the product yourself.

    Values may be missing; see :class:`~mercer.kernels.On` and :class:`Table`. The kernel is fitted
    to the rows passed here, so pass training rows only.

    Parameters
    ----------
    X : data frame
        Of pandas, polars or pyarrow. For a sum also an array of numbers.
    combine : {"product", "sum"}
    include : iterable of str
        Columns to use even if they look like identifiers.

    Returns
    -------
    Kernel
        A product of ``On(name, kernel)``, or a :class:`Table`; fitted.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.kernels import table_kernel
    >>> frame = pd.DataFrame({"age": [31, 45, None, 22], "smoker": [True, False, False, True]})
    >>> table_kernel(frame)
    On('age', Gaussian(bandwidth=12.06)) * On('smoker', Categorical(rho=0.3679, order=None))
    >>> table_kernel(frame)(frame).round(2)
    array([[1.  , 0.19, 0.28, 0.76],
           [0.19, 1.  , 0.56, 0.06],
           [0.28, 0.56, 0.65, 0.24],
           [0.76, 0.06, 0.24, 1.  ]])
    >>> table_kernel(frame, combine="sum").features(frame).shape
    (4, 6)
    """
    kernel = Table(combine, include)
    split = kernel.split_for_fit(as_frame(X), None)
    assert split is not None
    return split.assemble([])


class Table(Kernel):
    """Kernel of a table, a sum (or product) of one kernel per column, fitted with the estimator.

    The sum has explicit features, a block for each column: k(x, y) is the inner product of
    ``features(x)`` and ``features(y)``. Estimators use the features, so that their cost is
    proportional to the number of rows. The squared norm of each block has the mean 1 over the
    training rows, so that all columns contribute alike:

    - numbers, dates and durations: the standardized value (with median and interquartile range;
      beyond 3 it grows like the logarithm) and up to 5 cosines of its rank. They express any smooth
      function of the column, and no unit or outlier dominates.
    - categories and booleans: the indicator of each category, divided by the root of its
      probability.
    - texts and sets: coordinates of :class:`NGram` and :class:`Jaccard` kernels from the
      similarities to at most 30 of the cells.
    - missing values: an indicator divided by the root of their probability; the other features of
      the column have their mean.
    - a category, or a missing value, in a column that had none at fit: an indicator, as unusual as
      one of n + 1 rows. It is 0 for all training rows, so it changes distances, and not
      projections.
    - constant columns: features that are 0 for the constant, so that their mean square is 0.

    With more than 150 columns, they have fewer features each, in all about 1,000 or two per column.

    ``kernel="table"`` stands for ``Table()``. In measures of entropy and diversity, and in kernel
    ECA, entropy clustering and mixtures, it stands for ``Normalized(Table("product"))``: the mean
    of the sum's kernel values, hence its entropy, says little about the rows. ``kernel="auto"`` is
    "table" for data frames with other columns than numbers, or with missing values, and "gaussian"
    otherwise.

    An array of numbers is a table without names. Rules for the types of columns and for identifiers
    are those of :func:`table_kernel`, and so is the product.

    Parameters
    ----------
    combine : {"sum", "product"}
    include : iterable of str
        Columns to use even if they look like identifiers.
    columns : tuple of features or None
        Fitted features of the columns; set by ``fit``.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer import KernelPCA
    >>> from mercer.kernels import Table
    >>> frame = pd.DataFrame({"age": [31, 45, None, 22], "smoker": [True, False, False, True]})
    >>> model = KernelPCA(2, kernel=Table()).fit(frame)
    >>> model.kernel_.blocks
    (('age', slice(0, 3, None)), ('smoker', slice(3, 6, None)))
    """

    compares: ClassVar[Kind] = "objects"
    accepts_arrays: ClassVar[bool] = True  # of numbers, such as the chunks of a Dask array

    def __init__(
        self,
        combine: Literal["sum", "product"] = "sum",
        include: Iterable[Any] = (),
        columns: tuple[ColumnFeatures, ...] | None = None,
    ) -> None:
        self.combine = combine
        self.include = include
        self.columns = columns

    # --- fitting --------------------------------------------------------------------------------

    def split_for_fit(self, X: Any, weights: Array | None) -> FitParts | None:
        """Return how to fit the columns; None if that was done."""
        if self.columns is not None:
            return None
        if self.combine not in ("sum", "product"):
            raise ValueError(f"combine={self.combine!r} must be 'sum' or 'product'.")
        fit = self._fitted_sum if self.combine == "sum" else self._fitted_product
        return FitParts([], lambda _: fit(X, weights))

    def _fitted_sum(self, X: Any, weights: Array | None) -> Kernel:
        X, counts = _with_positive_weight(_as_table(X), weights)
        names = list(X.columns) if is_frame(X) else list(range(X.shape[1]))
        varying = [name for name in names if _number_of_distinct(X, name) > 1]
        if not varying:
            raise ValueError(
                f"None of the {len(names)} columns varies; the table needs at least one that does."
            )
        if is_frame(X) and not (counts >= 2).any():  # copies are not identified
            observed = {name: _observed_cells(X, name) for name in varying}
            used = _without_identifiers(X, varying, observed, set(self.include))
            names = [name for name in names if name in used or name not in varying]
        limit = max(_MAX_FEATURES // len(names), 2)
        columns = tuple(column_features(X, name, counts, limit) for name in names)
        return Table("sum", self.include, columns)

    def _fitted_product(self, X: Any, weights: Array | None) -> Kernel:
        return _product(X, weights, set(self.include))

    def with_own_parameters(self) -> Self:
        """Return this kernel if it is fitted, since fitted features do not change."""
        return self if self.columns is not None else super().with_own_parameters()

    # --- evaluation -----------------------------------------------------------------------------

    @property
    def blocks(self) -> tuple[tuple[Any, slice], ...]:
        """The name of each column, with the positions of its features."""
        ends = np.cumsum([column.width for column in self._fitted()]).tolist()
        names = [column.name for column in self._fitted()]
        return tuple(
            (name, slice(start, end))
            for name, start, end in zip(names, [0, *ends[:-1]], ends, strict=True)
        )

    def features(self, X: Any) -> Array:
        """Return the features of every row, of shape (n, p)."""
        columns, X = self._fitted(), _as_table(X)
        return np.hstack([column(X) for column in columns])

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """Multiply features."""
        left = self.features(X)
        right = left if Y is None else self.features(Y)

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            return copy_into(left[rows] @ right[columns].T, out)

        return tile

    def diagonal(self, X: Any) -> Array:
        """Return the squared norms of the features."""
        found = self.features(X)
        return np.asarray(np.einsum("ij,ij->i", found, found))

    def _fitted(self) -> tuple[ColumnFeatures, ...]:
        if self.columns is None:
            raise ValueError(
                f"{self!r} has to be fitted: pass it to an estimator as its kernel, or use "
                "table_kernel(X, combine='sum')."
            )
        return self.columns

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Table)
            and self.combine == other.combine
            and tuple(self.include) == tuple(other.include)
            and self.columns == other.columns
        )

    __hash__ = Kernel.__hash__

    def __repr__(self) -> str:
        shown = [] if self.combine == "sum" else [f"combine={self.combine!r}"]
        shown += [f"include={list(self.include)!r}"] if tuple(self.include) else []
        if self.columns is not None:  # the features are too long to print
            shown.append(f"<{len(self.columns)} columns, {self.blocks[-1][1].stop} features>")
        return f"Table({', '.join(shown)})"

    def _repr_html_(self) -> str:
        rows = [[str(name), str(at.stop - at.start)] for name, at in self.blocks]
        return html_table("Sum of kernels of columns", ["column", "features"], rows)


def _as_table(X: Any) -> Any:
    """Return a data frame, or an array of numbers."""
    X = as_frame(X)
    if is_frame(X):
        return X
    array = as_array(X) if not isinstance(X, np.ndarray) else X
    if array.ndim != 2:
        raise TypeError(
            f"This kernel compares the columns of a table; got {type(X).__name__} with "
            f"{array.ndim} dimension{'s' * (array.ndim != 1)}. Pass a data frame or a 2-D array."
        )
    if array.dtype.kind in "biuf":
        return array
    import pandas as pd

    return pd.DataFrame(array).infer_objects()


def _with_positive_weight(X: Any, weights: Array | None) -> tuple[Any, Array]:
    """Return the rows of positive weight, and their multiplicities."""
    if weights is None:
        return X, np.ones(len(X))
    used = np.flatnonzero(weights)
    return select_rows(X, used), multiplicities(weights[used])


def _number_of_distinct(X: Any, name: Any) -> int:
    """Return the number of distinct cells of a column; a missing value is one."""
    cells, missing = column_of(X, name)
    some = bool(missing.any())
    try:
        return codes_of(cells[~missing])[1] + some if not missing.all() else 1
    except TypeError:
        if all(isinstance(cell, set) for cell in cells[~missing]):
            return len(set(map(frozenset, cells[~missing]))) + some
        raise _no_kernel(name, cells[~missing]) from None


def _product(X: Any, weights: Array | None, include: set[Any]) -> Kernel:
    """Return the product of one kernel per column."""
    if not is_frame(X):
        raise TypeError(
            f"table_kernel chooses from the types of a data frame's columns; got "
            f"{type(X).__name__}. Pass pandas.DataFrame(X), or write On(column, kernel) terms."
        )
    check_distinct_names(X.columns)
    X, counts = _with_positive_weight(X, weights)
    observed = {name: _observed_cells(X, name) for name in X.columns}
    varying = [name for name, cells in observed.items() if _varies(cells, name)]
    if not varying:
        raise ValueError(
            f"None of the {len(observed)} columns varies; the table needs at least one that does."
        )
    if not (counts >= 2).any():  # copies are not identified
        varying = _without_identifiers(X, varying, observed, include)
    target = 1 / len(varying)
    kernels = {name: _column_kernel(X, name, counts, target) for name in varying}
    _suggest_logarithms(X, [name for name, one in kernels.items() if isinstance(one, Gaussian)])
    # The kernels have no bandwidth rules, so fitting only stores the observed values.
    fitted = tuple(
        On(name, kernel).split_for_fit(X, counts).assemble([kernel])
        for name, kernel in kernels.items()
    )
    return fitted[0] if len(fitted) == 1 else Product(fitted)


def _observed_cells(X: Any, name: Any) -> Array:
    cells, missing = column_of(X, name)
    if missing.all():
        raise ValueError(f"Column {name!r} is missing in all {len(X)} rows; drop it.")
    return cells[~missing]


def _varies(cells: Array, name: Any) -> bool:
    try:
        return codes_of(cells)[1] > 1
    except TypeError:
        raise _no_kernel(name, cells) from None


def _no_kernel(name: Any, cells: Array) -> TypeError:
    return TypeError(
        f"Column {name!r} holds {type(cells[0]).__name__} objects, for which table_kernel "
        "has no kernel. Drop it, and multiply by a kernel of your choice, such as "
        f"On({name!r}, Jaccard()) for sets or On({name!r}, Graph(normalize=True)) for graphs."
    )


def _without_identifiers(
    X: Any, names: list[Any], observed: dict[Any, Array], include: set[Any]
) -> list[Any]:
    """Return the columns that do not identify rows; all if there are no others."""
    found = [
        name
        for name in names
        if name not in include
        and identify_rows(name, observed[name])
        and column_type(X[name]) != "date"
    ]
    others = [name for name in names if name not in found]
    if not found or not others:
        return names
    listed = ", ".join(map(repr, found))
    warn(f"Left out as identifiers: {listed}. To use them, pass include=[{listed}].", ColumnWarning)
    return others


def _suggest_logarithms(X: Any, names: list[Any]) -> None:
    """Warn about columns of numbers that logarithms make symmetric."""
    found = []
    for name in names:
        if column_type(X[name]) == "number":
            numbers = numbers_of_column(X, name)
            change = logarithm_helps(numbers[~np.isnan(numbers)])
            if change is not None:
                found.append(f"{name!r} (skewness {change.before:.1f}, after {change.after:.1f})")
    if found:
        warn(
            f"Skewed columns of positive numbers: {', '.join(found)}. One bandwidth does not suit "
            "both their bulk and their tail. Consider their logarithms.",
            ColumnWarning,
        )


def _column_kernel(X: Any, name: Any, counts: Array, target: float) -> Kernel:
    """Return a kernel with a mean logarithm of about ``-target``."""
    dtype = X[name].dtype
    cells, missing = column_of(X, name)
    cells, counts = cells[~missing], counts[~missing]
    if getattr(dtype, "ordered", False):
        order = tuple(dtype.categories.tolist())
        steps = np.array([order.index(cell) for cell in cells.tolist()])
        return Categorical(_rho(_mean_difference(steps, counts), target), order)
    kind = column_type(X[name], float(counts.sum()))
    if kind in ("number", "date"):
        numbers = numbers_of_column(X, name)
        return Gaussian(_rounded(_spread(numbers[~missing], counts) / sqrt(target)))
    if kind == "text":
        return NGram(3, normalize=True, rho=_text_rho(cells, target))
    codes, _ = codes_of(cells)
    proportions = np.bincount(codes, counts) / counts.sum()
    return Categorical(_rho(1 - float(proportions @ proportions), target))


def _spread(numbers: Array, counts: Array) -> float:
    """Return the standard deviation or, if smaller and positive, its estimate from quartiles."""
    scale = float(np.abs(numbers).max())  # squares must not overflow
    scaled, total = numbers / scale, counts.sum()
    squares = counts @ (scaled - counts @ scaled / total) ** 2
    deviation = sqrt(float(squares) / max(total - 1, 1)) * scale
    low, high = (float(weighted_quantile(numbers, counts, level)) for level in (0.25, 0.75))
    quartiles = (high - low) / 1.349
    return min(deviation, quartiles) if quartiles > 0 else deviation


def _mean_difference(ranks: Array, counts: Array) -> float:
    """Return the mean of ``|r - r'|`` over all pairs, from the distribution function."""
    cumulative = np.cumsum(np.bincount(ranks, counts)) / counts.sum()
    return float(2 * (cumulative * (1 - cumulative)).sum())


def _rho(difference: float, target: float) -> float:
    # A column whose rows rarely differ must not dominate the product: a difference is at most
    # equivalent to one in a column in which a quarter of all pairs differ.
    return _rounded(exp(-target / max(difference, 0.25)))


def _text_rho(cells: Array, target: float) -> float:
    """Return ρ such that ``ρ + (1 - ρ) cosine = exp(-target)`` for a typical pair of texts."""
    texts = sorted(set(cells))
    # 200 texts are enough to estimate the typical similarity
    some = texts[:: -(-len(texts) // 200)]
    cosines = NGram(3, normalize=True)(some)
    typical = float((cosines.sum() - len(some)) / (len(some) * max(len(some) - 1, 1)))
    return _rounded(max((exp(-target) - typical) / (1 - typical), 0.0)) if typical < 1 else 0.0


def _rounded(value: float) -> float:
    """Return a value rounded to four digits, for readability."""
    return float(f"{value:.4g}")


# --- identifiers ----------------------------------------------------------------------------------

_WORDS = {"id", "ids", "identifier", "uuid", "guid", "key", "sku", "serial"}
_NAMES = {"", "index", "idx", "row", "no", "nr", "number", "unnamed: 0"}
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def has_identifier_name(name: Any) -> bool:
    """Return whether a column is named like an identifier: by one of its words, or as a whole."""
    text = str(name).strip()
    words = {word.lower() for word in _PARTS.findall(text)}
    return bool(words & _WORDS) or text.lower() in _NAMES


def identify_rows(name: Any, cells: Array) -> bool:
    """Return whether the observed cells of a column identify rows and have no other information.

    This is the case if there are at least 20 cells, all different, and

    - they are whole numbers, and the column is named like an identifier, or
    - they are whole numbers that increase by 1 from row to row, starting above the number of rows
      (unless they could be years), or
    - they are strings without white space, and the column is named like an identifier, or all of
      them contain digits and their lengths differ by at most 5 characters.

    A sorted column of measurements has fractions, equal values or unequal steps, so it does not
    identify rows.
    """
    if len(cells) < MANY_ROWS:
        return False
    if cells.dtype.kind in "iuf":
        return _identifying_numbers(name, cells)
    return all(isinstance(cell, str) for cell in cells) and _identifying_strings(name, cells)


def counts_from_offset(first: float, last: float, rows: int) -> bool:
    """Return whether numbers that increase by 1 from first to last look like identifiers."""
    could_be_years = first >= 1000 and last < 3000
    return rows >= MANY_ROWS and first > rows and not could_be_years


def _identifying_numbers(name: Any, numbers: Array) -> bool:
    if not (np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all()):
        return False
    if has_identifier_name(name):
        return len(np.unique(numbers)) == len(numbers)
    counts = bool((numbers[1:] == numbers[:-1] + 1).all())
    return counts and counts_from_offset(float(numbers[0]), float(numbers[-1]), len(numbers))


def _identifying_strings(name: Any, strings: Sequence[str] | Array) -> bool:
    if len(set(strings)) < len(strings) or any(re.search(r"\s", cell) for cell in strings):
        return False
    if has_identifier_name(name):
        return True
    lengths = [len(cell) for cell in strings]
    # lengths of sequences and formulas, which carry information, differ more
    are_codes = max(lengths) - min(lengths) <= 5
    return are_codes and all(re.search(r"\d", cell) for cell in strings)


# --- skewness -------------------------------------------------------------------------------------


class Skewness(NamedTuple):
    """Skewness of positive numbers and of their logarithms."""

    before: float
    after: float


def skewness(numbers: Array) -> float:
    """Return the third standardized moment; 0 for constant numbers."""
    extent = float(np.ptp(numbers))
    if not extent > 0:
        return 0.0
    centered = (numbers - numbers.mean()) / extent
    deviation = float(np.sqrt((centered**2).mean()))
    return float((centered**3).mean()) / deviation**3


def logarithm_helps(numbers: Array) -> Skewness | None:
    """Return the skewness before and after taking logarithms, if these are clearly less skewed.

    None unless there are at least 20 positive numbers with 10 distinct values, whose skewness is at
    least 2 and becomes at most half as large.
    """
    if len(numbers) < MANY_ROWS or not numbers.min() > 0 or not np.isfinite(numbers).all():
        return None
    before = skewness(numbers)
    # an exponential distribution has skewness 2; few distinct values are codes or counts
    if before < 2.0 or len(np.unique(numbers)) < 10:
        return None
    after = skewness(np.log(numbers))
    return Skewness(before, after) if abs(after) <= before / 2 else None
