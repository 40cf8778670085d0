"""Plot of a diversity result."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np

from mercer.diversity import Diversity
from mercer.plots.style import MUTED, PALETTE, new_axes
from mercer.utils.formatting import format_order

__all__ = ["DiversityDisplay"]


class DiversityDisplay:
    """Plot of scores over the number of rows, and of the modes.

    The first panel shows whether the scores have converged: mean scores of subsamples, the score of
    all rows, and the bias-corrected estimate with its confidence interval at the right edge. The
    second panel shows the share of the information potential of each mode.

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
        shares = [mode.share for mode in self.result.modes]
        # not a color of the orders above
        ax.bar(np.arange(1, len(shares) + 1), shares, color=MUTED)
        if min(shares) < max(shares) / 30:
            ax.set_yscale("log")
            ax.set_ylim(top=1)
        ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
        by_term = all(a >= b for a, b in pairwise(shares))
        ax.set_xlabel("mode, by entropy term" if by_term else "mode, by eigenvalue")
        ax.xaxis.get_major_locator().set_params(integer=True, nbins=12)
        ax.set_ylabel("share of V")
