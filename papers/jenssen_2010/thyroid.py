"""Clustering example 2, Fig. 12: thyroid patients, normal or not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
from sklearn.preprocessing import scale

from mercer.datasets import load_thyroid
from papers.comparison import AtMost, Picture, Row, Same, Table, Within, show
from papers.figures import panels
from papers.jenssen_2010.sweeps import METHODS, Sweep, plot_errors, sweep
from papers.types import Array

__all__ = ["figures", "load_normal_or_not", "tables"]

_SUBSET = 140  # rows of a realization in the IDA repository
_GRID = np.r_[np.arange(30, 130, 5) / 100, [1.5, 1.75, 2, 2.5, 3, 4, 5]]


@cache
def load_normal_or_not() -> tuple[Array, Array]:
    """All 215 rows, standardized; 1 for the 150 normal ones."""
    X, y = load_thyroid(return_X_y=True)
    return scale(X), (y == 1).astype(int)


@cache
def _full() -> Sweep:
    X, y = load_normal_or_not()
    return sweep(X, y, np.array([0.70, 0.75, 0.80, 0.85, 0.90, 0.95, 1.00]), methods=("eca",))


@cache
def _subsets(count: int) -> tuple[Sweep, ...]:
    """Random subsets, standardized again like the realizations of the repository."""
    X, y = load_normal_or_not()
    rng = np.random.default_rng(0)
    chosen = [rng.choice(len(X), _SUBSET, replace=False) for _ in range(count)]
    return tuple(sweep(scale(X[rows]), y[rows], _GRID) for rows in chosen)


def _count(quick: bool) -> int:
    return 4 if quick else 40


def tables(quick: bool) -> Iterator[Table]:
    """All rows, and random subsets."""
    full, subsets = _full(), _subsets(_count(quick))
    at = {b: np.array([s.at(b) for s in subsets]) for b in (0.95, 5.0)}
    used = [s.components_at(0.95) for s in subsets]
    most_frequent = max(set(used), key=used.count)
    large = {m: np.mean([s.at(5.0, m) for s in subsets]) for m in METHODS}
    rows = (
        Row(
            "all 215: bandwidths of 0.7, 0.75, …, 1 with {1, 6}",
            "{1, 6}",
            sum(selected == {1, 6} for selected in full.components),
            Same(7),
            " of 7",
        ),
        Row(
            "all 215: largest error, σ = 0.8 to 0.95",
            "< 10",
            float(full.between(0.8, 0.95).max()),
            AtMost(6.0),
            " %",
        ),
        Row(
            f"{len(subsets)} subsets of 140: mean error at σ = 0.95",
            "< 10",
            float(at[0.95].mean()),
            None if quick else Within(7, 12),  # for a mean over many subsets
            " %",
            spread=float(at[0.95].std()),
            remark="Our own random subsets: the realizations of the repository are not available.",
        ),
        Row(
            "subsets with {1, 6} at σ = 0.95",
            "{1, 6}",
            used.count(frozenset({1, 6})),
            unit=f" of {len(subsets)}",
            remark=f"Most frequent: {show(most_frequent)}, {used.count(most_frequent)} times.",
        ),
        Row(
            "subsets at σ = 5: kernel ECA, kernel PCA, NJW",
            "≈ 20 %",
            ", ".join(f"{error:.1f}" for error in large.values()) + " %",
        ),
    )
    yield Table("Clustering example 2: thyroid, two clusters (Fig. 12)", rows)


def figures(quick: bool) -> Iterator[Picture]:
    """Fig. 12."""
    subsets = _subsets(_count(quick))
    mean = {m: np.mean([s.errors[m] for s in subsets], axis=0) for m in METHODS}
    figure, axes = panels(1, 1, (6.5, 4))
    plot_errors(axes[0, 0], _GRID, mean)
    yield Picture(
        "fig12",
        f"Fig. 12. Thyroid: mean clustering errors over {len(subsets)} random subsets of 140 rows "
        "against σ (the paper: 100 realizations of the IDA repository).",
        figure,
    )
