"""Clustering example 5, Figs. 15 and 16: the Frey faces."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from mercer import EntropyClustering, KernelECA, KernelPCA
from mercer.bandwidth import median_distance
from mercer.cluster.angular import angular_kmeans
from mercer.kernels import Gaussian
from papers.comparison import Picture, Row, Table
from papers.data import load_frey_faces
from papers.figures import new_figure, scatter_3d
from papers.jenssen_2010.sweeps import without_warnings
from papers.types import Array

__all__ = ["TABLES", "figures"]

_KERNEL = Gaussian(130.0)
_PRINTED = (540, 807, 618)
_SHOWN = 10


@cache
def _clustered() -> EntropyClustering:
    with without_warnings():
        return EntropyClustering(3, kernel=_KERNEL).fit(load_frey_faces().data)


@cache
def _clusters() -> Array:
    """Labels 0, 1 and 2 in the paper's order, identified by the published sizes; -1 isolated."""
    return _in_the_order_of_the_paper(_clustered().labels_)


def _in_the_order_of_the_paper(labels: Array) -> Array:
    sizes = np.bincount(labels[labels >= 0], minlength=3)
    renamed = np.full(len(labels), -1)
    # Clusters are matched by size: the paper's first is the smallest, its second the largest.
    for cluster, number in zip(np.argsort(sizes), np.argsort(_PRINTED), strict=True):
        renamed[labels == cluster] = number
    return renamed


def _table(quick: bool) -> Table:
    """Ranks of the components by entropy term, and sizes of the clusters."""
    X = load_frey_faces().data
    with without_warnings():
        full = KernelECA(None, kernel=_KERNEL, solver="dense").fit(X)
    ranks = full.component_ranks_
    assert ranks is not None, "ranks are known after a full decomposition"
    entropy_ranks = {int(rank): position for position, rank in enumerate(ranks, start=1)}
    labels = _clusters()
    Z = full.spectrum_.projections[:, :3]
    assigned = _in_the_order_of_the_paper(angular_kmeans(Z, 3, noise=0.0).labels)
    unassigned = int((labels < 0).sum())
    rows = (
        Row("15 % of the median distance", "130", float(0.15 * median_distance(X))),
        Row("components by entropy", (1, 10, 4), tuple(map(int, ranks[:3]))),
        Row("rank of λ₂ by entropy term", "444", entropy_ranks[2]),
        Row("rank of λ₃ by entropy term", "5", entropy_ranks[3]),
        Row(
            "sizes of the clusters by the paper's algorithm",
            _PRINTED,
            tuple(int((assigned == c).sum()) for c in range(3)),
            remark=f"EntropyClustering leaves {unassigned} isolated faces, with projections of the "
            "size of rounding errors, without a cluster: "
            + ", ".join(str(int((labels == c).sum())) for c in range(3))
            + ".",
        ),
    )
    return Table(rows, note="σ = 130.")


TABLES = {"Clustering example 5: 1965 Frey faces (Figs. 15 and 16)": _table}


def figures(quick: bool) -> Iterator[Picture]:
    """Figs. 15 and 16."""
    X, labels = load_frey_faces().data, _clusters()
    eca = _clustered().spectrum_.projections
    known = labels >= 0  # a few faces are isolated
    pca = KernelPCA(3, kernel=_KERNEL, center=False)
    with without_warnings():
        by_variance = pca.fit_transform(X)
    figure = new_figure(10, 4.8)
    for position, (Z, title, ranks) in enumerate(
        ((eca, "(a) kernel ECA", (1, 10, 4)), (by_variance, "(b) kernel PCA", (1, 2, 3))), start=1
    ):
        ax = figure.add_subplot(1, 2, position, projection="3d")
        names = [f"cluster {c + 1}" for c in range(3)]
        scatter_3d(ax, Z[known], labels[known], ranks, names=names, size=8)
        ax.view_init(elev=22, azim=40)
        ax.set_title(title)
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    yield Picture(
        "fig15",
        "Fig. 15. Frey faces: (a) kernel ECA and (b) kernel PCA; symbols are the clusters that "
        "kernel ECA finds.",
        figure,
    )
    yield Picture(
        "fig16",
        "Fig. 16. Frey faces by cluster, one row each: above the line the ten with the largest "
        "norms in kernel ECA space, in decreasing order; below it ten drawn at random.",
        _faces(np.linalg.norm(eca, axis=1), labels),
    )


def _faces(norms: Array, labels: Array) -> Any:
    images = load_frey_faces().images
    rng = np.random.default_rng(0)
    members = [np.flatnonzero(labels == c) for c in range(3)]
    largest = [rows[np.argsort(-norms[rows], kind="stable")[:_SHOWN]] for rows in members]
    drawn = [rng.choice(rows, _SHOWN, replace=False) for rows in members]
    figure = new_figure(8.2, 7.6)
    parts = figure.subfigures(2, 1)
    for part, rows, title in zip(
        parts, (largest, drawn), ("largest norm", "drawn at random"), strict=True
    ):
        part.suptitle(title, fontsize=10)
        axes = part.subplots(3, _SHOWN)
        for cluster, (line, chosen) in enumerate(zip(axes, rows, strict=True), start=1):
            line[0].set_ylabel(f"cluster {cluster}", fontsize=9)
            for ax, row in zip(line, chosen, strict=True):
                ax.imshow(images[row], cmap="gray", vmin=0, vmax=255)
                ax.set_xticks([])
                ax.set_yticks([])
    parts[1].add_artist(_rule())
    return figure


def _rule() -> Any:
    """The line between the two halves."""
    from matplotlib.lines import Line2D

    return Line2D([0.02, 0.98], [1, 1], color="black", linewidth=1.5)
