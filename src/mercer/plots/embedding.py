"""Scatter plot of two components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.decomposition import KernelPCA
from mercer.decomposition.base import SpectralTransformer
from mercer.plots.estimators import final_step, predicted_labels
from mercer.plots.style import MARKERS, MUTED, PALETTE, new_axes, ordered_colormap
from mercer.utils.formatting import format_percent, shorten
from mercer.utils.frames import as_frame, is_mixed_table
from mercer.utils.types import Array

__all__ = ["EmbeddingDisplay"]


class EmbeddingDisplay:
    """Scatter plot of two components.

    Usually created by :meth:`from_estimator`. Thin lines mark the origin: in kernel ECA, groups
    differ by their direction from the origin.

    Parameters
    ----------
    points : array of shape (n, 2)
        Projections of the rows onto the two components.
    labels : array of shape (n,) or None
        A class per row (at most ten are distinguished), or a number per row.
    axis_labels : pair of str

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    scatters_ : dict of str to PathCollection
        The points of each class, by its name in the legend; one key "" if there are no classes.
    shown_ : array of int
        Indices of the drawn rows: all of them, or an evenly spaced subsample.

    Examples
    --------
    >>> from mercer import KernelECA
    >>> from mercer.datasets import make_rings
    >>> from mercer.plots import EmbeddingDisplay
    >>> X, y = make_rings(random_state=0)
    >>> display = EmbeddingDisplay.from_estimator(KernelECA(n_components=2).fit(X), labels=y)
    >>> sorted(display.scatters_)
    ['0', '1', '2']
    """

    def __init__(
        self,
        *,
        points: Array,
        labels: Any = None,
        axis_labels: tuple[str, str] = ("component 1", "component 2"),
    ) -> None:
        self.points = points
        self.labels = labels
        self.axis_labels = axis_labels

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        labels: Any = None,
        components: tuple[int, int] = (0, 1),
        **options: Any,
    ) -> Self:
        """Project rows with a fitted estimator, and plot them.

        Parameters
        ----------
        estimator : fitted estimator or pipeline
            What it transforms rows to is drawn, for an EntropyClustering its kernel entropy
            components. For estimators without ``transform``, such as SpectralClustering and
            KernelNovelty, these are the principal components of X with the default kernel.
        X : array-like or None
            Rows to project; None for the training rows of an estimator with components.
        labels : array-like of shape (n,) or None
            Colors. None for the clusters or predictions of the estimator, if it has some.
        components : pair of int
            Indices of the two components, from 0.
        **options
            Passed to :meth:`plot`.

        Examples
        --------
        >>> from mercer import SpectralClustering
        >>> from mercer.datasets import make_clusters
        >>> from mercer.plots import EmbeddingDisplay
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.preprocessing import StandardScaler
        >>> X, _ = make_clusters(random_state=0)
        >>> clusters = make_pipeline(StandardScaler(), SpectralClustering(3)).fit(X)
        >>> sorted(EmbeddingDisplay.from_estimator(clusters, X).scatters_)
        ['0', '1', '2']
        """
        last = final_step(estimator, X)
        points, axis_labels = _project(last.estimator, last.X, components)
        if labels is None:
            labels = _own_labels(last.estimator, last.X)
        return cls(points=points, labels=labels, axis_labels=axis_labels).plot(**options)

    def plot(
        self,
        ax: Any = None,
        *,
        title: str | None = None,
        equal_aspect: bool = False,
        max_points: int = 20_000,
    ) -> Self:
        """Draw the scatter plot.

        Parameters
        ----------
        ax : matplotlib Axes or None
            None for a new figure.
        title : str or None
        equal_aspect : bool
            Equal scales on both axes, so that angles are preserved.
        max_points : int
            With more rows, an evenly spaced subsample is drawn, and the title states its size.
        """
        if self.labels is not None and len(self.labels) != len(self.points):
            raise ValueError(
                f"labels has {len(self.labels)} entries for {len(self.points)} rows. Pass one "
                "per row."
            )
        if ax is None:
            (ax,) = new_axes(1, (5.0, 4.6))
        n = len(self.points)
        self.shown_ = np.unique(np.linspace(0, n - 1, min(n, max_points)).astype(int))
        self.ax_, self.figure_ = ax, ax.figure
        for line in (ax.axhline, ax.axvline):
            line(0, color=MUTED, linewidth=0.8, zorder=0)
        self._scatter(ax)
        if len(self.shown_) < n:
            title = f"{title or ''}\n{len(self.shown_):,} of {n:,} rows drawn".strip()
        if title:
            ax.set_title(title)
        ax.set_xlabel(self.axis_labels[0])
        ax.set_ylabel(self.axis_labels[1])
        if equal_aspect:
            ax.set_aspect("equal", adjustable="datalim")
        return self

    def _scatter(self, ax: Any) -> None:
        points = self.points[self.shown_]
        style = {"s": 22 if len(points) <= 2000 else 8, "alpha": 0.75, "linewidths": 0}
        if self.labels is None:
            self.scatters_ = {"": ax.scatter(*points.T, color=PALETTE[0], **style)}
            return
        labels = np.asarray(self.labels)
        if _is_continuous(labels):
            colormap = ordered_colormap()
            drawn = ax.scatter(*points.T, c=labels[self.shown_], cmap=colormap, **style)
            ax.figure.colorbar(drawn, ax=ax)
            self.scatters_ = {"": drawn}
            return
        self.scatters_ = {}
        for group in _groups(labels):
            members = group.rows[self.shown_]
            self.scatters_[group.name] = ax.scatter(
                *points[members].T,
                color=group.color,
                marker=group.marker,
                label=group.name,
                **style,
            )
        _legend_below(ax, max(map(len, self.scatters_)))


@dataclass(frozen=True)
class _Group:
    name: str
    rows: Array
    color: str
    marker: str


def _is_continuous(labels: Array) -> bool:
    """Return whether labels are numbers with too many distinct values for classes."""
    return labels.dtype.kind in "iuf" and len(np.unique(labels)) > len(PALETTE)


def _groups(labels: Array) -> list[_Group]:
    """Return up to ten classes, or else the nine most frequent ones and a group of all others."""
    if labels.dtype.kind == "O":  # values of several types cannot be sorted
        labels = labels.astype(str)
    names, counts = np.unique(labels, return_counts=True)
    if len(names) <= len(PALETTE):
        chosen = list(names)
    else:
        frequent = np.argsort(-counts, kind="stable")[: len(PALETTE) - 1]
        chosen = sorted(names[frequent])
    groups = [
        _Group(shorten(str(name), 24), labels == name, PALETTE[i], MARKERS[i])
        for i, name in enumerate(chosen)
    ]
    if len(chosen) < len(names):
        others = f"{len(names) - len(chosen)} others"
        groups.append(_Group(others, ~np.isin(labels, chosen), PALETTE[-1], MARKERS[-1]))
    return groups


def _legend_below(ax: Any, longest: int) -> None:
    """Put the legend below the x axis, because points may be in every corner."""
    from matplotlib.transforms import offset_copy

    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        bbox_transform=offset_copy(ax.transAxes, ax.figure, y=-38, units="points"),
        ncols=max(1, min(5, 45 // (longest + 4))),
        columnspacing=1.2,
        handletextpad=0.2,
        frameon=False,
    )


def _project(estimator: Any, X: Any, components: tuple[int, int]) -> tuple[Array, tuple[str, str]]:
    """Return two components of the rows, and the labels of the axes."""
    estimator = getattr(estimator, "eca_", estimator)  # of EntropyClustering
    if not hasattr(estimator, "transform"):
        if X is None:
            raise ValueError(
                f"{type(estimator).__name__} has no components of its own. Pass X to draw its "
                "principal components."
            )
        estimator = KernelPCA(max(components) + 1, kernel=_kernel_for(X)).fit(X)
    if X is not None:
        projected = np.asarray(estimator.transform(X))
    elif isinstance(estimator, SpectralTransformer):
        projected = estimator.spectrum_.projections
    else:
        raise ValueError(f"{type(estimator).__name__} does not store its components; pass X.")
    found = projected.shape[1]
    if len(components) != 2 or not all(0 <= c < found for c in components):
        raise ValueError(
            f"components={components!r} must be two indices from 0 to {found - 1}: the "
            f"estimator has {found} components. Fit it with a larger n_components, or choose "
            "other components."
        )
    first, second = (_describe(estimator, c) for c in components)
    return projected[:, list(components)], (first, second)


def _kernel_for(X: Any) -> str:
    """Return the default kernel for an array of numbers or a mixed table."""
    return "table" if is_mixed_table(as_frame(X)) else "gaussian"


def _own_labels(estimator: Any, X: Any) -> Array | None:
    """Return clusters of the training rows, or predictions for X; None if there are none."""
    if X is not None:
        return predicted_labels(estimator, X)
    return getattr(estimator, "labels_", None)


def _describe(estimator: Any, component: int) -> str:
    """Return an axis label: index, fraction of V or of the variance, rank if it differs."""
    if not isinstance(estimator, SpectralTransformer):
        names = getattr(estimator, "get_feature_names_out", None)
        return f"component {component + 1}" if names is None else str(names()[component])
    spectrum = estimator.spectrum_
    if spectrum.target == "entropy":
        ranks, total = estimator.component_ranks_, "V"
        fraction = spectrum.entropy_terms[component] / spectrum.potential
    else:
        ranks, total = spectrum.known_ranks, "variance"
        fraction = spectrum.eigenvalues[component] / spectrum.trace
    differs = ranks is not None and ranks[component] != component + 1
    rank = f"λ rank {ranks[component]}, " if differs else ""
    return f"component {component + 1}: {rank}{format_percent(float(fraction))} of {total}"
