"""Kernels with finitely many features: ``k(x, y) = φ(x)'φ(y)`` and ``A = ΦΦ*``.

If ``Φ*Φ b = λ b`` with ‖b‖ = 1, then e = Φ b / √λ is a unit eigenvector of A, the projection of any
point is ``φ(x)'b``, and no training point is needed to evaluate it. A solver needs only products
with the small matrix Φ*Φ and the start vector Φ*√w.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from operator import add
from typing import Any, Self

import numpy as np

from mercer.data.points import Points, RemotePoints
from mercer.gram.expansion import Expansion
from mercer.gram.gram import EigenProblem, GramOperator, LargestEntries
from mercer.kernels import Kernel
from mercer.utils.estimators import Storable
from mercer.utils.pairwise import row_ranges
from mercer.utils.resources import results_in_order
from mercer.utils.types import Array
from mercer.utils.weights import Moments

__all__ = [
    "ExactFeatures",
    "ExplicitGram",
    "FactoredGram",
    "FeatureExpansion",
    "FeatureMap",
    "SmallProblem",
]

_CHUNK_ROWS = 8192


class FeatureMap(ABC):
    """A map from points to finitely many features."""

    kernel: Kernel

    @abstractmethod
    def __call__(self, chunk: Any) -> Array:
        """Return the features of a chunk of points, of shape (len(chunk), m)."""

    def raw_moments(self, points: Points, weights: Array | None) -> Moments:
        """Return mean and scatter of :meth:`raw` over the points."""

        def moments(rows: slice) -> Moments:
            part = None if weights is None else weights[rows]
            return Moments.of(self.raw(points.take(rows).data), part)

        # objects may be compared by arbitrary Python code
        parallel = self.kernel.compares != "objects"
        # each thread holds two arrays of 2048 rows with one column per feature
        parts = results_in_order(row_ranges(points.n, 2048), moments, parallel)
        return reduce(add, parts)

    def raw(self, chunk: Any) -> Array:
        """Return the values to sum over points: the features, or values that determine them."""
        return self(chunk)

    def finished(self, raw: Moments) -> Moments:
        """Return the moments of the features from :meth:`raw_moments`."""
        return raw

    def weighted_sums(self, points: Points, weights: Array) -> Array:
        """Return ``Σ_x w_x φ(x)`` for every row of weights."""
        parts = [weights[:, rows] @ self(chunk) for rows, chunk in points.chunks(_CHUNK_ROWS)]
        return np.asarray(sum(parts))

    def project(self, points: Points, directions: Array) -> Array:
        """Return ``φ(x)' directions`` for every point."""
        parts = [self(chunk) @ directions for _, chunk in points.chunks(_CHUNK_ROWS)]
        return np.concatenate(parts) if parts else np.empty((0, directions.shape[1]))


@dataclass(frozen=True)
class ExactFeatures(FeatureMap):
    """The exact finite features of a kernel such as the linear one."""

    kernel: Kernel

    def __call__(self, chunk: Any) -> Array:
        """Return ``kernel.features(chunk)``."""
        features = self.kernel.features(chunk)
        assert features is not None, f"{self.kernel!r} has no features"
        return features.astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class FeatureExpansion(Expansion):
    """``f_i(x) = (φ(x) - mean)' b_i``: evaluated without the training points.

    The columns b_i of ``directions`` are unit eigenvectors of Φ*Φ; ``mean`` is None if not
    centered.
    """

    features: FeatureMap
    points: Points
    directions: Array
    mean: Array | None = None

    @property
    def kernel(self) -> Kernel:  # type: ignore[override]
        """The kernel of the features."""
        return self.features.kernel

    def __call__(self, points: Points) -> Array:
        """Evaluate features in chunks."""
        values = self.features.project(points, self.directions)
        return values if self.mean is None else values - self.mean_coordinates

    def at_training(self, values: Array) -> Array:
        """Evaluate the same formula as for new points."""
        return self.points.map_rows(self.without_points())

    def without_points(self) -> FeatureExpansion:
        """Return the expansion with placeholder points."""
        return replace(self, points=RemotePoints.like(self.points))

    @property
    def mean_coordinates(self) -> Array | None:
        """The mean feature along the directions."""
        return None if self.mean is None else self.mean @ self.directions

    @property
    def mean_squared_norm(self) -> float:
        """Squared norm of the mean feature."""
        return 0.0 if self.mean is None else float(self.mean @ self.mean)

    def mean_products(self, points: Points) -> Array:
        """Return ``φ(x)'mean``."""
        assert self.mean is not None, "only for centered expansions"
        return self.features.project(points, self.mean[:, None])[:, 0]


class FactoredGram(GramOperator, Storable):
    """``A = ΦΦ*``; with ``center`` the (weighted) mean feature is removed from every row of Φ."""

    center: bool
    points: Points

    @property
    @abstractmethod
    def small_start(self) -> Array:
        """``Φ*√w``; 0 if centered."""

    @abstractmethod
    def small_product(self, V: Array) -> Array:
        """Return ``Φ*Φ V``."""

    def small_dense(self) -> Array:
        """Return ``Φ*Φ`` as an array."""
        return self.small_product(np.eye(len(self.small_start)))

    @abstractmethod
    def centered(self) -> FactoredGram:
        """Return the operator with the mean feature removed."""

    @abstractmethod
    def with_points(self, points: Points, weights: Array | None) -> Self:
        """Return the operator of other points with the same features."""

    @abstractmethod
    def absorb(self, earlier: FactoredGram) -> None:
        """Add an earlier operator's points to the small matrix, as if all were one sample.

        The n × n operator (products, projections of training points) still has its own points only.
        """

    @property
    def small_error(self) -> float:
        """Absolute accuracy of the small matrix, as a bound on the errors of its eigenvalues."""
        return 0.0

    @cached_property
    def potential(self) -> float:
        """``|Φ*√w|² / n²``."""
        return float(self.small_start @ self.small_start) / self.total**2

    def problem(self) -> EigenProblem:
        """Return the eigenproblem of Φ*Φ."""
        return SmallProblem(self)

    def undecided_signs(self, vectors: Array) -> Array:
        """Return the signs of the training projections, which are those of the eigenvectors."""
        expansion = self.expansion(np.ones(vectors.shape[1]), vectors)
        found: LargestEntries = expansion.points.sum_rows(
            partial(_largest_entries, expansion.without_points()), combine=LargestEntries.joined
        )
        return found.signs

    def group_products(self, labels: Array, count: int) -> Array:
        """Return ``⟨s_i, s_j⟩`` from one pass: sums of features over each group."""
        sums = self.points.sum_rows(partial(self._group_sums(), count), self.weights, labels)
        return np.asarray((sums.conj() @ sums.T).real)

    @abstractmethod
    def _group_sums(self) -> Callable[..., Array]:
        """Return ``f(count, points, weights, labels)``: sums of uncentered features, (count, m)."""


def _largest_entries(expansion: Expansion, points: Points) -> LargestEntries:
    return LargestEntries.of(expansion(points))


class SmallProblem(EigenProblem):
    """The eigenproblem of ``Φ*Φ``."""

    decomposition = ("decomposition of features", "all eigenpairs of the features are known")

    def __init__(self, gram: FactoredGram) -> None:
        self.gram = gram
        self.start = gram.small_start
        self.size = len(self.start)
        self.relative_error = 10 * float(np.finfo(np.float64).eps)

    def block_width(self, k: int) -> int:
        """Return a narrow width, because the cost of products is proportional to their columns.

        A block finds eigenvalues of a multiplicity up to its width. Among the first k eigenvalues
        of a Gaussian kernel on a grid, multiplicities are up to ``√(2k)`` in two columns (20 of
        200) and ``(6k)^(2/3) / 2`` in three (55 of 200).
        """
        few = (self.gram.points.dimension or 3) <= 2
        return min(k + 8, max(32, int(3 * k**0.5)) if few else max(64, k // 3))

    def numerical_zero(self, largest: float) -> float:
        """Return the rounding error, or the error of the small matrix if that is larger."""
        return max(super().numerical_zero(largest), self.gram.small_error)

    def product(self, V: Array) -> Array:
        """Return ``Φ*Φ V``."""
        return self.gram.small_product(V)

    def dense(self) -> Array:
        """Return ``Φ*Φ``."""
        return self.gram.small_dense()

    def term_of_mass(self, x: Array) -> Array:
        """Return V for every x; the spectral measure of Φ*√w already includes the eigenvalue."""
        return np.full(np.shape(x), self.gram.potential)

    def overlaps(self, values: Array, products: Array) -> Array:
        """Return the products divided by √λ."""
        positive = values > 0
        return np.where(positive, products / np.sqrt(np.where(positive, values, 1)), 0.0)


class ExplicitGram(FactoredGram):
    """Gram operator of explicit features; the rows ``√w φ(x)`` of Φ are computed in chunks."""

    def __init__(
        self,
        features: FeatureMap,
        points: Points,
        weights: Array | None = None,
        center: bool = False,
    ) -> None:
        super().__init__(points.n, points.dtype, weights, points.total(weights))
        self.features = features
        self.kernel = features.kernel
        self.points = points
        self.center = center

    @cached_property
    def moments(self) -> Moments:
        """Mean and scatter of the features, which determine Φ*Φ."""
        sums = self.points.sum_rows(self.features.raw_moments, self.weights)
        return self.features.finished(sums)

    def absorb(self, earlier: FactoredGram) -> None:
        """Add the moments."""
        assert isinstance(earlier, ExplicitGram)
        self.moments = earlier.moments + self.moments
        self.total = self.moments.total
        self.rows += earlier.rows

    def with_points(self, points: Points, weights: Array | None) -> Self:
        """Return the operator of other points with the same feature map."""
        return type(self)(self.features, points, weights)

    def centered(self) -> Self:
        """Return the operator with the mean feature removed; the moments are shared."""
        other = type(self)(self.features, self.points, self.weights, center=True)
        other.moments, other.total, other.rows = self.moments, self.total, self.rows
        return other

    @property
    def _mean(self) -> Array | None:
        return self.moments.mean if self.center else None

    def weighted_chunks(self) -> Iterator[tuple[slice, Array]]:
        """Yield rows of Φ: ``√w (φ(x) - mean)``."""
        for rows, x in self.points.chunks(_CHUNK_ROWS):
            part = self.features(x).astype(np.float64, copy=False)
            part = part if self._mean is None else part - self._mean
            yield rows, part * self.start[rows, None]

    def _adjoint(self, V: Array) -> Array:
        """Return ``Φ*V``."""
        return np.asarray(sum(part.T @ V[rows] for rows, part in self.weighted_chunks()))

    def _group_sums(self) -> Callable[..., Array]:
        return partial(_feature_sums, self.features)

    def quadratic(self, V: Array) -> Array:
        """Return ``|Φ*V|²`` from one pass over the points."""
        small = self._adjoint(V)
        return np.asarray(small.T @ small)

    def product(self, V: Array) -> Array:
        """Return ``ΦΦ*V`` from two passes over the points."""
        small = self._adjoint(V)
        return np.concatenate([part @ small for _, part in self.weighted_chunks()])

    @cached_property
    def _small_matrix(self) -> Array:
        return self.moments.scatter if self.center else self.moments.about_zero

    @property
    def small_start(self) -> Array:
        """N times the mean feature; 0 if centered."""
        return (0.0 if self.center else self.moments.total) * self.moments.mean

    def small_product(self, V: Array) -> Array:
        """Return the product with the stored Φ*Φ."""
        return np.asarray(self._small_matrix @ V)

    def small_dense(self) -> Array:
        """Return a copy of Φ*Φ."""
        return self._small_matrix.copy()

    def diagonal(self) -> Array:
        """Return the squared norms of the rows of Φ."""
        parts = [np.einsum("ij,ij->i", part, part) for _, part in self.weighted_chunks()]
        return np.concatenate(parts)

    @cached_property
    def trace(self) -> float:
        """Trace of Φ*Φ, which equals that of ΦΦ*."""
        return float(self._small_matrix.trace())

    def expansion(self, values: Array, vectors: Array) -> Expansion:
        """Return ``φ(x)'b`` as functions of x."""
        return FeatureExpansion(self.features, self.points, vectors, self._mean)

    @property
    def small_error(self) -> float:
        """Rounding error of a centered matrix: the mean that is subtracted has an error of eps."""
        if not self.center:
            return 0.0
        rounding = 10 * float(np.finfo(np.float64).eps) * float(np.linalg.norm(self.moments.mean))
        return self.total * rounding**2

    @property
    def description(self) -> str:
        """Number of features."""
        return f"{len(self.moments.mean)} exact features{', centered' if self.center else ''}"


def _feature_sums(
    features: FeatureMap, count: int, points: Points, weights: Array | None, labels: Array
) -> Array:
    members = (labels == np.arange(count)[:, None]).astype(np.float64)
    return features.weighted_sums(points, members if weights is None else members * weights)
