"""The cells of unusual rows, with observed and expected values."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.data.points import Points
from mercer.kernels import Table
from mercer.utils.frames import as_frame, is_frame
from mercer.utils.types import Array

__all__ = ["cell_table", "describe_cell", "explained_cells"]


def cell_table(
    kernel: Table, points: Points, labels: Array, expected: Array, contributions: Array
) -> Any:
    """Return a data frame of the cells of points, of each row that with most contribution first.

    ``labels``: of the rows. ``expected``: features of the expected cells. ``contributions``: of
    shape (n, d).
    """
    import pandas as pd

    parts = []
    for j, column in enumerate(kernel.columns or ()):
        block = expected[:, kernel.blocks[j][1]]
        observed, likely = column.cells(points.data), column.expected(block)
        part = {
            "row": np.arange(points.n),
            "column": column.name,
            "observed": pd.Series(observed, dtype=object),
            "expected": pd.Series(likely, dtype=object),
            "contribution": contributions[:, j],
            "probability": column.probabilities(block, observed),
            "expected_probability": column.probabilities(block, likely),
        }
        parts.append(pd.DataFrame(part))
    order = ["row", "contribution"]
    found = pd.concat(parts).sort_values(order, ascending=[True, False], kind="stable")
    return found.assign(row=labels[found["row"]]).reset_index(drop=True)


def explained_cells(detector: Any, X: Any) -> Any:
    """Return the cells of rows, of each row that with the largest contribution first.

    ``detector``: a fitted :class:`mercer.KernelNovelty`. The data frame has the columns ``row``
    (position), ``column``, ``observed``, ``expected`` and ``contribution`` for every statistic. For
    those without an expected cell it is the typical value of the column.
    """
    import pandas as pd

    X = as_frame(X)
    names = list(X.columns) if is_frame(X) else list(range(np.asarray(X).shape[1]))
    frame = X.reset_index(drop=True) if is_frame(X) else pd.DataFrame(X)
    found = detector.explain(frame if is_frame(X) else X)
    if detector.typical_row_ is None:
        return found
    contributions = np.asarray(found)
    order = np.argsort(-contributions, axis=1, kind="stable")
    rows = np.repeat(np.arange(len(frame)), len(names))
    at = order.ravel()
    cells = frame.astype(object).where(frame.notna(), None).to_numpy()
    typical = np.asarray(detector.typical_row_, dtype=object)
    return pd.DataFrame(
        {
            "row": rows,
            "column": np.array(names, dtype=object)[at],
            "observed": pd.Series(cells[rows, at], dtype=object),
            "expected": pd.Series(typical[at], dtype=object),
            "contribution": contributions[rows, at],
        }
    )


def describe_cell(column: Any, observed: Any, expected: Any) -> str:
    """Return a phrase such as "age is 200, expected 41.3"."""
    first, second = _as_text(observed), _as_text(expected)
    if first == second:  # the only value of its kind, or one of a combination that is rare
        return f"{column} is {first}, which is rare"
    return f"{column} is {first}, expected {second}"


def _as_text(value: Any) -> str:
    if value is None or value != value:
        return "missing"
    return f"{value:.4g}" if isinstance(value, float) and abs(value) < 1e4 else f"{value}"
