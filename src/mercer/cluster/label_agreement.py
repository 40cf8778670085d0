"""Agreement of two partitions."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from mercer.utils.row_passes import IN_MEMORY, RowPasses
from mercer.utils.types import Array

__all__ = ["adjusted_rand_index"]

_MAX_TOTAL = 1e12  # for larger totals the index no longer changes, and products would overflow


def adjusted_rand_index(
    one: Array, other: Array, weights: Array | None = None, *, rows: RowPasses = IN_MEMORY
) -> float:
    """Return the Rand index adjusted for chance (Hubert and Arabie 1985).

    Integer weights are equivalent to repeated rows.

    >>> adjusted_rand_index(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]))
    1.0
    """
    cells = rows.sum(_cells, one, other, weights)
    first, second = (sorted({cell[side] for cell in cells}) for side in (0, 1))
    table = np.array([[cells[a, b] for b in second] for a in first])
    table *= min(1.0, _MAX_TOTAL / table.sum())
    together = _pairs(table).sum()
    in_one, in_other = _pairs(table.sum(axis=1)).sum(), _pairs(table.sum(axis=0)).sum()
    expected = in_one * in_other / max(_pairs(table.sum()), np.finfo(float).tiny)
    most = 0.5 * (in_one + in_other)
    return 1.0 if most == expected else float((together - expected) / (most - expected))


def _cells(one: Array, other: Array, weights: Array | None) -> Counter[tuple[Any, Any]]:
    """Return the total weight of each pair of labels."""
    (rows, first), (columns, second) = (np.unique(x, return_inverse=True) for x in (one, other))
    shape = len(rows), len(columns)
    counts = np.bincount(np.ravel_multi_index((first, second), shape), weights, np.prod(shape))
    cells: Counter[tuple[Any, Any]] = Counter()
    for (a, b), count in np.ndenumerate(counts.reshape(shape)):
        if count > 0:
            cells[rows[a].item(), columns[b].item()] = float(count)  # type: ignore[assignment]
    return cells


def _pairs(n: Array) -> Array:
    return np.asarray(0.5 * n * (n - 1))
