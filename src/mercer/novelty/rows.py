"""Rows of a novelty detector: weights, random rows of Dask collections, mixed tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.data.points import Points, row_weights, validate_weights
from mercer.utils.frames import is_frame
from mercer.utils.types import Array

__all__ = ["NoveltyRows", "is_mixed_table"]


@dataclass(frozen=True)
class NoveltyRows:
    """Rows with positive weight, in memory.

    Attributes
    ----------
    points : Points
    weights : array of shape (n,) or None
        Multiplicities.
    ratios : array of shape (n,) or None
        Density of new rows divided by that of these rows, up to a factor.
    """

    points: Points
    weights: Array | None
    ratios: Array | None

    @classmethod
    def of(
        cls,
        points: Any,
        sample_weight: Any,
        calibration_weight: Any,
        most: int,
        rng: np.random.Generator,
    ) -> Self:
        """Validate the weights of points; of a Dask collection at most ``most`` rows are drawn."""
        weights, ratios = validate_weights(sample_weight, points), calibration_weight
        if points.is_chunked:
            points, weights, ratios = _drawn(points, weights, ratios, most, rng)
        if ratios is not None:
            ratios = row_weights(ratios, points.n, "calibration_weight")
        if weights is not None and (weights == 0).any():
            used = np.flatnonzero(weights)
            points, weights = points.take(used), weights[used]
            ratios = None if ratios is None else ratios[used]
        if ratios is not None and not ratios.any():
            raise ValueError("calibration_weight is zero for all rows; some must be positive.")
        if points.n < 2:
            raise ValueError(
                "KernelNovelty needs at least 2 rows with positive weight; got "
                f"n_samples={points.n}."
            )
        return cls(points, weights, ratios)


def _drawn(
    points: Any, weights: Any, ratios: Any, most: int, rng: np.random.Generator
) -> tuple[Points, Array | None, Array | None]:
    """Return random rows of chunked points with their weights, in memory."""
    points = points.with_weights(weights)
    _ = points.survey  # this pass validates the rows
    n = points.n
    rows = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
    columns = (
        points.weights,
        None if ratios is None else points.align(ratios, "calibration_weight"),
    )
    drawn = [None if c is None else points.passes.take(c, rows) for c in columns]
    return points.take(rows), drawn[0], drawn[1]


def is_mixed_table(X: Any) -> bool:
    """Return whether X is a data frame with labels, texts or missing values."""
    if not is_frame(X):
        return False
    numeric = all(dtype.kind in "iufb" for dtype in X.dtypes)
    return not numeric or bool(X.isna().to_numpy().any())
