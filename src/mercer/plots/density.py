"""Plots of densities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.plots.grids import column_names, grid_around, one_or_two_columns
from mercer.plots.style import MUTED, PALETTE, new_axes
from mercer.utils.types import Array
from mercer.utils.validation import check_real

__all__ = ["DensityDisplay"]

_DRAWN_ROWS = 2000
_MASSES = (0.1, 0.3, 0.5, 0.7, 0.9, 0.99)


class DensityDisplay:
    """Plot of a density and its sample: a curve for one column, contours for two.

    Usually created by :meth:`from_estimator`. Contours enclose 10, 30, 50, 70, 90 and 99 % of the
    probability mass, so that they are comparable between densities. With ``coverages`` the
    highest-density regions of these probabilities are filled: bands under the curve, or areas of
    the plane.

    Parameters
    ----------
    axes_points : list of arrays
        Coordinates of the grid along each column.
    values : array of shape (m,) or (m, m)
        The density on the grid; the first axis is the first column.
    points : array of shape (n, d) or None
        The sample.
    labels : list of str
        Names of the columns.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    curve_ : Line2D
        Only for one column.
    contours_ : QuadContourSet
        Only for two columns.
    levels_ : array
        Densities of the contours, or of the boundaries of highest-density regions, lowest first.
    regions_ : dict of float to array of shape (k, 2)
        Intervals of the highest-density region of each coverage; only for one column.

    Examples
    --------
    >>> from mercer import ParzenDensity
    >>> from mercer.datasets import make_clusters
    >>> from mercer.plots import DensityDisplay
    >>> X, y = make_clusters(random_state=0)
    >>> display = DensityDisplay.from_estimator(ParzenDensity().fit(X), X)
    >>> len(display.levels_)
    6

    Regions with half and nine tenths of the probability, without the sample:

    >>> display = DensityDisplay.from_estimator(ParzenDensity().fit(X), coverages=(0.5, 0.9))
    >>> len(display.levels_)
    2
    """

    def __init__(
        self,
        *,
        axes_points: list[Array],
        values: Array,
        points: Array | None = None,
        labels: list[str] | None = None,
    ) -> None:
        self.axes_points = axes_points
        self.values = values
        self.points = points
        self.labels = labels

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, grid: int = 150, **options: Any
    ) -> Self:
        """Evaluate a fitted density on a grid around the rows of X, and plot it.

        Parameters
        ----------
        estimator : fitted density estimator
        X : array-like of shape (n, 1) or (n, 2), or None
            None for a grid around rows that are drawn from the density; no points are plotted.
        grid : int
            Number of grid points along each column.
        **options
            Passed to :meth:`plot`.
        """
        check_is_fitted(estimator)
        points = one_or_two_columns(_random_rows(estimator) if X is None else X)
        axes_points, nodes = grid_around(points, grid, getattr(estimator, "bounds_", None))
        # densities of this library know the names of their columns
        nodes = estimator._new_rows(nodes) if hasattr(estimator, "_new_rows") else nodes
        values = estimator.pdf(nodes).reshape((grid,) * points.shape[1])
        display = cls(
            axes_points=axes_points,
            values=values,
            points=None if X is None else points,
            labels=column_names(estimator, points),
        )
        return display.plot(**options)

    def plot(
        self,
        ax: Any = None,
        *,
        title: str | None = None,
        show_points: bool = True,
        coverages: Sequence[float] | None = None,
    ) -> Self:
        """Draw the density.

        Parameters
        ----------
        ax : matplotlib Axes or None
            None for a new figure.
        title : str or None
        show_points : bool
            Whether to draw the sample.
        coverages : sequence of float or None
            Probabilities between 0 and 1 of the highest-density regions to fill; at most four are
            easy to distinguish. None for a plain curve or contours.
        """
        for coverage in () if coverages is None else coverages:
            check_real(coverage, "coverage", above=0, below=1)
        if ax is None:
            (ax,) = new_axes(1, (5.0, 4.2))
        self.ax_, self.figure_ = ax, ax.figure
        if len(self.axes_points) == 1:
            self._plot_curve(ax, show_points, coverages)
        else:
            self._plot_contours(ax, show_points, coverages)
        if title:
            ax.set_title(title)
        return self

    def _plot_curve(self, ax: Any, show_points: bool, coverages: Sequence[float] | None) -> None:
        x = self.axes_points[0]
        if coverages is None:
            ax.fill_between(x, self.values, color=PALETTE[0], alpha=0.15, linewidth=0)
        else:
            self._fill_regions(ax, x, coverages)
        (self.curve_,) = ax.plot(x, self.values, color=PALETTE[0])
        if self.points is not None and show_points:
            ax.plot(self.points[:, 0], np.zeros(len(self.points)), "|", color=MUTED, markersize=7)
        ax.set_ylim(min(0.0, 1.1 * float(self.values.min())), 1.1 * float(self.values.max()))
        ax.set_xlabel(self.labels[0] if self.labels else "x")
        ax.set_ylabel("density")

    def _fill_regions(self, ax: Any, x: Array, coverages: Sequence[float]) -> None:
        """Fill bands under the curve, the smallest region darkest."""
        ordered = sorted(coverages, reverse=True)
        self.levels_ = _levels_of_mass(self.values, tuple(ordered))
        self.regions_ = {}
        shades = np.linspace(0.15, 0.55, len(ordered))
        for coverage, shade in zip(ordered, shades, strict=True):
            level = float(_levels_of_mass(self.values, (coverage,))[0])
            self.regions_[coverage] = _intervals_above(x, self.values, level)
            fine = np.union1d(x, self.regions_[coverage].ravel())
            heights = np.interp(fine, x, self.values)
            ax.fill_between(
                fine,
                heights,
                where=heights >= level * (1 - 1e-9),
                color=PALETTE[0],
                alpha=shade,
                linewidth=0,
                label=f"{100 * coverage:.3g} %",
            )
        ax.legend(frameon=False, title="probability")

    def _plot_contours(self, ax: Any, show_points: bool, coverages: Sequence[float] | None) -> None:
        masses = _MASSES if coverages is None else tuple(sorted(coverages))
        self.levels_ = _levels_of_mass(self.values, masses)
        if coverages is not None:
            ax.contourf(
                *self.axes_points,
                self.values.T,
                levels=[*self.levels_, 1.01 * float(self.values.max())],
                cmap=_density_colormap(),
                alpha=0.35,
            )
        if self.points is not None and show_points:
            ax.scatter(*self.points.T, s=8, color=MUTED, alpha=0.5, linewidths=0)
        self.contours_ = ax.contour(
            *self.axes_points, self.values.T, levels=self.levels_, cmap=_density_colormap()
        )
        if coverages is not None:
            self._name_regions(ax, masses)
        _name_axes(ax, self.labels)

    def _name_regions(self, ax: Any, masses: tuple[float, ...]) -> None:
        """Add a legend; labels on the contours would cover small regions."""
        from matplotlib.patches import Patch

        colors = dict(zip(self.contours_.levels, self.contours_.get_edgecolor(), strict=True))
        entries = []
        for mass in reversed(masses):
            color = colors[float(_levels_of_mass(self.values, (mass,))[0])]
            face = (*color[:3], 0.35)
            entries.append(Patch(facecolor=face, edgecolor=color, label=f"{100 * mass:.3g} %"))
        ax.legend(handles=entries, frameon=False, title="probability")


def _random_rows(estimator: Any) -> Any:
    """Return rows drawn from a density, whose range is that of the plot."""
    drawn = estimator.sample(_DRAWN_ROWS, random_state=0)
    return drawn[0] if isinstance(drawn, tuple) else drawn  # mixtures return their labels too


def _levels_of_mass(values: Array, masses: tuple[float, ...]) -> Array:
    """Return the levels that enclose these fractions of the mass on the grid, lowest first."""
    ordered = np.sort(np.maximum(values, 0).ravel())[::-1]
    fractions = np.cumsum(ordered) / ordered.sum()
    levels = np.unique([ordered[int(np.searchsorted(fractions, mass))] for mass in masses])
    return levels[levels > 0]


def _intervals_above(x: Array, values: Array, level: float) -> Array:
    """Return the intervals in which a piecewise linear function is at least ``level``, (k, 2)."""
    above = values >= level
    padded = np.r_[False, above, False]
    starts = np.flatnonzero(~padded[:-1] & padded[1:])
    stops = np.flatnonzero(padded[:-1] & ~padded[1:]) - 1

    def crossing(inside: int, outside: int) -> float:
        if not 0 <= outside < len(x):
            return float(x[inside])
        share = (level - values[outside]) / (values[inside] - values[outside])
        return float(x[outside] + share * (x[inside] - x[outside]))

    pairs = zip(starts.tolist(), stops.tolist(), strict=True)
    return np.array([[crossing(a, a - 1), crossing(b, b + 1)] for a, b in pairs])


def _name_axes(ax: Any, labels: list[str] | None) -> None:
    first, second = labels or ["x1", "x2"]
    ax.set_xlabel(first)
    ax.set_ylabel(second)


def _density_colormap() -> Any:
    """Return a color map from gray to blue, legible on white at both ends."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("mercer_density", ["#9db4c8", PALETTE[0], "#00304d"])
