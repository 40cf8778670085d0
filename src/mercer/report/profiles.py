"""Cluster profiles: how each cluster differs from all rows, column by column.

Effect sizes of all kinds of columns are comparable. For numbers and dates the effect is the
cluster's median minus the median of all rows, in robust standard deviations. For categories and
words it is Cohen's h of the proportions in the cluster and in all rows. See
:mod:`mercer.maths.effect_sizes`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.maths.effect_sizes import cohens_h, robust_scale
from mercer.maths.types import Array
from mercer.tables import Table
from mercer.tables.column_types import ColumnType

__all__ = ["SMALL", "Trait", "describe_clusters"]

#: Effects with a smaller absolute value are not shown.
SMALL = 0.2
_TEXT_ROWS = 20_000
_MISSING = "(missing)"
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Trait:
    """Difference between a cluster and all rows in one column.

    ``label`` is the category or word whose proportion differs most; ``inside`` and ``overall``
    are then proportions. Otherwise they are medians, for dates in ISO format.
    """

    cluster: int
    column: str
    kind: ColumnType
    label: str | None
    inside: float | str
    overall: float | str
    effect: float


def describe_clusters(table: Table, numbers: Array) -> tuple[Trait, ...]:
    """Describe all clusters and columns, by decreasing effect within each cluster.

    Parameters
    ----------
    table : Table
    numbers : int array of shape (n,)
        Cluster numbers, from 0; rows with -1 are in no cluster.
    """
    clusters = [int(c) for c in np.unique(numbers) if c >= 0]
    if len(clusters) < 2:
        return ()
    members = {c: numbers == c for c in clusters}
    found: dict[int, list[Trait]] = {c: [] for c in clusters}
    for name, kind in table.kinds.items():
        if kind == "text":
            traits = _word_traits(table.frame[name], name, members)
        elif kind == "category":
            traits = _category_traits(table.frame[name], name, members)
        else:
            traits = _number_traits(table.frame[name], name, kind, members)
        for trait in traits:
            found[trait.cluster].append(trait)
    return tuple(
        trait for c in clusters for trait in sorted(found[c], key=lambda t: -abs(t.effect))
    )


def _number_traits(
    column: Any, name: str, kind: ColumnType, members: dict[int, Array]
) -> Iterable[Trait]:
    values = column.to_numpy(dtype="datetime64[ns]" if kind == "date" else np.float64)
    known = ~np.isnat(values) if kind == "date" else ~np.isnan(values)
    floats = values.astype(np.int64).astype(np.float64) if kind == "date" else values
    overall, scale = float(np.median(floats[known])), robust_scale(floats[known])
    for cluster, rows in members.items():
        if not (rows & known).any():
            continue
        inside = float(np.median(floats[rows & known]))
        yield Trait(
            cluster,
            name,
            kind,
            None,
            _iso(inside) if kind == "date" else inside,
            _iso(overall) if kind == "date" else overall,
            (inside - overall) / scale,
        )


def _iso(nanoseconds: float) -> str:
    return str(np.datetime64(round(nanoseconds), "ns").astype("datetime64[s]"))


def _category_traits(column: Any, name: str, members: dict[int, Array]) -> Iterable[Trait]:
    labels = column.astype(object).where(column.notna(), _MISSING).astype(str).to_numpy()
    names, codes = np.unique(labels.astype(str), return_inverse=True)
    overall = np.bincount(codes, minlength=len(names)) / len(codes)
    for cluster, rows in members.items():
        inside = np.bincount(codes[rows], minlength=len(names)) / rows.sum()
        effects = cohens_h(inside, overall)
        best = _most_different(effects)
        yield Trait(
            cluster,
            name,
            "category",
            str(names[best]),
            float(inside[best]),
            float(overall[best]),
            float(effects[best]),
        )


def _word_traits(column: Any, name: str, members: dict[int, Array]) -> Iterable[Trait]:
    """Yield traits from the proportions of rows that contain a word (at most 20,000 rows)."""
    step = -(-len(column) // _TEXT_ROWS)
    texts = column.iloc[::step]
    bags = [
        {_MISSING} if cell is None or cell != cell else set(_WORD.findall(str(cell).lower()))
        for cell in texts
    ]
    counts_overall = Counter(word for bag in bags for word in bag)
    words = [word for word, _ in counts_overall.most_common(1000)]
    overall = np.array([counts_overall[word] for word in words]) / max(len(bags), 1)
    for cluster, rows in members.items():
        chosen = [bag for bag, is_member in zip(bags, rows[::step], strict=True) if is_member]
        if not chosen or not words:
            continue
        counts = Counter(word for bag in chosen for word in bag)
        inside = np.array([counts[word] for word in words]) / len(chosen)
        effects = cohens_h(inside, overall)
        best = _most_different(effects)
        yield Trait(
            cluster,
            name,
            "text",
            words[best],
            float(inside[best]),
            float(overall[best]),
            float(effects[best]),
        )


def _most_different(effects: Array) -> int:
    """Return the index of the largest positive effect, or of the largest absolute effect.

    The second applies if no effect reaches ``SMALL``.
    """
    return int(np.argmax(effects)) if effects.max() >= SMALL else int(np.argmax(np.abs(effects)))
