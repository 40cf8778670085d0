"""Plot of a diversity result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mercer.diversity import Diversity
from mercer.plots.style import HIGHLIGHT, PALETTE, new_axes

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
        """Draw both panels.

        Parameters
        ----------
        axes : sequence of two matplotlib Axes or None
            None for a new figure.
        """
        axes = new_axes(2, (6.0, 5.6), sharex=False) if axes is None else axes
        self.axes_, self.figure_ = axes, axes[0].figure
        self._plot_curves(axes[0])
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
                capsize=4,
                label=f"order {result.orders[k]:g}",
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
        ax.bar(np.arange(1, len(shares) + 1), shares, color=HIGHLIGHT)
        ax.set_yscale("log")
        ax.set_xlabel("mode, by entropy term")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_ylabel("share of V")
