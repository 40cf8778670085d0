"""Clustering example 6, Table 2 and Fig. 17: newsgroup postings by the words in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from mercer import EntropyClustering
from mercer.cluster.diagnostics import clustering_error
from mercer.kernels import Polynomial
from papers.baselines import kernel_pca_clustering, njw_clustering
from papers.comparison import Picture, Row, Table, show
from papers.data import load_newsgroups
from papers.figures import GRAY, PALETTE, panels
from papers.jenssen_2010.sweeps import components_of, without_warnings
from papers.types import Array

__all__ = ["TABLES", "figures"]

_GROUPS = ("rec.*", "sci.*")
_SIZES = (352, 266)
_PRINTED = ((298, 54), (66, 200))
_KERNEL = Polynomial(degree=2)  # (x'y)², element by element
_LABELED = 12
#: Words that the paper finds more often in postings wrongly assigned to sci, and to rec.
_TO_SCI = ("email", "insurance", "number", "technology", "version")
_TO_REC = ("hockey", "nhl", "players", "season", "team")


@dataclass(frozen=True)
class _Subset:
    """Rows, clusters and errors (in percent) of one random subset."""

    rows: Array
    assigned: Array
    components: frozenset[int]
    eca: float
    pca: float
    njw: float


def _truth() -> Array:
    return np.repeat(np.arange(2), _SIZES)


@cache
def _subsets(count: int) -> tuple[_Subset, ...]:
    data: Any = load_newsgroups()
    names = data.target_names[data.target - 1]
    rng = np.random.default_rng(0)
    found = []
    for _ in range(count):
        rows = np.concatenate(
            [
                rng.choice(np.flatnonzero(names == group), size, replace=False)
                for group, size in zip(_GROUPS, _SIZES, strict=True)
            ]
        )
        found.append(_cluster(rows, data.data[rows]))
    return tuple(found)


def _cluster(rows: Array, X: Array) -> _Subset:
    y = _truth()
    with without_warnings():
        eca = EntropyClustering(2, kernel=_KERNEL, solver="dense").fit(X)
        pca = kernel_pca_clustering(X, 2, kernel=_KERNEL)
        njw = njw_clustering(X, 2, kernel=_KERNEL)
    return _Subset(
        rows,
        _match_classes(eca.labels_, y),
        components_of(eca.eca_.component_ranks_),
        *(100 * clustering_error(y, labels) for labels in (eca.labels_, pca, njw)),
    )


def _match_classes(labels: Array, y: Array) -> Array:
    """Return the labels, swapped if that matches the classes better; -1 is unchanged."""
    swapped = np.where(labels < 0, labels, 1 - labels)
    return labels if (labels == y).sum() >= (swapped == y).sum() else swapped


def _count(quick: bool) -> int:
    return 20 if quick else 100


def _errors(quick: bool) -> Table:
    """Means over subsets."""
    subsets = _subsets(_count(quick))
    errors = {m: np.array([getattr(s, m) for s in subsets]) for m in ("eca", "pca", "njw")}
    names = {"eca": "kernel ECA", "pca": "kernel PCA, angular", "njw": "NJW"}
    rows = [
        Row.of_mean(
            f"{names[m]}: error, mean of subsets",
            printed,
            errors[m],
            " %",
            remark=f"From {errors[m].min():.1f} to {errors[m].max():.1f} %; at most {printed} % in "
            f"{(errors[m] <= float(printed) + 0.05).sum()} of {len(subsets)}.",
        )
        for m, printed in (("eca", "19.4"), ("pca", "28.6"), ("njw", "33.3"))
    ]
    in_order = sum(s.eca < s.pca < s.njw for s in subsets)
    four = sum(s.components == {1, 4} for s in subsets)
    rows += [
        _fraction("kernel ECA has the fewest errors, then kernel PCA, then NJW", in_order, subsets),
        _fraction("kernel ECA selects components {1, 4}", four, subsets),
    ]
    return Table(
        tuple(rows),
        note=f"{len(subsets)} random subsets of the printed sizes; the paper has one, of unknown "
        "postings. The spread over subsets is the sampling error of its values. A statement about "
        "it agrees if it holds in at least 1 % of the subsets. The text also has 19.6 for 19.4.",
    )


def _fraction(statement: str, count: int, subsets: tuple[_Subset, ...], remark: str = "") -> Row:
    """A statement about the paper's subset, and the number of our subsets in which it holds."""
    return Row(
        f"{statement}, in at least 1 % of the subsets",
        True,
        count >= 0.01 * len(subsets),
        reason="the paper's 618 postings are not known",
        remark=f"In {count} of {len(subsets)}.{remark}",
    )


def _confusion(quick: bool) -> Table:
    """Table 2 over subsets, and for the one whose error is nearest to the paper's."""
    subsets = _subsets(_count(quick))
    nearest = _nearest(subsets)
    to_sci, to_rec = (np.array([_assigned(s, true, 1 - true) for s in subsets]) for true in (0, 1))
    words = [_described_words(s) for s in subsets]
    rows = [
        _fraction(
            "at most 54 rec postings are assigned to sci and 66 sci postings to rec",
            int(((to_sci <= 54) & (to_rec <= 66)).sum()),
            subsets,
            f" Means {to_sci.mean():.0f} ± {to_sci.std(ddof=1):.0f} and "
            f"{to_rec.mean():.0f} ± {to_rec.std(ddof=1):.0f}.",
        ),
        _fraction(
            "Fig. 17: all ten words have the described sign",
            words.count(10),
            subsets,
            f" At most {max(words)} of {', '.join(_TO_SCI)}; {', '.join(_TO_REC)}.",
        ),
    ]
    return Table(
        tuple(rows),
        layout=_matrix(nearest),
        note=f"Nearest subset: the one of {len(subsets)} random subsets whose error, "
        f"{nearest.eca:.1f} %, is nearest to the paper's 19.4 %; components "
        f"{show(nearest.components)}. Rows are true groups, columns clusters.",
    )


TABLES = {
    "Clustering example 6: rec and sci newsgroups, 352 and 266 postings": _errors,
    "Table 2: confusion matrix of kernel ECA": _confusion,
}


def _assigned(subset: _Subset, true: int, cluster: int) -> int:
    """Number of postings of a group in a cluster."""
    return int(((_truth() == true) & (subset.assigned == cluster)).sum())


def _word_differences(subset: _Subset) -> Array:
    """Frequency of each word in rec postings assigned to sci, minus that in the opposite ones."""
    data: Any = load_newsgroups()
    X, y = data.data[subset.rows], _truth()
    to_sci, to_rec = (y == 0) & (subset.assigned == 1), (y == 1) & (subset.assigned == 0)
    return np.asarray(X[to_sci].mean(axis=0) - X[to_rec].mean(axis=0))


def _described_words(subset: _Subset) -> int:
    """Number of words with the sign that the paper describes."""
    data: Any = load_newsgroups()
    difference = dict(zip(data.feature_names, _word_differences(subset), strict=True))
    return sum(difference[w] > 0 for w in _TO_SCI) + sum(difference[w] < 0 for w in _TO_REC)


def _nearest(subsets: tuple[_Subset, ...]) -> _Subset:
    return min(subsets, key=lambda s: abs(s.eca - 19.4))


def _matrix(subset: _Subset) -> str:
    head = f"{'':12}{'paper':^16}    {'here':>12}"
    names = f"{'':12}{'rec':>8}{'sci':>8}    {'rec':>8}{'sci':>8}"
    lines = [head, names]
    for group, name in enumerate(("rec", "sci")):
        ours = [_assigned(subset, group, cluster) for cluster in range(2)]
        printed = "".join(f"{count:>8}" for count in _PRINTED[group])
        lines.append(f"{name:<12}{printed}    " + "".join(f"{count:>8}" for count in ours))
    unassigned = int((subset.assigned < 0).sum())
    if unassigned:
        lines.append(f"({unassigned} isolated, in no cluster)")
    return "\n".join(lines)


def figures(quick: bool) -> Iterator[Picture]:
    """Fig. 17."""
    data: Any = load_newsgroups()
    subset = _nearest(_subsets(_count(quick)))
    difference = _word_differences(subset)
    figure, axes = panels(1, 1, (11, 4.6))
    ax = axes[0, 0]
    colors = [PALETTE[1] if value > 0 else PALETTE[0] for value in difference]
    ax.vlines(np.arange(len(difference)), 0, difference, colors=colors, linewidths=2)
    ax.axhline(0, color=GRAY, linewidth=0.8)
    for word in np.argsort(-np.abs(difference))[:_LABELED]:
        up = difference[word] > 0
        ax.annotate(
            data.feature_names[word],
            (word, difference[word]),
            (0, 3 if up else -3),
            textcoords="offset points",
            ha="center",
            va="bottom" if up else "top",
            fontsize=8,
            rotation=90,
        )
    ax.margins(y=0.25)
    ax.set_xlabel("word, in alphabetical order")
    ax.set_ylabel("fraction of postings, difference")
    ax.set_title(
        f"above: more often in the {_assigned(subset, 0, 1)} rec postings assigned to sci;  "
        f"below: in the {_assigned(subset, 1, 0)} sci postings assigned to rec",
        fontsize=9,
    )
    yield Picture(
        "fig17",
        "Fig. 17. Words in wrongly assigned postings: fraction of rec postings assigned to sci "
        "that contain the word, minus that of sci postings assigned to rec (subset of Table 2).",
        figure,
    )
