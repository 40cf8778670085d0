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
  ``z'f(B)z`` (Golub, Meurant 2010). For N vectors and ``G = (f - q)(B)`` the mean deviates from
  tr G by more than ``2‖G‖_F √(x/N) + 2‖G‖ x/N`` with a probability of at most ``2 e^{-x}``
  (Laurent, Massart 2000), and ``‖G‖_F²`` is bounded by the mean of ``|Gz|²``, see
  :func:`lower_tail`. The norms ``|Gz|²`` come from Gauss quadrature, whose error is not bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import lambertw

from mercer.maths.entropy import entropy_summand
from mercer.maths.types import Array
from mercer.solvers.block_krylov import orthonormal_block

__all__ = ["Deflation", "Interval", "TraceSum", "deflate", "lower_tail", "moment_bounds"]

_CONVERGED = 1e-9  # residual of a deflated eigenpair, relative to the largest eigenvalue
_FIRST_VECTORS, _FIRST_STEPS = 12, 10
_FEWEST_STEPS, _MOST_STEPS = 5, 60
_VECTORS, _MOST_VECTORS = 48, 200
_BREAKDOWN = 1e-13  # norm of a Lanczos vector, relative to that of the matrix, that counts as zero

Product = Callable[[Array], Array]


class Interval(NamedTuple):
    """A value with bounds."""

    value: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Deflation:
    """Converged eigenpairs of A, and a sketch of the other eigenvalues.

    Attributes
    ----------
    values : array of shape (J,)
        Converged eigenvalues, largest first.
    vectors : array of shape (size, J)
    nodes, masses : array
        Quadrature of the spectral density of the other eigenvalues: a rough picture of them.
    coupling : float
        Bound on the trace norm of what the deflation neglects.
    """

    values: Array
    vectors: Array
    nodes: Array
    masses: Array
    coupling: float


def deflate(product: Product, size: int, rng: np.random.Generator) -> Deflation:
    """Run a block Lanczos iteration and split off the eigenpairs that have converged.

    >>> A = np.diag([5.0, 1.0, *np.linspace(0, 0.01, 98)])
    >>> deflate(lambda V: A @ V, 100, np.random.default_rng(0)).values.round(6)[:2].tolist()
    [5.0, 1.0]
    """
    width = min(_FIRST_VECTORS, size)
    block, first = np.linalg.qr(rng.standard_normal((size, width)))
    basis, T = block, np.zeros((0, 0))
    for step in range(_FIRST_STEPS):
        W = product(block)
        H = basis.T @ W
        W -= basis @ H
        correction = basis.T @ W  # a second orthogonalization is enough (Kahan, Parlett)
        W -= basis @ correction
        H += correction
        used, last = basis.shape[1], slice(basis.shape[1] - block.shape[1], None)
        T = np.pad(T, (0, used - len(T)))
        T[:, last], T[last] = H, H.T
        block, rest = orthonormal_block(W, basis, min(width, size - used), rng)
        if step == _FIRST_STEPS - 1 or used == size:
            break
        basis = np.hstack([basis, block])
    values, Y = np.linalg.eigh(T)
    values, Y = values[::-1], Y[:, ::-1]
    residuals = np.linalg.norm(rest @ Y[last], axis=0)
    converged = (residuals <= _CONVERGED * values[0]) | (used == size)
    count = len(values) if converged.all() else int(np.argmin(converged))
    masses = np.linalg.norm(first.T @ Y[:width, count:], axis=0) ** 2 / width
    neglected = np.sqrt((residuals[:count] ** 2).sum()) if count else 0.0
    return Deflation(
        values[:count],
        basis @ Y[:, :count],
        np.maximum(values[count:], 0),
        masses,
        2 * np.sqrt(count) * float(neglected),
    )


def moment_bounds(count: float, total: float, squares: float, order: float) -> tuple[float, float]:
    """Return the extreme sums of f over ``count`` numbers in [0, √squares] with given moments.

    Parameters
    ----------
    count, total, squares : float
        Number of the values (zeros included), their sum and the sum of their squares.
    order : float
        α of ``f(x) = x^α``, or 1 for ``-x log x``; not 0 or 2.

    Examples
    --------
    >>> x = np.array([0.1, 0.2, 0.3])
    >>> low, high = moment_bounds(3, x.sum(), (x**2).sum(), 1.0)
    >>> bool(low <= -(x @ np.log(x)) <= high)
    True
    """
    if total <= 0 or squares <= 0:
        return 0.0, 0.0
    # the sum of squares is at least that of equal numbers; rounding error may violate this
    squares = max(squares, total**2 / count)
    top = np.sqrt(squares)
    left = total**2 / squares * float(entropy_summand(squares / total, order))
    first = count * top - total
    second = max(count * top**2 - 2 * top * total + squares, first**2 / count)
    if first <= 0:
        return left, left
    inside = first**2 / second
    right = inside * entropy_summand(max(top - second / first, 0.0), order)
    right += max(count - inside, 0.0) * entropy_summand(top, order)
    return min(left, float(right)), max(left, float(right))


def lower_tail(count: int, probability: float) -> float:
    """Return t such that the mean of ``z'Hz`` falls below ``t tr H`` with small probability.

    Of ``count`` Gaussian vectors, for any positive semi-definite H: by Chernoff's inequality and
    ``Π(1 + 2s h_i) ≥ 1 + 2s Σh_i`` the probability is at most ``(t e^{1-t})^{count/2}``.

    >>> round(lower_tail(16, 1e-6), 3)
    0.07
    """
    return float(-lambertw(-np.exp(2 * np.log(probability) / count - 1)).real)


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
    random_state : int or None
    deflation : Deflation or None
        From an earlier sum of the same matrix.

    Attributes
    ----------
    bounds : Interval
    deterministic : bool
        Whether the bounds hold with certainty.
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
        random_state: int | None = 0,
        deflation: Deflation | None = None,
    ) -> None:
        self.product, self.size, self.order = product, size, order
        self.failure = failure
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
        self._steps = _FEWEST_STEPS
        self._vectors = _VECTORS
        self._batches = 0
        self.exhausted = self.rest[0] == 0 or self.rest[2] == 0 or order > 2 * _FEWEST_STEPS - 1

    def _f(self, x: Array) -> Array:
        """Return f, with ``x^α`` in units of the largest eigenvalue to avoid underflow."""
        return entropy_summand(x if self.order == 1 else x / self.scale, self.order)

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
        """Use more vectors, or more steps if the quadrature dominates the width."""
        self._batches += 1
        failure = self.failure * 6 / (np.pi * self._batches) ** 2  # the sum over all batches
        fitted = self._fit()
        Z = self.rng.standard_normal((self.size, self._vectors))
        low, high, squares = self._quadrature(Z, fitted, self._steps)
        count, total, second = self.rest
        exact = float(fitted @ np.array([count, total, second]))
        level = np.log(4 / failure)
        norm = np.sqrt(max(squares.mean(), 0) / lower_tail(self._vectors, failure / 2))
        ratio = level / self._vectors
        deviation = 2 * norm * (np.sqrt(ratio) + ratio)
        means = float(low.mean()), float(high.mean())
        lower, upper = self._widened(exact + means[0] - deviation, exact + means[1] + deviation)
        value = self.known + exact + sum(means) / 2
        if upper - lower < self.bounds.upper - self.bounds.lower:
            self.deterministic = False
            # both intervals hold, so their intersection does
            lower, upper = max(lower, self.bounds.lower), min(upper, self.bounds.upper)
            self.bounds = Interval(float(np.clip(value, lower, upper)), lower, upper)
        if means[1] - means[0] > deviation and self._steps < _MOST_STEPS:
            self._steps = min(2 * self._steps, _MOST_STEPS)
        else:
            self._vectors *= 2
        self.exhausted = self._vectors > _MOST_VECTORS

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

    def _quadrature(self, Z: Array, fitted: Array, steps: int) -> tuple[Array, Array, Array]:
        """Return bounds on ``z'(f - q)(B)z`` and estimates of ``|(f - q)(B)z|²``, per column."""
        Q = self.deflation.vectors
        steps = min(steps, max(self.rest[0], 1))
        Z = Z - Q @ (Q.T @ Z)
        norms = np.linalg.norm(Z, axis=0)
        count = Z.shape[1]
        basis = np.zeros((steps + 1, *Z.shape))
        basis[0] = Z / norms
        T = np.zeros((count, steps + 1, steps + 1))
        alive = np.ones(count, dtype=bool)
        for j in range(steps):
            W = self.product(basis[j])
            W -= Q @ (Q.T @ W)
            T[:, j, j] = np.einsum("ij,ij->j", basis[j], W)
            for _ in range(2):
                inner = np.einsum("kij,ij->kj", basis[: j + 1], W)
                W -= np.einsum("kij,kj->ij", basis[: j + 1], inner)
            lengths = np.linalg.norm(W, axis=0)
            alive &= lengths > _BREAKDOWN * self.scale
            lengths = np.where(alive, lengths, 0.0)
            T[:, j, j + 1] = T[:, j + 1, j] = lengths
            basis[j + 1] = np.where(alive, W / np.where(alive, lengths, 1), 0.0)
        gauss, squares = self._integrals(T[:, :-1, :-1], fitted)
        radau, _ = self._integrals(_with_node_at_zero(T), fitted)
        masses = norms**2
        return (
            np.minimum(gauss, radau) * masses,
            np.maximum(gauss, radau) * masses,
            squares * masses,
        )

    def _integrals(self, T: Array, fitted: Array) -> tuple[Array, Array]:
        values, vectors = np.linalg.eigh(T)
        masses = vectors[:, 0, :] ** 2
        values = np.maximum(values, 0)
        g = self._f(values) - np.polynomial.polynomial.polyval(values, fitted)
        return (masses * g).sum(axis=1), (masses * g**2).sum(axis=1)


def _with_node_at_zero(T: Array) -> Array:
    """Change the last diagonal entry of tridiagonal matrices so that 0 is an eigenvalue (Golub)."""
    T = T.copy()
    inner, off = T[:, :-1, :-1], T[:, -2, -1]
    ends = np.zeros((len(T), inner.shape[1], 1))
    ends[:, -1, 0] = off**2
    # an exhausted Krylov space leaves zero rows, which an arbitrary diagonal makes regular
    diagonal = np.einsum("kii->ki", inner)
    scale = np.maximum(diagonal.max(axis=1, keepdims=True), np.finfo(float).tiny)
    added = np.where(diagonal > _BREAKDOWN * scale, _BREAKDOWN**2 * scale, scale)
    inner = inner + np.einsum("ki,ij->kij", added, np.eye(inner.shape[1]))
    T[:, -1, -1] = np.linalg.solve(inner, ends)[:, -1, 0]
    return T
