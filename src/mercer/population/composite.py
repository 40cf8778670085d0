"""Composite measures: mixtures and independent coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from mercer.population.measure import Measure
from mercer.population.measures import as_measure
from mercer.population.quadrature import Quadrature, tensor, union
from mercer.utils.gaussian_terms import GaussianTerms
from mercer.utils.proportions import checked_proportions
from mercer.utils.types import Array

__all__ = ["Mixture", "Product"]

_MAX_PROBES = 256


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
        count = min(_MAX_PROBES, prod(len(points) for points in each))
        return np.hstack([points[rng.integers(len(points), size=count)] for points in each])

    def __repr__(self) -> str:
        return f"Product({list(self.parts)!r})"
