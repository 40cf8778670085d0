"""Image of a Gram matrix."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.plots.style import new_axes
from mercer.utils.types import Array

__all__ = ["GramDisplay"]

_MAX_ROWS = 600  # about one pixel per row


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
        max_rows: int = _MAX_ROWS,
        **options: Any,
    ) -> Self:
        """Plot the Gram matrix of a fitted estimator's training points.

        Parameters
        ----------
        estimator : KernelECA, KernelPCA, EntropyClustering, …
            Any estimator with a ``spectrum_``.
        labels : array-like of shape (n,) or None
            Clusters, by which the rows are ordered; None for ``labels_`` if the estimator has
            them, and for the order of the data otherwise.
        reconstruction : bool
            Plot the reconstruction from the selected components, or else the matrix itself. (For a
            precomputed kernel use :meth:`from_gram`.)
        max_rows : int
            With more rows, an evenly spaced subsample is drawn.
        **options
            Passed to :meth:`plot`.
        """
        check_is_fitted(estimator)
        spectrum = estimator.spectrum_
        if labels is None:
            labels = getattr(estimator, "labels_", None)
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
        cls, gram: Any, *, labels: Any = None, max_rows: int = _MAX_ROWS, **options: Any
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
