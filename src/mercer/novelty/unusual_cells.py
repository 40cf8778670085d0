"""Unusual rows of a table, each with the cells that do not fit the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold

from mercer.novelty.kernel_novelty import KernelNovelty
from mercer.utils.types import Array

__all__ = ["held_out_scores", "outlying_score", "unusual_cells"]

_FEW_ROWS = 10_000  # up to which a row has an effect on its own score
_FOLDS = 5
_FAR = 2.5
_ROUNDS = 2  # of mutual prediction of missing cells
_CHUNK = 10_000  # rows whose missing values are replaced at a time
_SMALLEST = 0.05  # contribution of a listed cell, relative to those of all cells of the row


def held_out_scores(detector: KernelNovelty, frame: Any) -> Array:
    """Return a score for each row from a fit without it: the larger, the more unusual.

    The fits are those of 5-fold cross-validation. Of more than 10,000 rows, all are scored by one
    fit, on which a single row has hardly any effect. Missing values are replaced by what the other
    cells of the row predict, so that a row is not unusual because of them.

    ``detector``: with ``statistic="conditional"``; it is cloned.
    """
    everything = np.arange(len(frame))
    splits = [(everything, everything)]
    if 2 * _FOLDS <= len(frame) <= _FEW_ROWS:
        splits = list(KFold(_FOLDS, shuffle=True, random_state=0).split(frame))
    found, typical = np.empty(len(frame)), _typical_cells(frame)
    for others, rows in splits:
        model = clone(detector).fit(frame.iloc[others])
        found[rows] = _scores(model, frame.iloc[rows])
        incomplete = rows[frame.iloc[rows].isna().to_numpy().any(axis=1)]
        for some in np.array_split(incomplete, len(incomplete) // _CHUNK + 1):
            if len(some):
                found[some] = _scores(model, _without_missing(model, frame.iloc[some], typical))
    return found


def outlying_score(scores: Array) -> float:
    """Return the score above which rows stand out from the others.

    In an exponential tail, quantiles increase by ``q99 - q90`` with every factor of ten in the
    number of rows, so the largest of n scores is about ``q90 + log10(n / 10) (q99 - q90)``. Rows
    stand out if they are more than 2.5 times as far above q90: about one in ten tables of
    independent normal columns has such a row.
    """
    q90, q99 = np.quantile(scores, [0.9, 0.99])
    decades = max(float(np.log10(len(scores) / 10)), 1.0)
    return float(q90 + _FAR * decades * (q99 - q90))


def unusual_cells(
    detector: KernelNovelty,
    frame: Any,
    scores: Array,
    n_rows: int = 10,
    n_cells: int = 3,
    codes: Mapping[Any, float] | None = None,
) -> Any:
    """Return the rows that are least like the others, and the cells that make them so.

    The rows are judged by a fit to all other rows, without their missing values. The cell with the
    largest contribution is listed and replaced by the expected value, and the rest of the row is
    judged again, because a wrong cell changes what is expected in all others.
    This ends when the row is not abnormal (``false_alarm_rate`` of the detector), no other cell has
    5 % of the contributions, or after ``n_cells`` cells.

    Parameters
    ----------
    detector : KernelNovelty
        With ``statistic="conditional"``; it is cloned.
    frame : pandas.DataFrame
    scores : array of shape (n,)
        From :func:`held_out_scores`; the rows with the largest scores are listed.
    n_rows, n_cells : int
        Largest numbers of rows, and of cells per row.
    codes : mapping or None
        Numbers that are codes for missing values, by column. Such cells are listed first, and the
        others are judged without them.

    Returns
    -------
    pandas.DataFrame
        One line per cell, the most unusual row first: *row* (its position), *score*, *column*,
        *observed*, *expected*, *contribution* and *probability* (see
        :meth:`mercer.KernelNovelty.explain`).

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from mercer import KernelNovelty
    >>> from mercer.novelty.unusual_cells import held_out_scores, unusual_cells
    >>> x = np.linspace(1, 2, 200)
    >>> frame = pd.DataFrame({"radius": x, "diameter": 2 * x, "circumference": 2 * np.pi * x})
    >>> frame.loc[30, "diameter"] = 9.0
    >>> detector = KernelNovelty(statistic="conditional")
    >>> found = unusual_cells(detector, frame, held_out_scores(detector, frame), n_rows=1)
    >>> found[["row", "column", "observed", "expected"]].round(1)
       row    column observed  expected
    0   30  diameter      9.0       ...
    """
    import pandas as pd

    chosen = np.argsort(-scores, kind="stable")[:n_rows]
    others = np.setdiff1d(np.arange(len(frame)), chosen)
    if len(others) < len(frame) / 2:  # too few for a fit
        others = np.arange(len(frame))
    model = clone(detector).fit(frame.iloc[others])
    original = frame.iloc[chosen].reset_index(drop=True)
    is_code = np.column_stack([original[name] == (codes or {}).get(name) for name in frame.columns])
    done = original.isna().to_numpy() | is_code  # not to be listed, or listed already
    rows = _without_missing(model, original.mask(is_code), _typical_cells(frame))
    found: list[Any] = []
    if is_code.any():
        found.append(_cells_at(model, original, rows, is_code))
        rows = rows[~is_code.any(axis=1) | (_scores(model, rows) > -model.offset_)]
    sums = None
    for _ in range(n_cells if len(rows) else 0):
        cells = model.explain(rows)
        row, column = cells["row"].to_numpy(), frame.columns.get_indexer(cells["column"])
        is_first = sums is None
        if sums is None:
            sums = cells.groupby("row")["contribution"].sum()
        is_large = cells["contribution"].to_numpy() >= _SMALLEST * sums.loc[row].to_numpy()
        if is_first:  # every row has a cell
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
    table = pd.concat(found).sort_values("row", kind="stable").groupby("row").head(n_cells)
    table["row"] = chosen[table["row"]]
    table.insert(1, "score", scores[table["row"]])
    return table[columns].reset_index(drop=True)


def _cells_at(model: KernelNovelty, rows: Any, replaced: Any, mask: Array) -> Any:
    """Return the cells of a mask, with the replaced ones as expected values."""
    cells = model.explain(rows)
    row, column = cells["row"].to_numpy(), rows.columns.get_indexer(cells["column"])
    expected = replaced.astype(object).to_numpy()[row, column]
    return cells.assign(expected=expected)[mask[row, column]]


def _scores(model: KernelNovelty, frame: Any) -> Array:
    return -np.asarray(model.score_samples(frame))


def _typical_cells(frame: Any) -> dict[Any, Any]:
    """Return the median of numbers and dates, and the most frequent label of other columns."""
    from pandas.api.types import is_datetime64_any_dtype, is_numeric_dtype

    columns = {name: frame[name].dropna() for name in frame.columns}
    return {
        name: column.median()
        if is_numeric_dtype(column) or is_datetime64_any_dtype(column)
        else column.mode().iloc[0]
        for name, column in columns.items()
        if len(column)
    }


def _without_missing(model: KernelNovelty, rows: Any, typical: dict[Any, Any]) -> Any:
    """Return the rows, numbered from 0, with expected values in place of missing ones.

    They are typical values first: with several missing cells in a row, missing ones are expected.
    """
    rows = rows.reset_index(drop=True)
    gone = rows.isna().to_numpy()
    if not gone.any():
        return rows
    rows = rows.fillna(typical)
    for _ in range(_ROUNDS):
        cells = model.explain(rows)
        is_gone = gone[cells["row"], rows.columns.get_indexer(cells["column"])]
        rows = _replaced(rows, cells[is_gone & cells["expected"].notna()])
    return rows


def _replaced(rows: Any, cells: Any) -> Any:
    """Return the rows with the expected values in these cells."""
    rows = rows.copy()
    for column, some in cells.groupby("column", sort=False):
        dtype, values = rows[column].dtype, rows[column].astype(object)
        values.loc[some["row"]] = some["expected"].to_numpy()
        rows[column] = values.astype(dtype)
    return rows
