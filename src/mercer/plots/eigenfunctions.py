"""Contour plots of eigenfunctions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.plots.grids import column_names, grid_around, one_or_two_columns
from mercer.plots.style import HIGHLIGHT, MUTED, ORDERED, new_panels
from mercer.utils.types import Array

__all__ = ["EigenfunctionDisplay"]

_OPERATOR_LEVELS = 14  # of population eigenfunctions, which do not decay


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
        estimator : estimator with ``spectrum_``
            The functions selected by a SeriesDensity are highlighted.
        X : array-like of shape (n, 2)
        n_functions : int
            Maximum number of functions.
        grid : int
            Number of grid points along each column.
        **options
            Passed to :meth:`plot`.
        """
        check_is_fitted(estimator, "spectrum_")
        points = _two_columns(X)
        spectrum = estimator.spectrum_
        count = min(n_functions, spectrum.n_components)
        axes_points, nodes = grid_around(points, grid)
        values = spectrum.eigenfunctions(nodes)[:, :count].T.reshape(count, grid, grid)
        selected = getattr(estimator, "selected_", np.arange(spectrum.n_components))
        display = cls(
            axes_points=axes_points,
            values=values,
            titles=[
                f"{i + 1}: λ/n = {value:.2g}"
                for i, value in enumerate(spectrum.operator_eigenvalues[:count])
            ],
            kept=np.isin(np.arange(count), selected),
            points=points,
            labels=column_names(estimator, points),
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
        axes_points, nodes = grid_around(points, grid)
        count = min(n_functions, operator.n_components)
        values = operator.eigenfunctions(nodes)[:, :count]
        titles = [
            f"population {i + 1}: λ = {value:.3g}"
            for i, value in enumerate(operator.eigenvalues[:count])
        ]
        if estimator is not None:
            check_is_fitted(estimator, "spectrum_")
            spectrum = estimator.spectrum_
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
            levels=_OPERATOR_LEVELS,
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
            top = float(np.abs(self.values[i]).max())
            default = top * np.array([-0.8, -0.6, -0.4, -0.2, 0.2, 0.4, 0.6, 0.8])
            levels = default if self.levels is None else self.levels
            self.contours_.append(
                ax.contour(
                    *self.axes_points, self.values[i].T, levels=levels, cmap=_function_colormap()
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
    points = one_or_two_columns(X)
    if points.shape[1] != 2:
        raise ValueError("Eigenfunctions are plotted over two columns, but X has 1 column.")
    return points


def _function_colormap() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("mercer", ORDERED)
