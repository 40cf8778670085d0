"""Plots of a Gram matrix, and of its eigenvalues and entropy terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mercer.eigen.decompose import Spectrum
from mercer.plots.estimators import final_step, fitted_spectrum
from mercer.plots.style import HIGHLIGHT, MUTED, new_axes
from mercer.utils.types import Array

__all__ = ["GramDisplay", "SpectrumDisplay"]


class SpectrumDisplay:
    """Plot of eigenvalues and entropy terms of the leading eigenpairs.

    Selected components are highlighted. Usually created by :meth:`from_estimator` or
    :meth:`from_spectrum`.

    Parameters
    ----------
    eigenvalues : array of shape (N,)
        λ of K, largest first.
    entropy_ratio : array of shape (N,) or None
        ψ/V of the same pairs; None for a centered kernel, which has no entropy terms.
    kept : array of int
        0-based indices of the selected components, in the order of the components.
    ranked : bool
        Whether index i is the i-th largest eigenvalue of all. After an iterative solver only the
        converged pairs are known, and indices are not ranks.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : array of matplotlib Axes
        Eigenvalues, and entropy terms if there are any.
    eigenvalue_markers_ : dict of str to Line2D
        With keys "selected" and "not selected".
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
        """Plot the spectrum of a fitted estimator; options are passed to :meth:`plot`.

        A pipeline stands for its last step. If the estimator has ``selected_``, these pairs are
        highlighted, otherwise all of its components.
        """
        selected = getattr(final_step(estimator).estimator, "selected_", None)
        return cls.from_spectrum(fitted_spectrum(estimator), selected, **options)

    @classmethod
    def from_spectrum(
        cls, spectrum: Spectrum, selected: Array | None = None, **options: Any
    ) -> Self:
        """Plot a spectrum with all or the selected components highlighted.

        Options are passed to :meth:`plot`.
        """
        values, terms, indices = _known_pairs(spectrum)
        indices = indices if selected is None else indices[selected]
        ratio = terms / spectrum.potential if spectrum.potential > 0 else None
        display = cls(
            eigenvalues=values,
            entropy_ratio=ratio,
            kept=indices,
            ranked=spectrum.known_ranks is not None,
        )
        return display.plot(**options)

    def plot(self, axes: Sequence[Any] | None = None, *, n_pairs: int | None = None) -> Self:
        """Draw the panels.

        Parameters
        ----------
        axes : sequence of matplotlib Axes or None
            Two, or one if there are no entropy terms; None for a new figure.
        n_pairs : int or None
            Number of pairs to show; None for 20, or more if a selected one has a larger index.
        """
        panels = 1 if self.entropy_ratio is None else 2
        if axes is None:
            axes = new_axes(panels, (6.0, 2.4 * panels))
        if len(axes) != panels:
            raise ValueError(f"Got {len(axes)} axes, but this spectrum needs {panels}.")
        shown = self._shown(n_pairs)
        is_selected = np.isin(np.arange(shown), self.kept)
        self.axes_, self.figure_ = axes, axes[0].figure
        self._plot_eigenvalues(axes[0], shown, is_selected)
        self.entropy_bars_ = None
        if self.entropy_ratio is not None:
            self._plot_terms(axes[1], self.entropy_ratio[:shown], is_selected)
        name = "rank of the eigenvalue" if self.ranked else "converged pairs, by eigenvalue"
        axes[-1].set_xlabel(name)
        axes[-1].set_xlim(0.3, shown + 0.7)
        step = 1 if shown <= 10 else 5 * (1 + shown // 60)
        axes[-1].set_xticks([1, *range(step, shown + 1, step)] if step > 1 else range(1, shown + 1))
        return self

    def _shown(self, n_pairs: int | None) -> int:
        if n_pairs is None:
            n_pairs = max(20, int(self.kept.max(initial=0)) + 2)
        return min(n_pairs, len(self.eigenvalues))

    def _plot_eigenvalues(self, ax: Any, shown: int, is_selected: Array) -> None:
        values = self.eigenvalues[:shown]
        positions = np.arange(1, shown + 1)
        ax.vlines(positions, 0, values, colors=_colors(is_selected), linewidths=1)
        self.eigenvalue_markers_ = {}
        for name, mask, color, face in (
            ("selected", is_selected, HIGHLIGHT, HIGHLIGHT),
            ("not selected", ~is_selected, MUTED, "none"),
        ):
            (self.eigenvalue_markers_[name],) = ax.plot(
                positions[mask],
                values[mask],
                "o",
                color=color,
                markerfacecolor=face,
                label=name if mask.any() else None,
            )
        _set_scale(ax, values[values > 1e-10 * values[0]])  # others are rounding error
        ax.set_ylabel(_label("eigenvalue λ", ax))
        # above the axes, because the markers of a flat spectrum fill all corners
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False)

    def _plot_terms(self, ax: Any, ratio: Array, is_selected: Array) -> None:
        positions = np.arange(1, len(ratio) + 1)
        self.entropy_bars_ = ax.bar(
            positions, ratio, min(0.8, 0.1 * len(ratio)), color=_colors(is_selected)
        )
        _set_scale(ax, ratio[is_selected & (ratio > 0)])
        for order, index in enumerate(self.kept, start=1):
            if index < len(ratio):
                top = (index + 1, max(ratio[index], ax.get_ylim()[0]))
                ax.annotate(str(order), top, (0, 2), textcoords="offset points", ha="center")
        ax.set_ylabel(_label("entropy ratio ψ / V", ax))


def _known_pairs(spectrum: Spectrum) -> tuple[Array, Array, Array]:
    """Return eigenvalues and terms of all known pairs, largest first, and the selected indices."""
    values, terms = spectrum.known_eigenvalues, spectrum.known_entropy_terms
    if spectrum.known_ranks is not None:
        return values, terms, spectrum.known_ranks - 1
    # selected pairs without entropy are not among the converged pairs of an entropy iteration
    extra = ~np.isin(spectrum.eigenvalues, values)
    values = np.r_[values, spectrum.eigenvalues[extra]]
    terms = np.r_[terms, spectrum.entropy_terms[extra]]
    order = np.argsort(-values, kind="stable")
    values, terms = values[order], terms[order]
    selected: list[int] = []
    for value in spectrum.eigenvalues:  # among equal eigenvalues, the first has the entropy
        selected.append(next(int(i) for i in np.flatnonzero(values == value) if i not in selected))
    return values, terms, np.array(selected)


def _colors(is_selected: Array) -> list[str]:
    return [HIGHLIGHT if selected else MUTED for selected in is_selected]


def _set_scale(ax: Any, values: Array) -> None:
    """Start at zero, or use a logarithmic scale for a large range; leave room at the top."""
    if len(values) and values.max() > 50 * values.min():
        ax.set_yscale("log")
        ax.set_ylim(values.min() / 8, values.max() * 4)
    else:
        ax.set_ylim(0, 1.2 * values.max(initial=1e-12))


def _label(text: str, ax: Any) -> str:
    return f"{text}, log" if ax.get_yscale() == "log" else text


class GramDisplay:
    """Image of a Gram matrix with rows ordered by cluster; clusters are blocks on the diagonal.

    Usually created by :meth:`from_estimator`.

    Parameters
    ----------
    gram : array of shape (m, m)
        The matrix, with rows in the order of the image.
    rows : int array of shape (m,)
        Indices of these rows in the data.
    labels : array of shape (m,) or None
        Clusters of these rows, sorted.
    n_rows : int
        Number of rows of the data.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    image_ : AxesImage
    borders_ : list of float
        Positions of the borders between clusters.

    Examples
    --------
    >>> from mercer import KernelECA
    >>> from mercer.datasets import make_rings
    >>> from mercer.plots import GramDisplay
    >>> X, y = make_rings(random_state=0)
    >>> display = GramDisplay.from_estimator(KernelECA(3).fit(X), labels=y)
    >>> display.borders_
    [62.5, 188.5]
    """

    def __init__(self, *, gram: Array, rows: Array, labels: Any = None, n_rows: int) -> None:
        self.gram = gram
        self.rows = rows
        self.labels = labels
        self.n_rows = n_rows

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        labels: Any = None,
        reconstruction: bool = True,
        max_rows: int = 600,
        **options: Any,
    ) -> Self:
        """Plot the Gram matrix of a fitted estimator's training points.

        Parameters
        ----------
        estimator : KernelECA, KernelPCA, EntropyClustering, …
            Any estimator with a ``spectrum_``, or a pipeline that ends with one.
        labels : array-like of shape (n,) or None
            Clusters, by which the rows are ordered; None for ``labels_`` if the estimator has
            them, and for the order of the data otherwise.
        reconstruction : bool
            Plot the reconstruction from the selected components, or else the matrix itself. (For a
            precomputed kernel use :meth:`from_gram`.)
        max_rows : int
            With more rows, an evenly spaced subsample is drawn: about one row per pixel.
        **options
            Passed to :meth:`plot`.
        """
        spectrum = fitted_spectrum(estimator)
        if labels is None:
            labels = getattr(final_step(estimator).estimator, "labels_", None)
        order = _order(labels, spectrum.points.n, max_rows)
        if reconstruction:
            Z = spectrum.projections[order]
            gram = Z @ Z.T
        elif spectrum.kernel.compares == "gram":
            raise ValueError(
                "The estimator does not store a precomputed Gram matrix. Pass it to "
                "GramDisplay.from_gram."
            )
        else:
            gram = spectrum.kernel(spectrum.points.take(order).data)
        return cls._of(gram, order, labels, spectrum.points.n).plot(**options)

    @classmethod
    def from_gram(
        cls, gram: Any, *, labels: Any = None, max_rows: int = 600, **options: Any
    ) -> Self:
        """Plot a matrix; parameters as in :meth:`from_estimator`."""
        gram = np.asarray(gram)
        if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
            raise ValueError(f"gram has shape {gram.shape}, but must be square.")
        order = _order(labels, len(gram), max_rows)
        return cls._of(gram[np.ix_(order, order)], order, labels, len(gram)).plot(**options)

    @classmethod
    def _of(cls, gram: Array, order: Array, labels: Any, n_rows: int) -> Self:
        chosen = None if labels is None else np.asarray(labels)[order]
        return cls(gram=gram, rows=order, labels=chosen, n_rows=n_rows)

    def plot(
        self,
        ax: Any = None,
        *,
        title: str | None = None,
        colorbar: bool = True,
        norm: Any = None,
    ) -> Self:
        """Draw the image.

        Parameters
        ----------
        ax : matplotlib Axes or None
            None for a new figure.
        title : str or None
        colorbar : bool
        norm : matplotlib Normalize or None
            Mapping of values to the color scale; None for linear.
        """
        if ax is None:
            (ax,) = new_axes(1, (4.8, 4.2))
        self.ax_, self.figure_ = ax, ax.figure
        self.image_ = ax.imshow(self.gram, cmap="cividis", norm=norm, interpolation="nearest")
        self.borders_ = self._borders()
        for border in self.borders_:
            ax.axhline(border, color="white", linewidth=0.8)
            ax.axvline(border, color="white", linewidth=0.8)
        if colorbar:
            ax.figure.colorbar(self.image_, ax=ax, shrink=0.8)
        if len(self.rows) < self.n_rows:
            title = f"{title or ''}\n{len(self.rows):,} of {self.n_rows:,} rows drawn".strip()
        if title:
            ax.set_title(title)
        ordered = "row" if self.labels is None else "row, by cluster"
        ax.set_xlabel(ordered)
        ax.set_ylabel(ordered)
        return self

    def _borders(self) -> list[float]:
        if self.labels is None:
            return []
        changes = np.flatnonzero(self.labels[1:] != self.labels[:-1])
        return [float(change) + 0.5 for change in changes]


def _order(labels: Any, n: int, max_rows: int) -> Array:
    """Return the indices of at most ``max_rows`` evenly spaced rows, ordered by label."""
    if labels is not None and len(labels) != n:
        raise ValueError(f"labels has {len(labels)} entries for {n} rows. Pass one per row.")
    order = np.arange(n) if labels is None else np.argsort(np.asarray(labels), kind="stable")
    return order[np.unique(np.linspace(0, n - 1, min(n, max_rows)).astype(int))]
