"""Rows that lie in chunks on an engine, and what can be asked of them: maps and sums.

The mathematics is written once, for rows in one piece: a function takes some rows (of data, of
weights, of coordinates) and returns a summary of them, or one result per row. :func:`summed` and
:func:`mapped` apply it. To arrays in memory they apply it as it is; to Dask arrays they apply it
where each chunk lies, and only summaries travel. Nothing here imports Dask unless a Dask collection
has come in.
"""

from mercer.chunks.rows import (
    added,
    fingerprint,
    first_least,
    is_dask,
    kept,
    mapped,
    summed,
    taken,
)

__all__ = [
    "added",
    "fingerprint",
    "first_least",
    "is_dask",
    "kept",
    "mapped",
    "summed",
    "taken",
]
