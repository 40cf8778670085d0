"""Cells of text files that pandas misreads: identifiers, labels, decimal commas.

pandas decides by column whether cells are numbers. It parses identifiers such as 007, integers
above 2⁵³ lose digits if one cell of their column is missing, and numbers with decimal commas or
thousands separators stay strings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mercer.utils.formatting import format_names

__all__ = ["as_labels", "columns_at", "correct_numbers", "with_booleans"]

# At the beginning of a cell: a leading zero, or more than 15 digits.
_ODD_NUMBER = r"(?:^|[\"{}])[ \t]*(?:0\d|[-+]?\d{{16}})"
_IDENTIFIER = r"\s*0\d+\s*"
_EXPONENT = r"(?:[eE][-+]?\d+)?\s*"
# 1234,5 and 1.234,5 and 1 234,5
_DECIMAL_COMMA = rf"\s*[-+]?(?:\d+|\d{{1,3}}(?:[.\s']\d{{3}})+)(?:,\d+)?{_EXPONENT}"
# 1234.5 and 1,234.5
_THOUSANDS_COMMA = rf"\s*[-+]?(?:\d+|\d{{1,3}}(?:,\d{{3}})+)(?:\.\d+)?{_EXPONENT}"
_EXACT = 2.0**53
_BOOLEANS = {
    spelling: name for name in ("True", "False") for spelling in (name, name.lower(), name.upper())
}


def columns_at(
    read: Callable[[Sequence[int]], Any], positions: Sequence[int]
) -> Iterator[tuple[int, Any]]:
    """Yield each position with its column of the data frame that ``read(positions)`` returns."""
    if positions:
        frame = read(positions)
        for j, i in enumerate(positions):
            yield i, frame.iloc[:, j]


def with_booleans(cells: Any) -> Any:
    """Write booleans as Python does if all cells are booleans, so that files can be compared.

    >>> import pandas as pd
    >>> with_booleans(pd.Series(["true", None, "FALSE"])).tolist()
    ['True', nan, 'False']
    """
    present = cells.dropna()
    if len(present) and present.isin(list(_BOOLEANS)).all():
        return cells.map(_BOOLEANS)
    return cells


def as_labels(cells: Any) -> Any:
    """Return labels as numbers if these are as distinct as the strings, and as strings otherwise.

    >>> import pandas as pd
    >>> as_labels(pd.Series(["1", "2"])).tolist(), as_labels(pd.Series(["01", "1"])).tolist()
    ([1, 2], ['01', '1'])
    """
    import pandas as pd

    present = cells.dropna()
    if not len(present) or present.str.fullmatch(_IDENTIFIER).any():
        return cells
    try:
        numbers = pd.to_numeric(cells, dtype_backend="numpy_nullable")
    except (ValueError, TypeError):
        return cells
    values = numbers.dropna().to_numpy()
    if values.dtype.kind not in "iuf" or len(values) < len(present):
        return cells
    if values.dtype.kind == "f" and not (np.abs(values) < _EXACT).all():
        return cells  # integers that floats cannot distinguish, or infinity
    return numbers if numbers.nunique() == present.nunique() else cells


def correct_numbers(
    frame: Any,
    positions: Sequence[int],
    text: str,
    separator: str,
    read_texts: Callable[[Sequence[int]], Any],
    notes: list[str],
) -> dict[int, Any]:
    """Return columns that replace those which pandas misreads, by position.

    Parameters
    ----------
    frame : pandas.DataFrame
        The cells as parsed by pandas.
    positions : sequence of int
        Columns to consider.
    text : str
        The file.
    separator : str
    read_texts : callable
        Returns the cells of the columns at some positions as strings.
    notes : list of str
        Assumptions about the format are added.
    """
    kinds = [dtype.kind for dtype in frame.dtypes]
    strings = [i for i in positions if kinds[i] not in "biufc" and _are_strings(frame.iloc[:, i])]
    numeric = [i for i in positions if kinds[i] in "iuf"]
    allow_decimal = separator != "," or "f" not in kinds
    commas = _find_commas(frame, strings, separator, allow_decimal)
    new = {i: _parse(frame.iloc[:, i], is_decimal) for i, is_decimal in commas.items()}
    thousands = [i for i, is_decimal in commas.items() if not is_decimal]
    has_decimal_commas = any(commas.values())
    if not re.search(_ODD_NUMBER.format(re.escape(separator)), text, re.MULTILINE):
        numeric = [i for i in numeric if has_decimal_commas and kinds[i] == "f"]
    others = [i for i in strings if has_decimal_commas and i not in new]
    written = {i: frame.iloc[:, i] for i in others} | dict(columns_at(read_texts, numeric))
    for i, cells in written.items():
        if has_decimal_commas and _have_points_as_thousands(cells):
            new[i] = _parse(cells, True)
            thousands.append(i)
        elif (column := _as_identifiers(cells, kinds[i])) is not None:
            new[i] = column
    if has_decimal_commas:
        notes.append("numbers have decimal commas")
    if thousands:
        names = format_names([frame.columns[i] for i in sorted(thousands)], 5)
        notes.append(f"thousands separators are removed from the numbers in {names}")
    return new


def _find_commas(
    frame: Any, positions: Sequence[int], separator: str, allow_decimal: bool
) -> dict[int, bool]:
    """Return the columns of numbers with commas, and whether these are decimal commas.

    All cells of a column are considered. If they fit both decimal commas and thousands separators,
    such as 1,234, the other columns decide; without any, commas are decimal unless they are also
    the separator of the file.
    """
    fits: dict[int, tuple[bool, bool]] = {}
    for i in positions:
        cells = frame.iloc[:, i].dropna()
        if not cells.str.contains(",", regex=False).any():
            continue
        is_decimal = allow_decimal and bool(cells.str.fullmatch(_DECIMAL_COMMA).all())
        is_thousands = bool(cells.str.fullmatch(_THOUSANDS_COMMA).all())
        if is_decimal or is_thousands:
            fits[i] = is_decimal, is_thousands
    if (True, False) in fits.values():
        prefers_decimal = True
    else:
        prefers_decimal = separator != "," and (False, True) not in fits.values()
    return {
        i: is_decimal and (prefers_decimal or not is_thousands)
        for i, (is_decimal, is_thousands) in fits.items()
    }


def _are_strings(column: Any) -> bool:
    """Return whether a column has strings only, unlike booleans with missing values."""
    return all(isinstance(cell, str) for cell in column.dropna())


def _parse(cells: Any, has_decimal_comma: bool) -> Any:
    """Return numbers without their thousands separators."""
    import pandas as pd

    if has_decimal_comma:
        cells = cells.str.replace(r"[.\s']", "", regex=True).str.replace(",", ".", regex=False)
    else:
        cells = cells.str.replace(",", "", regex=False).str.strip()
    return pd.to_numeric(cells)


def _have_points_as_thousands(cells: Any) -> bool:
    present = cells.dropna()
    return bool(
        present.str.contains(".", regex=False).any() and present.str.fullmatch(_DECIMAL_COMMA).all()
    )


def _as_identifiers(cells: Any, kind: str) -> Any:
    """Return cells with leading zeros as strings, long integers exactly; None for other numbers."""
    import pandas as pd

    present = cells.dropna()
    if present.str.fullmatch(_IDENTIFIER).any():
        return cells
    if kind == "f" and present.str.fullmatch(r"\s*[-+]?\d+\s*").all():
        numbers = pd.to_numeric(cells, dtype_backend="numpy_nullable")
        return numbers if numbers.dtype.kind in "iu" else cells
    return None
