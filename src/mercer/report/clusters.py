"""Clusters of a table: sizes, persistence, profiles, and the certainty of their number."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mercer import SpectralClustering
from mercer.cluster.cluster_number import COULD_NOT_TELL
from mercer.cluster.profiles import SMALL, Trait, cluster_traits
from mercer.cluster.spectral_clustering import describe_kernel, table_clustering
from mercer.errors import ColumnWarning, IdentifiabilityWarning, suppress_warnings
from mercer.plots import EmbeddingDisplay
from mercer.report.components import Spectra, rows_drawn
from mercer.report.computation import Steps, computation
from mercer.report.section import MAX_POINTS, Figure, HtmlTable, Section, svg
from mercer.tables import Preparation
from mercer.utils.formatting import format_count, format_number, format_percent, shorten
from mercer.utils.types import Array

__all__ = [
    "SWEEP_ROWS",
    "Cluster",
    "Clusters",
    "Counting",
    "describe_trait",
    "find_clusters",
    "format_value",
]

#: Rows of computations that are repeated for several bandwidths or numbers of clusters.
SWEEP_ROWS = 1000


@dataclass(frozen=True)
class Cluster:
    """Size and persistence of a cluster; fields are named like the columns of clusters.csv.

    ``share`` is the fraction of rows. ``persistence`` is the mean, over the kernels that were
    compared, of the largest Jaccard index between this cluster and any cluster of that kernel; None
    if there is nothing to compare.
    """

    number: int
    size: int
    share: float
    persistence: float | None


@dataclass(frozen=True)
class Counting:
    """The number of clusters.

    Attributes
    ----------
    chosen : int
        The number in use.
    suggested : int
        The number that was estimated from the data.
    requested : bool
        Whether the user requested the number in use.
    confidence : float
        Fraction of smallest cluster sizes at which ``suggested`` is found.
    """

    chosen: int
    suggested: int
    requested: bool
    confidence: float

    @property
    def is_uncertain(self) -> bool:
        """Whether the number could not be determined."""
        return self.confidence < COULD_NOT_TELL


@dataclass(frozen=True, eq=False)
class Clusters(Section):
    """Clusters of all rows, with the numbers 0, 1, … of ``estimator.labels_``.

    Attributes
    ----------
    spectra : Spectra
        For the scatter plot.
    numbers : int array of shape (n,)
    each : tuple of Cluster
    traits : tuple of Trait
        Differences between each cluster and all rows.
    counting : Counting
    cost : float or None
        Mean conductance; None if the kernel was given.
    confidence : float or None
        Fraction of smallest cluster sizes with this number of clusters; None if it was given.
    kernels : int
        Number of kernels that were compared.
    estimator : SpectralClustering
    """

    name = "clusters"
    title = "Clusters and their profiles"

    spectra: Spectra
    numbers: Array
    each: tuple[Cluster, ...]
    traits: tuple[Trait, ...]
    counting: Counting
    cost: float | None
    confidence: float | None
    kernels: int
    estimator: SpectralClustering

    def to_json(self) -> dict[str, Any]:
        """Return the clusters, their profiles and the certainty of their number."""
        return {
            "number_of_clusters": self.counting,
            "clusters": {
                "each": self.each,
                "cost": self.cost,
                "kernel": describe_kernel(self.estimator.kernel_),
                "kernels_compared": self.kernels,
                "confidence": self.confidence,
                "traits": self.traits,
                **computation(self.estimator),
            },
        }

    def row_columns(self) -> dict[str, Array]:
        """Return the cluster of each row."""
        return {"cluster": self.numbers}

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Return one line per cluster and column, or a single line if there is one cluster."""
        lines = []
        for cluster in self.each:
            size = asdict(cluster)
            size = {"cluster": size.pop("number"), **size}
            own = [trait for trait in self.traits if trait.cluster == cluster.number]
            lines += [{**size, **asdict(trait)} for trait in own] or [size]
        return {"clusters": lines}

    def context(self) -> dict[str, Any]:
        """Return sizes, profiles and the certainty of the number."""
        has_clusters = len(self.each) > 1
        return {
            "sizes": self._sizes() if has_clusters else None,
            "method": self._method(),
            "scatter_plot": self._scatter_plot() if has_clusters else None,
            "profiles": self._profiles(),
            "counting": self._counting(),
        }

    def _sizes(self) -> HtmlTable:
        rows = [
            [
                f"Cluster {c.number}",
                f"{c.size:,}",
                format_percent(c.share),
                "unknown" if c.persistence is None else f"{c.persistence:.2f}",
            ]
            for c in self.each
        ]
        caption = "Size and persistence of each cluster"
        if any(c.persistence is not None for c in self.each):
            caption += (
                ". Persistence is the mean overlap (Jaccard index) with the best-matching cluster "
                f"over {self.kernels} neighbor graphs: 1 if the cluster is found with all of them, "
                "below 0.5 if it is not stable"
            )
        return HtmlTable(caption, ["Cluster", "Rows", "Fraction", "Persistence"], rows, [0])

    def _method(self) -> str:
        kernel = describe_kernel(self.estimator.kernel_)
        article = "A" if self.kernels > 1 else "The"
        among = (
            f" It was chosen without labels among {self.kernels} neighbor graphs."
            if self.kernels > 1
            else ""
        )
        cost = (
            ""
            if self.cost is None
            else " On the graph of mutual 10 nearest neighbors, a fraction of "
            f"{format_number(self.cost, 3)} of the connections of a cluster leads to other "
            "clusters, on average (0: separate clusters)."
        )
        return (
            "Rows are clustered by spectral clustering: rows that are connected through chains of "
            f"similar rows are in the same cluster. {article} {kernel} connects the "
            f"rows.{among}{cost}"
        )

    def _scatter_plot(self) -> Figure:
        table, eca = self.spectra.model.table, self.spectra.eca
        labels, rows = self.numbers.astype(str), rows_drawn(len(self.numbers))
        in_columns = table.is_numeric and len(table.columns) == 2
        if in_columns:
            first, second = (shorten(name, 30) for name in table.columns)
            points, axes = table.X, (first, second)
            caption = "The rows, colored by cluster."
            alt = f"Scatter plot of {rows}: {second} against {first}, by cluster."
        else:
            points = eca.spectrum_.projections[:, :2]
            fractions = [format_percent(ratio) for ratio in eca.entropy_ratio_[:2]]
            axes = (f"component 1: {fractions[0]} of V", f"component 2: {fractions[1]} of V")
            caption = (
                "The first two kernel ECA components, colored by cluster. Clusters that overlap "
                "here may differ in other directions."
            )
            alt = (
                f"Scatter plot of {rows} on the first two of the {eca.n_components_} kernel ECA "
                "components, colored by cluster."
            )

        def draw(figure: Any) -> None:
            ax = figure.subplots()
            display = EmbeddingDisplay(points=points, labels=labels, axis_labels=axes)
            display.plot(ax, max_points=MAX_POINTS)
            if in_columns:
                for line in list(ax.lines):  # the origin has no meaning, and may be far away
                    line.remove()
                ax.relim()
                ax.autoscale_view()

        return Figure(svg("clusters", alt, (4.8, 4.8), draw), caption)

    def _profiles(self) -> list[dict[str, Any]]:
        if not self.traits:
            return []
        has_labels = any(trait.label is not None for trait in self.traits)
        profiles = []
        for cluster in self.each:
            rows = [
                [
                    shorten(t.column, 40),
                    _inside(t),
                    _overall(t),
                    _signed(t.effect),
                ]
                for t in self.traits
                if t.cluster == cluster.number and abs(t.effect) >= SMALL
            ][:5]
            name = f"Cluster {cluster.number}, {format_count(cluster.size, 'row')}"
            heads = ["Column", "In the cluster", "In all rows", "Effect"]
            text_columns = [0, 1] if has_labels else [0]
            table = HtmlTable(name, heads, rows, text_columns) if rows else None
            profiles.append({"name": name, "table": table})
        return profiles

    def _counting(self) -> str:
        counting = self.counting
        confidence = format_percent(counting.confidence)
        meaning = (
            "The number is that of the clusters of a density tree (HDBSCAN) with at least 2 % of "
            "the rows. Confidence is the fraction of smallest sizes, from half to twice this one, "
            "with the same number."
        )
        if counting.requested:
            found = f"You requested {format_count(counting.chosen, 'cluster')}."
            if counting.is_uncertain:
                return f"{found} The data do not determine the number of clusters. {meaning}"
            return (
                f"{found} The data suggest {counting.suggested}, with {confidence} confidence. "
                f"{meaning}"
            )
        if counting.is_uncertain:
            return (
                f"Could not tell the number of clusters: {counting.chosen} is the best guess, with "
                f"{confidence} confidence. {meaning}"
            )
        found = f"Found {format_count(counting.chosen, 'cluster')}"
        return f"{found}, with {confidence} confidence. {meaning}"


def describe_trait(trait: Trait) -> str:
    """Describe a trait in a phrase: "high proline (median 1,065, overall 673.5)"."""
    name = shorten(trait.column, 40)
    if trait.label is not None:
        label = shorten(trait.label, 40)
        relation = "with" if trait.kind == "text" else "="
        return (
            f"{name} {relation} “{label}” in {format_percent(float(trait.inside))} of its rows "
            f"(overall {format_percent(float(trait.overall))})"
        )
    level = "high" if trait.effect > 0 else "low"
    inside, overall = format_value(trait.inside), format_value(trait.overall)
    return f"{level} {name} (median {inside}, overall {overall})"


def format_value(value: float | str) -> str:
    """Format a number, or an ISO date without a time of 00:00:00."""
    if isinstance(value, str):
        return value.replace("T00:00:00", "").replace("T", " ")
    return format_number(value)


def _signed(effect: float) -> str:
    return f"{effect:+.2f}".replace("-", "−")


def _inside(trait: Trait) -> str:
    if trait.label is None:
        return format_value(trait.inside)
    return f"“{shorten(trait.label, 40)}” {format_percent(float(trait.inside))}"


def _overall(trait: Trait) -> str:
    if trait.label is None:
        return format_value(trait.overall)
    return format_percent(float(trait.overall))


# --- fits ------------------------------------------------------------------------------------


def find_clusters(
    model: Preparation, spectra: Spectra, n_clusters: int | None, steps: Steps
) -> Clusters:
    """Cluster all rows, and find what distinguishes the clusters.

    ``model`` has the default bandwidths. Without ``n_clusters``, SpectralClustering chooses it.
    """

    def fit() -> SpectralClustering:
        # the page states the confidence and skewed columns
        with suppress_warnings(IdentifiabilityWarning, ColumnWarning):
            return table_clustering(model, n_clusters or "auto").fit(model.data)

    fitted = steps.run("clusters", fit)
    records = fitted.path_
    chosen = next((one for one in records if one.kernel is fitted.kernel_), None)
    numbers = np.asarray(fitted.labels_)
    sizes = np.bincount(numbers, minlength=fitted.n_clusters_)
    each = []
    for number, size in enumerate(sizes.tolist()):
        persistence = None
        if chosen is not None and len(records) > 1 and fitted.n_clusters_ > 1:
            others = [one.labels for one in records]
            persistence = _persistence(chosen.labels == number, others)
        each.append(Cluster(number, size, size / len(numbers), persistence))
    confidence = None if np.isnan(fitted.confidence_) else fitted.confidence_
    counting = steps.run("number of clusters", lambda: _count(model, len(each), confidence))
    traits = steps.run("cluster profiles", lambda: cluster_traits(model.table, numbers))
    return Clusters(
        spectra=spectra,
        numbers=numbers,
        each=tuple(each),
        traits=traits,
        counting=counting,
        cost=None if chosen is None else chosen.cost,
        confidence=confidence,
        kernels=len(records),
        estimator=fitted,
    )


def _count(model: Preparation, chosen: int, confidence: float | None) -> Counting:
    """Return the number of clusters, and the one that the data suggest if it was requested."""
    if confidence is not None:
        return Counting(chosen, chosen, False, confidence)
    with suppress_warnings():
        fitted = table_clustering(model).set_params(max_rows=SWEEP_ROWS).fit(model.data)
    return Counting(chosen, fitted.n_clusters_, True, fitted.confidence_)


def _persistence(members: Array, clusterings: list[Array]) -> float:
    """Return the mean over clusterings of the largest Jaccard index with a cluster."""
    best = []
    for labels in clusterings:
        shared = np.bincount(labels, weights=members)
        best.append((shared / (np.bincount(labels) + members.sum() - shared)).max())
    return float(np.mean(best))
