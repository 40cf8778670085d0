"""Plot of a bandwidth sweep: cost, stability, error and selected components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mercer.cluster import EntropyClustering
from mercer.cluster.diagnostics import clustering_error
from mercer.plots.estimators import final_step
from mercer.plots.style import HIGHLIGHT, MUTED, PALETTE, new_axes
from mercer.utils.types import Array

__all__ = ["BandwidthDisplay"]


class BandwidthDisplay:
    """Plot of a bandwidth sweep, with one panel per quantity.

    Usually created by :meth:`from_estimator`.

    Parameters
    ----------
    bandwidths : array of shape (m,)
        Increasing.
    costs : array of shape (m,)
        J of Jenssen's eq. (28) per point, with means in the full kernel space.
    stabilities : array of shape (m,)
        Agreement with the labels at nearby bandwidths.
    errors : array of shape (m,) or None
        Fraction of points in the wrong cluster, if classes are known.
    components : list of m int arrays (or None), or None
        Ranks of the selected eigenvalues among all. An entry is None if its ranks are unknown; None
        instead of a list omits the panel.
    chosen : float or None
        The chosen bandwidth.
    are_factors : bool
        Whether the bandwidths are multipliers of all bandwidths of a composite kernel.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : dict of str to matplotlib Axes
        With keys "cost", "stability", "error" and "components", for the panels that are drawn.
    lines_ : dict of str to Line2D
        The curves, with the same keys.
    chosen_ : list of Line2D
        Line at the chosen bandwidth in each panel.

    Examples
    --------
    >>> from mercer import EntropyClustering
    >>> from mercer.datasets import make_rings
    >>> from mercer.plots import BandwidthDisplay
    >>> X, y = make_rings(random_state=0)
    >>> clustering = EntropyClustering(3, bandwidths=[2.0, 3.0, 3.7]).fit(X)
    >>> list(BandwidthDisplay.from_estimator(clustering, y=y).axes_)
    ['cost', 'stability', 'error', 'components']
    """

    def __init__(
        self,
        *,
        bandwidths: Array,
        costs: Array,
        stabilities: Array,
        errors: Array | None = None,
        components: Sequence[Array | None] | None = None,
        chosen: float | None = None,
        are_factors: bool = False,
    ) -> None:
        self.bandwidths = bandwidths
        self.costs = costs
        self.stabilities = stabilities
        self.errors = errors
        self.components = components
        self.chosen = chosen
        self.are_factors = are_factors

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, y: Any = None, components: bool = True, **options: Any
    ) -> Self:
        """Plot the sweep of a fitted EntropyClustering.

        Parameters
        ----------
        estimator : EntropyClustering
            Fitted with more than one bandwidth; or a pipeline that ends with one.
        y : array-like of shape (n,) or None
            Classes of the training rows, for the error.
        components : bool
            Show the ranks of the selected components. Computing the ranks may take long for
            thousands of rows.
        **options
            Passed to :meth:`plot`.
        """
        estimator = final_step(estimator).estimator
        if not isinstance(estimator, EntropyClustering):
            raise TypeError(
                f"{type(estimator).__name__} has no sweep of bandwidths. Pass an EntropyClustering."
            )
        records = estimator.path_
        if len(records) < 2:
            raise ValueError(
                f"The estimator tried {len(records)} bandwidth, but a sweep needs at least 2. Fit "
                "it with bandwidths=80, for example."
            )
        errors = None
        if y is not None:
            rows = getattr(estimator, "sweep_rows_", None)
            truth = np.asarray(y) if rows is None else np.asarray(y)[rows]
            errors = np.array([clustering_error(truth, record.labels) for record in records])
        display = cls(
            bandwidths=np.array([record.bandwidth for record in records]),
            costs=np.array([record.cost / len(record.labels) for record in records]),
            stabilities=np.array([record.stability for record in records]),
            errors=errors,
            components=[record.components for record in records] if components else None,
            chosen=next(r.bandwidth for r in records if r.kernel == estimator.kernel_),
            are_factors=not hasattr(estimator.kernel_, "bandwidth"),
        )
        return display.plot(**options)

    def plot(self, axes: Sequence[Any] | None = None) -> Self:
        """Draw the panels.

        Parameters
        ----------
        axes : sequence of matplotlib Axes or None
            One per panel; None for a new figure.
        """
        panels = self._panels()
        if axes is None:
            axes = new_axes(len(panels), (6.0, 1.7 * len(panels)))
        if len(axes) != len(panels):
            raise ValueError(
                f"Got {len(axes)} axes, but this sweep needs {len(panels)}: {', '.join(panels)}."
            )
        self.axes_, self.figure_ = dict(zip(panels, axes, strict=True)), axes[0].figure
        self.lines_ = {}
        for (name, (values, label)), color in zip(panels.items(), PALETTE, strict=False):
            ax = self.axes_[name]
            if values is not None:
                (self.lines_[name],) = ax.plot(self.bandwidths, values, ".-", color=color)
            ax.set_ylabel(label)
        if self.components is not None:
            self._plot_components(self.axes_["components"], self.components)
        if self.errors is not None:
            self.axes_["error"].set_ylim(bottom=0)
        self.chosen_ = []
        if self.chosen is not None:
            self.chosen_ = [
                ax.axvline(self.chosen, color=HIGHLIGHT, linestyle="--", linewidth=1.2)
                for ax in axes
            ]
            symbol = "multiplier" if self.are_factors else "σ"
            title = f"chosen: {symbol} = {self.chosen:.3g}"
            axes[0].set_title(title, color=HIGHLIGHT, fontsize="medium")
        axes[-1].set_xlabel("multiplier of all bandwidths" if self.are_factors else "bandwidth σ")
        return self

    def _panels(self) -> dict[str, tuple[Array | None, str]]:
        panels: dict[str, tuple[Array | None, str]] = {
            "cost": (self.costs, "cost J / n"),
            "stability": (self.stabilities, "stability"),
        }
        if self.errors is not None:
            panels["error"] = (100 * self.errors, "error, %")
        if self.components is not None:
            panels["components"] = (None, "eigenvalue ranks")
        return panels

    def _plot_components(self, ax: Any, components: Sequence[Array | None]) -> None:
        """Draw the i-th smallest rank of the selected components at every bandwidth as steps."""
        max_count = max((len(c) for c in components if c is not None), default=0)
        ranks = np.full((len(components), max_count), np.nan)
        for i, selected in enumerate(components):
            if selected is not None:
                ranks[i, : len(selected)] = np.sort(selected)
        for column in ranks.T:
            (line,) = ax.plot(
                self.bandwidths, column, ".-", color=MUTED, markersize=4, drawstyle="steps-mid"
            )
            self.lines_.setdefault("components", line)
        if np.nanmax(ranks, initial=1) > 15:
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter("{x:.0f}")
        else:
            ax.yaxis.get_major_locator().set_params(integer=True)
