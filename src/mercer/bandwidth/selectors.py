"""Plug-in and cross-validation selectors on samples, as bandwidth rules use them."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np

from mercer.bandwidth import selector_formulas as selectors
from mercer.bandwidth.plug_in_matrix import PairMoments, best_matrix
from mercer.bandwidth.selector_formulas import PairSums
from mercer.data.subsampling import select_representatives
from mercer.errors import ApproximationWarning, warn
from mercer.utils.quantiles import weighted_quantile
from mercer.utils.types import Array

__all__ = ["SELECTORS", "one_column", "whitened_plug_in"]

_MAX_ROWS = 1000  # between which distances are computed in more than one dimension


class _Rows:
    """Rows that represent a sample, and the factor that extrapolates a bandwidth to all rows."""

    def __init__(self, sample: Any) -> None:
        d = sample.dimension
        X, weights, ratio = getattr(sample, "X", None), getattr(sample, "weights", None), 1.0
        if X is None:  # rows on a cluster
            X, weights, ratio = sample.representatives()
        weights = np.ones(len(X)) if weights is None else weights
        if d > 1:
            found = select_representatives(X, weights, _MAX_ROWS)
            X, weights, ratio = X[found.rows], found.weights, ratio * found.size_ratio
        center = X.mean(axis=0)
        # a power of two, so that scaling is exact, and squares neither overflow nor underflow
        unit = float(2.0 ** np.round(np.log2(np.abs(X - center).max())))
        X = (X - center) / unit
        self.X, self.weights = X, weights
        self.factor = unit * ratio ** (1 / (d + 4))
        size = float(weights.sum())
        self.deviation = _spread(X, weights) * sqrt(size / max(size - 1, 0.5))

    @property
    def scale(self) -> float:
        """The smaller of standard deviation and interquartile range / 1.349, for one column."""
        if self.X.shape[1] > 1:
            return self.deviation
        levels = [weighted_quantile(self.X[:, 0], self.weights, q) for q in (0.25, 0.75)]
        spread = float(levels[1] - levels[0]) / 1.349
        return min(self.deviation, spread) if spread > 0 else self.deviation

    def pairs(self) -> PairSums:
        """Return the pairs; of at most 1000 rows if a grid would be too large."""
        found = PairSums.of(self.X, self.weights, self.scale)
        if found is not None:
            return found
        rows = select_representatives(self.X, self.weights, _MAX_ROWS)
        self.factor *= rows.size_ratio ** (1 / 5)
        return PairSums.of_pairs(self.X[rows.rows], rows.weights)


def _spread(X: Array, weights: Array) -> float:
    masses = weights / weights.sum()
    return float(np.sqrt((masses @ (X - masses @ X) ** 2).mean()))


def one_column(sample: Any, name: str) -> None:
    """Raise ValueError for more than one column."""
    if sample.dimension != 1:
        raise ValueError(
            f"The rule {name!r} is for one column; the sample has {sample.dimension}. Use "
            "'plug-in', 'smoothed-cv', 'least-squares-cv' or 'leave-one-out'."
        )


@np.errstate(all="ignore")
def _sheather_jones(sample: Any) -> float:
    one_column(sample, "sheather-jones")
    rows = _Rows(sample)
    pairs = rows.pairs()
    return rows.factor * selectors.sheather_jones(pairs, rows.scale)


@np.errstate(all="ignore")
def _plug_in(sample: Any) -> float:
    rows = _Rows(sample)
    pairs = rows.pairs()
    return rows.factor * selectors.plug_in(pairs, rows.scale)


@np.errstate(all="ignore")
def whitened_plug_in(sample: Any) -> Array:
    """Return the full bandwidth matrix of the plug-in method for a sample of whitened rows."""
    rows = _Rows(sample)
    pairs = PairSums.of_pairs(rows.X, rows.weights)
    pilot, bandwidth = selectors.plug_in_pilot(pairs, rows.scale)
    moments = PairMoments(rows.X, rows.weights, pilot)
    return rows.factor**2 * best_matrix(moments, pairs.size, bandwidth)


def _improved_sheather_jones(sample: Any) -> float:
    one_column(sample, "improved-sheather-jones")
    rows = _Rows(sample)
    return rows.factor * selectors.improved_sheather_jones(rows.X[:, 0], rows.weights)


@np.errstate(all="ignore")  # powers of bandwidths overflow in many columns
def _cross_validated(
    sample: Any, name: str, criterion: Callable[[PairSums, float], float], highest: float
) -> float:
    rows = _Rows(sample)
    pairs = rows.pairs()
    found, inside = selectors.minimize_criterion(
        lambda h: criterion(pairs, h), rows.deviation, pairs.size, pairs.dimension, highest
    )
    if not inside:
        warn(
            f"The criterion of {name!r} is smallest at an end of the search range, at the "
            f"bandwidth {rows.factor * found:.3g}. The sample has many ties, or no clear optimum; "
            "compare with 'leave-one-out'.",
            ApproximationWarning,
        )
    return rows.factor * found


def _least_squares_cv(sample: Any) -> float:
    return _cross_validated(sample, "least-squares-cv", selectors.least_squares_criterion, 2.0)


def _biased_cv(sample: Any) -> float:
    # the criterion tends to 0 for large h: the range of R's bw.bcv
    return _cross_validated(sample, "biased-cv", selectors.biased_criterion, 1.144)


def _smoothed_cv(sample: Any) -> float:
    scale = _Rows(sample).scale

    def criterion(pairs: PairSums, h: float) -> float:
        d = pairs.dimension
        pilot = scale * (2 / ((d + 4) * pairs.size)) ** (1 / (d + 6))
        return selectors.smoothed_criterion(pairs, h, pilot)

    return _cross_validated(sample, "smoothed-cv", criterion, 2.0)


def _normal_reference(sample: Any) -> float:
    n, d = sample.size, sample.dimension
    return float(sample.spread() * (4 / ((d + 2) * n)) ** (1 / (d + 4)))


#: Selectors by the name that a bandwidth may have.
SELECTORS: dict[str, Callable[[Any], float]] = {
    "normal-reference": _normal_reference,
    "sheather-jones": _sheather_jones,
    "improved-sheather-jones": _improved_sheather_jones,
    "plug-in": _plug_in,
    "least-squares-cv": _least_squares_cv,
    "biased-cv": _biased_cv,
    "smoothed-cv": _smoothed_cv,
}
