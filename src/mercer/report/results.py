"""Result tables of a report as files."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from mercer.report.analysis import Analysis
from mercer.utils.csv_files import to_csv

__all__ = ["CSV_ROWS", "ROW_FILES", "result_files", "rows_file"]

#: Maximum number of rows of a CSV file; larger tables of rows are Parquet files.
CSV_ROWS = 200_000
#: Possible file names of the table of rows.
ROW_FILES = ("rows.csv", "rows.parquet")
_DIGITS = "%.7g"


def result_files(analysis: Analysis) -> dict[str, bytes]:
    """Return the contents of the result tables by file name.

    ``rows`` has the row number in the file (the first row below the header is 1), the cluster,
    the leave-one-out score (column ``novelty``), the log density (numeric tables) and
    the kernel ECA projections. The other tables are as in ``report.json``. Up to 200,000 rows the
    format is CSV with seven digits, beyond that Parquet in single precision.
    """
    rows = _rows(analysis)
    name = rows_file(analysis.table.n)
    if name.endswith(".csv"):
        files = {name: _csv(rows)}
    else:
        parquet = io.BytesIO()
        rows.to_parquet(parquet, index=False)
        files = {name: parquet.getvalue()}
    for name, lines in (
        ("clusters", _clusters(analysis)),
        ("components", analysis.spectra.components()),
        ("columns", _columns(analysis)),
    ):
        files[f"{name}.csv"] = _csv(_frame(lines))
    return files


def rows_file(n: int) -> str:
    """Return the file name of the table of rows, given the number of rows."""
    return ROW_FILES[0] if n <= CSV_ROWS else ROW_FILES[1]


def _rows(analysis: Analysis) -> Any:
    import pandas as pd

    row_scores = analysis.row_scores
    columns: dict[str, Any] = {
        "row": analysis.table.rows + 1,
        "cluster": analysis.clusters.numbers,
        "novelty": row_scores.scores.astype(np.float32),
    }
    if row_scores.log_density is not None:
        columns["log_density"] = row_scores.log_density.astype(np.float32)
    for i, z in enumerate(analysis.eca.spectrum_.projections.T, start=1):
        columns[f"component_{i}"] = z.astype(np.float32)
    return pd.DataFrame(columns)


def _clusters(analysis: Analysis) -> list[dict[str, Any]]:
    """Return one line per cluster and column, or a single line if there is one cluster."""
    lines = []
    for cluster in analysis.clusters.each:
        own = [trait for trait in analysis.traits if trait.cluster == cluster.number]
        size = {
            "cluster": cluster.number,
            "size": cluster.size,
            "share": cluster.share,
            "persistence": cluster.persistence,
        }
        lines += [{**size, **vars(trait)} for trait in own] or [size]
    return lines


def _columns(analysis: Analysis) -> list[dict[str, Any]]:
    used = [
        {**vars(c), "frequent": "; ".join(f"{name}: {count}" for name, count in c.frequent)}
        for c in analysis.columns
    ]
    omitted = [{"name": o.column, "left_out": o.reason} for o in analysis.table.omissions]
    return [{**line, "left_out": None} for line in used] + omitted


def _frame(lines: list[Any]) -> Any:
    import pandas as pd

    return pd.DataFrame([line if isinstance(line, dict) else vars(line) for line in lines])


def _csv(frame: Any) -> bytes:
    return to_csv(frame, float_format=_DIGITS).encode("utf-8")
