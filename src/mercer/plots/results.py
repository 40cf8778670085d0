"""Plots of results: effects of degree and centering, diversity, dependence between columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from mercer.plots.style import MUTED, PALETTE, new_axes, new_panels
from mercer.utils.formatting import format_order, shorten

if TYPE_CHECKING:
    from mercer.diversity import Diversity
    from mercer.information import ColumnDependence
    from mercer.population import CenteringEffect, DegreeEffect

__all__ = ["DependenceDisplay", "DiversityDisplay", "EffectDisplay"]

_MEASURES = {
    "separation": "class separation",
    "explained": "explained by 2 components",
    "extreme_fraction": "due to extreme 1 %",
    "relative_error": "relative error of λ₁",
}


class EffectDisplay:
    """Plot of a :func:`~mercer.population.degree_effect` or ``centering_effect``.

    Parameters
    ----------
    effect : DegreeEffect or CenteringEffect

    Attributes
    ----------
    axes_ : dict of matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.plots import EffectDisplay
    >>> from mercer.population import degree_effect
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> display = EffectDisplay.from_effect(degree_effect(X, degrees=(1, 2, 3)))
    >>> sorted(display.axes_)
    ['explained', 'extreme_fraction', 'relative_error']
    """

    def __init__(self, effect: DegreeEffect | CenteringEffect) -> None:
        self.effect = effect

    @classmethod
    def from_effect(cls, effect: DegreeEffect | CenteringEffect) -> Self:
        """Plot an effect in a new figure."""
        return cls(effect).plot()

    def plot(self) -> Self:
        """Draw the effect in a new figure."""
        from mercer.population import CenteringEffect, DegreeEffect

        if isinstance(self.effect, DegreeEffect):
            self.axes_ = self._degrees(self.effect)
        elif isinstance(self.effect, CenteringEffect):
            self.axes_ = self._centering(self.effect)
        else:
            raise TypeError(
                f"EffectDisplay plots results of degree_effect and centering_effect, not "
                f"{type(self.effect).__name__}."
            )
        self.figure_ = next(iter(self.axes_.values())).figure
        return self

    def _degrees(self, effect: DegreeEffect) -> dict[str, Any]:
        degrees = [row.degree for row in effect.rows]
        names = [n for n in _MEASURES if getattr(effect.rows[0], n) is not None]
        axes = dict(zip(names, new_axes(len(names), (5.0, 1.9 * len(names))), strict=True))
        for (name, ax), color in zip(axes.items(), PALETTE, strict=False):
            ax.plot(degrees, [getattr(row, name) for row in effect.rows], "o-", color=color)
            ax.set_ylabel(_MEASURES[name], fontsize="small")
            ax.set_ylim(bottom=0)
        ax.set_xlabel("degree of the polynomial kernel")
        ax.set_xticks(degrees)
        return axes

    def _centering(self, effect: CenteringEffect) -> dict[str, Any]:
        values, matches = new_panels(2, 3.6)
        for offset, label, found in (
            (-0.2, "uncentered", effect.eigenvalues),
            (0.2, "centered", effect.centered_eigenvalues),
        ):
            positions = np.arange(1, len(found) + 1) + offset
            values.bar(positions, found, 0.4, label=label, color=PALETTE[int(offset > 0)])
        values.set_xlabel("component")
        values.set_ylabel("eigenvalue λ / n")
        values.legend(frameon=False)
        rows, columns = effect.matches.shape
        image = matches.imshow(effect.matches, vmin=0, vmax=1, cmap="cividis")
        matches.set_xticks(range(columns), [str(i + 1) for i in range(columns)])
        matches.set_yticks(range(rows), [str(i + 1) for i in range(rows)])
        matches.set_xlabel("uncentered component")
        matches.set_ylabel("centered component")
        matches.figure.colorbar(image, ax=matches, label="|correlation|", shrink=0.8)
        return {"eigenvalues": values, "matches": matches}


class DiversityDisplay:
    """Plot of scores over the number of rows, and of the modes.

    The first panel shows whether the scores have converged: mean scores of subsamples, the score of
    all rows, and the bias-corrected estimate with its confidence interval at the right edge. The
    second panel shows the eigenvalues of the modes, or their shares of the information potential if
    modes are ordered by entropy term.

    Parameters
    ----------
    result : Diversity

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : array of matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> from mercer.plots import DiversityDisplay
    >>> X = np.repeat(np.eye(3), [60, 30, 10], axis=0)
    >>> display = DiversityDisplay.from_result(mercer.measure_diversity(X))
    >>> display.axes_[0].get_xlabel()
    'number of rows'
    """

    def __init__(self, result: Diversity) -> None:
        self.result = result

    @classmethod
    def from_result(cls, result: Diversity, **options: Any) -> Self:
        """Plot a result; options are passed to :meth:`plot`."""
        return cls(result).plot(**options)

    def plot(self, axes: Sequence[Any] | None = None) -> Self:
        """Draw both panels; the first one only if the result has no modes.

        Parameters
        ----------
        axes : sequence of matplotlib Axes or None
            One for each panel. None for a new figure.
        """
        if axes is None:
            panels = 2 if self.result.modes else 1
            axes = new_axes(panels, (6.0, 2.8 * panels), sharex=False)
        self.axes_, self.figure_ = axes, axes[0].figure
        self._plot_curves(axes[0])
        if self.result.modes:
            self._plot_modes(axes[1])
        return self

    def _plot_curves(self, ax: Any) -> None:
        result = self.result
        edge = 1.4 * result.n_rows
        for k, curve in enumerate(result.curves):
            sizes, scores, errors = np.array(curve).T
            color = PALETTE[k % len(PALETTE)]
            ax.errorbar(sizes, scores, errors, color=color, marker="o", markersize=4)
            low, high = result.intervals[k]
            middle = result.corrected[k]
            ax.errorbar(
                [edge * 1.05**k],
                [middle],
                [[max(middle - low, 0.0)], [max(high - middle, 0.0)]],
                color=color,
                marker="s",
                markersize=4,
                capsize=4,
                label=f"order {format_order(result.orders[k])}",
            )
        ax.set_xscale("log")
        ax.set_xlabel("number of rows")
        ax.set_ylabel("effective number")
        sizes = sorted({size for curve in result.curves for size, _, _ in curve})
        ax.set_xticks([*sizes, edge], [*map(str, sizes), "corrected"])
        ax.minorticks_off()
        # above the axes, because curves may be in every corner
        ax.legend(
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=len(result.orders),
            frameon=False,
            columnspacing=1.2,
            handletextpad=0.4,
        )

    def _plot_modes(self, ax: Any) -> None:
        values = [mode.eigenvalue for mode in self.result.modes]
        by_term = any(a < b for a, b in pairwise(values))
        shares = [mode.share for mode in self.result.modes] if by_term else values
        # not a color of the orders above
        ax.bar(np.arange(1, len(shares) + 1), shares, color=MUTED)
        if min(shares) < max(shares) / 30:
            ax.set_yscale("log")
            ax.set_ylim(top=1)
        ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
        ax.set_xlabel("mode, by entropy term" if by_term else "mode, by eigenvalue")
        ax.xaxis.get_major_locator().set_params(integer=True, nbins=12)
        ax.set_ylabel("share of V" if by_term else "eigenvalue")


class DependenceDisplay:
    """Heat map of the dependence between columns, with dependent columns next to each other.

    Parameters
    ----------
    result : ColumnDependence
        From :func:`mercer.information.column_dependence`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    image_ : matplotlib collection

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.information import column_dependence
    >>> from mercer.plots import DependenceDisplay
    >>> X = np.random.default_rng(0).normal(size=(100, 4))
    >>> display = DependenceDisplay.from_result(column_dependence(X))
    >>> display.image_.get_array().shape
    (4, 4)
    """

    def __init__(self, result: ColumnDependence) -> None:
        self.result = result

    @classmethod
    def from_result(cls, result: ColumnDependence, **options: Any) -> Self:
        """Plot a result; options are passed to :meth:`plot`."""
        return cls(result).plot(**options)

    def plot(
        self, ax: Any = None, *, kind: Literal["total", "direct"] = "total", max_columns: int = 30
    ) -> Self:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib Axes or None
            None for a new figure.
        kind : {"total", "direct"}
            Fractions that columns predict of each other alone, or in addition to the others; of
            each pair the larger one of both directions.
        max_columns : int
            With more columns, those that the others predict best are drawn.
        """
        if kind not in ("total", "direct"):
            raise ValueError(f"kind={kind!r} must be 'total' or 'direct'.")
        found = self.result
        shown = np.argsort(-found.predicted, kind="stable")[:max_columns]
        order = [i for i in found.order.tolist() if i in set(shown.tolist())]
        values = found.total if kind == "total" else found.direct
        values = np.maximum(values, values.T)[np.ix_(order, order)]
        np.fill_diagonal(values, np.nan)
        if ax is None:
            side = 2.2 + 0.33 * len(order)
            ax = new_axes(1, (side + 0.8, side))[0]
        self.ax_, self.figure_ = ax, ax.figure
        self.image_ = ax.pcolormesh(values, vmin=0, vmax=1, cmap=_transparent(), edgecolor="none")
        ax.invert_yaxis()
        ax.set_aspect("equal")
        names = [shorten(str(found.columns[i]), 18) for i in order]
        centers = np.arange(len(order)) + 0.5
        ax.set_xticks(centers, names, rotation=90)
        ax.set_yticks(centers, names)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        if len(order) <= 16:
            self._write_values(values)
        return self

    def _write_values(self, values: Any) -> None:
        for i, j in zip(*np.nonzero(np.nan_to_num(values) >= 0.1), strict=True):
            text = self.ax_.text(
                j + 0.5,
                i + 0.5,
                f"{100 * values[i, j]:.0f}",
                ha="center",
                va="center",
                fontsize="small",
            )
            if values[i, j] > 0.7:
                text.set_color("white")


def _transparent() -> Any:
    """Return a color map from transparent to blue, for light and dark backgrounds."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgb

    colors = [(*to_rgb(PALETTE[0]), alpha) for alpha in (0.0, 1.0)]
    return LinearSegmentedColormap.from_list("transparent", colors)
