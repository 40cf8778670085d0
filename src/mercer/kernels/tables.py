"""A kernel for a whole table: one kernel per column, chosen by its type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import exp, sqrt
from typing import Any, NamedTuple

import numpy as np

from mercer.errors import ColumnWarning, warn
from mercer.kernels.algebra import Product
from mercer.kernels.base import Kernel
from mercer.kernels.categories import Categorical
from mercer.kernels.cells import are_texts, codes_of, column_of, column_type, numbers_of_column
from mercer.kernels.columns import On
from mercer.kernels.objects import NGram
from mercer.kernels.stationary import Gaussian
from mercer.utils.frames import as_frame, check_distinct_names, is_frame
from mercer.utils.types import Array

__all__ = [
    "MANY_ROWS",
    "Skewness",
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


def table_kernel(X: Any, *, include: Iterable[Any] = ()) -> Kernel:
    """Return a product of one kernel per column of a data frame, fitted to its missing values.

    ============================== ============================================================
    column                         kernel
    ============================== ============================================================
    numbers, dates, durations      ``Gaussian``
    booleans, categories, labels   ``Categorical``; ordered if the column's type is
    texts                          ``NGram(3, normalize=True)``
    constant                       none
    identifiers                    none
    ============================== ============================================================

    Strings are texts if there are more than max(50, √n) distinct ones, or if the distinct ones
    are more than half as many as the rows and longer than 12 characters.

    Identifiers are left out, with a :class:`~mercer.errors.ColumnWarning`: at least 20 values, all
    different, that are whole numbers or strings without white space in a column with the word id,
    key or serial in its name; whole numbers that increase by 1 from row to row, starting above the
    number of rows; or strings of similar length that all contain digits. ``include`` keeps them.

    The same warning names columns of positive numbers whose skewness is at least 2 and at most half
    as large after taking logarithms. Their bandwidth suits either most rows or the long tail: take
    logarithms, as in ``frame.assign(price=np.log(frame["price"]))``.

    Bandwidths depend on the number D of columns. If each column had a bandwidth chosen for it
    alone, the product would decrease like ``c^D``: with Silverman's bandwidth for each of 12
    standard normal columns of 1000 rows, the median of the product over pairs of rows is 2e-69, and
    K is the identity. Therefore, the mean of ``log k`` over pairs of rows is set to -1/D per
    column, and a typical value of the product is about 1/e = 0.37 for every D (0.38 in that
    example). For a numeric column with standard deviation s (or interquartile range / 1.349, if
    that is smaller) this gives ``σ = s √D``. For categories, where two rows differ with probability
    p, it gives ``ρ = exp(-1/(D p))``; ranks and texts are treated alike. For a more local kernel,
    use ``scale_bandwidths`` or ``set_params``, or write the product yourself.

    Values may be missing; see :class:`~mercer.kernels.On`. The kernel is fitted to the rows passed
    here, so pass training rows only.

    Parameters
    ----------
    X : data frame
        Of pandas, polars or pyarrow.
    include : iterable of str
        Columns to use even if they look like identifiers.

    Returns
    -------
    Kernel
        A product of ``On(name, kernel)``, fitted.

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
    """
    X = as_frame(X)
    if not is_frame(X):
        raise TypeError(
            f"table_kernel chooses from the types of a data frame's columns; got "
            f"{type(X).__name__}. Pass pandas.DataFrame(X), or write On(column, kernel) terms."
        )
    check_distinct_names(X.columns)
    observed = {name: _observed_cells(X, name) for name in X.columns}
    varying = [name for name, cells in observed.items() if _varies(cells, name)]
    if not varying:
        raise ValueError(
            f"None of the {len(observed)} columns varies; the table needs at least one that does."
        )
    varying = _without_identifiers(X, varying, observed, set(include))
    target = 1 / len(varying)
    kernels = {name: _column_kernel(X, name, observed[name], target) for name in varying}
    _suggest_logarithms(X, [name for name, one in kernels.items() if isinstance(one, Gaussian)])
    # The kernels have no bandwidth rules, so fitting only stores the observed values.
    fitted = tuple(
        On(name, kernel).split_for_fit(X, None).assemble([kernel])
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
        raise TypeError(
            f"Column {name!r} holds {type(cells[0]).__name__} objects, for which table_kernel "
            "has no kernel. Drop it, and multiply by a kernel of your choice, such as "
            f"On({name!r}, Jaccard()) for sets or On({name!r}, Graph(normalize=True)) for graphs."
        ) from None


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


def _column_kernel(X: Any, name: Any, cells: Array, target: float) -> Kernel:
    """Return a kernel with a mean logarithm of about ``-target``."""
    dtype = X[name].dtype
    if getattr(dtype, "ordered", False):
        order = tuple(dtype.categories.tolist())
        steps = np.array([order.index(cell) for cell in cells.tolist()], dtype=np.float64)
        return Categorical(_rho(_mean_difference(steps), target), order)
    kind = column_type(X[name])
    if kind in ("number", "date"):
        numbers = numbers_of_column(X, name)
        return Gaussian(_rounded(_spread(numbers[~np.isnan(numbers)]) / sqrt(target)))
    if kind == "text":
        return NGram(3, normalize=True, rho=_text_rho(cells, target))
    codes, _ = codes_of(cells)
    proportions = np.bincount(codes) / len(codes)
    return Categorical(_rho(1 - float(proportions @ proportions), target))


def _spread(numbers: Array) -> float:
    """Return the standard deviation or, if smaller and positive, its estimate from quartiles."""
    scale = float(np.abs(numbers).max())
    deviation = float((numbers / scale).std(ddof=1)) * scale  # squares must not overflow
    low, high = np.quantile(numbers, [0.25, 0.75])
    quartiles = float(high - low) / 1.349
    return min(deviation, quartiles) if quartiles > 0 else deviation


def _mean_difference(ranks: Array) -> float:
    """Return the mean of ``|r - r'|`` over all pairs, from the distribution function."""
    cumulative = np.cumsum(np.bincount(ranks.astype(int))) / len(ranks)
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
