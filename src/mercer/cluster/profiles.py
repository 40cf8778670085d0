"""Cluster profiles: how each cluster differs from all rows, column by column.

Effect sizes of all kinds of columns are comparable. For numbers and dates the effect is the
cluster's median minus the median of all rows, in robust standard deviations. For categories and
words it is Cohen's h of the proportions in the cluster and in all rows (J. Cohen, Statistical Power
Analysis for the Behavioral Sciences, 2nd ed., 1988, chapter 6). About 0.2 is small, 0.5 medium and
0.8 large.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.data.points import require_memory
from mercer.tables import Table, as_table
from mercer.tables.columns import ColumnType
from mercer.utils.types import Array

__all__ = [
    "SMALL",
    "Trait",
    "cluster_traits",
    "cohens_h",
    "describe_clusters",
    "robust_scale",
    "summarize_traits",
]

#: Effects with a smaller absolute value are not shown in reports.
SMALL = 0.2
_TEXT_ROWS = 20_000
_PHRASES = 3  # in a summary
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


def describe_clusters(
    frame: Any, labels: Any, *, min_effect: float = SMALL, summary: bool = False
) -> Any:
    """Describe how each cluster differs from all rows, column by column.

    Effects of all types of columns are comparable. For numbers and dates the effect is the
    cluster's median minus the median of all rows, in robust standard deviations. For categories and
    words it is Cohen's h, the difference of ``2 arcsin √p`` of the proportions p in the cluster and
    in all rows; the category or word with the largest difference is listed. Effects of 0.2, 0.5 and
    0.8 are commonly called small, medium and large.

    Parameters
    ----------
    frame : data frame of shape (n, d)
        Of pandas, polars or pyarrow. Identifiers and columns without variation are left out, as in
        :func:`mercer.tables.as_table`.
    labels : array-like of shape (n,)
        Cluster labels, such as ``labels_`` of a clustering. Rows with a negative number are in no
        cluster.
    min_effect : float
        Smallest absolute effect that is listed; 0 lists all columns.
    summary : bool
        Return one line of text per cluster instead, with its three largest effects.

    Returns
    -------
    pandas.DataFrame
        One row per cluster and column, by decreasing absolute effect within each cluster, with the
        columns *cluster*, *column*, *type* ("number", "date", "category" or "text"), *label* (the
        category or word), *inside* and *overall* (medians, or proportions of the label), and
        *effect*. It is empty if there are fewer than two clusters. With ``summary=True`` a
        pandas.Series of strings, with the clusters as index.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer import describe_clusters
    >>> frame = pd.DataFrame(
    ...     {
    ...         "size": [1.0, 1.1, 1.3, 5.0, 5.2, 5.3],
    ...         "color": ["red", "red", "blue", "blue", "blue", "blue"],
    ...     }
    ... )
    >>> found = describe_clusters(frame, [0, 0, 0, 1, 1, 1])
    >>> found[["cluster", "column", "label", "inside", "overall"]]
       cluster column label    inside   overall
    0        0   size  None       1.1      3.15
    1        0  color   red  0.666667  0.333333
    2        1  color  blue       1.0  0.666667
    3        1   size  None       5.2      3.15
    >>> describe_clusters(frame, [0, 0, 0, 1, 1, 1], summary=True).to_list()
    ['low size, color red', 'color blue, high size']
    """
    import pandas as pd

    require_memory(frame, "describe_clusters")
    labels = np.asarray(labels)
    table = as_table(frame, missing="keep")
    if labels.shape != (table.rows_read,):
        raise ValueError(
            f"labels has shape {labels.shape}, but the frame has {table.rows_read} rows. Pass one "
            "label per row."
        )
    names, numbers = np.unique(labels, return_inverse=True)
    if labels.dtype.kind in "if":
        numbers = np.where(labels < 0, -1, numbers)
    traits = cluster_traits(table, numbers[table.rows])
    if summary:
        lines = summarize_traits(traits, min_effect)
        return pd.Series(list(lines.values()), index=names[list(lines)], dtype=object)
    listed = [trait for trait in traits if abs(trait.effect) >= min_effect]
    return pd.DataFrame(
        {
            "cluster": names[[t.cluster for t in listed]] if listed else names[:0],
            "column": [t.column for t in listed],
            "type": [t.kind for t in listed],
            # medians of dates are strings, and columns without a label have None
            "label": pd.Series([t.label for t in listed], dtype=object),
            "inside": pd.Series([t.inside for t in listed], dtype=object),
            "overall": pd.Series([t.overall for t in listed], dtype=object),
            "effect": np.array([t.effect for t in listed], dtype=np.float64),
        }
    )


def summarize_traits(traits: Iterable[Trait], min_effect: float = SMALL) -> dict[int, str]:
    """Return a line of text for each cluster: "high weight, origin usa"."""
    phrases: dict[int, list[str]] = {}
    for trait in traits:
        found = phrases.setdefault(trait.cluster, [])
        if abs(trait.effect) >= min_effect and len(found) < _PHRASES:
            found.append(_phrase(trait))
    return {cluster: ", ".join(found) or "no clear trait" for cluster, found in phrases.items()}


def _phrase(trait: Trait) -> str:
    if trait.label is None:
        level = ("late" if trait.effect > 0 else "early") if trait.kind == "date" else None
        return f"{level or ('high' if trait.effect > 0 else 'low')} {trait.column}"
    relation = "with " if trait.kind == "text" else ""
    negation = "" if trait.effect > 0 else "seldom "
    return f"{negation}{trait.column} {relation}{trait.label}"


def cluster_traits(table: Table, numbers: Array) -> tuple[Trait, ...]:
    """Return the traits of all clusters and columns, by decreasing effect within each cluster.

    ``numbers`` are those of the clusters, from 0; rows with -1 are in no cluster.
    """
    clusters = [int(c) for c in np.unique(numbers) if c >= 0]
    if len(clusters) < 2:
        return ()
    members = {c: numbers == c for c in clusters}
    found: dict[int, list[Trait]] = {c: [] for c in clusters}
    for name, kind in table.column_types.items():
        find = {"text": _word_traits, "category": _category_traits}.get(kind, _number_traits)
        for trait in find(table.frame[name], name, kind, members):
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


def _category_traits(
    column: Any, name: str, kind: ColumnType, members: dict[int, Array]
) -> Iterable[Trait]:
    labels = column.astype(object).where(column.notna(), _MISSING).astype(str).to_numpy()
    names, codes = np.unique(labels.astype(str), return_inverse=True)
    overall = np.bincount(codes, minlength=len(names)) / len(codes)
    for cluster, rows in members.items():
        inside = np.bincount(codes[rows], minlength=len(names)) / rows.sum()
        yield _label_trait(cluster, name, kind, names, inside, overall)


def _word_traits(
    column: Any, name: str, kind: ColumnType, members: dict[int, Array]
) -> Iterable[Trait]:
    """Yield traits from the proportions of rows that contain a word (at most 20,000 rows)."""
    step = -(-len(column) // _TEXT_ROWS)
    bags = [_words_of(cell) for cell in column.iloc[::step]]
    counts_overall = Counter(word for bag in bags for word in bag)
    words = [word for word, _ in counts_overall.most_common(1000)]
    overall = np.array([counts_overall[word] for word in words]) / max(len(bags), 1)
    for cluster, rows in members.items():
        chosen = [bag for bag, is_member in zip(bags, rows[::step], strict=True) if is_member]
        if not chosen or not words:
            continue
        counts = Counter(word for bag in chosen for word in bag)
        inside = np.array([counts[word] for word in words]) / len(chosen)
        yield _label_trait(cluster, name, kind, words, inside, overall)


def _words_of(cell: Any) -> set[str]:
    if cell is None or cell != cell:
        return {_MISSING}
    return set(_WORD.findall(str(cell).lower()))


def _label_trait(
    cluster: int, column: str, kind: ColumnType, labels: Any, inside: Array, overall: Array
) -> Trait:
    """Return the trait of the label with the largest positive effect.

    If no effect reaches ``SMALL``, it is that of the largest absolute effect.
    """
    effects = cohens_h(inside, overall)
    best = int(np.argmax(effects if effects.max() >= SMALL else np.abs(effects)))
    label, effect = str(labels[best]), float(effects[best])
    return Trait(cluster, column, kind, label, float(inside[best]), float(overall[best]), effect)


def robust_scale(values: Array) -> float:
    """Return the interquartile range divided by 1.349, or the standard deviation if that is 0.

    Both estimate the standard deviation of a normal distribution.
    """
    low, high = np.quantile(values, [0.25, 0.75])
    return float((high - low) / 1.349) or float(np.std(values))


def cohens_h(p: Array, q: Array) -> Array:
    r"""Return Cohen's :math:`h = 2 \arcsin \sqrt p - 2 \arcsin \sqrt q` of two proportions."""
    return np.asarray(2 * np.arcsin(np.sqrt(p)) - 2 * np.arcsin(np.sqrt(q)))
