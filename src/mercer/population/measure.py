"""What a measure is: a law on vectors that can be integrated, sampled and asked for moments."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from math import ceil
from typing import Any

import numpy as np

from mercer.data import validate_points
from mercer.errors import ApproximationWarning
from mercer.maths.types import Array
from mercer.population.monomials import monomial_values
from mercer.population.quadrature import Quadrature, remaining_error, shifted_sobol

__all__ = ["Measure", "admit_vectors"]

# Rules are built up to this many nodes; beyond, tensor products give way to scattered nodes.
_MOST_NODES = 2**17
_FIRST_NODES = 32
_MOST_PER_AXIS = 2**13
_FIRST_SCATTERED = 256
_SHIFTS = 8
_PROBES = 32


class Measure(ABC):
    """A probability measure on d-dimensional vectors.

    A subclass gives its dimension, its moments, its density, samples, and two kinds of nodes: a
    tensor grid of Gauss rules, and the image of evenly spread points of a cube.

    Examples
    --------
    >>> from mercer.population import Measure, Normal, Uniform
    >>> isinstance(Normal(0, 1), Measure), Uniform([0, 0], [1, 1]).dimension
    (True, 2)
    """

    #: number of coordinates
    dimension: int
    #: whether the measure is a finite sum of points, so that its own points are an exact rule
    is_discrete: bool = False

    # --- what a subclass gives ------------------------------------------------------------------

    @abstractmethod
    def _pdf(self, X: Array) -> Array: ...

    @abstractmethod
    def _sample(self, n: int, rng: np.random.Generator) -> Array: ...

    @abstractmethod
    def moments(self, indices: Array) -> Array:
        """``E X^j`` for the rows j of an array of non-negative whole numbers, shape (m, d)."""

    @abstractmethod
    def grid(self, nodes: int) -> Quadrature:
        """Tensor rule with this many nodes along each axis."""

    @abstractmethod
    def grid_size(self, nodes: int) -> int:
        """How many nodes :meth:`grid` would have."""

    @abstractmethod
    def from_cube(self, U: Array) -> Array:
        """Map evenly spread points of the unit cube, of dimension ``freedom``, to the measure."""

    @property
    def freedom(self) -> int:
        """Dimension of the cube that :meth:`from_cube` maps."""
        return self.dimension

    # --- what every measure offers --------------------------------------------------------------

    def scatter(self, n: int, seed: int) -> Quadrature:
        """Rule of n equal weights: a Sobol sequence, shifted at random. For many dimensions."""
        points = self.from_cube(shifted_sobol(n, self.freedom, seed))
        return Quadrature(points, np.full(n, 1 / n))

    def probes(self) -> Array:
        """A few fixed points in the upper half of the measure along each axis.

        They decide the sign of functions whose mean is 0, so that every route to an eigenfunction
        gives it the same sign.
        """
        return self.from_cube((1 + shifted_sobol(_PROBES, self.freedom, 0)) / 2)

    def pdf(self, X: Any) -> Array:
        """Density at points, shape (n,)."""
        return self._pdf(admit_vectors(X, self.dimension))

    def sample(self, n: int, random_state: int | np.random.Generator | None = None) -> Array:
        """Independent draws, shape (n, d).

        Parameters
        ----------
        n : int
            At least 1.
        random_state : int, Generator or None
            What :func:`numpy.random.default_rng` takes.
        """
        if n != int(n) or n < 1:
            raise ValueError(f"n={n!r} must be a whole number of at least 1.")
        return self._sample(int(n), np.random.default_rng(random_state))

    def moment(self, index: int | Sequence[int]) -> float:
        """``E X_1^{j_1} ⋯ X_d^{j_d}`` for a multi-index j (a whole number if d = 1).

        Moments are in closed form for normal and uniform laws, sums for samples; products and
        mixtures combine those of their parts.
        """
        row = np.atleast_1d(np.asarray(index))
        if row.shape != (self.dimension,) or (row != row.astype(np.int64)).any() or row.min() < 0:
            raise ValueError(
                f"A moment of this measure needs {self.dimension} whole numbers of at least 0, one "
                f"per coordinate; got {index!r}."
            )
        return float(self.moments(row.astype(np.int64)[None, :])[0])

    def expectation(self, function: Callable[[Array], Array], *, tolerance: float = 1e-10) -> Array:
        """``E f(X)`` by quadrature, refined until it moves by less than the tolerance.

        Parameters
        ----------
        function : callable
            Takes points of shape (n, d) and returns n values, or an array whose first axis has
            length n.
        tolerance : float
            Allowed error, relative to the size of the result or to 1 if that is larger.

        Returns
        -------
        array
            Of the shape of one value of the function (a number for numbers). If the tolerance was
            not reached, an :class:`~mercer.errors.ApproximationWarning` says what was.
        """
        if self.is_discrete:
            return self.grid(1)(function)
        value, error = self._refined(function, tolerance)
        scale = np.maximum(1.0, np.abs(value))
        if not (error <= tolerance * scale).all():
            warnings.warn(
                f"The expectation is known to about {float(np.max(error / scale)):.1e} only, not "
                f"to {tolerance:.1e}: is the function rough, or the dimension {self.dimension} "
                "large? Pass the tolerance that will do.",
                ApproximationWarning,
                stacklevel=2,
            )
        return value

    def _refined(self, function: Callable[[Array], Array], tolerance: float) -> tuple[Array, Array]:
        value: Array | None = None
        move: Array | None = None
        error: Array | None = None
        for rule in self.grids(_MOST_NODES):
            latest = rule(function)
            if value is not None:
                before, move = move, np.abs(latest - value)
                if before is not None:
                    error = remaining_error(move, before)
            value = latest
            if error is not None and (error <= tolerance * np.maximum(1.0, np.abs(value))).all():
                return value, error
        if value is not None and error is not None:
            return value, error
        nodes = _FIRST_SCATTERED
        while True:
            runs = [self.scatter(nodes, seed)(function) for seed in range(_SHIFTS)]
            value = np.mean(runs, axis=0)
            # three standard errors of the mean of independently shifted runs
            error = np.asarray(3 * np.std(runs, axis=0, ddof=1) / np.sqrt(_SHIFTS))
            if (error <= tolerance * np.maximum(1.0, np.abs(value))).all() or (
                2 * nodes * _SHIFTS > _MOST_NODES
            ):
                return value, error
            nodes *= 2

    def grids(self, most: int) -> Iterator[Quadrature]:
        """Tensor rules, each of about twice the size of the one before, up to ``most`` nodes."""
        nodes = max(3, ceil(_FIRST_NODES ** (1 / self.dimension)))
        while self.grid_size(nodes) <= most and nodes <= _MOST_PER_AXIS:
            rule = self.grid(nodes)
            yield rule.without(rule.weights == 0)
            # odd numbers: rules without a node in the middle would share what they overlook there
            nodes = max(nodes + 1, round(nodes * 2 ** (1 / self.dimension))) | 1

    def quadrature(self, nodes: int = 32) -> Quadrature:
        """Nodes and weights of a tensor rule with this many nodes along each axis.

        A sample is its own rule, whatever ``nodes`` is.
        """
        if self.grid_size(nodes) > _MOST_NODES:
            raise ValueError(
                f"{nodes} nodes along each of {self.dimension} axes make a rule of "
                f"{self.grid_size(nodes)} nodes; at most {_MOST_NODES} are built. Ask for fewer, "
                "or use scatter(n, seed), which does not grow with the dimension."
            )
        return self.grid(nodes)

    def monomial_moments(self, exponents: Array) -> tuple[Array, Array]:
        """Mean (m,) and covariance (m, m) of the monomials with these exponents, shape (m, d)."""
        m = len(exponents)
        mean = self.moments(exponents)
        rows, columns = np.tril_indices(m)
        small = exponents.astype(np.min_scalar_type(2 * int(exponents.max(initial=0))))
        # many pairs share their sum: each moment is computed once
        distinct, place = np.unique(small[rows] + small[columns], axis=0, return_inverse=True)
        second = np.empty((m, m))
        second[rows, columns] = self.moments(distinct.astype(np.int64))[place.ravel()]
        second[columns, rows] = second[rows, columns]
        return mean, second - np.outer(mean, mean)


def sample_monomial_moments(X: Array, weights: Array, exponents: Array) -> tuple[Array, Array]:
    """Mean and covariance of monomials over weighted points; weights add up to 1."""
    values = monomial_values(X, exponents)
    mean = weights @ values
    values -= mean
    values *= np.sqrt(weights)[:, None]
    return mean, values.T @ values


def admit_vectors(X: Any, dimension: int) -> Array:
    """Check points: finite, two-dimensional, with the right number of columns.

    In one dimension a plain sequence of n numbers is taken as n points.
    """
    if dimension == 1 and np.ndim(X) == 1:
        X = np.asarray(X)[:, None]
    points = validate_points(X, "vectors").data.astype(np.float64, copy=False)
    if points.shape[1] != dimension:
        raise ValueError(
            f"X has {points.shape[1]} columns, but the measure lives in {dimension} dimensions; "
            "pass points of shape (n, d) with that d."
        )
    return np.asarray(points)
