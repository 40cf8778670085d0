"""The cells of unusual rows, with observed and expected values."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.data.points import Points
from mercer.kernels import Table
from mercer.utils.frames import as_frame, is_frame
from mercer.utils.types import Array

__all__ = ["cell_table", "describe_cell", "explained_cells", "unusual_cells"]

_CANDIDATES = 20  # per listed row; some become ordinary when their missing values are replaced
_SMALLEST = 0.05  # contribution of a listed cell, relative to those of all cells of the row


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


def unusual_cells(model: Any, frame: Any, n_rows: int = 10, n_cells: int = 3) -> Any:
    """Return the rows that are least like the others, and the cells that make them so.

    Missing values are replaced by what the other cells of the row predict, so that a row is not
    listed because of them. Of each remaining row, the cell with the largest contribution is listed
    and replaced by the expected value, and the rest of the row is judged again, because a wrong
    cell changes what is expected in all others. This ends when the row is not abnormal
    (``false_alarm_rate`` of the model), no other cell has 5 % of the contributions, or after
    ``n_cells`` cells.

    Parameters
    ----------
    model : mercer.KernelNovelty
        Fitted with ``statistic="conditional"``.
    frame : pandas.DataFrame
    n_rows, n_cells : int
        Largest numbers of rows, and of cells per row.

    Returns
    -------
    pandas.DataFrame
        One line per cell, the most unusual row first: *row* (its position), *score* (of the row),
        *column*, *observed*, *expected*, *contribution* and *probability* (see
        :meth:`mercer.KernelNovelty.explain`).

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from mercer import KernelNovelty
    >>> from mercer.novelty.cells import unusual_cells
    >>> x = np.linspace(1, 2, 200)
    >>> frame = pd.DataFrame({"radius": x, "diameter": 2 * x, "circumference": 2 * np.pi * x})
    >>> frame.loc[30, "diameter"] = 9.0
    >>> model = KernelNovelty(statistic="conditional").fit(frame)
    >>> found = unusual_cells(model, frame, n_rows=1)
    >>> found[["row", "column", "observed", "expected"]].round(1)
       row    column observed  expected
    0   30  diameter      9.0       ...
    """
    import pandas as pd

    scores = _scores(model, frame)
    chosen = np.argsort(-scores, kind="stable")[: _CANDIDATES * n_rows]
    rows = frame.iloc[chosen].reset_index(drop=True)
    gone = rows.isna().to_numpy()
    if gone.any():
        cells = model.explain(rows)
        rows = _replaced(
            rows, cells[gone[cells["row"], frame.columns.get_indexer(cells["column"])]]
        )
    scores = _scores(model, rows)
    highest = np.argsort(-scores, kind="stable")[:n_rows]
    rows = rows.loc[highest]
    found: list[Any] = []
    done = gone.copy()  # cells that are not listed, or listed already
    for _ in range(n_cells):
        cells = model.explain(rows)
        row, column = cells["row"].to_numpy(), frame.columns.get_indexer(cells["column"])
        if not found:
            sums = cells.groupby("row")["contribution"].sum()
        is_large = cells["contribution"].to_numpy() >= _SMALLEST * sums.loc[row].to_numpy()
        if not found:  # every row has a cell
            is_large[:] = True
        worst = cells[~done[row, column] & is_large].drop_duplicates("row")
        if not len(worst):
            break
        found.append(worst)
        done[worst["row"], frame.columns.get_indexer(worst["column"])] = True
        rows = _replaced(rows.loc[worst["row"]], worst)
        rows = rows[_scores(model, rows) > -model.offset_]
        if not len(rows):
            break
    columns = ["row", "score", "column", "observed", "expected", "contribution", "probability"]
    if not found:  # all cells are missing
        return pd.DataFrame(columns=columns)
    table = pd.concat(found)
    table.insert(1, "score", scores[table["row"]])
    rank = np.argsort(highest, kind="stable")[np.searchsorted(np.sort(highest), table["row"])]
    table = table.assign(row=chosen[table["row"]]).iloc[np.argsort(rank, kind="stable")]
    return table[columns].reset_index(drop=True)


def _scores(model: Any, frame: Any) -> Array:
    return -np.asarray(model.score_samples(frame))


def _replaced(rows: Any, cells: Any) -> Any:
    """Return the rows with the expected values in these cells."""
    rows = rows.copy()
    for column, some in cells.groupby("column", sort=False):
        dtype, values = rows[column].dtype, rows[column].astype(object)
        values.loc[some["row"]] = some["expected"].to_numpy()
        rows[column] = values.astype(dtype)
    return rows
