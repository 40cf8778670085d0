r"""Sums :math:`\operatorname{tr} f(A)` of a large matrix: Lanczos quadrature with error bounds.

For a positive semi-definite A with known trace and known ``‖A‖_F²``, and a function f whose
derivatives have alternating signs (``x^α`` and ``-x log x``),

.. math:: \operatorname{tr} f(A) = \sum_{j \le J} f(\theta_j) + \operatorname{tr} q(B)
    + \operatorname{tr} (f - q)(B)

with J converged eigenvalues θ, B the restriction of A to the other eigenvectors, and a polynomial q
of degree 2, whose trace is known exactly. Two kinds of bounds follow:

* The sum over B is bounded by the two extreme measures with the same three moments (principal
  representations of Krein); these bounds are deterministic.
* The last term is estimated by N Gaussian vectors z. Gauss and Gauss-Radau quadrature bracket
  ``z'f(B)z`` (Golub, Meurant 2010). The mean over the vectors deviates from the trace of
  ``G = (f - q)(B)`` by at most ``2‖G‖_F √(x/N) + 2‖G‖ x/N``, except with a probability of
  ``2 e^{-x}`` (Laurent, Massart 2000, whose proof holds for signed weights). Both norms are bounded
  with the same vectors: ``‖G‖`` by the range of f - q up to the largest eigenvalue of B
  (:func:`bound_largest`), and ``‖G‖_F²`` by the mean of ``z'(f - q)²(B)z``. This is bracketed term
  by term: the derivatives of f², f, x f and x² f have constant signs from order 5 on, and q² is
  integrated exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.polynomial.polynomial import polyval
from scipy.special import eval_chebyt, lambertw

from mercer.eigen.block_krylov import orthonormal_block
from mercer.information.entropy import entropy_summand
from mercer.utils.types import Array

__all__ = [
    "BoundedValue",
    "Deflation",
    "LanczosBlock",
    "Product",
    "TraceSum",
    "bound_largest",
    "deflate",
    "lower_tail",
    "mean_deviation",
    "moment_bounds",
    "remainder_range",
    "trace_from_mean",
]

_BREAKDOWN = 1e-13  # norm of a Lanczos vector, relative to that of the matrix, that counts as zero
_FEWEST_STEPS = 7
_FEWEST_VECTORS, _MOST_VECTORS = 8, 160
_TINY = float(np.finfo(float).tiny)

Product = Callable[[Array], Array]


# --- deflation ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Deflation:
    """Converged eigenpairs of A, and a sketch of the other eigenvalues.

    ``nodes``, ``masses``: quadrature of the spectral density of the other eigenvalues: a rough
    picture of them.
    """

    values: Array  # converged eigenvalues, largest first, shape (J,)
    vectors: Array  # shape (size, J)
    nodes: Array
    masses: Array
    coupling: float  # bound on the trace norm of what the deflation neglects
    complete: bool = True  # whether the iteration was not stopped early


def deflate(
    product: Product,
    size: int,
    rng: np.random.Generator,
    enough: Callable[[Deflation], bool] | None = None,
) -> Deflation:
    """Run a block Lanczos iteration and split off the eigenpairs that have converged.

    It ends after 15 steps, or from the third step on if ``enough`` accepts the result.
    """
    width, n_steps = min(8, size), 15
    block, first = np.linalg.qr(rng.standard_normal((size, width)))
    basis, T = block, np.zeros((0, 0))
    for step in range(n_steps):
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
        if step == n_steps - 1 or used == size:
            break
        if enough is not None and step >= 2:
            found = _split(basis, T, rest, first, last)
            if len(found.values) and enough(found):
                return replace(found, complete=False)
        basis = np.hstack([basis, block])
    return _split(basis, T, rest, first, last)


def _split(basis: Array, T: Array, rest: Array, first: Array, last: slice) -> Deflation:
    """Separate the converged eigenpairs of a block Lanczos iteration from the others.

    ``basis``, ``T``: orthonormal basis, and the projected matrix. ``rest``: coefficients of the
    next block: residuals are its products with the ``last`` rows of the eigenvectors of T.
    ``first``: triangular factor of the Gaussian start block.
    """
    size, used = basis.shape
    values, Y = np.linalg.eigh(T)
    values, Y = values[::-1], Y[:, ::-1]
    residuals = np.linalg.norm(rest @ Y[last], axis=0)
    converged = (residuals <= 1e-8 * values[0]) | (used == size)
    count = len(values) if converged.all() else int(np.argmin(converged))
    return Deflation(
        values[:count],
        basis @ Y[:, :count],
        np.maximum(values[count:], 0),
        np.linalg.norm(first.T @ Y[: len(first), count:], axis=0) ** 2 / len(first),
        2 * np.sqrt(count) * float(np.linalg.norm(residuals[:count])),
    )


# --- quadrature -----------------------------------------------------------------------------------


class LanczosBlock:
    """Lanczos iterations from several Gaussian vectors, orthogonal to deflated eigenvectors.

    ``vectors``: deflated eigenvectors, shape (size, J). ``count``: number of Gaussian vectors.
    ``scale``: norm of the matrix. ``rng``: independent of ``vectors``.
    """

    def __init__(
        self, product: Product, vectors: Array, count: int, scale: float, rng: np.random.Generator
    ) -> None:
        self.product, self.vectors, self.scale = product, vectors, scale
        Z = rng.standard_normal((len(vectors), count))
        Z -= vectors @ (vectors.T @ Z)
        norms = np.linalg.norm(Z, axis=0)
        self.masses = norms**2
        self._basis = [Z / np.where(norms > 0, norms, 1)]
        self._alive = norms > 0
        self.T = np.zeros((count, 1, 1))

    @property
    def steps(self) -> int:
        """Number of products per vector."""
        return len(self._basis) - 1

    def extend(self, steps: int) -> None:
        """Continue to a number of steps."""
        Q = self.vectors
        for j in range(self.steps, steps):
            W = self.product(self._basis[j])
            W = W - Q @ (Q.T @ W)
            T = np.pad(self.T, ((0, 0), (0, 1), (0, 1)))
            T[:, j, j] = np.einsum("ij,ij->j", self._basis[j], W)
            for _ in range(2):
                for earlier in self._basis:
                    W -= earlier * np.einsum("ij,ij->j", earlier, W)
            lengths = np.linalg.norm(W, axis=0)
            self._alive &= lengths > _BREAKDOWN * self.scale
            lengths = np.where(self._alive, lengths, 0.0)
            T[:, j, j + 1] = T[:, j + 1, j] = lengths
            W *= np.where(self._alive, 1 / np.where(lengths > 0, lengths, 1), 0.0)
            self._basis.append(W)
            self.T = T
        self._gauss = _rule(self.T[:, :-1, :-1])
        self._radau = _rule(_with_node_at_zero(self.T))

    def exact(self, polynomial: Callable[[Array], Array]) -> Array:
        """Return ``z'p(B)z`` for a polynomial of degree at most 2 steps - 1."""
        values, masses = self._gauss
        return np.asarray((masses * polynomial(values)).sum(axis=1) * self.masses)

    def bracket(self, f: Callable[[Array], Array]) -> tuple[Array, Array]:
        """Return bounds on ``z'f(B)z``.

        The derivatives of f of orders 2 steps and 2 steps + 1 have constant, opposite signs.
        """
        gauss, radau = (
            (masses * f(values)).sum(axis=1) * self.masses
            for values, masses in (self._gauss, self._radau)
        )
        return np.minimum(gauss, radau), np.maximum(gauss, radau)


def _rule(T: Array) -> tuple[Array, Array]:
    """Return nodes and weights of the quadratures of tridiagonal matrices."""
    values, vectors = np.linalg.eigh(T)
    return np.maximum(values, 0), vectors[:, 0, :] ** 2


def _with_node_at_zero(T: Array) -> Array:
    """Change the last diagonal entry of tridiagonal matrices so that 0 is an eigenvalue (Golub)."""
    T = T.copy()
    inner, off = T[:, :-1, :-1], T[:, -2, -1]
    ends = np.zeros((len(T), inner.shape[1], 1))
    ends[:, -1, 0] = off**2
    # an exhausted Krylov space leaves zero rows, which an arbitrary diagonal makes regular
    diagonal = np.einsum("kii->ki", inner)
    scale = np.maximum(diagonal.max(axis=1, keepdims=True), _TINY)
    added = np.where(diagonal > _BREAKDOWN * scale, _BREAKDOWN**2 * scale, scale)
    inner = inner + np.einsum("ki,ij->kij", added, np.eye(inner.shape[1]))
    T[:, -1, -1] = np.linalg.solve(inner, ends)[:, -1, 0]
    return T


# --- bounds from moments and from Gaussian vectors ------------------------------------------------


def moment_bounds(count: float, total: float, squares: float, order: float) -> tuple[float, float]:
    """Return the extreme sums of f over ``count`` numbers in [0, √squares] with given moments.

    ``count``, ``total``, ``squares``: number of the values (zeros included), their sum and the sum
    of their squares. ``order``: α of ``f(x) = x^α``, or 1 for ``-x log x``; not 0 or 2.
    """
    if count <= 0 or total <= 0 or squares <= 0:
        return 0.0, 0.0
    if order > 2:  # x^α lies between 0 and max(x)^(α - 2) x²
        return 0.0, squares ** (order / 2)
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
    """
    return float(-lambertw(-np.exp(2 * np.log(probability) / count - 1)).real)


def bound_largest(
    blocks: Sequence[LanczosBlock], c: float, degree: int, probability: float
) -> float:
    """Return an upper bound on ``‖B‖``, except with a given probability; at least c.

    The polynomial ``P(x) = x T_k(2x/c - 1)²`` is at most x on [0, c] and grows fast beyond, and
    ``P(‖B‖) ≤ tr P(B)``, which the Gaussian vectors bound.

    ``blocks``: with more than ``degree`` steps. ``c``: estimate of ‖B‖, above 0 and independent of
    the vectors, like ``degree`` k.
    """
    means = [block.exact(lambda x: x * eval_chebyt(degree, 2 * x / c - 1) ** 2) for block in blocks]
    joined = np.concatenate(means)
    trace = float(joined.mean()) / lower_tail(len(joined), probability)
    # ‖B‖ > c implies c T_k(2‖B‖/c - 1)² ≤ tr P(B)
    return c / 2 * (1 + float(np.cosh(np.arccosh(np.sqrt(max(trace / c, 1))) / degree)))


def trace_from_mean(mean: float, count: int, largest: float, probability: float) -> float:
    r"""Return an upper bound on tr H from the mean of ``z'Hz`` and a bound on ``‖H‖``.

    The mean falls below :math:`\operatorname{tr} H - 2\|H\|_F\sqrt{x/N}` with a probability of at
    most :math:`e^{-x}` (Laurent, Massart), and :math:`\|H\|_F^2 \le \|H\| \operatorname{tr} H`.
    """
    step = largest * -np.log(probability) / count
    return float((np.sqrt(step) + np.sqrt(step + max(mean, 0.0))) ** 2)


def mean_deviation(norm: float, largest: float, count: int, probability: float) -> float:
    """Return a deviation that the mean of ``z'Gz`` exceeds with at most a given probability.

    ``norm``: bound on the Frobenius norm of G. ``largest``: bound on the largest eigenvalue of G;
    negative values count as 0. ``count``: number of vectors.
    """
    ratio = -np.log(probability) / count
    return float(2 * norm * np.sqrt(ratio) + 2 * max(largest, 0.0) * ratio)


def remainder_range(
    f: Callable[[Array], Array], peak: float, fitted: Array, top: float
) -> tuple[float, float]:
    """Return bounds on ``f - q`` over [0, top] for a quadratic q.

    ``f``: increasing up to ``peak`` and decreasing beyond. ``fitted``: coefficients of q, constant
    first.
    """
    grid = top * np.linspace(0, 1, 4001) ** 2  # finer near 0, where f may be steep
    marks = [peak, -fitted[1] / (2 * fitted[2]) if fitted[2] else 0.0]  # where f and q turn
    grid = np.unique(np.r_[grid, [x for x in marks if 0 < x < top]])
    (f_low, f_high), (q_low, q_high) = (
        (np.minimum(v[1:], v[:-1]), np.maximum(v[1:], v[:-1]))
        for v in (f(grid), polyval(grid, fitted))
    )
    return float((f_low - q_high).min()), float((f_high - q_low).max())


# --- the sum --------------------------------------------------------------------------------------


class BoundedValue(NamedTuple):
    """A value with bounds."""

    value: float
    lower: float
    upper: float


class TraceSum:
    """Bounds on ``tr f(A)`` that are tightened step by step.

    ``product``: ``A @ V``, A of trace 1. ``size``: order of A. ``squares``: ``‖A‖_F²``. ``order``:
    α of ``f(x) = x^α``, or 1 for ``-x log x``; above 0, not 2. ``failure``: allowed probability
    that stochastic bounds fail. ``error``: bound on the trace norm of the error of A. ``tol``:
    width of the entropy for which the number of vectors is planned. ``deflation``: from an earlier
    sum of the same matrix. ``deterministic``: whether the bounds hold with certainty.
    ``exhausted``: whether :meth:`tighten` has reached its limits.
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
        unit = 1.0 if order == 1 else self.scale
        low, high = moment_bounds(
            self.rest[0], self.rest[1] / unit, self.rest[2] / unit**2, self.order
        )
        self.bounds = BoundedValue(self.known + (low + high) / 2, *self._widened(low, high))
        self.deterministic = True
        self._blocks: list[LanczosBlock] = []
        self._doublings = 0
        # brackets of f² need 2α < 2 steps
        self._steps = max(_FEWEST_STEPS, int(order) + 1)
        nothing_left = self.rest[0] == 0 or self.rest[2] == 0 or not found.nodes.any()
        self.exhausted = nothing_left or order > 2 * _FEWEST_STEPS - 1
        self._planned_sum = self.bounds.value
        if found.nodes.any():
            # the quadratic q closest to f at the other eigenvalues; like the number of vectors it
            # comes from the first iteration, so it is independent of the vectors z
            unit = max(float(found.nodes.max()), _TINY)
            powers, root = np.vander(found.nodes / unit, 3, increasing=True), np.sqrt(found.masses)
            target = self._f(found.nodes) * root
            self.fitted = np.linalg.lstsq(powers * root[:, None], target, rcond=None)[0]
            self.fitted /= unit ** np.arange(3)

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

    def _widened(self, low: float, high: float) -> tuple[float, float]:
        return max(self.known + low - self.slack, 0.0), self.known + high + self.slack

    def tighten(self) -> None:
        """Use twice as many vectors, or more steps if the quadrature dominates the width.

        The numbers of vectors are a sequence that does not depend on the vectors. Each of its
        members has its own part of the probability of failure, so the bounds hold together however
        the members are chosen.
        """
        failure = self.failure / 2 ** (self._doublings + 1)
        count = self._count
        missing = count - sum(len(block.masses) for block in self._blocks)
        if missing:
            self._blocks.append(
                LanczosBlock(self.product, self.deflation.vectors, missing, self.scale, self.rng)
            )
        for block in self._blocks:
            block.extend(self._steps)
        low, high, squares = np.hstack([self._brackets(block) for block in self._blocks])
        below, above, norm = self._norms(float(squares.mean()), failure / 2)
        deviations = [mean_deviation(norm, x, count, failure / 4) for x in (above, -below)]
        means = float(low.mean()), float(high.mean())
        exact = float(self.fitted @ np.array(self.rest))
        lower, upper = self._widened(
            exact + means[0] - deviations[0], exact + means[1] + deviations[1]
        )
        value = self.known + exact + sum(means) / 2
        if upper - lower < self.bounds.upper - self.bounds.lower:
            self.deterministic = False
            # both intervals hold, so their intersection does
            lower, upper = max(lower, self.bounds.lower), min(upper, self.bounds.upper)
            self.bounds = BoundedValue(float(np.clip(value, lower, upper)), lower, upper)
        if means[1] - means[0] > sum(deviations) / 2:
            self._steps += (self._steps + 1) // 2
        elif count == _MOST_VECTORS:
            self.exhausted = True
        else:
            self._doublings += 1
        stored = 8 * self.size * self._count * self._steps
        self.exhausted |= self._steps > 60 or stored > 2**30

    @property
    def _count(self) -> int:
        return min(self.planned_vectors * 2**self._doublings, _MOST_VECTORS)

    @property
    def needs_few_vectors(self) -> bool:
        """Whether more deflated eigenpairs would not reduce the number of vectors."""
        return bool(self.deflation.nodes.any()) and self.planned_vectors == _FEWEST_VECTORS

    @property
    def planned_vectors(self) -> int:
        """Number of vectors whose deviation is a quarter of the allowed width."""
        nodes, masses = self.deflation.nodes, self.deflation.masses
        g = self._f(nodes) - polyval(nodes, self.fitted)
        norm = np.sqrt(self.rest[0] * (masses @ g**2) / max(masses.sum(), _TINY))
        # the width of the sum that corresponds to tol
        width = self.tol * (1.0 if self.order == 1 else abs(1 - self.order) * self._planned_sum)
        needed = -np.log(self.failure / 8) * (2 * norm / (width / 4)) ** 2
        needed = float(np.clip(needed, _FEWEST_VECTORS, _MOST_VECTORS / 2))
        return 4 * int(np.ceil(needed / 4))  # matrix products of 4 k columns are faster

    def _brackets(self, block: LanczosBlock) -> Array:
        """Return bounds on ``z'(f - q)(B)z`` and an upper bound on ``z'(f - q)²(B)z``."""
        low, high = block.bracket(self._f)
        exact = block.exact(lambda x: polyval(x, self.fitted))
        squares = block.bracket(lambda x: self._f(x) ** 2)[1]
        squares += block.exact(lambda x: polyval(x, self.fitted) ** 2)
        for k, coefficient in enumerate(self.fitted):
            product = block.bracket(partial(self._term, k))
            squares -= 2 * coefficient * product[0 if coefficient > 0 else 1]
        return np.array([low - exact, high - exact, squares])

    def _term(self, power: int, x: Array) -> Array:
        return np.asarray(x**power * self._f(x))

    def _norms(self, squares: float, failure: float) -> tuple[float, float, float]:
        """Return bounds on the eigenvalues of G = (f - q)(B), and on its Frobenius norm."""
        top, c = float(np.sqrt(self.rest[2])), float(self.deflation.nodes.max())
        if c < top:
            top = min(top, bound_largest(self._blocks, c, _FEWEST_STEPS - 1, failure / 2))
        peak = np.exp(-1) if self.order == 1 else np.inf
        below, above = remainder_range(self._f, peak, self.fitted, top)
        largest = max(below**2, above**2)
        trace = trace_from_mean(squares, self._count, largest, failure / 2)
        norm = float(np.sqrt(max(min(trace, self.rest[0] * largest), 0.0)))
        return max(below, -norm), min(above, norm), norm
