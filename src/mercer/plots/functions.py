"""Plots of functions of one or two columns: densities and eigenfunctions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import Any, Self

import numpy as np

from mercer.bandwidth.likelihood import is_extreme
from mercer.density import ParzenDensity
from mercer.density.bounds import Bounds
from mercer.plots.estimators import column_names, final_step, fitted_spectrum
from mercer.plots.style import HIGHLIGHT, MUTED, PALETTE, new_axes, new_panels, ordered_colormap
from mercer.utils.pairwise import check_column_ranges
from mercer.utils.types import Array
from mercer.utils.validation import check_real

__all__ = ["DensityDisplay", "EigenfunctionDisplay"]


_MAX_PANELS = 8  # along each side


class DensityDisplay:
    """Plot of a density and its sample: a curve for one column, contours for two, pairs for more.

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
    margins : dict of (int, int) to DensityDisplay, or None
        With more than two columns, the densities of single columns, with the key (i, i), and of
        pairs of columns, with the key (row, column) of their panel.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
        For one or two columns.
    axes_ : array of shape (d, d)
        For more; axes above the diagonal are empty.
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
        margins: dict[tuple[int, int], DensityDisplay] | None = None,
    ) -> None:
        self.axes_points = axes_points
        self.values = values
        self.points = points
        self.labels = labels
        self.margins = margins

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, grid: int = 150, **options: Any
    ) -> Self:
        """Evaluate a fitted density on a grid around the rows of X, and plot it.

        Single rows that are three times as far out as all others are outside of the grid.

        Parameters
        ----------
        estimator : fitted density estimator or pipeline
            The coordinates of a pipeline's plot are those that its last step receives. For three or
            more columns, densities of the first eight and of their pairs are estimated by
            ParzenDensity from 2,000 rows that are drawn from the density.
        X : array-like of shape (n, d) or None
            None for a grid around rows that are drawn from the density; no points are plotted.
        grid : int
            Number of grid points along each column.
        **options
            Passed to :meth:`plot`.
        """
        last = final_step(estimator, X)
        density = last.estimator
        if not (hasattr(density, "score_samples") and hasattr(density, "sample")):
            raise TypeError(
                f"{type(density).__name__} is not a density. Pass a ParzenDensity, for example, or "
                "use EmbeddingDisplay."
            )
        points = _as_columns(_random_rows(density) if X is None else last.X)
        labels = column_names(estimator, points.shape[1])
        shown = None if X is None else points
        if points.shape[1] > 2:
            return cls._of_margins(density, shown, labels, grid).plot(**options)
        return cls._of(density, points, shown, labels, grid).plot(**options)

    @classmethod
    def _of(cls, density: Any, points: Array, shown: Any, labels: list[str], grid: int) -> Self:
        """Evaluate a density of one or two columns around points."""
        axes_points, nodes = _grid_around(points, grid, getattr(density, "bounds_", None))
        if hasattr(density, "feature_names_in_"):
            import pandas as pd

            nodes = pd.DataFrame(nodes, columns=density.feature_names_in_)
        values = density.pdf(nodes) if hasattr(density, "pdf") else _exp(density, nodes)
        values = values.reshape((grid,) * points.shape[1])
        if not (values > 0).any():
            raise ValueError(
                f"The density is 0 on the whole grid of {grid} points per column, which covers all "
                "rows. Plot the density without X, leave out distant rows, or increase grid."
            )
        if not np.isfinite(values).all():
            raise ValueError(
                "The density exceeds the largest number, 1.8e308. Multiply the columns by a "
                "constant and fit again."
            )
        return cls(axes_points=axes_points, values=values, points=shown, labels=labels)

    @classmethod
    def _of_margins(cls, density: Any, shown: Any, labels: list[str], grid: int) -> Self:
        """Estimate the density of each column and each pair from rows drawn from a density."""
        drawn = _as_columns(_random_rows(density))
        labels = labels[:_MAX_PANELS]
        bounds = getattr(density, "bounds_", None)
        margins: dict[tuple[int, int], DensityDisplay] = {}
        for i, j in combinations_with_replacement(range(len(labels)), 2):
            pair = [i] if i == j else [i, j]
            support = None if bounds is None else [(bounds.low[k], bounds.high[k]) for k in pair]
            margins[j, i] = cls._of(
                ParzenDensity(support=support).fit(drawn[:, pair]),
                drawn[:, pair],
                None if shown is None else shown[:, pair],
                [labels[k] for k in pair],
                min(grid, 60) if i != j else grid,
            )
        return cls(axes_points=[], values=np.empty(0), margins=margins)

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
        if self.margins is not None:
            return self._plot_margins(ax, title, show_points, coverages)
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

    def _plot_margins(
        self, ax: Any, title: str | None, show_points: bool, coverages: Sequence[float] | None
    ) -> Self:
        if ax is not None:
            raise ValueError("A density of more than two columns has many panels: use ax=None.")
        assert self.margins is not None
        columns = 1 + max(i for i, _ in self.margins)
        self.axes_ = new_panels(columns**2, 2.1, columns).reshape(columns, columns)
        self.figure_ = self.axes_[0, 0].figure
        for i, j in np.ndindex(columns, columns):
            panel = self.axes_[i, j]
            if i < j:
                panel.set_axis_off()
                continue
            self.margins[i, j].plot(panel, show_points=show_points, coverages=coverages)
            legend = panel.get_legend()
            if legend is not None:
                legend.remove()
            if i < columns - 1:
                panel.set_xlabel("")
            if j > 0 or i == 0:
                panel.set_ylabel("")
            if i == j:
                panel.set_yticks([])
        if title:
            self.figure_.suptitle(title)
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
        default = (0.1, 0.3, 0.5, 0.7, 0.9, 0.99)
        masses = default if coverages is None else tuple(sorted(coverages))
        self.levels_ = _levels_of_mass(self.values, masses)
        if coverages is not None:
            ax.contourf(
                *self.axes_points,
                self.values.T,
                levels=[*self.levels_, 1.01 * float(self.values.max())],
                colors=_shades(len(self.levels_)),
                alpha=0.35,
            )
        if self.points is not None and show_points:
            ax.scatter(*self.points.T, s=8, color=MUTED, alpha=0.5, linewidths=0)
        colors = _shades(len(self.levels_))
        self.contours_ = ax.contour(
            *self.axes_points, self.values.T, levels=self.levels_, colors=colors
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
    drawn = estimator.sample(2000, random_state=0)
    return drawn[0] if isinstance(drawn, tuple) else drawn  # mixtures return their labels too


def _exp(density: Any, nodes: Any) -> Array:
    """Return the values of a density that has their logarithms only, as in scikit-learn."""
    return np.asarray(np.exp(density.score_samples(nodes)))


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


def _shades(count: int) -> list[tuple[float, ...]]:
    """Return colors from gray to dark blue, legible on white, equally far from each other."""
    from matplotlib.colors import LinearSegmentedColormap

    ends = ["#9db4c8", PALETTE[0], "#00304d"]
    shades = LinearSegmentedColormap.from_list("mercer_density", ends)
    return [shades(place) for place in np.linspace(0, 1, count)]


class EigenfunctionDisplay:
    """Contour plots of the leading eigenfunctions, one panel each.

    Usually created by :meth:`from_estimator` for a sample, or by :meth:`from_operator` for a
    population, optionally compared with a sample.

    Parameters
    ----------
    axes_points : list of two arrays
        Coordinates of the grid along each column.
    values : array of shape (k, m, m)
        Eigenfunctions on the grid; axes as in :class:`DensityDisplay`.
    titles : list of str
        One per panel.
    kept : array of bool
        Functions whose titles are highlighted as selected.
    points : array of shape (n, 2) or None
    labels : list of str or None
    columns : int or None
        Number of panels per row of a new figure.
    levels : int or None
        Number of equally spaced contours. None for steps of a fifth of the largest value, which is
        suitable for functions that decay to zero away from the data.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : array of matplotlib Axes
    contours_ : list of QuadContourSet

    Examples
    --------
    >>> from mercer import SeriesDensity
    >>> from mercer.datasets import make_clusters
    >>> from mercer.plots import EigenfunctionDisplay
    >>> X, y = make_clusters(random_state=0)
    >>> display = EigenfunctionDisplay.from_estimator(SeriesDensity().fit(X), X, n_functions=4)
    >>> len(display.contours_)
    4
    """

    def __init__(
        self,
        *,
        axes_points: list[Array],
        values: Array,
        titles: list[str],
        kept: Array,
        points: Array | None = None,
        labels: list[str] | None = None,
        columns: int | None = None,
        levels: int | None = None,
    ) -> None:
        self.axes_points = axes_points
        self.values = values
        self.titles = titles
        self.kept = kept
        self.points = points
        self.labels = labels
        self.columns = columns
        self.levels = levels

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, n_functions: int = 9, grid: int = 100, **options: Any
    ) -> Self:
        """Evaluate the first eigenfunctions of an estimator's spectrum, and plot them.

        Parameters
        ----------
        estimator : estimator with ``spectrum_``, or a pipeline that ends with one
            The functions selected by a SeriesDensity are highlighted.
        X : array-like of shape (n, 2)
        n_functions : int
            Maximum number of functions.
        grid : int
            Number of grid points along each column.
        **options
            Passed to :meth:`plot`.
        """
        last = final_step(estimator, X)
        points = _two_columns(last.X)
        spectrum = fitted_spectrum(estimator)
        count = min(n_functions, spectrum.n_components)
        axes_points, nodes = _grid_around(points, grid)
        values = spectrum.eigenfunctions(nodes)[:, :count].T.reshape(count, grid, grid)
        selected = getattr(last.estimator, "selected_", np.arange(spectrum.n_components))
        display = cls(
            axes_points=axes_points,
            values=values,
            titles=[
                f"{i + 1}: λ/n = {value:.2g}"
                for i, value in enumerate(spectrum.operator_eigenvalues[:count])
            ],
            kept=np.isin(np.arange(count), selected),
            points=points,
            labels=column_names(estimator, 2),
        )
        return display.plot(**options)

    @classmethod
    def from_operator(
        cls,
        operator: Any,
        X: Any = None,
        *,
        estimator: Any = None,
        n_functions: int = 5,
        grid: int = 100,
        **options: Any,
    ) -> Self:
        """Plot eigenfunctions of a population operator, optionally below those of a sample.

        The signs of the sample's functions are chosen to agree with the population's.

        Parameters
        ----------
        operator : population operator on the plane
            See :mod:`mercer.population`.
        X : array-like of shape (n, 2) or None
            Points that define the plotted range; None for a sample of 400 from the operator's
            measure.
        estimator : estimator with ``spectrum_``, or None
            Fitted to a sample of the measure with the operator's kernel; drawn in the upper row.
        n_functions : int
            Maximum number of functions.
        grid : int
            Number of grid points along each column.
        **options
            Passed to :meth:`plot`.

        Examples
        --------
        >>> from mercer import KernelPCA
        >>> from mercer.kernels import Polynomial
        >>> from mercer.plots import EigenfunctionDisplay
        >>> from mercer.population import PolynomialOperator, Uniform
        >>> operator = PolynomialOperator(2, Uniform([0, 0], [1, 1]))
        >>> X = operator.measure.sample(400, random_state=0)
        >>> pca = KernelPCA(3, kernel=Polynomial(2), center=False).fit(X)
        >>> display = EigenfunctionDisplay.from_operator(operator, X, estimator=pca)
        >>> display.titles[0], display.titles[3]
        ('sample 1: λ/n = 0.541', 'population 1: λ = 0.521')
        """
        points = _two_columns(operator.measure.sample(400, random_state=0) if X is None else X)
        axes_points, nodes = _grid_around(points, grid)
        count = min(n_functions, operator.n_components)
        values = operator.eigenfunctions(nodes)[:, :count]
        titles = [
            f"population {i + 1}: λ = {value:.3g}"
            for i, value in enumerate(operator.eigenvalues[:count])
        ]
        if estimator is not None:
            spectrum = fitted_spectrum(estimator)
            count = min(count, spectrum.n_components)
            values, titles = values[:, :count], titles[:count]
            agreement = spectrum.eigenfunctions(points)[:, :count]
            agreement = (agreement * operator.eigenfunctions(points)[:, :count]).sum(axis=0)
            empirical = spectrum.eigenfunctions(nodes)[:, :count]
            values = np.hstack([empirical * np.where(agreement < 0, -1, 1), values])
            titles = [
                f"sample {i + 1}: λ/n = {value:.3g}"
                for i, value in enumerate(spectrum.operator_eigenvalues[:count])
            ] + titles
        display = cls(
            axes_points=axes_points,
            values=values.T.reshape(-1, grid, grid),
            titles=titles,
            kept=np.ones(len(titles), dtype=bool),
            points=None if X is None else points,
            columns=count,
            levels=14,  # these functions do not decay
        )
        return display.plot(**options)

    def plot(self, axes: Any = None, *, show_points: bool = True) -> Self:
        """Draw the panels.

        Parameters
        ----------
        axes : array of matplotlib Axes or None
            One per function; None for a new figure.
        show_points : bool
            Whether to draw the sample.
        """
        count = len(self.values)
        if axes is None:
            axes = new_panels(count, 2.3, self.columns)
        if len(axes) < count:
            raise ValueError(f"Got {len(axes)} axes; {count} eigenfunctions need {count}.")
        self.axes_, self.figure_ = axes, axes[0].figure
        self.contours_ = []
        is_selection = not self.kept.all()
        for i, ax in enumerate(axes[:count]):
            if self.points is not None and show_points:
                ax.scatter(*self.points.T, s=3, color=MUTED, alpha=0.4, linewidths=0)
            top = max(float(np.abs(self.values[i]).max()), 1e-300)  # levels must differ
            default = top * np.array([-0.8, -0.6, -0.4, -0.2, 0.2, 0.4, 0.6, 0.8])
            levels = default if self.levels is None else self.levels
            self.contours_.append(
                ax.contour(
                    *self.axes_points, self.values[i].T, levels=levels, cmap=ordered_colormap()
                )
            )
            marked = is_selection and self.kept[i]
            suffix = ", selected" if marked else ""
            title = ax.set_title(self.titles[i] + suffix, fontsize="small")
            if marked:
                title.set_color(HIGHLIGHT)
            ax.set_xticks([])
            ax.set_yticks([])
        for ax in axes[count:]:
            ax.set_axis_off()
        return self


def _two_columns(X: Any) -> Array:
    points = _as_columns(X)
    if points.shape[1] != 2:
        raise ValueError(
            f"Eigenfunctions are plotted over two columns, but X has {points.shape[1]}. Fit the "
            "estimator to two columns, or to two components of KernelPCA."
        )
    return points


def _as_columns(X: Any) -> Array:
    """Return X as an array of numbers with columns."""
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2:
        raise ValueError(f"X has shape {points.shape}, but must have two dimensions.")
    return points


def _grid_around(
    points: Array, size: int, bounds: Bounds | None = None
) -> tuple[list[Array], Array]:
    """Return the coordinates of a grid along each column, and its nodes, inside of the bounds.

    Single rows that are three times as far out as all others are outside of the grid.
    """
    check_column_ranges(points)
    points = points[~is_extreme(points, np.ones(len(points)))]
    low, high = points.min(axis=0), points.max(axis=0)
    pad = 0.1 * np.where(high > low, high - low, 1.0)
    low, high = low - pad, high + pad
    if bounds is not None:
        low, high = np.maximum(low, bounds.low), np.minimum(high, bounds.high)
    axes = [np.linspace(a, b, size) for a, b in zip(low, high, strict=True)]
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    return axes, nodes
