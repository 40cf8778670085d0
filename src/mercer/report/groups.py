"""Which groups of rows there are, how many, and what distinguishes them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from mercer import SpectralClustering
from mercer.cluster.cluster_number import COULD_NOT_TELL
from mercer.cluster.profiles import SMALL, Trait, cluster_traits
from mercer.cluster.table_clustering import table_clustering
from mercer.cluster.table_coordinates import TableCoordinates
from mercer.data.points import Points
from mercer.data.subsampling import random_rows
from mercer.errors import ColumnWarning, IdentifiabilityWarning, suppress_warnings
from mercer.information import ColumnDependence
from mercer.plots import EmbeddingDisplay
from mercer.report.section import (
    MAX_POINTS,
    Figure,
    HtmlTable,
    Section,
    format_fraction,
    format_value,
    svg,
)
from mercer.tables import Preparation, Table
from mercer.tables.columns import as_column_type
from mercer.utils.formatting import (
    format_count,
    join_words,
    shorten,
)
from mercer.utils.types import Array

__all__ = ["Group", "Groups", "describe_trait", "find_groups"]

_CLEAR = 0.5  # effect from which a column is named in a description
_NEARLY_ALL = 0.8  # of the variation, from which descriptions name one of two columns
_MAP_ROWS = 2000


@dataclass(frozen=True)
class Group:
    """A group of rows; fields are named like the columns of groups.csv.

    ``fraction`` is that of the rows; ``description`` says what distinguishes the group.
    """

    group: int
    size: int
    fraction: float
    description: str


@dataclass(frozen=True, eq=False)
class Groups(Section):
    """Groups of rows, numbered from 1 by decreasing size; 0 are isolated rows.

    Attributes
    ----------
    table : Table
    numbers : int array of shape (n,)
        The group of each row.
    each : tuple of Group
    traits : tuple of Trait
        Differences between each group and all rows, with the numbers of the groups.
    requested : bool
        Whether the user requested the number of groups.
    suggested : int
        The number that the data suggest.
    confidence : float
        Of ``suggested``; see :class:`mercer.SpectralClustering`.
    alternative : int or None
        The next best number of groups.
    followed : list of str
        Columns that were left out, because groups would be the rows with some of their values.
    estimator : SpectralClustering
    map : Map
        Two coordinates of some rows.
    dependence : ColumnDependence or None
        Of columns that nearly repeat each other, descriptions name one.
    """

    name = "groups"
    title = "Which groups of rows there are"

    table: Table
    numbers: Array
    each: tuple[Group, ...]
    traits: tuple[Trait, ...]
    requested: bool
    suggested: int
    confidence: float
    alternative: int | None
    followed: list[str]
    estimator: SpectralClustering
    map: Map
    dependence: ColumnDependence | None

    @property
    def is_uncertain(self) -> bool:
        """Whether the data do not determine the number of groups."""
        return self.confidence < COULD_NOT_TELL

    @property
    def isolated(self) -> int:
        """Number of rows in no group."""
        return int((self.numbers == 0).sum())

    @property
    def distinguishing(self) -> list[str]:
        """Columns that differ clearly between the groups, the largest difference first."""
        largest: dict[str, float] = {}
        for trait in self.traits:
            effect = abs(trait.effect)
            largest[trait.column] = max(largest.get(trait.column, 0.0), effect)
        clear = [name for name in largest if largest[name] >= _CLEAR]
        return sorted(clear, key=lambda name: -largest[name])

    @property
    def answer(self) -> str:
        """Return the number of groups, how certain it is, and what distinguishes them."""
        count = len(self.each)
        listed = [f"{one.size:,}" for one in self.each]
        if self.table.rows_omitted:  # the groups are those of a sample, or of complete rows
            listed = [format_fraction(one.fraction) for one in self.each]
        sizes = join_words(listed) if count <= 5 else f"{listed[-1]} to {listed[0]}"
        of_rows = "of the rows" if self.table.rows_omitted else "rows"
        if count == 1:
            if self.requested:
                return "All rows are in one group, as requested."
            if self.is_uncertain:
                return "The rows form no clear groups."
            return "The rows form one group; there is no gap that divides them."
        if self.requested:
            text = f"The rows are divided into {count} groups of {sizes} {of_rows}, as requested"
            if not self.is_uncertain and self.suggested != count:
                text += f" (the data suggest {format_count(self.suggested, 'group')})"
        elif self.is_uncertain:
            text = (
                "The number of groups is uncertain; a division that fits the rows well has "
                f"{count} groups of {sizes} {of_rows}"
            )
        else:
            text = f"The rows form {count} groups of {sizes} {of_rows}"
        columns: list[str] = []
        for name in self.distinguishing:
            if not any(_repeat(self.dependence, name, one) for one in columns):
                columns.append(name)
        if columns:
            differ = join_words(shorten(name, 30) for name in columns[:3])
            text += f"; they differ most in {differ}"
        if self.isolated:
            belong = "row belongs" if self.isolated == 1 else "rows belong"
            text += f"; {self.isolated:,} {belong} to none of them"
        return f"{text}."

    def to_json(self) -> dict[str, Any]:
        """Return the groups, what distinguishes them, and the certainty of their number."""
        return {
            "number": len(self.each),
            "requested": self.requested,
            "suggested": self.suggested,
            "confidence": self.confidence,
            "alternative": self.alternative,
            "isolated": self.isolated,
            "followed_columns": self.followed,
            "each": self.each,
            "traits": self.traits,
        }

    def row_columns(self) -> dict[str, Array]:
        """Return the group of each row."""
        return {"group": np.where(self.numbers > 0, self.numbers, np.nan)}

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Return one line per group and column, or a single line if there is one group."""
        lines = []
        for group in self.each:
            own = [asdict(trait) for trait in self.traits if trait.cluster == group.group]
            for trait in own:
                del trait["cluster"]
            lines += [{**asdict(group), **trait} for trait in own] or [asdict(group)]
        return {"groups": lines}

    def context(self) -> dict[str, Any]:
        """Return sizes, descriptions and profiles."""
        several = len(self.each) > 1
        rows = [
            [str(g.group), f"{g.size:,}", format_fraction(g.fraction), g.description]
            for g in self.each
        ]
        heads = ["Group", "Rows", "Fraction", "What distinguishes it"]
        caption = "Groups by size; numbers are medians, percentages are fractions of the rows"
        return {
            "groups": HtmlTable(caption, heads, rows, [0, 3]) if several else None,
            "certainty": self._certainty(),
            "map": self._figure(),
            "profiles": self._profiles() if several else [],
        }

    def _certainty(self) -> str:
        text = ""
        if not self.requested:
            count = format_count(self.suggested, "group")
            text = (
                f"{count[0].upper()}{count[1:]} {'is' if self.suggested == 1 else 'are'} found "
                f"with {format_fraction(self.confidence)} of the settings that were tried for the "
                "smallest size of a group."
            )
            if self.alternative is not None:
                text += f" The next best number is {self.alternative}."
        if self.followed:
            names = join_words(shorten(name, 30) for name in self.followed)
            text += (
                f" {names} {'was' if len(self.followed) == 1 else 'were'} not used to find groups, "
                "which would only repeat its values."
            )
        return text.strip()

    def _figure(self) -> Figure:
        shown = self.map
        labels = None
        if len(self.each) > 1:
            own = self.numbers[shown.rows]
            labels = np.where(own > 0, own.astype(str), "none")
        drawn = len(shown.rows)
        total = len(self.numbers)
        count = f"{drawn:,} rows" if drawn == total else f"{drawn:,} of {total:,} rows"
        colors = ", colored by group" if labels is not None else ""
        what = (
            f"{shown.axes[1]} against {shown.axes[0]}"
            if shown.are_columns
            else "on a map: rows with similar values in all columns are close to each other"
        )

        def draw(figure: Any) -> None:
            ax = figure.subplots()
            display = EmbeddingDisplay(points=shown.points, labels=labels, axis_labels=shown.axes)
            display.plot(ax, max_points=MAX_POINTS)
            for line in list(ax.lines):  # the origin has no meaning
                line.remove()
            ax.relim()
            ax.autoscale_view()
            if not shown.are_columns:
                ax.set_axis_off()

        caption = f"{count}{colors}, {what}."
        return Figure(svg("groups", f"Scatter plot of {caption}", (5.4, 4.6), draw), caption, "mid")

    def _profiles(self) -> list[HtmlTable]:
        profiles = []
        for group in self.each[:12]:
            rows = [
                [shorten(t.column, 40), _inside(t), _overall(t)]
                for t in self.traits
                if t.cluster == group.group and abs(t.effect) >= SMALL
            ][:6]
            if rows:
                name = f"Group {group.group} ({format_count(group.size, 'row')})"
                heads = ["Column", "In the group", "In all rows"]
                profiles.append(HtmlTable(name, heads, rows, [0, 1, 2]))
        return profiles


@dataclass(frozen=True, eq=False)
class Map:
    """Two coordinates of some rows: two columns, or principal components."""

    rows: Array
    points: Array
    axes: tuple[str, str]
    are_columns: bool


def describe_trait(trait: Trait) -> str:
    """Describe a trait in a phrase.

    >>> describe_trait(Trait(0, "color", "category", "red", 0.9, 0.3, 1.2))
    'color “red” (90 %; all rows 30 %)'
    >>> describe_trait(Trait(0, "size", "number", None, 5.0, 1.5, 1.2))
    'high size (5; all rows 1.5)'
    """
    name, overall = shorten(trait.column, 40), _overall(trait)
    if trait.label is not None:
        inside = format_fraction(float(trait.inside))
        return f"{name} “{shorten(trait.label, 40)}” ({inside}; all rows {overall})"
    level = "high" if trait.effect > 0 else "low"
    return f"{level} {name} ({_value(trait.inside)}; all rows {overall})"


def _inside(trait: Trait) -> str:
    if trait.label is None:
        return _value(trait.inside)
    label = shorten(trait.label, 40)
    return f"“{label}” in {format_fraction(float(trait.inside))}"


def _overall(trait: Trait) -> str:
    if trait.label is None:
        return _value(trait.overall)
    return format_fraction(float(trait.overall))


def _value(value: float | str) -> str:
    if isinstance(value, str):  # a date in ISO format
        return value.replace("T00:00:00", "").replace("T", " ")
    return format_value(float(value))


# --- fits ------------------------------------------------------------------------------------


def find_groups(
    model: Preparation, n_groups: int | None, dependence: ColumnDependence | None
) -> Groups:
    """Cluster the rows, and find what distinguishes the clusters.

    Of columns that nearly repeat each other, descriptions name one.
    """
    with suppress_warnings(IdentifiabilityWarning, ColumnWarning):  # the page has both
        fitted = table_clustering(model, n_groups or "auto").fit(model.data)
        suggestion = fitted
        if n_groups is not None:
            suggestion = table_clustering(model).set_params(max_rows=1000).fit(model.data)
    labels = np.asarray(fitted.labels_)
    sizes = np.bincount(labels[labels >= 0], minlength=fitted.n_clusters_)
    rank = np.argsort(np.argsort(-sizes, kind="stable"))
    numbers = np.where(labels >= 0, rank[labels] + 1, 0)
    members = np.where(numbers > 0, numbers, -1)
    traits = cluster_traits(_with_binary_categories(model.table), members)
    each = []
    for number in range(1, len(sizes) + 1):
        size = int((numbers == number).sum())
        description = _describe([t for t in traits if t.cluster == number], dependence)
        each.append(Group(number, size, size / len(numbers), description))
    return Groups(
        table=model.table,
        numbers=numbers,
        each=tuple(each),
        traits=traits,
        requested=n_groups is not None,
        suggested=suggestion.n_clusters_,
        confidence=suggestion.confidence_,
        alternative=getattr(suggestion, "alternative_", None),
        followed=[str(name) for name in getattr(fitted, "followed_columns_", [])],
        estimator=fitted,
        map=_map(model.table),
        dependence=dependence,
    )


def _with_binary_categories(table: Table) -> Table:
    """Return the table with categories in place of numbers with two values: medians say little."""
    types = table.column_types
    binary = [c for c in types if types[c] == "number" and table.frame[c].nunique() == 2]
    changed = {name: as_column_type(table.frame[name], "category") for name in binary}
    kinds = {name: "category" if name in binary else kind for name, kind in types.items()}
    return replace(table, frame=table.frame.assign(**changed), column_types=kinds)


def _describe(traits: list[Trait], dependence: ColumnDependence | None) -> str:
    named: list[Trait] = []
    for trait in traits:
        if abs(trait.effect) < _CLEAR or len(named) == 3:
            break
        if not any(_repeat(dependence, trait.column, one.column) for one in named):
            named.append(trait)
    return ", ".join(map(describe_trait, named)) or "no column differs clearly"


def _repeat(dependence: ColumnDependence | None, first: str, second: str) -> bool:
    """Return whether one column says nearly all about the other."""
    if dependence is None:
        return False
    i, j = dependence.columns.index(first), dependence.columns.index(second)
    return bool(dependence.strength[i, j] > _NEARLY_ALL)


def _map(table: Table) -> Map:
    """Return the columns of a table of two numbers, and two principal components of other tables.

    The components are those of coordinates in which every column has the same variance.
    """
    rows = random_rows(table.n, _MAP_ROWS)
    names = list(table.columns)
    if table.is_numeric and len(names) == 2:
        first, second = (shorten(name, 30) for name in names)
        return Map(rows, table.X[rows], (first, second), True)
    frame = table.frame.iloc[rows]
    with suppress_warnings():
        Z = TableCoordinates.fit(Points(frame, "objects"), np.ones(len(frame)))(frame)
    points = PCA(min(2, *Z.shape), svd_solver="full").fit_transform(Z) if Z.size else Z
    return Map(rows, np.pad(points, [(0, 0), (0, 2 - points.shape[1])]), ("", ""), False)
