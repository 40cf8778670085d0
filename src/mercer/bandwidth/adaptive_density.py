r"""Density estimates with one bandwidth, or one bandwidth matrix, per training point.

.. math:: \hat p(x) = \sum_j a_j\, N(x; x_j, B_j B_j'), \qquad \sum_j a_j = 1

Two choices of the :math:`B_j`, in coordinates in which the sample has unit variances:

- Abramson's: :math:`B_j = h\,\lambda_j I` with :math:`\log\lambda_j = -a (\log f(x_j) - g)`, where
  f is a pilot estimate with a fixed bandwidth and g is its mean log density. Bandwidths grow where
  the density is low.
- Local shapes: :math:`B_j B_j' = h^2 ((1 - s) S_j + s\,\mathrm{tr}(S_j)/d\; I)` with the scatter
  :math:`S_j` of the nearest neighbors around :math:`x_j`.

The parameters (pilot bandwidth and a, or number of neighbors and s, and h) maximize a K-fold
cross-validated likelihood. In each fold the pilot and the shapes are computed without the held-out
points: a leave-one-out likelihood with pilots of all points prefers bandwidths that are too narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import log, pi

import numpy as np
from scipy.spatial import cKDTree

from mercer.bandwidth.likelihood import (
    Coordinates,
    choice_rows,
    most_likely_factor,
    refined_factor,
    sample_coordinates,
)
from mercer.data.points import Sample
from mercer.data.subsampling import representative_rows, select_representatives
from mercer.gram.kernel_sums import Run, gaussian_sums, worth_boxes
from mercer.kernels import Gaussian
from mercer.kernels.densities import (
    LogDerivatives,
    block_rows,
    concatenate,
    radial_derivatives,
    term_fractions,
)
from mercer.utils.pairwise import (
    augment_columns,
    augment_rows,
    half_squared_differences,
    half_squared_products,
    products_would_cancel,
)
from mercer.utils.resources import thread_count
from mercer.utils.types import Array

__all__ = [
    "Adaptation",
    "SamplePointDensity",
    "abramson_bandwidths",
    "adapt_bandwidths",
    "adapt_shapes",
    "adapted_density",
    "local_shapes",
    "random_folds",
]


_MAX_SHAPES = 10_000  # with more rows, a row has the matrix of the nearest of so many


@dataclass(frozen=True, eq=False)
class SamplePointDensity:
    """The density ``Σ_j a_j N(x; x_j, B_j B_j')``."""

    coordinates: Coordinates
    points: Array  # training points in these coordinates, shape (n, d)
    weights: Array  # the a_j, shape (n,)
    inverses: Array  # ``1/h_j``, or the lower triangular matrices B_j⁻¹, shape (n,) or (n, d, d)

    def log_density(self, X: Array, run: Run | None = None) -> Array:
        """Return the log density at every row of X.

        Many sums with scalar bandwidths skip negligible points, with a relative error of at most
        1e-6, and start threads by ``run``.
        """
        Z = self.coordinates.scaled(X)
        logs = np.empty(len(Z))
        direct = np.arange(len(Z))
        if self.inverses.ndim == 1 and worth_boxes(len(self.points), len(Z)):
            sums = gaussian_sums(self.points, self.log_offsets(), self.inverses)
            if sums is not None:
                near = sums.reaches(Z)
                logs[near] = sums(Z[near], run)
                direct = np.flatnonzero(~near)
        for block in block_rows(len(direct), self.inverses.size):
            rows = direct[block]
            logs[rows] = _log_sum(self.log_terms(Z[rows]))
        return logs - 0.5 * Z.shape[1] * log(2 * pi) - self.coordinates.log_volume

    def log_terms(self, Z: Array) -> Array:
        """Return the logarithms of all terms at rows in the coordinates, up to a constant."""
        return _exponents(Z, self.points, self.inverses) + self.log_offsets()

    def deviations(self) -> Array:
        """Return the standard deviations of the kernels along the columns, shape (n, d)."""
        factor, inverses = self.coordinates.factor, self.inverses
        if inverses.ndim == 1:
            return np.asarray(np.linalg.norm(factor, axis=1) / inverses[:, None])
        return np.asarray(np.linalg.norm(factor @ np.linalg.inv(inverses), axis=2))

    def log_offsets(self) -> Array:
        """Return the logarithms of the terms at their own points, up to the same constant."""
        return np.log(self.weights) + _log_determinants(self.inverses, self.points.shape[1])

    def derivatives(self, X: Array) -> LogDerivatives:
        """Return the derivatives of the log density."""
        coordinates, points, inverses = self.coordinates, self.points, self.inverses
        d = points.shape[1]
        smallest = 1 / float(np.abs(inverses).max())
        if smallest < 1e-150:
            raise ValueError(
                f"A bandwidth is {smallest:.3g} of the range of the rows, and derivatives need the "
                "square of its reciprocal (limit: 1e-150). Use a larger bandwidth."
            )
        Z = coordinates.scaled(X)
        T = coordinates.directions()
        ones = np.ones(len(points))
        found = []
        for rows in block_rows(len(Z), inverses.size * d):
            logs = self.log_terms(Z[rows])
            if inverses.ndim == 1:
                found.append(radial_derivatives(Z[rows], points, logs, inverses**2, ones))
                continue
            C = np.swapaxes(inverses, 1, 2) @ inverses
            total, shares = term_fractions(logs, ones)
            precisions = np.tensordot(shares, C, axes=1)
            pull = shares @ (C @ points[..., None])[..., 0]
            gradient = pull - (precisions @ Z[rows][..., None])[..., 0]
            found.append(LogDerivatives(total, gradient, precisions))
        return concatenate(found).in_coordinates(T)

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Draw points."""
        cumulative = np.cumsum(self.weights)
        found = np.searchsorted(cumulative, rng.random(count) * cumulative[-1])
        chosen = np.minimum(found, len(cumulative) - 1)
        noise = rng.standard_normal((count, self.points.shape[1]))
        inverses = self.inverses[chosen]
        if inverses.ndim == 1:
            noise /= inverses[:, None]
        else:
            noise = np.linalg.solve(inverses, noise[..., None])[..., 0]
        return self.coordinates.original(self.points[chosen] + noise)


@dataclass(frozen=True)
class Adaptation:
    """Parameters that were chosen by cross-validation.

    ``pilot``, ``exponent``: bandwidth of the pilot estimate, and a; 0 without them. ``fraction``,
    ``shrinkage``: fraction of the sample that are neighbors, and s; 0 for scalar bandwidths.
    """

    coordinates: Coordinates
    bandwidth: float  # h, in standard deviations of the sample
    score: float  # mean cross-validated log density
    pilot: float = 0.0
    exponent: float = 0.0
    fraction: float = 0.0
    shrinkage: float = 0.0


# --- bandwidths that depend on the density --------------------------------------------------------


def abramson_bandwidths(
    Z: Array, reference: Array, weights: Array, pilot: float, exponent: float
) -> Array:
    """Return the logarithms of the λ_j at the rows of Z.

    ``reference``: points of the pilot estimate, which has the bandwidth ``pilot``. λ_j is at most
    that of an isolated reference point, or the distance from the reference points divided by
    ``pilot`` if that is larger.
    """
    at_reference = _pilot_logs(reference, reference, weights, pilot)
    mean = weights @ at_reference / weights.sum()
    isolated = np.log(weights.min())
    logs = np.maximum(_pilot_logs(Z, reference, weights, pilot), -1e300)  # -inf at 1e154 bandwidths
    distances = np.sqrt(2 * np.maximum(isolated - logs, 0.5))
    largest = np.maximum(-exponent * (isolated - mean), np.log(distances))
    return np.asarray(np.minimum(-exponent * (logs - mean), largest))


def adapt_bandwidths(X: Array, weights: Array, candidates: Sequence[Coordinates]) -> Adaptation:
    """Choose among coordinates, and pilot bandwidth, exponent and h, for distinct points.

    The search includes the exponent 0, which gives one bandwidth for all points.
    """
    found = (_search_bandwidths(X, weights, coordinates) for coordinates in candidates)
    return max(found, key=lambda one: one.score)


def _search_bandwidths(X: Array, weights: Array, coordinates: Coordinates) -> Adaptation:
    Z = coordinates.scaled(X)
    d = Z.shape[1]
    halves = _exponents(Z, Z, np.ones(len(Z)))
    constant = 0.5 * d * log(2 * pi) + coordinates.log_volume
    folds = _folds(len(Z), 10)
    between = [halves[np.ix_(held, used)] for held, used in folds]

    def score(bandwidth: float, adjustments: list[Array]) -> float:
        total = 0.0
        for (held, used), h, adjustment in zip(folds, between, adjustments, strict=True):
            logs = log(bandwidth) + adjustment
            exponents = h * np.exp(-2 * logs)
            exponents += np.log(weights[used]) - d * logs
            held_out = _log_sum(exponents) - log(weights[used].sum())
            total += float(weights[held] @ held_out)
        return total / float(weights.sum()) - constant

    zeros = [np.zeros(len(used)) for _, used in folds]
    # in standard deviations
    start, highest = most_likely_factor(lambda h: score(h, zeros), 0.02, 2.0, 0.01)
    chosen = Adaptation(coordinates, start, highest)
    for factor in (0.7, 1.0, 1.4, 2.0):  # pilot / best fixed bandwidth
        pilot = factor * start
        values = np.exp(halves / pilot**2)
        logs = []
        for _, used in folds:
            f = np.log(values[np.ix_(used, used)] @ weights[used])
            logs.append(f - weights[used] @ f / weights[used].sum())
        for exponent in (0.25, 0.5, 0.75):
            adjusted = partial(score, adjustments=[-exponent * f for f in logs])
            h, value = refined_factor(adjusted, 0.3 * start, 1.8 * start, 0.01)
            if value > chosen.score:
                chosen = Adaptation(coordinates, h, value, pilot, exponent)
    return chosen


def _pilot_logs(Z: Array, reference: Array, weights: Array, pilot: float) -> Array:
    """Return the log of the pilot density, up to a constant."""
    logs = np.empty(len(Z))
    inverses = np.full(len(reference), 1 / pilot)
    for rows in block_rows(len(Z), len(reference)):
        logs[rows] = _log_sum(_exponents(Z[rows], reference, inverses) + np.log(weights))
    return logs


# --- bandwidth matrices ---------------------------------------------------------------------------


def local_shapes(
    Z: Array, reference: Array, weights: Array, fraction: float, shrinkage: float
) -> Array:
    """Return the inverse factors of the matrices ``(1 - s) S_j + s tr(S_j)/d I`` for h = 1.

    S_j is the scatter around row j of Z of its nearest reference points, which have the given
    fraction of the total weight, and at least 2d + 2 points. Points equal to the row are not
    neighbors.
    """
    n, d = Z.shape
    inverses = np.empty((n, d, d))
    masses = weights / weights.sum()
    # so many of the lightest points have the required mass
    most = int(np.searchsorted(np.cumsum(np.sort(masses)), fraction)) + 2
    most = min(max(most, 2 * d + 3), len(reference))
    unit = max(_unit(reference), _unit(Z))
    tree = cKDTree(reference / unit)
    for rows in block_rows(n, most * d):
        neighbors = np.arange(1, most + 1)
        distances, order = tree.query(Z[rows] / unit, k=neighbors, workers=thread_count())
        ordered = masses[order] * (distances > 0)
        before = np.cumsum(ordered, axis=1) - ordered
        counts = np.cumsum(ordered > 0, axis=1)
        ordered[(before >= fraction) & (counts > 2 * d + 2)] = 0
        inverses[rows] = _inverse_factors(Z[rows], reference[order], ordered, shrinkage)
    return inverses


def _unit(Z: Array) -> float:
    """Return a unit of length in which squares of the coordinates do not overflow."""
    return max(1.0, float(np.abs(Z).max()) / 1e150)


def _inverse_factors(Z: Array, neighbors: Array, masses: Array, s: float) -> Array:
    d = Z.shape[1]
    differences = neighbors - Z[:, None]
    units = np.maximum(np.abs(differences).max(axis=(1, 2)), 1.0)  # squares must not overflow
    differences /= units[:, None, None]
    scatter = np.swapaxes(differences * masses[..., None], 1, 2) @ differences
    scatter /= masses.sum(axis=1)[:, None, None]
    spherical = np.trace(scatter, axis1=1, axis2=2)[:, None, None] / d * np.eye(d)
    roots = np.linalg.cholesky((1 - s) * scatter + s * spherical)
    return np.linalg.inv(roots) / units[:, None, None]


def adapt_shapes(X: Array, weights: Array, candidates: Sequence[Coordinates]) -> Adaptation:
    """Choose the number of neighbors, the shrinkage and h, in the last of the coordinates."""
    if len(X) < 3:
        raise ValueError(
            f"X has {len(X)} distinct rows; adaptive='shape' needs at least 3, because each row "
            "needs a neighbor when another is held out. Use adaptive=True or False."
        )
    coordinates = candidates[-1]
    Z = coordinates.scaled(X)
    d = Z.shape[1]
    constant = 0.5 * d * log(2 * pi) + coordinates.log_volume
    folds = _folds(len(Z), 5)  # shapes are recomputed in each fold
    chosen: Adaptation | None = None
    for fraction, shrinkage in product((0.05, 0.1, 0.2, 0.4), (0.1, 0.3, 0.6)):
        terms = []
        for held, used in folds:
            inverses = local_shapes(Z[used], Z[used], weights[used], fraction, shrinkage)
            offset = _log_determinants(inverses, d) + np.log(weights[used])
            offset -= log(weights[used].sum())
            terms.append((held, _exponents(Z[held], Z[used], inverses), offset))

        def score(bandwidth: float, terms: list[tuple[Array, Array, Array]] = terms) -> float:
            total = sum(
                float(weights[held] @ _log_sum(h / bandwidth**2 + offset))
                for held, h, offset in terms
            )
            return total / float(weights.sum()) - d * log(bandwidth) - constant

        h, value = refined_factor(score, 0.05, 2.5, 0.01)
        if chosen is None or value > chosen.score:
            chosen = Adaptation(coordinates, h, value, fraction=fraction, shrinkage=shrinkage)
    assert chosen is not None
    return chosen


# --- all rows -----------------------------------------------------------------------------------


def adapted_density(
    sample: Sample, by_rule: bool, mode: bool | str, chosen: Adaptation | None = None
) -> tuple[SamplePointDensity, Adaptation]:
    """Choose the parameters by cross-validation and fit the density to all rows.

    ``sample``: with a Gaussian kernel. ``by_rule``: whether to choose the parameters. Otherwise the
    kernel has the bandwidth of the pilot estimate, and the exponent is Abramson's. ``chosen``:
    parameters that are used instead of a search.
    """
    X = sample.points.data.astype(np.float64, copy=False)
    weights = sample.multiplicities
    if chosen is not None:
        found = chosen
    elif by_rule:
        found = _search(X, weights, sample.kernel, mode)
    elif mode == "shape":
        raise ValueError(
            f"adaptive='shape' chooses its bandwidths itself; the kernel has "
            f"bandwidth={sample.kernel.bandwidth!r}. Pass Gaussian('auto')."
        )
    else:
        coordinates = _coordinates_of(sample.kernel, X)
        center, factor = coordinates.center, coordinates.factor
        # squares of coordinates in units of a tiny bandwidth must not overflow
        extent = float(np.abs(X - center).max()) / 1e150
        scale = max(1.0, extent / float(np.abs(factor.diagonal()).min()))
        h = 1 / scale
        coordinates = Coordinates(center, factor * scale)
        found = Adaptation(coordinates, h, float("nan"), pilot=h, exponent=0.5)
    Z = found.coordinates.scaled(X)
    rows, masses = representative_rows(X, weights, 2000)
    if mode == "shape":
        some = Z[representative_rows(X, weights, _MAX_SHAPES)[0]]
        shapes = local_shapes(some, Z[rows], masses, found.fraction, found.shrinkage)
        unit = _unit(Z)
        inverses = shapes[cKDTree(some / unit).query(Z / unit)[1]]
        if Z.shape[1] == 1:
            inverses = inverses[:, 0, 0]
    elif found.exponent:
        inverses = np.exp(-abramson_bandwidths(Z, Z[rows], masses, found.pilot, found.exponent))
    else:
        inverses = np.ones(len(Z))
    inverses = inverses / found.bandwidth
    return SamplePointDensity(found.coordinates, Z, weights / weights.sum(), inverses), found


def _search(X: Array, weights: Array, kernel: Gaussian, mode: bool | str) -> Adaptation:
    rows, masses, size_ratio = select_representatives(X, weights, 500)
    some, masses = choice_rows(X[rows], masses)
    if kernel.metric is None:
        candidates = sample_coordinates(some, masses)
    else:
        candidates = [_coordinates_of(kernel, X)]
    found = (adapt_shapes if mode == "shape" else adapt_bandwidths)(some, masses, candidates)
    shrink = size_ratio ** (1 / (X.shape[1] + 4))  # the rate at which the best bandwidth falls
    return replace(found, bandwidth=shrink * found.bandwidth, pilot=shrink * found.pilot)


def _coordinates_of(kernel: Gaussian, X: Array) -> Coordinates:
    """Return the coordinates in which a kernel has bandwidth 1.

    Their origin is a median: an outlier would move the mean, and other coordinates would lose
    digits.
    """
    return Coordinates(np.median(X, axis=0), kernel.from_units(np.eye(X.shape[1])).T)


# --- shared steps ---------------------------------------------------------------------------------


@np.errstate(over="ignore", invalid="ignore", under="ignore")
def _exponents(Z: Array, points: Array, inverses: Array) -> Array:
    """Return ``-|B_j⁻¹ (z_i - z_j)|² / 2``; -inf if it overflows."""
    if inverses.ndim == 3:
        differences = Z - points[:, None]  # one slice per point
        scaled = differences @ np.swapaxes(inverses, 1, 2)
        return np.asarray(-0.5 * np.einsum("jik,jik->ij", scaled, scaled))
    largest = inverses.max()
    if products_would_cancel(Z * largest, points * largest):
        halves = half_squared_differences(Z, points, np.ones(Z.shape[1]))
    else:
        halves = half_squared_products(augment_rows(Z), augment_columns(points))
    if Z is points:
        np.fill_diagonal(halves, 0)
    exponents = halves * inverses**2
    if not np.isfinite(halves).all():  # large bandwidths reach far points
        i, j = np.nonzero(~np.isfinite(halves))
        scaled = (Z[i] - points[j]) * inverses[j, None]
        exponents[i, j] = -0.5 * np.einsum("ij,ij->i", scaled, scaled)
    if not np.isfinite(largest * largest):
        exponents[halves == 0] = 0
    return np.asarray(exponents)


def _log_determinants(inverses: Array, d: int) -> Array:
    """Return ``log det B_j⁻¹``."""
    if inverses.ndim == 1:
        return np.asarray(d * np.log(inverses))
    return np.asarray(np.log(np.diagonal(inverses, axis1=1, axis2=2)).sum(axis=1))


def _log_sum(logs: Array) -> Array:
    """Return the logarithms of the sums of exponentials along rows."""
    top = logs.max(axis=1, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore", under="ignore"):
        return np.asarray(np.log(np.exp(logs - top).sum(axis=1)) + top[:, 0])


def random_folds(n: int, count: int) -> Array:
    """Return the fold of each of n points, at random with a fixed seed.

    Points are in lexicographic order, so the folds do not depend on the order of the rows. Every
    ``count``-th point would not do: in one dimension a held-out point then always lies between two
    neighbors that are used, and bandwidths that are too narrow look best.
    """
    folds = np.arange(n) % min(count, n)
    np.random.default_rng(0).shuffle(folds)
    return folds


def _folds(n: int, count: int) -> list[tuple[Array, Array]]:
    """Return held-out and used indices."""
    fold = random_folds(n, count)
    return [(np.flatnonzero(fold == f), np.flatnonzero(fold != f)) for f in range(fold.max() + 1)]
