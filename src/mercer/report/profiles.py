"""What distinguishes each cluster, in the columns' own units.

Effects are on one scale, so that columns of all kinds can be ranked. For numbers and dates it is
the cluster's median less the median of all rows, in robust standard deviations (interquartile
range / 1.349). For labels and words it is Cohen's ``h = 2 asin √p - 2 asin √q`` of the share p in
the cluster and q in all rows. About 0.2 is small, 0.5 middling, 0.8 and more large.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.maths.types import Array
from mercer.tables import Table
from mercer.tables.column_types import ColumnType

__all__ = ["SMALL", "Trait", "describe_clusters"]

#: Effects below this are not worth mentioning.
SMALL = 0.2
_TEXT_ROWS = 20_000
_MISSING = "(missing)"
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Trait:
    """How a cluster differs from all rows in one column.

    ``label`` is the category or word whose share is most unlike; then ``inside`` and ``overall``
    are shares. Otherwise they are medians, of dates in ISO form.
    """

    cluster: int
    column: str
    kind: ColumnType
    label: str | None
    inside: float | str
    overall: float | str
    effect: float


def describe_clusters(table: Table, numbers: Array) -> tuple[Trait, ...]:
    """Traits of all clusters and columns, the most telling first within each cluster.

    Parameters
    ----------
    table : Table
    numbers : int array of shape (n,)
        Clusters from 1; others belong to none.
    """
    clusters = [int(c) for c in np.unique(numbers) if c > 0]
    if len(clusters) < 2:
        return ()
    members = {c: numbers == c for c in clusters}
    found: dict[int, list[Trait]] = {c: [] for c in clusters}
    for name, kind in table.kinds.items():
        if kind == "text":
            traits = _of_words(table.frame[name], name, members)
        elif kind == "category":
            traits = _of_labels(table.frame[name], name, members)
        else:
            traits = _of_numbers(table.frame[name], name, kind, members)
        for trait in traits:
            found[trait.cluster].append(trait)
    return tuple(
        trait for c in clusters for trait in sorted(found[c], key=lambda t: -abs(t.effect))
    )


def _of_numbers(
    column: Any, name: str, kind: ColumnType, members: dict[int, Array]
) -> Iterable[Trait]:
    values = column.to_numpy(dtype="datetime64[ns]" if kind == "date" else np.float64)
    known = ~np.isnat(values) if kind == "date" else ~np.isnan(values)
    floats = values.astype(np.int64).astype(np.float64) if kind == "date" else values
    low, middle, high = np.quantile(floats[known], [0.25, 0.5, 0.75])
    spread = (high - low) / 1.349 or float(floats[known].std())
    for cluster, mine in members.items():
        if not (mine & known).any():
            continue
        inside = float(np.median(floats[mine & known]))
        effect = (inside - middle) / spread
        pair = [_iso(v) if kind == "date" else float(v) for v in (inside, middle)]
        yield Trait(cluster, name, kind, None, pair[0], pair[1], float(effect))


def _iso(nanoseconds: float) -> str:
    return str(np.datetime64(round(nanoseconds), "ns").astype("datetime64[s]"))


def _of_labels(column: Any, name: str, members: dict[int, Array]) -> Iterable[Trait]:
    labels = column.astype(object).where(column.notna(), _MISSING).astype(str).to_numpy()
    names, codes = np.unique(labels.astype(str), return_inverse=True)
    overall = np.bincount(codes, minlength=len(names)) / len(codes)
    for cluster, mine in members.items():
        inside = np.bincount(codes[mine], minlength=len(names)) / mine.sum()
        effects = _cohen(inside, overall)
        best = _most_unlike(effects)
        yield Trait(
            cluster,
            name,
            "category",
            str(names[best]),
            float(inside[best]),
            float(overall[best]),
            float(effects[best]),
        )


def _of_words(column: Any, name: str, members: dict[int, Array]) -> Iterable[Trait]:
    """Shares of rows that hold a word, from 20,000 rows at most."""
    step = -(-len(column) // _TEXT_ROWS)
    texts = column.iloc[::step]
    bags = [
        {_MISSING} if cell is None or cell != cell else set(_WORD.findall(str(cell).lower()))
        for cell in texts
    ]
    everywhere = Counter(word for bag in bags for word in bag)
    words = [word for word, _ in everywhere.most_common(1000)]
    overall = np.array([everywhere[word] for word in words]) / max(len(bags), 1)
    for cluster, mine in members.items():
        chosen = [bag for bag, here in zip(bags, mine[::step], strict=True) if here]
        if not chosen or not words:
            continue
        counts = Counter(word for bag in chosen for word in bag)
        inside = np.array([counts[word] for word in words]) / len(chosen)
        effects = _cohen(inside, overall)
        best = _most_unlike(effects)
        yield Trait(
            cluster,
            name,
            "text",
            words[best],
            float(inside[best]),
            float(overall[best]),
            float(effects[best]),
        )


def _cohen(inside: Array, overall: Array) -> Array:
    return np.asarray(2 * np.arcsin(np.sqrt(inside)) - 2 * np.arcsin(np.sqrt(overall)))


def _most_unlike(effects: Array) -> int:
    """The most over-represented, since what a cluster has says more than what it lacks."""
    return int(np.argmax(effects)) if effects.max() >= SMALL else int(np.argmax(np.abs(effects)))
