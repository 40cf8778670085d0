"""The base class of measures: distributions of vectors with moments, samples and integrals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations_with_replacement
from math import ceil, comb
from typing import Any

import numpy as np
from scipy.special import gammaln

from mercer.data.points import validate_points
from mercer.errors import ApproximationWarning, warn
from mercer.population.quadrature import Quadrature, refine_quadrature, shifted_sobol, union
from mercer.utils.distributions import GaussianTerms
from mercer.utils.estimators import Storable
from mercer.utils.formatting import format_count
from mercer.utils.types import Array
from mercer.utils.validation import check_integer

__all__ = [
    "Measure",
    "admit_vectors",
    "count_monomials",
    "exponents_of_degree",
    "monomial_values",
    "multinomials",
    "spell",
]


def count_monomials(p: int, degree: int) -> int:
    """Return ``C(degree + p - 1, degree)``, the number of monomials of a degree in p variables."""
    return comb(degree + p - 1, degree)


def exponents_of_degree(p: int, degree: int) -> Array:
    """Return all multi-indices j with ``|j| = degree``, as rows, ``x_1^degree`` first.

    >>> exponents_of_degree(2, 2).tolist()
    [[2, 0], [1, 1], [0, 2]]
    """
    choices = np.array(list(combinations_with_replacement(range(p), degree)), dtype=np.intp)
    rows = np.zeros((len(choices), p), dtype=np.int64)
    for factor in choices.T:
        rows[np.arange(len(rows)), factor] += 1
    return rows


def monomial_values(X: Array, exponents: Array) -> Array:
    """Return ``x_i^j`` as an array of shape (n, m)."""
    values = np.ones((len(X), len(exponents)))
    for column, powers in zip(X.T, exponents.T, strict=True):
        if powers.any():
            values *= (column[:, None] ** np.arange(powers.max() + 1))[:, powers]
    return values


def multinomials(exponents: Array) -> Array:
    """Return ``|j|! / (j_1! ⋯ j_p!)`` for every row, rounded to integers."""
    logs = gammaln(exponents.sum(axis=1) + 1.0) - gammaln(exponents + 1.0).sum(axis=1)
    return np.rint(np.exp(logs))


def spell(exponents: Array) -> str:
    """Return a monomial as text; coordinates are numbered from 1.

    >>> spell(np.array([2, 0, 1]))
    'x1² x3'
    """
    raised = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    factors = [
        f"x{i}" + (str(j).translate(raised) if j > 1 else "")
        for i, j in enumerate(exponents, start=1)
        if j
    ]
    return " ".join(factors) or "1"


# --- measures -------------------------------------------------------------------------------------


# Limit on the nodes of a rule; larger tensor products are replaced by scattered nodes.
_MAX_NODES = 2**17


class Measure(Storable, ABC):
    """A probability measure on d-dimensional vectors.

    A subclass defines its dimension, moments, density, samples, and two kinds of nodes: a tensor
    grid of Gauss rules, and the images of evenly spread points in a cube.

    Examples
    --------
    >>> from mercer.population import Measure, Normal, Uniform
    >>> isinstance(Normal(0, 1), Measure), Uniform([0, 0], [1, 1]).dimension
    (True, 2)
    """

    #: number of coordinates
    dimension: int
    #: whether the measure is discrete, so that its points are an exact rule
    is_discrete: bool = False

    # --- defined by subclasses -------------------------------------------------------------------

    @abstractmethod
    def _pdf(self, X: Array) -> Array: ...

    @abstractmethod
    def _sample(self, n: int, rng: np.random.Generator) -> Array: ...

    @abstractmethod
    def moments(self, indices: Array) -> Array:
        """Return ``E X^j`` for the rows j of an array of nonnegative integers, shape (m, d)."""

    @abstractmethod
    def grid(self, nodes: int) -> Quadrature:
        """Return the tensor rule with this many nodes along each axis."""

    @abstractmethod
    def grid_size(self, nodes: int) -> int:
        """Return the number of nodes of :meth:`grid`."""

    @abstractmethod
    def from_cube(self, U: Array) -> Array:
        """Map evenly spread points of the unit cube, of dimension ``freedom``, to the measure."""

    @property
    def freedom(self) -> int:
        """Dimension of the cube that :meth:`from_cube` maps."""
        return self.dimension

    # --- defined for all measures ---------------------------------------------------------------

    def scatter(self, n: int, seed: int) -> Quadrature:
        """Return a rule of n equal weights: a randomly shifted Sobol sequence."""
        points = self.from_cube(shifted_sobol(n, self.freedom, seed))
        return Quadrature(points, np.full(n, 1 / n))

    def probes(self) -> Array:
        """Return a few fixed points in the upper half of the measure along each axis.

        They determine the sign of functions whose mean is 0, so that the sign of an eigenfunction
        does not depend on the method.
        """
        return self.from_cube((1 + shifted_sobol(32, self.freedom, 0)) / 2)

    def pdf(self, X: Any) -> Array:
        """Return the density at points, shape (n,)."""
        return self._pdf(admit_vectors(X, self.dimension))

    def logpdf(self, X: Any) -> Array:
        """Return the logarithm of the density at points, shape (n,)."""
        return self._logpdf(admit_vectors(X, self.dimension))

    def _logpdf(self, X: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._pdf(X)))

    def gaussian_terms(self) -> tuple[GaussianTerms, ...] | None:
        """Return the density as a sum of normal densities; None if it is not one."""
        return None

    def sample(self, n: int, random_state: int | np.random.Generator | None = None) -> Array:
        """Draw independent points, shape (n, d).

        Parameters
        ----------
        n : int
            At least 1.
        random_state : int, Generator or None
            Passed to :func:`numpy.random.default_rng`.
        """
        return self._sample(check_integer(n, "n"), np.random.default_rng(random_state))

    def moment(self, index: int | Sequence[int]) -> float:
        """Return ``E X_1^{j_1} ⋯ X_d^{j_d}`` for a multi-index j (an integer if d = 1).

        Normal and uniform distributions have closed forms, samples use sums, and products and
        mixtures combine the moments of their parts.
        """
        row = np.atleast_1d(np.asarray(index))
        if row.shape != (self.dimension,) or (row != row.astype(np.int64)).any() or row.min() < 0:
            raise ValueError(
                f"A moment of this measure needs {self.dimension} integers of at least 0, one per "
                f"coordinate; got {index!r}."
            )
        return float(self.moments(row.astype(np.int64)[None, :])[0])

    def expectation(
        self,
        function: Callable[[Array], Array],
        *,
        tolerance: float = 1e-10,
        return_error: bool = False,
    ) -> Any:
        """Return ``E f(X)`` by quadrature, refined until its error is below the tolerance.

        Parameters
        ----------
        function : callable
            Takes points of shape (n, d) and returns n values, or an array whose first axis has
            length n.
        tolerance : float
            Allowed error, relative to the size of the result or to 1 if that is larger.
        return_error : bool
            Also return the estimated error, and do not warn about it.

        Returns
        -------
        value : array
            Of the shape of one value of the function. If the tolerance is not reached, an
            :class:`~mercer.errors.ApproximationWarning` reports the accuracy.
        error : array
            Only with ``return_error=True``.
        """
        value, error, _ = self.integrate(lambda rule: rule(function), tolerance)
        if return_error:
            return value, error
        scale = np.maximum(1.0, np.abs(value))
        if not (error <= tolerance * scale).all():
            warn(
                f"The expectation has an error of about {float(np.max(error / scale)):.1e}, above "
                f"the tolerance {tolerance:.1e}: the function is rough, or the dimension "
                f"{self.dimension} is large. Pass a larger tolerance if this is sufficient.",
                ApproximationWarning,
            )
        return value

    def integrate(
        self,
        evaluate: Callable[[Quadrature], Array],
        tolerance: float,
        max_nodes: int = _MAX_NODES,
    ) -> tuple[Array, Array, Quadrature]:
        """Return what ``evaluate`` computes from a rule, its error, and the last rule.

        Tensor rules are refined until the error is below the tolerance, relative to the value or to
        1 if that is larger. If they are too large, several shifted rules of scattered nodes are
        averaged. The points of a discrete measure are an exact rule.

        Parameters
        ----------
        evaluate : callable
            Takes a :class:`Quadrature` and returns an array.
        tolerance : float
        max_nodes : int
            Largest number of nodes of a tensor rule, or of all scattered rules.
        """
        if self.is_discrete:
            rule = self.grid(1)
            value = np.asarray(evaluate(rule))
            return value, np.zeros_like(value), rule

        def is_accurate(value: Array, error: Array) -> bool:
            return bool((error <= tolerance * np.maximum(1.0, np.abs(value))).all())

        results = ((np.asarray(evaluate(rule)), rule) for rule in self.grids(max_nodes))
        refined = refine_quadrature(results, lambda result: result[0], is_accurate)
        if refined is not None:
            (value, rule), error = refined
            return value, error, rule
        nodes, n_shifts = 256, 8
        while True:
            rules = [self.scatter(nodes, seed) for seed in range(n_shifts)]
            runs = [np.asarray(evaluate(rule)) for rule in rules]
            value = np.mean(runs, axis=0)
            # three standard errors of the mean of independently shifted runs
            error = np.asarray(3 * np.std(runs, axis=0, ddof=1) / np.sqrt(n_shifts))
            if is_accurate(value, error) or 2 * nodes * n_shifts > max_nodes:
                return value, error, union(np.full(n_shifts, 1 / n_shifts), rules)
            nodes *= 2

    def grids(self, most: int) -> Iterator[Quadrature]:
        """Yield tensor rules of up to ``most`` nodes, each about twice as large as the last."""
        nodes = max(3, ceil(32 ** (1 / self.dimension)))
        while self.grid_size(nodes) <= most and nodes <= 2**13:
            rule = self.grid(nodes)
            yield rule.without(rule.weights == 0)
            # odd numbers, so that every rule has a node in the middle
            nodes = max(nodes + 1, round(nodes * 2 ** (1 / self.dimension))) | 1

    def quadrature(self, nodes: int = 32) -> Quadrature:
        """Return the tensor rule with this many nodes along each axis.

        The nodes of an empirical distribution are its points, for any ``nodes``.
        """
        if self.grid_size(nodes) > _MAX_NODES:
            raise ValueError(
                f"{nodes} nodes along each of {self.dimension} axes are a rule of "
                f"{self.grid_size(nodes)} nodes; the limit is {_MAX_NODES}. Use fewer nodes, or "
                "scatter(n, seed), whose size does not depend on the dimension."
            )
        return self.grid(nodes)

    def monomial_moments(self, exponents: Array) -> tuple[Array, Array]:
        """Return mean (m,) and covariance (m, m) of the monomials with exponents (m, d)."""
        m = len(exponents)
        mean = self.moments(exponents)
        rows, columns = np.tril_indices(m)
        small = exponents.astype(np.min_scalar_type(2 * int(exponents.max(initial=0))))
        # many pairs of exponents have the same sum: each moment is computed once
        distinct, inverse = np.unique(small[rows] + small[columns], axis=0, return_inverse=True)
        second = np.empty((m, m))
        second[rows, columns] = self.moments(distinct.astype(np.int64))[inverse.ravel()]
        second[columns, rows] = second[rows, columns]
        return mean, second - np.outer(mean, mean)


def sample_monomial_moments(X: Array, weights: Array, exponents: Array) -> tuple[Array, Array]:
    """Return mean and covariance of monomials over points with normalized weights."""
    values = monomial_values(X, exponents)
    mean = weights @ values
    values -= mean
    values *= np.sqrt(weights)[:, None]
    return mean, values.T @ values


def admit_vectors(X: Any, dimension: int) -> Array:
    """Validate points: finite, 2-D, with the right number of columns.

    In one dimension a sequence of n numbers is accepted as n points.
    """
    if dimension == 1 and np.ndim(X) == 1:
        X = np.asarray(X)[:, None]
    points = validate_points(X, "vectors").data.astype(np.float64, copy=False)
    if points.shape[1] != dimension:
        raise ValueError(
            f"X has {format_count(points.shape[1], 'column')}, but the measure has {dimension} "
            f"dimensions. Pass points of shape (n, {dimension})."
        )
    return np.asarray(points)
