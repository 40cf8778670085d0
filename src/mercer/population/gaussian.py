r"""The operator of the Gaussian kernel, in closed form under normal distributions.

Under product measures the eigenpairs are products of those of the blocks of coordinates; a heap
finds the largest products in order.

After centering, with :math:`\mu_i = E\phi_i` (Liang 2014, 4.2), the operator has the nonzero
eigenvalues of

.. math:: \tilde M = \Lambda^{1/2} (I - \mu\mu') \Lambda^{1/2},

a diagonal matrix minus a rank-one term, so they are also the roots of the secular equation
:math:`1 = \sum_i \lambda_i \mu_i^2 / (\lambda_i - t)`. (The diagonal is
:math:`\lambda_i (1 - \mu_i^2)`; the thesis misprints the square.) With the first N pairs only,
the error of every eigenvalue is at most :math:`\lambda_{N+1}`, the norm of the omitted part.

Notation (Liang 2014, 4.3; Zhu et al. 1998): w bandwidth, σ standard deviation,
:math:`\beta = 2\sigma^2/w^2`, :math:`s = \sqrt{1 + 2\beta}`.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.gram.gram import largest_entry_signs
from mercer.kernels import Gaussian
from mercer.population.kernel import KernelOperator
from mercer.population.measure import Measure
from mercer.population.measures import Normal, Product, Uniform, as_measure
from mercer.population.operator import PopulationOperator, orient
from mercer.utils.types import Array
from mercer.utils.validation import check_integer

__all__ = [
    "Factor",
    "GaussianOperator",
    "ProductPairs",
    "centered_matrix",
    "damped_hermite",
    "largest_products",
    "normal_factor",
    "secular_eigenvalues",
]


def centered_matrix(eigenvalues: Array, means: Array) -> Array:
    r"""Return ``M̃ = Λ^½ (I - μμ') Λ^½``, whose eigenvalues are those of the centered operator.

    Parameters
    ----------
    eigenvalues, means : arrays of shape (k,)
        ``λ_i`` and ``E φ_i`` of an uncentered expansion: of a population operator, or of any other
        orthonormal expansion of the kernel.

    Returns
    -------
    array of shape (k, k)
        An eigenvector v belongs to the centered eigenfunction
        ``Σ_i √λ_i v_i (φ_i - E φ_i) / √λ̃``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.population import centered_matrix
    >>> centered_matrix(np.array([1.0, 0.5]), np.array([0.6, 0.8])).round(4).tolist()
    [[0.64, -0.3394], [-0.3394, 0.18]]
    """
    loading = np.sqrt(eigenvalues) * means
    return np.asarray(np.diag(eigenvalues) - np.outer(loading, loading))


def secular_eigenvalues(eigenvalues: Array, means: Array) -> Array:
    """Return the eigenvalues of :func:`centered_matrix`, largest first.

    They are the roots of the secular equation. Each root lies between two neighboring poles; all
    are found at once by bisection. Eigenvalues with mean 0 do not change, nor do all but one copy
    of a multiple eigenvalue.

    Parameters
    ----------
    eigenvalues : array of shape (k,), positive
    means : array of shape (k,)
        With ``Σ μ² ≤ 1``.

    Examples
    --------
    >>> from mercer.population import GaussianOperator, Normal, secular_eigenvalues
    >>> operator = GaussianOperator(1.5, Normal(2, 1))
    >>> secular_eigenvalues(operator.eigenvalues, operator.means)[:3].round(6).tolist()
    [0.1875, 0.068518, 0.011719]
    """
    order = np.argsort(-eigenvalues, kind="stable")
    poles, squares = eigenvalues[order], means[order] ** 2
    coupled = poles * squares > 0
    unchanged = list(poles[~coupled])
    poles, squares = poles[coupled], squares[coupled]
    if len(poles) == 0:
        return np.sort(np.array(unchanged))[::-1]
    # eigenvalues that agree up to rounding error count as one pole of the secular equation
    starts = np.flatnonzero(np.r_[True, poles[1:] < poles[:-1] * (1 - 1e-13)])
    repeated = np.ones(len(poles), dtype=bool)
    repeated[starts] = False
    unchanged += list(poles[repeated])
    strengths = np.add.reduceat(poles * squares, starts)
    poles = poles[starts]
    upper, lower = poles, np.r_[poles[1:], 0.0]
    for _ in range(120):
        middle = (upper + lower) / 2
        with np.errstate(divide="ignore"):
            value = 1 - (strengths / (poles - middle[:, None])).sum(axis=1)
        # the function decreases from +∞ at the lower pole to -∞ at the upper one
        lower, upper = np.where(value > 0, middle, lower), np.where(value > 0, upper, middle)
    return np.sort(np.r_[(upper + lower) / 2, unchanged])[::-1]


# --- Hermite functions ----------------------------------------------------------------------------


def damped_hermite(y: Array, log_factor: Array, count: int) -> Array:
    r"""Return ``exp(log_factor) H_i(y) / √(2^i i!)`` for i < count, shape (n, count).

    H are the physicists' polynomials (:math:`H_2 = 4y^2 - 2`). The normalized ones satisfy

    .. math:: g_{i+1} = \sqrt{2/(i+1)}\, y\, g_i - \sqrt{i/(i+1)}\, g_{i-1},

    and large values are moved to the exponent, so that neither a large order nor a tiny factor
    overflows or underflows.

    >>> damped_hermite(np.array([1.0]), np.array([0.0]), 3).round(4).tolist()
    [[1.0, 1.4142, 0.7071]]
    """
    values = np.empty((len(y), count))
    previous, current = np.zeros_like(y), np.ones_like(y)
    exponent = log_factor.astype(np.float64, copy=True)
    for i in range(count):
        with np.errstate(under="ignore"):
            values[:, i] = current * np.exp(exponent)
        step = np.sqrt(2 / (i + 1)) * y * current - np.sqrt(i / (i + 1)) * previous
        previous, current = current, step
        huge = np.abs(current) > 1e100
        sizes = np.abs(current[huge])
        previous[huge] /= sizes
        current[huge] /= sizes
        exponent[huge] += np.log(sizes)
    return values


# --- products of spectra --------------------------------------------------------------------------


@dataclass(frozen=True)
class Factor:
    """Eigenpairs on one block of coordinates, largest eigenvalue first."""

    eigenvalues: Array
    means: Array
    # takes points of the full space and an integer m; returns the first m eigenfunctions of this
    # block, shape (n, m). Picklable
    functions: Callable[[Array, int], Array]
    error: float = 0.0  # bound on the error of every eigenvalue
    omitted: float = 0.0  # bound on the eigenvalues that are not among these; 0 if there are none
    # ``E k(X, Y)`` of the block; None to compute it from the eigenpairs
    potential: float | None = None


def largest_products(sequences: Sequence[Array], count: int) -> tuple[Array, Array]:
    """Return the largest products of one entry per decreasing sequence of positive numbers.

    ``count``: maximal number of products.

    Notes
    -----
    Successors of an index increment one coordinate at or after its last nonzero one, so each index
    has one parent and enters the heap once.

    >>> largest_products([np.array([1.0, 0.5]), np.array([1.0, 0.1])], 3)[1].tolist()
    [[0, 0], [1, 0], [0, 1]]
    """
    logs = [np.log(np.asarray(s)[np.asarray(s) > 0]) for s in sequences]
    start = (0,) * len(logs)
    heap = [(-sum(float(row[0]) for row in logs), start, 0)]
    found: list[tuple[int, ...]] = []
    while heap and len(found) < count:
        cost, index, last = heapq.heappop(heap)
        found.append(index)
        for k in range(last, len(logs)):
            step = index[k] + 1
            if step < len(logs[k]):
                raised = (*index[:k], step, *index[k + 1 :])
                heapq.heappush(heap, (cost + float(logs[k][step - 1] - logs[k][step]), raised, k))
    indices = np.array(found, dtype=np.intp).reshape(len(found), len(logs))
    products = _take(sequences, indices)
    order = np.argsort(-products, kind="stable")  # the heap orders by rounded logarithms
    return products[order], indices[order]


def _take(sequences: Sequence[Array], indices: Array) -> Array:
    chosen = [np.asarray(s)[column] for s, column in zip(sequences, indices.T, strict=True)]
    return np.asarray(np.prod(chosen, axis=0))


@dataclass(frozen=True)
class ProductPairs:
    """Products of the factors' eigenpairs, one index per factor and pair."""

    factors: tuple[Factor, ...]
    indices: Array

    @property
    def eigenvalues(self) -> Array:
        """Products of eigenvalues."""
        return _take([factor.eigenvalues for factor in self.factors], self.indices)

    @property
    def means(self) -> Array:
        """Products of means."""
        return _take([factor.means for factor in self.factors], self.indices)

    def functions(self, X: Array) -> Array:
        """Return products of eigenfunctions, shape (n, m)."""
        values = np.ones((len(X), len(self.indices)))
        for factor, column in zip(self.factors, self.indices.T, strict=True):
            values *= factor.functions(X, int(column.max(initial=0)) + 1)[:, column]
        return values


# --- the operator ---------------------------------------------------------------------------------


# Largest size of the centered matrix, which omits pairs with eigenvalues below rounding error.
_MAX_COUPLED = 1000
_ROUNDING = 1e-17


class GaussianOperator(PopulationOperator):
    r"""The operator of ``k(x, y) = exp(-‖x - y‖² / (2 w²))`` under a measure.

    Under :math:`N(\mu, \sigma^2)` on the line, with :math:`\beta = 2\sigma^2/w^2`,
    :math:`s = \sqrt{1 + 2\beta}`, :math:`z = (x - \mu)/\sigma` and i = 0, 1, …,

    .. math::
        \lambda_i = \sqrt{\tfrac{2}{1 + \beta + s}} \Big(\tfrac{\beta}{1 + \beta + s}\Big)^i,
        \qquad
        \phi_i(x) = \frac{s^{1/4}}{\sqrt{2^i i!}}\, e^{-(s - 1) z^2 / 4}\, H_i(\sqrt{s/2}\; z)

    with the physicists' Hermite polynomials. The kernel factorizes along any orthogonal axes, so
    in several dimensions eigenpairs are products of these along the principal axes of the
    covariance; under a box or a :class:`~mercer.population.Product` they are products of those of
    the parts. For all other measures :class:`~mercer.population.KernelOperator` is used.

    Parameters
    ----------
    bandwidth : float or array of shape (d,)
        w, or one w per coordinate.
    measure : measure or frozen scipy distribution
    center : bool
        Remove the mean in feature space. The centered pairs are computed from the matrix
        ``Λ^½ (I - μμ') Λ^½`` of all pairs whose eigenfunction has a nonzero mean, and
        ``error_bound`` is the largest eigenvalue that is omitted from it.
    n_components : int
        Number of eigenpairs; fewer if quadrature is used and eigenvalues do not exceed its error.

    Attributes
    ----------
    indices : int array of shape (k, d) or None
        The index of the function of each factor in a product (closed form, not centered).

    Notes
    -----
    If eigenvalues are tied (a normal distribution with equal variances) the products are the basis;
    any rotation of them is equally valid.

    Examples
    --------
    >>> from mercer.population import GaussianOperator, Normal
    >>> operator = GaussianOperator(1.5, Normal(2, 1), n_components=3)
    >>> operator.eigenvalues.tolist(), operator.means.round(4).tolist()
    ([0.75, 0.1875, 0.046875], [0.984, 0.0, 0.1739])
    >>> GaussianOperator(1.5, Normal(2, 1), center=True).eigenvalues[:3].round(6).tolist()
    [0.1875, 0.068518, 0.011719]
    """

    def __init__(
        self, bandwidth: Any, measure: Any, *, center: bool = False, n_components: int = 50
    ) -> None:
        self.measure = as_measure(measure)
        self.kernel = Gaussian(bandwidth)
        self.center = bool(center)
        count = check_integer(n_components, "n_components")
        bandwidths = self.kernel.bandwidth_vector(self.measure.dimension)
        # half of the functions of a factor may have mean 0
        per_factor = max(_MAX_COUPLED, 2 * count) if center else count
        factors = _factors(self.measure, bandwidths, per_factor)
        if factors is None:
            self._solution: _Solution | KernelOperator = KernelOperator(
                self.kernel, self.measure, center=self.center, n_components=count
            )
        elif self.center:
            self._solution = _solve_centered(factors, count, self.kernel, self.measure)
        else:
            self._solution = _solve_products(factors, count, self.measure)
        found = self._solution
        self.eigenvalues, self.means, self.trace = found.eigenvalues, found.means, found.trace
        self.error_bound, self.method = found.error_bound, found.method
        self.indices: Array | None = getattr(found, "indices", None)

    def _functions(self, X: Array) -> Array:
        return self._solution._functions(X)


@dataclass(frozen=True)
class _Solution:
    """Eigenpairs in closed form, or products of eigenpairs of the factors."""

    eigenvalues: Array
    means: Array
    trace: float
    error_bound: float
    method: str
    functions: _ProductFunctions | _CenteredFunctions
    flips: Array
    indices: Array | None = None

    def _functions(self, X: Array) -> Array:
        return self.functions(X) * self.flips


@dataclass(frozen=True)
class _ProductFunctions:
    pairs: ProductPairs

    def __call__(self, X: Array) -> Array:
        return self.pairs.functions(X)


@dataclass(frozen=True)
class _CenteredFunctions:
    """Functions with a nonzero mean, mixed by the columns of ``mixing``, and the other functions.

    In ``order``, indices below the number of mixed functions refer to these, and larger indices to
    the functions of ``uncoupled``, in order of decreasing eigenvalue.
    """

    coupled: ProductPairs
    mixing: Array
    uncoupled: ProductPairs
    order: Array
    eigenvalues: Array

    def __call__(self, X: Array) -> Array:
        n_mixed = self.mixing.shape[1]
        mixed = self.order < n_mixed
        result = np.empty((len(X), len(self.order)))
        centered = self.coupled.functions(X) - self.coupled.means
        roots = np.sqrt(self.eigenvalues[mixed])
        result[:, mixed] = centered @ self.mixing[:, self.order[mixed]] / roots
        result[:, ~mixed] = self.uncoupled.functions(X)[:, self.order[~mixed] - n_mixed]
        return result


def _solve_products(factors: tuple[Factor, ...], count: int, measure: Measure) -> _Solution:
    _, indices = largest_products([f.eigenvalues for f in factors], count)
    pairs = ProductPairs(factors, indices)
    means, flips = orient(pairs.means, pairs.functions(measure.probes()), exact=True)
    return _Solution(
        pairs.eigenvalues,
        means,
        1.0,
        _product_error(factors),
        _method(factors),
        _ProductFunctions(pairs),
        flips,
        indices,
    )


def _solve_centered(
    factors: tuple[Factor, ...], count: int, kernel: Gaussian, measure: Measure
) -> _Solution:
    """Return centered pairs: ``M̃`` mixes pairs with a nonzero mean, the others do not change."""
    coupled, truncation_error = _with_mean(factors)
    values, vectors = np.linalg.eigh(centered_matrix(coupled.eigenvalues, coupled.means))
    uncoupled = _without_mean(factors, count)
    all_values = np.r_[values[::-1], uncoupled.eigenvalues]
    order = np.argsort(-all_values, kind="stable")[:count]
    order = order[all_values[order] > _ROUNDING * max(all_values.max(initial=0.0), _ROUNDING)]
    if len(order) == 0:
        raise ValueError(
            f"No positive eigenvalue of {kernel!r} under {measure!r} remains after centering: the "
            "kernel does not vary. Use a measure that is not a single point."
        )
    mixing = np.sqrt(coupled.eigenvalues)[:, None] * vectors[:, ::-1]
    functions = _CenteredFunctions(coupled, mixing, uncoupled, order, all_values[order])
    means, flips = orient(np.zeros(len(order)), functions(measure.probes()))
    potentials = [
        float(f.eigenvalues @ f.means**2) if f.potential is None else f.potential for f in factors
    ]
    return _Solution(
        all_values[order],
        means,
        1.0 - float(np.prod(potentials)),
        truncation_error + _product_error(factors),
        f"{_method(factors)}, centered by {len(values)} pairs",
        functions,
        flips,
    )


def _with_mean(factors: tuple[Factor, ...]) -> tuple[ProductPairs, float]:
    """Return the pairs with nonzero mean, and the largest eigenvalue omitted from them."""
    selected = [np.flatnonzero(factor.means) for factor in factors]
    sequences = [f.eigenvalues[indices] for f, indices in zip(factors, selected, strict=True)]
    values, local = largest_products(sequences, _MAX_COUPLED + 1)
    count = min(int(np.count_nonzero(values > _ROUNDING * values[0])), _MAX_COUPLED)
    columns = [indices[column] for indices, column in zip(selected, local[:count].T, strict=True)]
    omitted = float(values[count]) if len(values) > count else 0.0
    largest = np.array([f.eigenvalues[0] for f in factors])
    beyond = [
        factor.omitted * float(np.prod(np.delete(largest, i))) for i, factor in enumerate(factors)
    ]
    return ProductPairs(factors, np.column_stack(columns)), max(omitted, *beyond)


def _without_mean(factors: tuple[Factor, ...], count: int) -> ProductPairs:
    """Return the ``count`` largest pairs whose mean is 0."""
    searched = count
    while True:
        _, indices = largest_products([factor.eigenvalues for factor in factors], searched)
        found = indices[ProductPairs(factors, indices).means == 0]
        if len(found) >= count or len(indices) < searched:
            return ProductPairs(factors, found[:count])
        searched *= 2


def _product_error(factors: tuple[Factor, ...]) -> float:
    """Return a bound: the sum over factors of the error times the others' largest eigenvalues."""
    largest = [float(factor.eigenvalues[0]) for factor in factors]
    product = float(np.prod(largest))
    return sum(f.error * product / value for f, value in zip(factors, largest, strict=True))


def _method(factors: tuple[Factor, ...]) -> str:
    if any(factor.error for factor in factors):
        return f"products of {len(factors)} one-dimensional spectra by Gauss rules"
    return "closed form"


# --- factors -------------------------------------------------------------------------------------


def _factors(measure: Measure, bandwidths: Array, count: int) -> tuple[Factor, ...] | None:
    """Return the eigenpairs of independent blocks; None if the measure does not factorize."""
    if isinstance(measure, Normal):
        return _normal_factors(measure, bandwidths, count)
    if isinstance(measure, Uniform) and measure.dimension > 1:
        edges = zip(measure.low, measure.high, strict=True)
        measure = Product([Uniform(low, high) for low, high in edges])
    if not isinstance(measure, Product):
        return None
    return tuple(
        factor
        for part, block in zip(measure.parts, measure.blocks, strict=True)
        for factor in _part_factors(part, bandwidths[block], block, count)
    )


def _part_factors(part: Measure, bandwidths: Array, block: slice, count: int) -> tuple[Factor, ...]:
    inner = _factors(part, bandwidths, count)
    if inner is None:
        operator = KernelOperator(Gaussian(bandwidths), part, n_components=count)
        inner = (
            Factor(
                operator.eigenvalues,
                operator.means,
                _OperatorFunctions(operator),
                operator.error_bound,
                float(operator.eigenvalues[-1]) if operator.n_components == count else 0.0,
            ),
        )
    return tuple(_on_columns(factor, block) for factor in inner)


def _on_columns(factor: Factor, block: slice) -> Factor:
    return replace(factor, functions=_OnColumns(factor.functions, block))


@dataclass(frozen=True)
class _OperatorFunctions:
    operator: KernelOperator

    def __call__(self, X: Array, m: int) -> Array:
        return self.operator._functions(X)[:, :m]


@dataclass(frozen=True)
class _OnColumns:
    functions: Callable[[Array, int], Array]
    block: slice

    def __call__(self, X: Array, m: int) -> Array:
        return self.functions(X[:, self.block], m)


def _normal_factors(measure: Normal, bandwidths: Array, count: int) -> tuple[Factor, ...]:
    """Return one factor per principal axis, after scaling each coordinate to unit bandwidth."""
    variances, axes = np.linalg.eigh(measure.cov / np.outer(bandwidths, bandwidths))
    variances, axes = variances[::-1], axes[:, ::-1]
    axes = axes * largest_entry_signs(axes)
    noise = 1e-14 * len(variances) * max(float(variances[0]), 0.0)
    deviations = np.sqrt(np.where(variances > noise, variances, 0.0))
    return tuple(
        normal_factor(float(deviation), count, _Coordinate(measure.mean, bandwidths, axis))
        for deviation, axis in zip(deviations, axes.T, strict=True)
    )


def normal_factor(ratio: float, count: int, coordinate: Callable[[Array], Array]) -> Factor:
    r"""Return the eigenpairs of the Gaussian kernel under a normal distribution on the line.

    The means are :math:`\mu_{2q} = s^{1/4} \sqrt{2/(s+1)}\, \frac{\sqrt{(2q)!}}{2^q q!}
    \big(\frac{s-1}{s+1}\big)^q` and 0 for odd orders; their squares add up to 1.

    ``ratio``: σ / w; 0 for a coordinate that does not vary. ``coordinate``: maps points to ``(x -
    μ) / w``; picklable.
    """
    if ratio == 0:
        return Factor(np.ones(1), np.ones(1), _constant_functions)
    beta = 2 * ratio**2
    s = float(np.sqrt(1 + 2 * beta))
    orders = np.arange(count + 1)
    step = beta / (1 + beta + s)
    with np.errstate(under="ignore"):
        eigenvalues = np.sqrt(2 / (1 + beta + s)) * step**orders
    omitted = float(eigenvalues[-1])
    count = max(1, int(np.count_nonzero(eigenvalues[:-1] > 0)))
    q = np.arange(1, (count + 1) // 2)
    ratios = np.sqrt((2 * q - 1) / (2 * q)) * (s - 1) / (s + 1)
    means = np.zeros(count)
    means[::2] = s**0.25 * np.sqrt(2 / (s + 1)) * np.cumprod(np.r_[1.0, ratios])
    return Factor(
        eigenvalues[:count],
        means,
        _HermiteFunctions(ratio, s, coordinate),
        omitted=omitted,
        potential=float(1 / np.sqrt(1 + beta)),
    )


@dataclass(frozen=True)
class _Coordinate:
    """The coordinate along an axis, in bandwidths."""

    mean: Array
    bandwidths: Array
    axis: Array

    def __call__(self, X: Array) -> Array:
        return np.asarray(((X - self.mean) / self.bandwidths) @ self.axis)


@dataclass(frozen=True)
class _HermiteFunctions:
    ratio: float
    s: float
    coordinate: Callable[[Array], Array]

    def __call__(self, X: Array, m: int) -> Array:
        s, z = self.s, self.coordinate(X) / self.ratio
        return s**0.25 * damped_hermite(np.sqrt(s / 2) * z, -(s - 1) * z**2 / 4, m)


def _constant_functions(X: Array, m: int) -> Array:
    return np.ones((len(X), m))
