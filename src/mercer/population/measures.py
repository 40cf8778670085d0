"""Elementary measures: normal, uniform, empirical, and univariate distributions of SciPy."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import prod
from typing import Any

import numpy as np
from scipy.special import ndtri

from mercer.data.points import validate_weights
from mercer.gram.gram import largest_entry_signs
from mercer.population.measure import (
    Measure,
    admit_vectors,
    monomial_values,
    sample_monomial_moments,
)
from mercer.population.quadrature import (
    Quadrature,
    gauss_legendre,
    normal_rule,
    quantile_rule,
    tensor,
    union,
)
from mercer.utils.distributions import GaussianTerms
from mercer.utils.types import Array
from mercer.utils.weights import checked_proportions

__all__ = ["Empirical", "Mixture", "Normal", "Product", "Uniform", "Univariate", "as_measure"]


class Normal(Measure):
    r"""Normal distribution :math:`N(\mu, \Sigma)` in any dimension.

    Moments follow from Stein's identity,
    :math:`E\,x_i x^j = \mu_i E\,x^j + \sum_k \Sigma_{ik}\, j_k\, E\,x^{j - e_k}`.

    Parameters
    ----------
    mean : number or array of shape (d,)
    cov : number, array of shape (d,) or (d, d)
        Covariance matrix; one number is the variance of every coordinate, d numbers are the
        variances of independent ones. It may be singular; then the density is undefined.

    Attributes
    ----------
    mean : array of shape (d,)
    cov : array of shape (d, d)
    axes : array of shape (d, d)
        Principal axes as columns, in order of decreasing variance.
    deviations : array of shape (d,)
        Standard deviations along the axes.

    Examples
    --------
    >>> from mercer.population import Normal
    >>> p = Normal([1.0, 0.0], [[1.0, 0.5], [0.5, 2.0]])
    >>> p.moment((1, 1)), p.moment((4, 0))
    (0.5, 10.0)
    """

    def __init__(self, mean: Any, cov: Any = 1.0) -> None:
        self.mean = np.atleast_1d(np.asarray(mean, dtype=np.float64))
        self.dimension = len(self.mean)
        self.cov = _checked_covariance(cov, self.mean)
        variances, axes = np.linalg.eigh(self.cov)
        variances, axes = variances[::-1], axes[:, ::-1]
        noise = self.dimension * 1e-14 * max(float(variances[0]), 0.0)
        if variances[-1] < -1e-10 * max(float(np.abs(variances).max()), 1e-300):
            raise ValueError(
                f"cov has the negative eigenvalue {variances[-1]:.6g}; a covariance matrix must be "
                "positive semi-definite."
            )
        self.axes = axes * largest_entry_signs(axes)
        self.deviations = np.sqrt(np.where(variances > noise, variances, 0.0))

    @property
    def freedom(self) -> int:
        """Number of axes with positive variance."""
        return int(np.count_nonzero(self.deviations))

    def from_axes(self, Z: Array) -> Array:
        """Return points from standardized coordinates along the axes with positive variance."""
        scaled = self.axes[:, : self.freedom] * self.deviations[: self.freedom]
        return self.mean + Z @ scaled.T

    def from_cube(self, U: Array) -> Array:
        """Return normal quantiles along the principal axes."""
        return self.from_axes(ndtri(U))

    def _pdf(self, X: Array) -> Array:
        return np.exp(self._logpdf(X))

    def gaussian_terms(self) -> tuple[GaussianTerms, ...] | None:
        """Return the distribution itself, unless it is singular."""
        if self.freedom < self.dimension:
            return None
        return (GaussianTerms(np.ones(1), self.mean[None, :], self.cov),)

    def _logpdf(self, X: Array) -> Array:
        if self.freedom < self.dimension:
            raise ValueError(
                f"cov has rank {self.freedom} in {self.dimension} dimensions, so this normal "
                "distribution has no density. Add variance, or use expectation and sample."
            )
        z = (X - self.mean) @ self.axes / self.deviations
        logs = -0.5 * (z * z).sum(axis=1) - np.log(self.deviations).sum()
        return np.asarray(logs - 0.5 * self.dimension * np.log(2 * np.pi))

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return self.from_axes(rng.standard_normal((n, self.freedom)))

    def moments(self, indices: Array) -> Array:
        """Return the moments by Stein's identity; each is computed once."""
        mean, cov = self.mean.tolist(), self.cov.tolist()

        @cache
        def moment(index: tuple[int, ...]) -> float:
            i = next((axis for axis, power in enumerate(index) if power), None)
            if i is None:
                return 1.0
            rest = _decremented(index, i)
            total = mean[i] * moment(rest) if mean[i] else 0.0
            for k, power in enumerate(rest):
                if power and cov[i][k]:
                    total += cov[i][k] * power * moment(_decremented(rest, k))
            return float(total)

        return np.array([moment(tuple(row)) for row in indices.tolist()])

    def grid(self, nodes: int) -> Quadrature:
        """Return the tensor product of normal rules along the principal axes."""
        if self.freedom == 0:
            return Quadrature(self.mean[None, :].copy(), np.ones(1))
        z, weights = normal_rule(nodes)
        rule = tensor([Quadrature(z[:, None], weights)] * self.freedom)
        return Quadrature(self.from_axes(rule.points), rule.weights)

    def grid_size(self, nodes: int) -> int:
        """Return ``nodes`` to the power of the rank of the covariance."""
        return int(nodes**self.freedom)

    def __repr__(self) -> str:
        return f"Normal(mean={self.mean.tolist()}, cov={self.cov.tolist()})"


def _decremented(index: tuple[int, ...], k: int) -> tuple[int, ...]:
    return (*index[:k], index[k] - 1, *index[k + 1 :])


def _checked_covariance(cov: Any, mean: Array) -> Array:
    d = len(mean)
    given = np.asarray(cov, dtype=np.float64)
    if mean.ndim != 1 or not (np.isfinite(mean).all() and np.isfinite(given).all()):
        raise ValueError("mean must be a finite vector, and cov finite; got NaN or infinity.")
    matrix = np.diag(np.broadcast_to(given, (d,))) if given.shape in ((), (d,)) else given
    if matrix.shape != (d, d):
        raise ValueError(
            f"mean has {d} coordinates but cov has shape {given.shape}; pass one variance, "
            f"{d} variances, or a matrix of shape ({d}, {d})."
        )
    asymmetry = float(np.abs(matrix - matrix.T).max())
    if asymmetry > 1e-8 * float(np.abs(matrix).max(initial=0)):
        raise ValueError(
            f"cov must be symmetric; it differs from its transpose by up to {asymmetry:.3g}. Pass "
            "(cov + cov.T) / 2 if that is intended."
        )
    return np.array((matrix + matrix.T) / 2)


class Uniform(Measure):
    """Uniform distribution on a box.

    Parameters
    ----------
    low, high : numbers or arrays of shape (d,)
        Corners of the box, ``low < high`` in every coordinate.

    Examples
    --------
    >>> from mercer.population import Uniform
    >>> Uniform([0, 0], [1, 1]).moment((2, 2))  # 1/9
    0.1111111111111111
    """

    def __init__(self, low: Any = 0.0, high: Any = 1.0) -> None:
        low, high = np.broadcast_arrays(np.atleast_1d(low), np.atleast_1d(high))
        self.low, self.high = low.astype(np.float64), high.astype(np.float64)
        self.dimension = self.low.size
        finite = np.isfinite(self.low).all() and np.isfinite(self.high).all()
        if self.low.ndim != 1 or not finite or not (self.low < self.high).all():
            raise ValueError(
                f"Uniform needs finite corners with low < high in every coordinate; got "
                f"low={self.low.tolist()}, high={self.high.tolist()}."
            )

    def from_cube(self, U: Array) -> Array:
        """Scale the cube to the box."""
        return self.low + U * (self.high - self.low)

    def _pdf(self, X: Array) -> Array:
        inside = ((self.low <= X) & (self.high >= X)).all(axis=1)
        return np.where(inside, 1 / np.prod(self.high - self.low), 0.0)

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return self.from_cube(rng.random((n, self.dimension)))

    def moments(self, indices: Array) -> Array:
        """Return products of ``E x^k = Σ_i low^i high^(k-i) / (k+1)``, without cancellation."""
        result = np.ones(len(indices))
        for low, high, powers in zip(self.low, self.high, indices.T, strict=True):
            table = [
                sum(low**i * high ** (k - i) for i in range(k + 1)) / (k + 1)
                for k in range(int(powers.max(initial=0)) + 1)
            ]
            result *= np.array(table)[powers]
        return result

    def grid(self, nodes: int) -> Quadrature:
        """Return the tensor product of Gauss-Legendre rules along the edges."""
        u, weights = gauss_legendre(nodes)
        rule = tensor([Quadrature(u[:, None], weights)] * self.dimension)
        return Quadrature(self.from_cube(rule.points), rule.weights)

    def grid_size(self, nodes: int) -> int:
        """Return ``nodes`` to the power of the dimension."""
        return int(nodes**self.dimension)

    def __repr__(self) -> str:
        return f"Uniform(low={self.low.tolist()}, high={self.high.tolist()})"


class Empirical(Measure):
    """The empirical distribution of a sample, with normalized weights.

    Every expectation is a finite sum, so the eigenvalues of an operator are exactly those of the
    Gram matrix divided by n.

    Parameters
    ----------
    X : array-like of shape (n, d)
    weights : array-like of shape (n,) or None
        A weight of 2 is equivalent to two copies; rows with zero weight are dropped.

    Examples
    --------
    >>> from mercer.population import Empirical
    >>> Empirical([[0.0], [1.0]], weights=[1, 3]).moment(2)
    0.75
    """

    is_discrete = True

    def __init__(self, X: Any, weights: Any = None) -> None:
        columns = np.shape(X)[-1] if np.ndim(X) == 2 else 1
        points = admit_vectors(X, columns)
        counts = validate_weights(weights, len(points))
        if counts is None:
            counts = np.ones(len(points))
        self.points = points[counts > 0]
        self.weights = counts[counts > 0] / counts.sum()
        self.dimension = points.shape[1]

    def _pdf(self, X: Array) -> Array:
        raise ValueError(
            f"The empirical distribution of {len(self.points)} points has no density. Use, for "
            "example, a Mixture of normal distributions at the points."
        )

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return self.points[rng.choice(len(self.points), size=n, p=self.weights)]

    def moments(self, indices: Array) -> Array:
        """Return weighted means of monomials at the points."""
        return np.asarray(self.weights @ monomial_values(self.points, indices))

    def monomial_moments(self, exponents: Array) -> tuple[Array, Array]:
        """Return weighted mean and covariance of the monomials at the points."""
        return sample_monomial_moments(self.points, self.weights, exponents)

    def grid(self, nodes: int) -> Quadrature:
        """Return the points and their weights, for any ``nodes``."""
        return Quadrature(self.points, self.weights)

    def grid_size(self, nodes: int) -> int:
        """Return the number of points."""
        return len(self.points)

    @property
    def freedom(self) -> int:
        """1: a single coordinate selects a point."""
        return 1

    def from_cube(self, U: Array) -> Array:
        """Select points by their cumulative weight."""
        indices = np.searchsorted(np.cumsum(self.weights), U[:, 0])
        return self.points[np.minimum(indices, len(self.points) - 1)]

    def probes(self) -> Array:
        """Return all points."""
        return self.points

    def __repr__(self) -> str:
        return f"Empirical({len(self.points)} points in {self.dimension} dimensions)"


class Univariate(Measure):
    """A frozen univariate distribution of SciPy; created by :func:`as_measure`.

    Integrals are computed on the quantile scale, which is accurate even for heavy tails.
    """

    dimension = 1

    def __init__(self, distribution: Any) -> None:
        self.distribution = distribution

    def from_cube(self, U: Array) -> Array:
        """Return quantiles."""
        return np.asarray(self.distribution.ppf(U))

    def _pdf(self, X: Array) -> Array:
        return np.asarray(self.distribution.pdf(X[:, 0]))

    def _logpdf(self, X: Array) -> Array:
        return np.asarray(self.distribution.logpdf(X[:, 0]))

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return np.asarray(self.distribution.rvs(size=(n, 1), random_state=rng))

    def moments(self, indices: Array) -> Array:
        """Return the moments from SciPy; raise ValueError for a moment that does not exist."""
        powers, inverse = np.unique(indices[:, 0], return_inverse=True)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # non-finite moments are reported below
            values = np.array(
                [float(self.distribution.moment(int(k))) if k else 1.0 for k in powers]
            )
        missing = powers[~np.isfinite(values)]
        if len(missing):
            raise ValueError(
                f"E X^{missing[0]} does not exist for {self!r}, and order {powers.max()} is "
                "needed. A polynomial kernel of degree d needs moments up to 2d; use a lower "
                "degree, lighter tails, or a bounded kernel such as the Gaussian."
            )
        return values[inverse]

    def grid(self, nodes: int) -> Quadrature:
        """Return the trapezoid rule on the double-exponential quantile scale."""
        points, weights = quantile_rule(self.distribution.ppf, self.distribution.isf, nodes)
        usable = np.isfinite(points)
        if weights[~usable].sum() > 1e-12:
            raise ValueError(
                f"The quantiles of {self!r} are not finite at {np.count_nonzero(~usable)} of "
                f"{nodes} nodes. Check its parameters."
            )
        return Quadrature(points[usable, None], weights[usable] / weights[usable].sum())

    def grid_size(self, nodes: int) -> int:
        """Return ``nodes``."""
        return int(nodes)

    def __repr__(self) -> str:
        name = getattr(self.distribution, "dist", self.distribution)
        inside = [repr(value) for value in getattr(self.distribution, "args", ())]
        inside += [f"{k}={v!r}" for k, v in getattr(self.distribution, "kwds", {}).items()]
        return f"{getattr(name, 'name', type(name).__name__)}({', '.join(inside)})"


# Support points of a discrete distribution beyond this tail probability are dropped.
_DISCRETE_TAIL = 1e-15


def as_measure(distribution: Any) -> Measure:
    """Return a measure, converting frozen SciPy distributions.

    Normal distributions become :class:`Normal`, discrete ones :class:`Empirical` on their support.
    """
    if isinstance(distribution, Measure):
        return distribution
    if all(hasattr(distribution, name) for name in ("mean", "cov", "logpdf")):
        return Normal(distribution.mean, distribution.cov)  # scipy.stats.multivariate_normal
    kind = getattr(getattr(distribution, "dist", None), "name", None)
    if kind == "norm":
        return Normal(float(distribution.mean()), float(distribution.var()))
    if hasattr(distribution, "dist") and hasattr(distribution, "pmf"):
        support = np.arange(distribution.ppf(_DISCRETE_TAIL), distribution.isf(_DISCRETE_TAIL) + 1)
        return Empirical(support[:, None], distribution.pmf(support))
    if hasattr(distribution, "dist") and hasattr(distribution, "pdf"):
        return Univariate(distribution)
    raise TypeError(
        f"{distribution!r} is not a measure. Pass Normal, Uniform, Mixture, Product, Empirical or "
        "a frozen SciPy distribution such as scipy.stats.gamma(2)."
    )


def _checked_parts(parts: Sequence[Any], name: str) -> tuple[Measure, ...]:
    measures = tuple(as_measure(part) for part in parts)
    if not measures:
        raise ValueError(f"{name} has 0 parts; at least 1 is needed.")
    return measures


class Mixture(Measure):
    r"""Mixture :math:`\sum_g \pi_g p_g` of measures on the same space.

    (The Gaussian mixture model of :class:`mercer.MercerMixture` is a different class.)

    Parameters
    ----------
    weights : sequence of G numbers
        π, positive, adding up to 1.
    parts : sequence of G measures or frozen scipy distributions

    Examples
    --------
    >>> from mercer.population import Mixture, Normal
    >>> p = Mixture([0.6, 0.4], [Normal(2, 1), Normal(-2, 1)])
    >>> round(p.moment(1), 12), round(p.moment(2), 12)
    (0.4, 5.0)
    """

    def __init__(self, weights: Any, parts: Sequence[Any]) -> None:
        self.parts = _checked_parts(parts, "A mixture")
        self.weights = checked_proportions(weights, len(self.parts), "weights")
        dimensions = [part.dimension for part in self.parts]
        if len(set(dimensions)) > 1:
            raise ValueError(
                f"The parts of a mixture must have the same dimension; they have {dimensions}."
            )
        self.dimension = dimensions[0]
        self.is_discrete = all(part.is_discrete for part in self.parts)

    def _pdf(self, X: Array) -> Array:
        return np.asarray(self.weights @ np.array([part._pdf(X) for part in self.parts]))

    def _logpdf(self, X: Array) -> Array:
        logs = np.array([part._logpdf(X) for part in self.parts])
        return np.asarray(np.logaddexp.reduce(logs + np.log(self.weights)[:, None]))

    def gaussian_terms(self) -> tuple[GaussianTerms, ...] | None:
        """Return the terms of all parts, if all have some."""
        found = [part.gaussian_terms() for part in self.parts]
        return (
            tuple(
                replace(term, coefficients=weight * term.coefficients)
                for weight, terms in zip(self.weights, found, strict=True)
                for term in terms or ()
            )
            if all(found)
            else None
        )

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        labels = rng.choice(len(self.parts), size=n, p=self.weights)
        X = np.empty((n, self.dimension))
        for g, part in enumerate(self.parts):
            rows = labels == g
            if rows.any():
                X[rows] = part._sample(int(rows.sum()), rng)
        return X

    def moments(self, indices: Array) -> Array:
        """Return the weighted means of the parts' moments."""
        return np.asarray(self.weights @ np.array([part.moments(indices) for part in self.parts]))

    def monomial_moments(self, exponents: Array) -> tuple[Array, Array]:
        """Return the mean and the covariance, within parts plus between their means.

        This sum has no cancellation.
        """
        means, within = zip(*(part.monomial_moments(exponents) for part in self.parts), strict=True)
        mean = self.weights @ np.array(means)
        between = np.sqrt(self.weights)[:, None] * (np.array(means) - mean)
        return mean, np.tensordot(self.weights, np.array(within), 1) + between.T @ between

    def grid(self, nodes: int) -> Quadrature:
        """Return the union of the parts' rules."""
        return union(self.weights, [part.grid(nodes) for part in self.parts])

    def grid_size(self, nodes: int) -> int:
        """Return the sum of the parts' sizes."""
        return sum(part.grid_size(nodes) for part in self.parts)

    @property
    def freedom(self) -> int:
        """One coordinate to select the part, and those of a point of the part."""
        return 1 + max(part.freedom for part in self.parts)

    def from_cube(self, U: Array) -> Array:
        """Map points of the cube; the first coordinate selects the part."""
        bounds = np.cumsum(self.weights)[:-1]
        labels = np.searchsorted(bounds, U[:, 0])
        X = np.empty((len(U), self.dimension))
        for g, part in enumerate(self.parts):
            rows = labels == g
            X[rows] = part.from_cube(U[rows, 1 : 1 + part.freedom])
        return X

    def probes(self) -> Array:
        """Return the probes of all parts."""
        return np.vstack([part.probes() for part in self.parts])

    def __repr__(self) -> str:
        return f"Mixture({self.weights.tolist()}, {list(self.parts)!r})"


class Product(Measure):
    r"""Independent coordinates, or blocks of them: :math:`p(x) = \prod_k p_k(x_k)`.

    (The product of kernels is :class:`mercer.kernels.Product`.)

    Parameters
    ----------
    parts : sequence of measures or frozen scipy distributions
        In the order of the coordinates.

    Examples
    --------
    >>> from scipy.stats import gamma
    >>> from mercer.population import Product, Uniform
    >>> p = Product([gamma(2.0), Uniform(0, 1)])
    >>> p.dimension, float(round(p.moment((1, 1)), 12))
    (2, 1.0)
    """

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = _checked_parts(parts, "A product")
        self.dimension = sum(part.dimension for part in self.parts)
        self.is_discrete = all(part.is_discrete for part in self.parts)

    @property
    def blocks(self) -> list[slice]:
        """The columns of each part."""
        ends = np.cumsum([part.dimension for part in self.parts]).tolist()
        return [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]

    def _over_parts(self, table: Array) -> list[tuple[Measure, Array]]:
        return [(p, table[:, block]) for p, block in zip(self.parts, self.blocks, strict=True)]

    def _pdf(self, X: Array) -> Array:
        return np.prod([part._pdf(columns) for part, columns in self._over_parts(X)], axis=0)

    def _logpdf(self, X: Array) -> Array:
        return np.sum([part._logpdf(columns) for part, columns in self._over_parts(X)], axis=0)

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return np.hstack([part._sample(n, rng) for part in self.parts])

    def moments(self, indices: Array) -> Array:
        """Return the products of the parts' moments."""
        result = np.ones(len(indices))
        for part, columns in self._over_parts(indices):
            distinct, inverse = np.unique(columns, axis=0, return_inverse=True)
            result *= part.moments(distinct)[inverse.ravel()]
        return result

    def grid(self, nodes: int) -> Quadrature:
        """Return the tensor product of the parts' rules."""
        return tensor([part.grid(nodes) for part in self.parts])

    def grid_size(self, nodes: int) -> int:
        """Return the product of the parts' sizes."""
        return prod(part.grid_size(nodes) for part in self.parts)

    @property
    def freedom(self) -> int:
        """The sum over the parts."""
        return sum(part.freedom for part in self.parts)

    def from_cube(self, U: Array) -> Array:
        """Map the coordinates of each part, and concatenate the results."""
        ends = np.cumsum([part.freedom for part in self.parts])[:-1]
        blocks = np.split(U, ends, axis=1)
        return np.hstack([p.from_cube(u) for p, u in zip(self.parts, blocks, strict=True)])

    def probes(self) -> Array:
        """Return random combinations of the parts' probes, at most 256, always the same."""
        rng = np.random.default_rng(0)
        each = [part.probes() for part in self.parts]
        count = min(256, prod(len(points) for points in each))
        return np.hstack([points[rng.integers(len(points), size=count)] for points in each])

    def __repr__(self) -> str:
        return f"Product({list(self.parts)!r})"
