"""Sections 3.2 to 3.8, Fig. 1: identities, and clusters whose Gram matrix has a closed form."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import block_diag

from mercer import KernelECA, KernelPCA
from mercer.datasets import make_ring_and_blob
from mercer.kernels import Gaussian
from papers.comparison import Picture, Row, Table
from papers.figures import panels, scatter
from papers.jenssen_2010.sweeps import components_of
from papers.types import Array

__all__ = ["TABLES", "figures"]

_SIZES = 40, 20
_CLASSES = np.repeat([1, 2], _SIZES)


def _ideal() -> Array:
    """Gram matrix of two clusters that are points at infinite distance (eq. 20)."""
    return block_diag(*(np.ones((size, size)) for size in _SIZES))


def _suboptimal(gamma: float, beta: float) -> Array:
    """Gram matrix with the first cluster in two halves, the second not compact (eq. 22)."""
    half = _SIZES[0] // 2
    first = 1 - gamma * (np.arange(2 * half)[:, None] // half != np.arange(2 * half) // half)
    return block_diag(first, np.full((_SIZES[1], _SIZES[1]), beta))


def _closed_forms(quick: bool) -> Table:
    """Closed forms; components 1 and 3 if γ > β."""
    n1, n2 = _SIZES
    rows = []
    ideal = KernelECA(2, kernel="precomputed", solver="dense").fit(_ideal())
    V = (n1**2 + n2**2) / (n1 + n2) ** 2
    difference = abs(ideal.information_potential_ - V)
    rows.append(Row("3.7 ideal: V against (N1² + N2²)/N²", "equal", difference, identity=True))
    for gamma, beta in ((0.3, 0.1), (0.1, 0.3)):
        eca = KernelECA(2, kernel="precomputed", solver="dense").fit(_suboptimal(gamma, beta))
        terms = np.array([(1 - gamma / 2) * n1**2, beta * n2**2]) / (n1 + n2) ** 2
        case = f"3.8 suboptimal, γ = {gamma}, β = {beta}"
        error = float(np.abs(eca.entropy_terms_ - terms).max())
        rows.append(Row(f"{case}: terms of eq. (25)", "equal", error, identity=True))
        printed = frozenset({1, 3}) if gamma > beta else ""
        selected = components_of(eca.component_ranks_)
        rows.append(Row(f"{case}: components", printed, selected))
    return Table(tuple(rows))


def _identities(quick: bool) -> Table:
    """Sections 3.2 to 3.5, on the data of Example 1."""
    X, _ = make_ring_and_blob(random_state=0)
    eca = KernelECA(4, kernel=Gaussian(1.2), solver="dense").fit(X)
    Z, selected = eca.spectrum_.projections, float(eca.entropy_terms_.sum())
    rest = eca.spectrum_.known_entropy_terms.sum() - selected
    differences = {
        "V_k against the squared length of the mean": (Z.mean(axis=0) ** 2).sum() - selected,
        "V_k against 1'K_eca 1 / N²": eca.spectrum_.gram().mean() - selected,
        "V - V_k against the sum of the other terms": eca.residual_potential_ - rest,
        "out-of-sample projection of training points": np.abs(eca.transform(X) - Z).max(),
    }
    rows = (
        Row(name, "equal", abs(float(difference)), identity=True)
        for name, difference in differences.items()
    )
    return Table(tuple(rows), note="Four components of Example 1.")


TABLES = {
    "Sections 3.7 and 3.8: block matrices": _closed_forms,
    "Sections 3.2 to 3.5: identities": _identities,
}


def figures(quick: bool) -> Iterator[Picture]:
    """Fig. 1."""
    figure, axes = panels(1, 2, (8, 3.8))
    ideal = KernelECA(2, kernel="precomputed").fit_transform(_ideal())
    pca = KernelPCA(2, kernel="precomputed", center=False)
    split = pca.fit_transform(_suboptimal(0.3, 0.1))
    titles = "(a) ideal case", "(b) suboptimal case, kernel PCA"
    for ax, Z, title in zip(axes[0], (ideal, split), titles, strict=True):
        scatter(ax, Z, _CLASSES, names=["group 1", "group 2"], size=90)
        ax.set_title(title)
        ax.set_xlabel("component 1")
        ax.set_ylabel("component 2")
        ax.set_xlim(-0.15, 1.2)
        ax.legend(frameon=False, loc="upper right")
    axes[0, 0].set_ylim(-0.15, 1.2)
    axes[0, 1].set_ylim(-0.7, 0.7)
    yield Picture(
        "fig01",
        'Fig. 1. (a) "Ideal" case: the groups are mapped to points 90 degrees apart. (b) '
        "Suboptimal case (γ = 0.3, β = 0.1): kernel PCA collapses group 2 into the origin and "
        "splits group 1.",
        figure,
    )
