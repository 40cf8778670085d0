r"""How unusual the rows of a table are: given their own other cells, or among the other rows.

Two statistics are put on one scale, and the larger one counts:

1. **Cells that do not fit together.** The conditional distances t_j of the cells of a row
   (:mod:`mercer.novelty.conditional`), each as :math:`z_j = -\log \hat p_j(t_j)` with the tail
   probability of its column, so that a heavy-tailed column does not hide the others;
   :math:`c = \sqrt{\sum_j z_j^2}`.
2. **Rows far from all others.** The mean distance d of a row from its 10 nearest rows, relative to
   that of those rows, :math:`d^2 / \bar d`. Every column has variance 1.

The statistic of the row is the larger one of :math:`-\log \hat p(c)` and
:math:`-\log \hat p(d^2 / \bar d)`: minus the logarithm of the smaller p-value. As the smaller of
two p-values is no p-value, the statistic is calibrated again, by its leave-one-out values.

Tail probabilities are those of the leave-one-out values of the training rows, interpolated, with a
Pareto tail beyond the tenth of them that is largest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.data.points import Points, Sample
from mercer.kernels import Table
from mercer.novelty.cells import cell_table
from mercer.novelty.conditional import ConditionalDistance, feature_chunks
from mercer.utils.pairwise import row_ranges
from mercer.utils.quantiles import weighted_quantile
from mercer.utils.types import Array

__all__ = ["RelativeDistance", "TableStatistic", "Tail"]

_NEIGHBORS = 10.0
_BLOCK = 2**20  # distances that are computed at a time
_KNOTS = 300  # at which tail probabilities are stored
_SMALLEST = 1e-12  # value of a statistic
_UNUSUAL = -np.log(0.05)  # cells at least as unusual explain a row
_ROUNDING = 1e-7  # relative rounding error of distances and statistics


@dataclass(frozen=True, eq=False)
class Tail:
    """Minus the logarithm of the probability of a value at least as large.

    ``knots``: logarithms of values. ``heights``: at the knots. Beyond the last knot, the height
    grows by ``slope`` times the difference of the logarithms.
    """

    knots: Array
    heights: Array
    slope: float

    @classmethod
    def fit(cls, values: Array, weights: Array) -> Self:
        """Fit to values with multiplicities."""
        logs = np.log(np.maximum(values, _SMALLEST))
        order = np.argsort(logs)
        # values of equal rows are equal up to rounding error
        first = np.diff(logs[order], prepend=-np.inf) > _ROUNDING
        codes = np.empty(len(logs), dtype=int)
        codes[order] = np.cumsum(first) - 1
        logs, masses = logs[order][first], np.bincount(codes, weights)
        above = np.cumsum(masses[::-1])[::-1] - masses / 2  # half of the ties
        heights = -np.log(above / masses.sum())
        border = float(weighted_quantile(logs[codes], weights, 0.9))
        height = float(np.interp(border, logs, heights))
        beyond = logs > border
        slope = 1.0  # of the logarithm of a value with the tail of 1 / value
        if beyond.any():  # Hill's estimate
            slope = 1 / max(float(np.average(logs[beyond] - border, weights=masses[beyond])), 1e-3)
        inside = np.flatnonzero(~beyond)
        if len(inside) > _KNOTS:  # also the first and the last one
            spaced = np.linspace(heights[0], heights[inside[-1]], _KNOTS)
            inside = np.unique(np.r_[np.searchsorted(heights[inside], spaced), inside[-1]])
        knots, heights = np.append(logs[inside], border), np.append(heights[inside], height)
        return cls(knots, heights, slope)

    def __call__(self, values: Array) -> Array:
        """Return the heights at values."""
        logs = np.log(np.maximum(values, _SMALLEST))
        found = np.interp(logs, self.knots, self.heights)
        return np.asarray(found + self.slope * np.maximum(logs - self.knots[-1], 0))


# --- neighbors ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RelativeDistance:
    """Mean distance d from the nearest reference rows, as d² divided by the mean of theirs.

    ``features``: of the reference rows, of shape (m, p). ``scales``: of the features in distances.
    ``mass``: number of neighbors. ``sums``, ``radii``, ``following``: for each reference row the
    sum of the distances from its neighbors, the largest one, and the mean distance of one further
    neighbor, by which leave-one-out values follow. ``floor``: is added to mean distances, since
    rows may be equal.
    """

    kernel: Table
    features: Array
    scales: Array
    weights: Array
    mass: float
    sums: Array
    radii: Array
    following: Array
    floor: float

    @classmethod
    def fit(cls, kernel: Table, features: Array, weights: Array) -> Self:
        """Use rows with multiplicities as reference."""
        scales = _feature_scales(kernel, features, weights)
        # so that each row has a further neighbor if one unit of another row is left out
        mass = float(max(min(_NEIGHBORS, float(weights.sum()) - 2), 1))
        unknown = np.zeros(len(features))
        made = cls(kernel, features, scales, weights, mass, unknown, unknown, unknown, 0.0)
        sums, radii, further = (np.empty(len(features)) for _ in range(3))
        for rows, near in made._nearest(features, np.arange(len(features)), mass + 1):
            taken = np.cumsum(near.weights, axis=1)
            inner = np.clip(mass - (taken - near.weights), 0, near.weights)
            sums[rows] = (inner * near.distances).sum(axis=1)
            rest = near.weights - inner
            last = np.where(inner > 0, near.distances, 0.0).max(axis=1)
            missing = np.maximum(1 - rest.sum(axis=1), 0)
            further[rows] = (rest * near.distances).sum(axis=1) + missing * last
            radii[rows] = last
        floor = 0.01 * float(np.average(sums / mass, weights=weights))
        floor += 1e-3 * float(np.sqrt(len(kernel.blocks)))
        return cls(kernel, features, scales, weights, mass, sums, radii, further, floor)

    def __call__(self, features: Array, own: Array | None = None) -> Array:
        """Return the relative distance of rows.

        ``own``: index of each row among the reference rows, or -1: one unit of this row is left
        out, also as a neighbor of its neighbors.
        """
        found = np.empty(len(features))
        for rows, near in self._nearest(features, own, self.mass):
            mean = near.mean(near.distances)
            sums = self.sums[near.indices]
            if own is not None:
                mine = own[rows]
                unit = np.where(mine >= 0, np.minimum(self.weights[mine], 1), 0)[:, None]
                change = unit * (self.following[near.indices] - near.distances)
                radii = self.radii[near.indices] * (1 + _ROUNDING)
                sums = sums + np.where(near.distances <= radii, change, 0)
            theirs = near.mean(sums / self.mass)
            found[rows] = (mean + self.floor) ** 2 / (theirs + self.floor)
        return found

    def nearest_means(self, features: Array, own: Array | None = None) -> tuple[Array, Array]:
        """Return the mean features of the nearest rows, and mean squared differences from them.

        The differences have a column for each column of the table. ``own``: as for calls.
        """
        means, found = np.empty_like(features), np.empty((len(features), len(self.kernel.blocks)))
        starts = [at.start for _, at in self.kernel.blocks]
        for rows, near in self._nearest(features, own, self.mass):
            totals = np.maximum(near.weights.sum(axis=1, keepdims=True), np.finfo(float).tiny)
            parts = near.weights / totals
            theirs = self.features[near.indices]
            means[rows] = np.einsum("ij,ijk->ik", parts, theirs)
            squares = ((theirs - features[rows][:, None]) * self.scales) ** 2
            found[rows] = np.add.reduceat(np.einsum("ij,ijk->ik", parts, squares), starts, axis=1)
        return means, found

    def _nearest(self, features: Array, own: Array | None, mass: float) -> Any:
        """Yield ranges of rows with their nearest reference rows."""
        used = np.flatnonzero(self.scales)
        center = self.features[:, used].mean(axis=0)
        reference = (self.features[:, used] - center) * self.scales[used]
        norms = np.einsum("ij,ij->i", reference, reference)
        for rows in row_ranges(len(features), _BLOCK // len(reference)):
            X = (features[rows][:, used] - center) * self.scales[used]
            squares = np.einsum("ij,ij->i", X, X)[:, None] + norms
            squares -= 2 * (X @ reference.T)
            distances = np.sqrt(np.maximum(squares, 0, out=squares), out=squares)
            yield (
                rows,
                _Nearest.of(distances, self.weights, None if own is None else own[rows], mass),
            )


@dataclass(frozen=True)
class _Nearest:
    """The nearest reference rows of each row, all of shape (n, k).

    ``weights``: part of each row's weight by which the total is the number of neighbors.
    """

    indices: Array
    distances: Array
    weights: Array

    @classmethod
    def of(cls, distances: Array, weights: Array, own: Array | None, mass: float) -> Self:
        """Find them in a matrix of distances, without one unit of the row itself."""
        at = np.arange(0) if own is None else np.flatnonzero(own >= 0)
        mine = np.arange(0) if own is None else own[at]
        if (weights == 1).all() and mass == int(mass):
            distances[at, mine] = np.inf
            k = min(int(mass), len(weights) - (own is not None))
            indices = np.argpartition(distances, k - 1, axis=1)[:, :k]
            near = np.take_along_axis(distances, indices, axis=1)
            order = np.argsort(near, axis=1)
            indices, near = (np.take_along_axis(one, order, axis=1) for one in (indices, near))
            return cls(indices, near, np.ones_like(near))
        counts = np.broadcast_to(weights, distances.shape).copy()
        counts[at, mine] = np.maximum(counts[at, mine] - 1, 0)
        indices = np.argsort(distances, axis=1)
        counts = np.take_along_axis(counts, indices, axis=1)
        before = np.cumsum(counts, axis=1) - counts
        parts = np.clip(mass - before, 0, counts)
        k = int(np.flatnonzero(parts.any(axis=0)).max(initial=0)) + 1
        near = np.take_along_axis(distances, indices[:, :k], axis=1)
        return cls(indices[:, :k], near, parts[:, :k])

    def mean(self, values: Array) -> Array:
        """Return the mean of values of the nearest rows."""
        totals = np.maximum(self.weights.sum(axis=1), np.finfo(float).tiny)
        return np.asarray((self.weights * values).sum(axis=1) / totals)


def _feature_scales(kernel: Table, features: Array, weights: Array) -> Array:
    """Return factors by which each column has variance 1; 0 for features without a cell's value."""
    scales = np.zeros(features.shape[1])
    total = weights.sum()
    for column, (_, at) in zip(kernel.columns or (), kernel.blocks, strict=True):
        block = features[:, at] * np.sqrt(column.cell_weights) / column.factor
        variance = float((weights @ (block - weights @ block / total) ** 2).sum() / total)
        if variance > 0:
            scales[at] = np.sqrt(column.cell_weights / variance) / column.factor
    return scales


# --- rows -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TableStatistic:
    """Minus the logarithm of the smaller tail probability of a row's cells and its neighbors."""

    conditional: ConditionalDistance
    neighbors: RelativeDistance
    typical: Array  # mean squared difference of each column from the nearest rows
    columns: tuple[Tail, ...]  # of the conditional distance of each column
    cells: Tail  # of these together
    relative: Tail

    @classmethod
    def fit(cls, sample: Sample, regular: Array | None, n_reference: int) -> tuple[Self, Array]:
        """Fit to the (regular) rows of a sample; ``n_reference`` of them are neighbors of others.

        Also return the statistic of each row from a fit without it.
        """
        conditional, distances = ConditionalDistance.fit_columns(sample, regular)
        weights = sample.multiplicities
        kept = np.flatnonzero(weights if regular is None else regular)
        reference = kept
        if len(kept) > n_reference:
            reference = kept[np.linspace(0, len(kept) - 1, n_reference).astype(int)]
        kernel, points = conditional.kernel, sample.points
        neighbors = RelativeDistance.fit(
            kernel, kernel.features(points.take(reference).data), weights[reference]
        )
        _, differences = neighbors.nearest_means(neighbors.features, np.arange(len(reference)))
        typical = np.average(differences, axis=0, weights=weights[reference])
        own = np.full(points.n, -1)
        own[reference] = np.arange(len(reference))
        relative = np.empty(points.n)
        for rows, features in feature_chunks(kernel, points):
            relative[rows] = neighbors(features, own[rows])
        columns = tuple(Tail.fit(one[kept], weights[kept]) for one in distances.T)
        together = _together(columns, distances)
        model = cls(
            conditional,
            neighbors,
            typical,
            columns,
            Tail.fit(together[kept], weights[kept]),
            Tail.fit(relative[kept], weights[kept]),
        )
        return model, np.maximum(model.cells(together), model.relative(relative))

    def __call__(self, points: Points) -> Array:
        """Return the statistic of every row."""
        found = np.empty(points.n)
        for rows, features in feature_chunks(self.conditional.kernel, points):
            found[rows] = np.maximum(*self._parts(features)[:2])
        return found

    def _parts(self, features: Array) -> tuple[Array, Array, Array]:
        """Return both statistics on the common scale, and the conditional distances."""
        distances = self.conditional.distances(features)
        cells = self.cells(_together(self.columns, distances))
        return cells, self.relative(self.neighbors(features)), distances

    def explain(self, points: Points, labels: Array) -> Any:
        r"""Return a data frame of the cells, as described in :meth:`mercer.KernelNovelty.explain`.

        The statistic of a row is divided among its cells in proportion to :math:`t_j z_j`; z_j
        alone names a changed cell less often. If the cells are not unusual, but the row is far from
        others, it is divided in proportion to :math:`D_j^2 / (D_j + \bar D_j)`, with the mean
        squared difference D_j from the nearest rows and its mean over training rows: about D_j if
        it is larger than usual.
        """
        kernel = self.conditional.kernel
        features = kernel.features(points.data)
        cells, relative, distances = self._parts(features)
        amounts = distances * _heights(self.columns, distances)
        expected = self.conditional.expected(features)
        far = (relative > cells) & (cells < _UNUSUAL)
        if far.any():
            expected[far], differences = self.neighbors.nearest_means(features[far])
            usual = np.maximum(differences + self.typical, np.finfo(float).tiny)
            amounts[far] = differences**2 / usual
        totals = np.maximum(amounts.sum(axis=1), np.finfo(float).tiny)
        contributions = amounts * (np.maximum(cells, relative) / totals)[:, None]
        found = cell_table(kernel, points, labels, expected, contributions)
        basis = np.where(np.repeat(far, len(kernel.blocks)), "nearest rows", "other cells")
        return found.assign(basis=basis)


def _heights(columns: tuple[Tail, ...], distances: Array) -> Array:
    return np.column_stack([tail(one) for tail, one in zip(columns, distances.T, strict=True)])


def _together(columns: tuple[Tail, ...], distances: Array) -> Array:
    return np.asarray(np.linalg.norm(_heights(columns, distances), axis=1))
