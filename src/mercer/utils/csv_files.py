"""CSV output that spreadsheet programs do not evaluate.

A spreadsheet evaluates text that begins with a formula character, and a formula can read other
cells or open addresses. All CSV files of the package are written here.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["escape_formula", "to_csv"]

# A second apostrophe keeps cells apart that differ in their apostrophe only.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_HARMLESS = re.compile(r"[-+]?(\d+([.,]\d+)*(e[-+]?\d+)?)?", re.IGNORECASE | re.ASCII)


def escape_formula(cell: Any) -> Any:
    """Return a text that would be a formula with a leading apostrophe; other cells unchanged.

    Formulas begin with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return. Numbers are not
    changed, also if they are text, such as the class labels "+1" and "-1".

    >>> [escape_formula(cell) for cell in ("=1+1", "@SUM(A1)", "-1", -1.5, "a=b")]
    ["'=1+1", "'@SUM(A1)", '-1', -1.5, 'a=b']
    """
    if isinstance(cell, str) and _FORMULA.match(cell) and not _HARMLESS.fullmatch(cell):
        return f"'{cell}"
    return cell


def to_csv(frame: Any, *, separator: str = ",", float_format: str | None = None) -> str:
    """Return a data frame as CSV, without its index; texts and names of columns are escaped.

    Parameters
    ----------
    frame : pandas.DataFrame
    separator : str
    float_format : str or None
        Format of floats; by default all digits.

    Examples
    --------
    >>> import pandas as pd
    >>> print(to_csv(pd.DataFrame({"x": [-1.5], "label": ["=A1"]})), end="")
    x,label
    -1.5,'=A1
    """
    escaped = frame.copy(deep=False)
    for i, (_, column) in enumerate(frame.items()):
        if column.dtype.kind == "O":  # objects, strings and categories
            escaped.isetitem(i, column.astype(object).map(escape_formula))
    escaped.columns = [escape_formula(name) for name in frame.columns]
    text: str = escaped.to_csv(
        index=False, sep=separator, float_format=float_format, lineterminator="\n"
    )
    return text
