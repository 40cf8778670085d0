"""Eigenvalues above, entropy terms below: which components carry the entropy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.maths.types import Array
from mercer.plots.style import KEPT, LEFT_OUT, new_axes
from mercer.spectrum import Spectrum

__all__ = ["SpectrumDisplay"]

_LEADING = 20
# A scale turns logarithmic where a linear one would draw a mark that matters below a pixel or two.
_LINEAR_RANGE = 50.0
# Eigenvalues below this share of the largest are rounding, and would squeeze the rest together.
_ROUNDING = 1e-10


class SpectrumDisplay:
    """Eigenvalues and entropy terms of the leading eigenpairs, the kept ones marked.

    Usually made by :meth:`from_estimator` or :meth:`from_spectrum`.

    Parameters
    ----------
    eigenvalues : array of shape (N,)
        λ of K, largest first.
    entropy_ratio : array of shape (N,) or None
        ψ/V of the same pairs; None where there is no entropy to share out (a centred kernel).
    kept : array of int
        0-based places of the kept components, in the order of the components.
    ranked : bool
        Whether place i holds the i-th largest eigenvalue of all. After an entropy iteration only
        the pairs that converged are known, and places are just an order.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : array of matplotlib Axes
        Eigenvalues, and below them entropy terms if there are any.
    eigenvalue_markers_ : dict of str to Line2D
        Under "kept" and "left out".
    entropy_bars_ : BarContainer or None

    Examples
    --------
    >>> from mercer import KernelECA
    >>> from mercer.datasets import make_rings
    >>> from mercer.plots import SpectrumDisplay
    >>> X, y = make_rings(random_state=0)
    >>> eca = KernelECA(n_components=3, solver="dense").fit(X)
    >>> display = SpectrumDisplay.from_estimator(eca)
    >>> display.axes_[1].get_xlabel()
    'rank of the eigenvalue'
    """

    def __init__(
        self,
        *,
        eigenvalues: Array,
        entropy_ratio: Array | None,
        kept: Array,
        ranked: bool = True,
    ) -> None:
        self.eigenvalues = eigenvalues
        self.entropy_ratio = entropy_ratio
        self.kept = kept
        self.ranked = ranked

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> Self:
        """Draw the spectrum of a fitted estimator; options go to :meth:`plot`.

        Where the estimator chose among the pairs of its spectrum (``selected_``), its choice is
        marked.
        """
        check_is_fitted(estimator, "spectrum_")
        selected = getattr(estimator, "selected_", None)
        return cls.from_spectrum(estimator.spectrum_, selected, **options)

    @classmethod
    def from_spectrum(
        cls, spectrum: Spectrum, selected: Array | None = None, **options: Any
    ) -> Self:
        """Draw a spectrum, marking all of its pairs or the selected ones; options as above."""
        values, terms, kept = _known_pairs(spectrum)
        kept = kept if selected is None else kept[selected]
        ratio = terms / spectrum.potential if spectrum.potential > 0 else None
        display = cls(
            eigenvalues=values,
            entropy_ratio=ratio,
            kept=kept,
            ranked=spectrum.known_ranks is not None,
        )
        return display.plot(**options)

    def plot(self, axes: Sequence[Any] | None = None, *, n_pairs: int | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        axes : sequence of matplotlib Axes or None
            Two, or one where there is no entropy to show; None for a new figure.
        n_pairs : int or None
            How many pairs to show; None for 20, or more where a kept one comes later.
        """
        panels = 1 if self.entropy_ratio is None else 2
        if axes is None:
            axes = new_axes(panels, (6.0, 2.4 * panels))
        if len(axes) != panels:
            raise ValueError(f"Got {len(axes)} axes; this spectrum needs {panels}.")
        shown = self._shown(n_pairs)
        is_kept = np.isin(np.arange(shown), self.kept)
        self.axes_, self.figure_ = axes, axes[0].figure
        self._plot_eigenvalues(axes[0], shown, is_kept)
        self.entropy_bars_ = None
        if self.entropy_ratio is not None:
            self._plot_terms(axes[1], self.entropy_ratio[:shown], is_kept)
        place = "rank of the eigenvalue" if self.ranked else "pairs found, by eigenvalue"
        axes[-1].set_xlabel(place)
        axes[-1].set_xlim(0.3, shown + 0.7)
        step = 1 if shown <= 10 else 5 * (1 + shown // 60)
        axes[-1].set_xticks([1, *range(step, shown + 1, step)] if step > 1 else range(1, shown + 1))
        return self

    def _shown(self, n_pairs: int | None) -> int:
        if n_pairs is None:
            n_pairs = max(_LEADING, int(self.kept.max(initial=0)) + 2)
        return min(n_pairs, len(self.eigenvalues))

    def _plot_eigenvalues(self, ax: Any, shown: int, is_kept: Array) -> None:
        values = self.eigenvalues[:shown]
        places = np.arange(1, shown + 1)
        ax.vlines(places, 0, values, colors=_colours(is_kept), linewidths=1)
        self.eigenvalue_markers_ = {}
        for name, mask, face in (("kept", is_kept, KEPT), ("left out", ~is_kept, "none")):
            colour = KEPT if name == "kept" else LEFT_OUT
            (self.eigenvalue_markers_[name],) = ax.plot(
                places[mask],
                values[mask],
                "o",
                color=colour,
                markerfacecolor=face,
                label=name if mask.any() else None,
            )
        _set_scale(ax, values[values > _ROUNDING * values[0]])
        ax.set_ylabel(_label("eigenvalue λ", ax))
        # above the axes: a flat spectrum leaves no free corner
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False)

    def _plot_terms(self, ax: Any, ratio: Array, is_kept: Array) -> None:
        places = np.arange(1, len(ratio) + 1)
        self.entropy_bars_ = ax.bar(
            places, ratio, min(0.8, 0.1 * len(ratio)), color=_colours(is_kept)
        )
        _set_scale(ax, ratio[is_kept & (ratio > 0)])
        for order, place in enumerate(self.kept, start=1):
            if place < len(ratio):
                above = (place + 1, max(ratio[place], ax.get_ylim()[0]))
                ax.annotate(str(order), above, (0, 2), textcoords="offset points", ha="center")
        ax.set_ylabel(_label("entropy share ψ / V", ax))


def _known_pairs(spectrum: Spectrum) -> tuple[Array, Array, Array]:
    """Eigenvalues and terms of all known pairs, largest first, and the places of the kept ones."""
    values, terms = spectrum.known_eigenvalues, spectrum.known_entropy_terms
    if spectrum.known_ranks is not None:
        return values, terms, spectrum.known_ranks - 1
    # an entropy iteration fills up with pairs that carry nothing: they are not among its own
    extra = ~np.isin(spectrum.eigenvalues, values)
    values = np.r_[values, spectrum.eigenvalues[extra]]
    terms = np.r_[terms, spectrum.entropy_terms[extra]]
    order = np.argsort(-values, kind="stable")
    values, terms = values[order], terms[order]
    taken: list[int] = []
    for value in spectrum.eigenvalues:  # equal eigenvalues: the first carries the entropy
        taken.append(next(int(i) for i in np.flatnonzero(values == value) if i not in taken))
    return values, terms, np.array(taken)


def _colours(is_kept: Array) -> list[str]:
    return [KEPT if kept else LEFT_OUT for kept in is_kept]


def _set_scale(ax: Any, values: Array) -> None:
    """Start at zero, or go logarithmic where the values span too much; leave room on top."""
    if len(values) and values.max() > _LINEAR_RANGE * values.min():
        ax.set_yscale("log")
        ax.set_ylim(values.min() / 8, values.max() * 4)
    else:
        ax.set_ylim(0, 1.2 * values.max(initial=1e-12))


def _label(text: str, ax: Any) -> str:
    return f"{text}, log" if ax.get_yscale() == "log" else text
