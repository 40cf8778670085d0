r"""Sums :math:`\operatorname{tr} f(A)` of a large matrix: Lanczos quadrature with error bounds.

For a positive semi-definite A with known trace and known ``‖A‖_F²``, and a function f whose
derivatives have alternating signs (``x^α`` and ``-x log x``),

.. math:: \operatorname{tr} f(A) = \sum_{j \le J} f(\theta_j) + \operatorname{tr} q(B)
    + \operatorname{tr} (f - q)(B)

with J converged eigenvalues θ, B the restriction of A to the other eigenvectors, and a polynomial q
of degree 2, whose trace is known exactly. Two kinds of bounds follow:

* The sum over B is bounded by the two extreme measures with the same three moments (principal
  representations of Krein); these bounds are deterministic.
* The last term is estimated by Gaussian vectors z. Gauss and Gauss-Radau quadrature bracket
  ``z'f(B)z`` (Golub, Meurant 2010). The mean over N vectors deviates from the trace of
  ``G = (f - q)(B)`` by at most ``2‖G‖_F √(x/N) + 2‖G‖ x/N``, except with a probability of
  ``2 e^{-x}`` (Laurent, Massart 2000). Both norms are bounded with the same vectors: ``‖G‖`` by the
  range of f - q up to the largest eigenvalue of B, which a polynomial bounds, and ``‖G‖_F²`` by the
  mean of ``z'(f - q)²(B)z``. This is bracketed term by term: the derivatives of f², f, x f and x² f
  have constant signs from order 5 on, and q² is integrated exactly. See
  :mod:`mercer.information.trace_bounds`.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from mercer.information.deflation import Deflation, deflate
from mercer.information.entropy import entropy_summand
from mercer.information.lanczos_quadrature import LanczosBlock, Product
from mercer.information.trace_bounds import (
    chebyshev_power,
    largest_eigenvalue,
    lower_tail,
    mean_deviation,
    moment_bounds,
    remainder_range,
    trace_from_mean,
)
from mercer.utils.types import Array

__all__ = ["Interval", "TraceSum"]

_FEWEST_STEPS, _MOST_STEPS = 7, 60
_FEWEST_VECTORS, _MOST_VECTORS = 8, 160
_GROWTH, _MOST_GROWTH = 1.5, 2  # of the number of vectors: a factor, its largest power at a time
_MOST_BYTES = 1 << 30  # of stored Lanczos vectors


class Interval(NamedTuple):
    """A value with bounds."""

    value: float
    lower: float
    upper: float


class TraceSum:
    """Bounds on ``tr f(A)`` that are tightened step by step.

    Parameters
    ----------
    product : callable
        ``A @ V``, A of trace 1.
    size : int
        Order of A.
    squares : float
        ``‖A‖_F²``.
    order : float
        α of ``f(x) = x^α``, or 1 for ``-x log x``; above 0, not 2.
    failure : float
        Allowed probability that stochastic bounds fail.
    error : float
        Bound on the trace norm of the error of A.
    tol : float
        Width of the entropy for which the number of vectors is planned.
    random_state : int or None
    deflation : Deflation or None
        From an earlier sum of the same matrix.

    Attributes
    ----------
    bounds : Interval
    deterministic : bool
        Whether the bounds hold with certainty.
    exhausted : bool
        Whether :meth:`tighten` has reached its limits.

    Examples
    --------
    >>> p = np.random.default_rng(0).dirichlet(np.ones(500))
    >>> found = TraceSum(lambda V: p[:, None] * V, 500, p @ p, 1.0, tol=0.05)
    >>> found.tighten()
    >>> bool(found.bounds.lower <= -(p @ np.log(p)) <= found.bounds.upper)
    True
    """

    def __init__(
        self,
        product: Product,
        size: int,
        squares: float,
        order: float,
        *,
        failure: float = 1e-6,
        error: float = 0.0,
        tol: float = 0.01,
        random_state: int | None = 0,
        deflation: Deflation | None = None,
    ) -> None:
        self.product, self.size, self.order = product, size, order
        self.failure, self.tol = failure, tol
        self.rng = np.random.default_rng(random_state)
        self.deflation = deflate(product, size, self.rng) if deflation is None else deflation
        found = self.deflation
        self.scale = float(max(found.values.max(initial=0), found.nodes.max(initial=0)))
        self.known = float(self._f(found.values).sum())
        self.rest = (
            max(size - len(found.values), 0),
            max(1.0 - float(found.values.sum()), 0.0),
            max(squares - float(found.values @ found.values), 0.0),
        )
        self.slack = self._modulus(found.coupling + error)
        low, high = self._moment_bounds()
        self.bounds = Interval(self.known + (low + high) / 2, *self._widened(low, high))
        self.deterministic = True
        self._blocks: list[LanczosBlock] = []
        self._first = self._growth = self._extensions = 0
        # brackets of f² need 2α < 2 steps
        self._steps = max(_FEWEST_STEPS, int(order) + 1)
        nothing_left = self.rest[0] == 0 or self.rest[2] == 0 or not found.nodes.any()
        self.exhausted = nothing_left or order > 2 * _FEWEST_STEPS - 1

    def _f(self, x: Array) -> Array:
        """Return f, with ``x^α`` in units of the largest eigenvalue to avoid underflow."""
        return entropy_summand(x if self.order == 1 else x / self.scale, self.order)

    def _term(self, power: int, x: Array) -> Array:
        return np.asarray(x**power * self._f(x))

    def _modulus(self, error: float) -> float:
        """Bound on the change of the sum if eigenvalues change by ``error`` in total."""
        if error <= 0:
            return 0.0
        if self.order < 1:
            return float(self.size * self._f(np.array(error / self.size)))
        if self.order == 1:
            return float(error * np.log(max(self.size / error, np.e)))
        return self.order * error / self.scale

    def _moment_bounds(self) -> tuple[float, float]:
        count, total, squares = self.rest
        if count == 0:
            return 0.0, 0.0
        unit = 1.0 if self.order == 1 else self.scale
        if self.order > 2:  # x^α lies between 0 and max(x)^(α - 2) x²
            return 0.0, (squares / unit**2) ** (self.order / 2)
        return moment_bounds(count, total / unit, squares / unit**2, self.order)

    def _widened(self, low: float, high: float) -> tuple[float, float]:
        return max(self.known + low - self.slack, 0.0), self.known + high + self.slack

    def tighten(self) -> None:
        """Use more vectors, or more steps if the quadrature dominates the width.

        The number of vectors is one of a sequence that does not depend on the vectors. Each of its
        members has its own part of the probability of failure, so the bounds hold together however
        the members are chosen.
        """
        failure = self.failure * _part(self._growth)
        fitted = self._fit()
        self._first = self._first or self.planned_vectors
        count = self._count
        missing = count - sum(len(block.masses) for block in self._blocks)
        if missing:
            self._blocks.append(
                LanczosBlock(self.product, self.deflation.vectors, missing, self.scale, self.rng)
            )
        for block in self._blocks:
            block.extend(self._steps)
        low, high, squares = np.hstack([self._brackets(block, fitted) for block in self._blocks])
        below, above, norm = self._norms(fitted, float(squares.mean()), failure / 2)
        deviations = [mean_deviation(norm, x, count, failure / 4) for x in (above, -below)]
        means = float(low.mean()), float(high.mean())
        exact = float(fitted @ np.array(self.rest))
        lower, upper = self._widened(
            exact + means[0] - deviations[0], exact + means[1] + deviations[1]
        )
        value = self.known + exact + sum(means) / 2
        if upper - lower < self.bounds.upper - self.bounds.lower:
            self.deterministic = False
            # both intervals hold, so their intersection does
            lower, upper = max(lower, self.bounds.lower), min(upper, self.bounds.upper)
            self.bounds = Interval(float(np.clip(value, lower, upper)), lower, upper)
        gap, deviation = means[1] - means[0], sum(deviations)
        if gap > deviation / 2:
            self._steps += (self._steps + 1) // 2
            self._extensions += 1
        else:
            # the deviation decreases at least like the root of the number of vectors
            tiny = np.finfo(float).tiny
            most = max(self._allowed_width - gap - 2 * self.slack, tiny)
            power = np.ceil(2 * np.log(max(deviation, tiny) / most) / np.log(_GROWTH))
            self._growth += int(np.clip(power, 1, _MOST_GROWTH))
        stored = 8 * self.size * self._count * self._steps
        self.exhausted = (
            (count == self._count == _MOST_VECTORS and gap <= deviation / 2)
            or self._steps > _MOST_STEPS
            or stored > _MOST_BYTES
        )

    @property
    def _count(self) -> int:
        """Number of vectors: the planned number, times a power of 3/2."""
        grown = _multiple_of_4(self._first * _GROWTH**self._growth)
        return min(grown, _MOST_VECTORS)

    @property
    def _allowed_width(self) -> float:
        """Width of the sum that corresponds to ``tol``."""
        return self.tol * (1.0 if self.order == 1 else abs(1 - self.order) * self.bounds.value)

    @property
    def needs_few_vectors(self) -> bool:
        """Whether more deflated eigenpairs would not reduce the number of vectors."""
        return bool(self.deflation.nodes.any()) and self.planned_vectors == _FEWEST_VECTORS

    @property
    def planned_vectors(self) -> int:
        """Number of vectors whose deviation is a quarter of the allowed width."""
        fitted = self._fit()
        nodes, masses = self.deflation.nodes, self.deflation.masses
        g = self._f(nodes) - np.polynomial.polynomial.polyval(nodes, fitted)
        norm = np.sqrt(self.rest[0] * (masses @ g**2) / max(masses.sum(), np.finfo(float).tiny))
        needed = -np.log(self.failure / 8) * (2 * norm / (self._allowed_width / 4)) ** 2
        return _multiple_of_4(float(np.clip(needed, _FEWEST_VECTORS, _MOST_VECTORS / 2)))

    def _fit(self) -> Array:
        """Return coefficients of the quadratic q closest to f at the other eigenvalues.

        They come from the first iteration, so they are independent of the vectors z.
        """
        nodes, masses = self.deflation.nodes, self.deflation.masses
        scale = max(float(nodes.max()), np.finfo(float).tiny)
        powers = np.vander(nodes / scale, 3, increasing=True)
        root = np.sqrt(masses)
        fitted = np.linalg.lstsq(powers * root[:, None], self._f(nodes) * root, rcond=None)[0]
        return np.asarray(fitted / scale ** np.arange(3))

    def _brackets(self, block: LanczosBlock, fitted: Array) -> Array:
        """Return bounds on ``z'(f - q)(B)z`` and an upper bound on ``z'(f - q)²(B)z``."""
        polynomial = np.polynomial.polynomial
        low, high = block.bracket(self._f)
        exact = block.exact(lambda x: polynomial.polyval(x, fitted))
        squares = block.bracket(lambda x: self._f(x) ** 2)[1]
        squares += block.exact(lambda x: polynomial.polyval(x, fitted) ** 2)
        for k, coefficient in enumerate(fitted):
            product = block.bracket(partial(self._term, k))
            squares -= 2 * coefficient * product[0 if coefficient > 0 else 1]
        return np.array([low - exact, high - exact, squares])

    def _norms(self, fitted: Array, squares: float, failure: float) -> tuple[float, float, float]:
        """Return bounds on the eigenvalues of G = (f - q)(B), and on its Frobenius norm."""
        count = self._count
        # the bound also depends on the number of steps, which is chosen with the same vectors
        top = self.largest_remaining(failure / 2 * _part(self._extensions))
        peak = np.exp(-1) if self.order == 1 else np.inf
        below, above = remainder_range(self._f, peak, fitted, top)
        largest = max(below**2, above**2)
        bounds = (
            squares / lower_tail(count, failure / 4),
            trace_from_mean(squares, count, largest, failure / 4),
            self.rest[0] * largest,
        )
        norm = np.sqrt(max(min(bounds), 0.0))
        return max(below, -norm), min(above, norm), float(norm)

    def largest_remaining(self, failure: float) -> float:
        """Return an upper bound on the largest eigenvalue of B."""
        certain = float(np.sqrt(self.rest[2]))
        c = float(self.deflation.nodes.max())
        if not 0 < c < certain:
            return certain
        degree = self._steps - 1
        power = partial(chebyshev_power, c=c, degree=degree)
        means = [block.exact(power) for block in self._blocks]
        joined = np.concatenate(means)
        trace = float(joined.mean()) / lower_tail(len(joined), failure)
        return min(largest_eigenvalue(trace, c, degree), certain)


def _part(index: int) -> float:
    """Return positive numbers whose sum over all indices is 1."""
    return float(6 / (np.pi * (index + 1)) ** 2)


def _multiple_of_4(count: float) -> int:
    """Round up: matrix products of 4 k columns are faster."""
    return 4 * int(np.ceil(count / 4))
