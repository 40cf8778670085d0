"""Statistics of novelty detection: one number per row, large for abnormal rows.

A statistic is a function of points. Fitting it to reference rows also gives the statistic of each
reference row from a fit without it, which has about the distribution of that of a new normal row;
or None for statistics without a formula for it, which :class:`mercer.KernelNovelty` refits to
parts of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.bandwidth import fit_kernel
from mercer.data.points import Points, Sample
from mercer.decomposition.statistics import FeatureDistance
from mercer.eigen.decompose import Spectrum, decompose
from mercer.errors import IdentifiabilityWarning, suppress_warnings
from mercer.kernels import Gaussian, Kernel, Table, table_kernel
from mercer.mixture import MercerMixture
from mercer.novelty.conditional import ConditionalDistance
from mercer.novelty.density_scores import NegativeLogDensity
from mercer.novelty.mahalanobis import (
    Mahalanobis,
    column_scales,
    leave_one_out_distances,
    leave_one_out_scale_ratios,
)
from mercer.novelty.neighbors import NeighborDistance
from mercer.novelty.table_rows import TableStatistic
from mercer.utils.types import Array

__all__ = ["FittedStatistic", "MixtureScore", "automatic_kernel", "fit_statistic"]

_DISTANCE_RULE = ("median-distance", 0.5**0.5)

#: the statistic of new points, and those of the reference rows, each from a fit without it
FittedStatistic = tuple[Callable[[Points], Array], Array | None]


def fit_statistic(
    name: str,
    sample: Sample,
    regular: Array | None,
    n_components: int | float | None,
    is_scaled: bool,
    n_reference: int,
) -> FittedStatistic:
    """Fit a statistic by its name.

    ``name``: as in :class:`mercer.KernelNovelty`, except "auto". ``regular``: rows to which the
    statistic is fitted; None for all, which are known to be normal. ``is_scaled``: whether the
    bandwidths are proportional to the standard deviations of the columns. ``n_reference``: largest
    number of rows that "table" uses as neighbors.
    """
    if name == "table":
        return TableStatistic.fit(sample, regular, n_reference)
    if name == "neighbors":
        ratios = None
        if is_scaled:
            X, weights = sample.points.data.astype(np.float64), sample.multiplicities
            ratios = leave_one_out_scale_ratios(X, weights, column_scales(X, weights))
        few = 5.0 if regular is None else None  # all rows are normal: closer neighbors suffice
        return NeighborDistance.fit(sample, regular, ratios, few)
    if name == "conditional":
        return ConditionalDistance.fit(sample, regular)
    if name == "mahalanobis":
        return Mahalanobis.fit(sample, regular)
    if name == "density":
        return NegativeLogDensity.fit(sample, regular)
    if name == "mixture":
        if n_components not in (None, 1):
            return MixtureScore.fit(sample, regular, n_components), None
        return feature_gaussian(sample, regular)
    count = 0.7 if n_components is None else n_components
    spectrum = _decomposed(_regular(sample, regular), count)
    kinds = {
        "spe": FeatureDistance.spe,
        "t2": FeatureDistance.hotelling,
        "combined": FeatureDistance.combined,
    }
    return kinds[name](spectrum), None


def automatic_kernel(statistic: str, points: Points, weights: Array | None) -> Kernel:
    """Return a kernel per column for tables, otherwise a Gaussian kernel of scaled columns."""
    if statistic in ("table", "conditional"):
        return fit_kernel(Table(), points, weights)
    if points.kind == "objects":
        return table_kernel(points.data)
    X = points.data.astype(np.float64)
    scales = column_scales(X, np.ones(len(X)) if weights is None else weights)
    scaled = Points(X / scales, "vectors", points.feature_names)
    rule, factor = ("leave-one-out", 1) if statistic == "density" else _DISTANCE_RULE
    fitted: Any = fit_kernel(Gaussian(rule), scaled, weights)
    width = float(fitted.bandwidth) * factor
    return Gaussian(scales * (width if width > 0 else 1.0))


def feature_gaussian(sample: Sample, regular: Array | None = None) -> FittedStatistic:
    """Fit the Mahalanobis distance in feature space, with the covariance ``C + a I``."""
    part = _regular(sample, regular)
    spectrum = _decomposed(part, part.points.n)
    total = spectrum.total_weight
    ridge = 0.075 * spectrum.trace / total  # as in MercerMixture
    distance = FeatureDistance.mahalanobis(spectrum, ridge)
    own = distance(sample.points)
    kept = slice(None) if regular is None else regular
    reduced = FeatureDistance.mahalanobis(spectrum, ridge * (total - 1) / total)
    own[kept] = leave_one_out_distances(reduced(sample.points)[kept], total)
    return distance, own


@dataclass
class MixtureScore:
    """Negative logarithm of the density of a Gaussian mixture in feature space."""

    mixture: MercerMixture

    @classmethod
    def fit(cls, sample: Sample, regular: Array | None, n_components: Any) -> MixtureScore:
        """Fit the mixture to the regular rows."""
        part = _regular(sample, regular)
        mixture = MercerMixture(n_components, kernel=part.kernel, random_state=0)
        return cls(mixture.fit(part.points.data, sample_weight=part.multiplicities))

    def __call__(self, points: Points) -> Array:
        """Return the score of every row."""
        return -np.asarray(self.mixture.score_samples(points.data))


def _regular(sample: Sample, regular: Array | None) -> Sample:
    return sample if regular is None else sample.take(np.flatnonzero(regular))


def _decomposed(sample: Sample, n_components: int | float) -> Spectrum:
    """Decompose the centered kernel matrix."""
    # the statistics do not depend on the basis of a subspace, so ties need no warning
    with suppress_warnings(IdentifiabilityWarning):
        return decompose(
            sample,
            "variance",
            n_components,
            center=True,
            solver="dense",
            at_most=not isinstance(n_components, float),
        )
