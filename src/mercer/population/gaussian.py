r"""The Gaussian kernel's operator: closed form under normal laws, products under product laws.

Dictionary (Liang 2014, 4.3; Zhu et al. 1998): w bandwidth, σ standard deviation,
:math:`\beta = 2\sigma^2/w^2`, :math:`s = \sqrt{1 + 2\beta}`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.kernels import Gaussian
from mercer.maths.eigen import largest_entry_signs
from mercer.maths.types import Array
from mercer.population.centering import centered_matrix
from mercer.population.composite import Product
from mercer.population.hermite import damped_hermite
from mercer.population.kernel import KernelOperator
from mercer.population.measure import Measure
from mercer.population.measures import Normal, Uniform, as_measure
from mercer.population.operator import PopulationOperator, checked_count, orient
from mercer.population.products import Factor, ProductPairs, largest_products

__all__ = ["GaussianOperator", "normal_factor"]

# Pairs that take part in the centring: their eigenvalues are followed down to rounding, but no
# farther than this many.
_MOST_COUPLED = 1000
_ROUNDING = 1e-17


class GaussianOperator(PopulationOperator):
    r"""The operator of ``k(x, y) = exp(-‖x - y‖² / (2 w²))`` under a measure.

    Under :math:`N(\mu, \sigma^2)` on the line, with :math:`\beta = 2\sigma^2/w^2`,
    :math:`s = \sqrt{1 + 2\beta}`, :math:`z = (x - \mu)/\sigma` and i = 0, 1, …,

    .. math::
        \lambda_i = \sqrt{\tfrac{2}{1 + \beta + s}} \Big(\tfrac{\beta}{1 + \beta + s}\Big)^i,
        \qquad
        \phi_i(x) = \frac{s^{1/4}}{\sqrt{2^i i!}}\, e^{-(s - 1) z^2 / 4}\, H_i(\sqrt{s/2}\; z)

    with the physicists' Hermite polynomials. The kernel factorises along any orthogonal axes, so
    in several dimensions eigenpairs are products of these along the principal axes of the
    covariance; under a box or a :class:`~mercer.population.Product` they are products of those of
    the parts. Every other measure goes through :class:`~mercer.population.KernelOperator`.

    Parameters
    ----------
    bandwidth : float or array of shape (d,)
        w, or one w per coordinate.
    measure : measure or frozen scipy distribution
    center : bool
        Remove the mean in feature space. The centred pairs come from the matrix
        ``Λ^½ (I - μμ') Λ^½`` of all pairs whose eigenfunction has a mean, and ``error_bound`` is
        the largest eigenvalue that was left out of it.
    n_components : int
        How many pairs; fewer where quadrature is used and the others are not above its error.

    Attributes
    ----------
    indices : int array of shape (k, d) or None
        Which function of each factor a pair is a product of (closed form, not centred).

    Notes
    -----
    Where eigenvalues are tied (a normal law with equal variances) the products are the basis; any
    rotation of them would do.

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
        count = checked_count(n_components)
        widths = self.kernel.bandwidth_vector(self.measure.dimension)
        factors = _factors(self.measure, widths, count if not center else _MOST_COUPLED)
        self.indices: Array | None = None
        if factors is None:
            self._by_quadrature(count)
        elif self.center:
            self._centred(factors, count)
        else:
            self._products(factors, count)

    def _by_quadrature(self, count: int) -> None:
        inner = KernelOperator(self.kernel, self.measure, center=self.center, n_components=count)
        self.eigenvalues, self.means = inner.eigenvalues, inner.means
        self.error_bound, self.method, self.trace = inner.error_bound, inner.method, inner.trace
        self._evaluate = inner._functions

    def _products(self, factors: tuple[Factor, ...], count: int) -> None:
        _, indices = largest_products([f.eigenvalues for f in factors], count)
        pairs = ProductPairs(factors, indices)
        self.means, flips = orient(pairs.means, pairs.functions(self.measure.probes()), exact=True)
        self.indices = indices
        self.eigenvalues, self.trace = pairs.eigenvalues, 1.0
        self.error_bound = _product_error(factors)
        self.method = _method(factors)
        self._evaluate = lambda X: pairs.functions(X) * flips

    def _centred(self, factors: tuple[Factor, ...], count: int) -> None:
        """Pairs without a mean stay; those with one are mixed by the matrix ``M̃``."""
        coupled, left_out = _with_mean(factors)
        matrix = centered_matrix(coupled.eigenvalues, coupled.means)
        values, vectors = np.linalg.eigh(matrix)
        loose = _without_mean(factors, count)
        everything = np.r_[values[::-1], loose.eigenvalues]
        order = np.argsort(-everything, kind="stable")[:count]
        order = order[everything[order] > _ROUNDING * max(everything.max(initial=0.0), _ROUNDING)]
        if len(order) == 0:
            raise ValueError(
                f"Nothing is left of {self.kernel!r} under {self.measure!r} after centring: the "
                "kernel does not vary. Use a measure that is not a single point."
            )
        self.eigenvalues = everything[order]
        potentials = [float(f.eigenvalues @ f.means**2) for f in factors]
        self.trace = 1.0 - float(np.prod(potentials))
        scaled = np.sqrt(coupled.eigenvalues)[:, None] * vectors[:, ::-1]
        n_mixed = len(values)
        mixed = order < n_mixed

        def evaluate(X: Array) -> Array:
            result = np.empty((len(X), len(order)))
            centred = coupled.functions(X) - coupled.means
            roots = np.sqrt(self.eigenvalues[mixed])
            result[:, mixed] = centred @ scaled[:, order[mixed]] / roots
            result[:, ~mixed] = loose.functions(X)[:, order[~mixed] - n_mixed]
            return result

        self.means, flips = orient(np.zeros(len(order)), evaluate(self.measure.probes()))
        self.error_bound = left_out + _product_error(factors)
        self.method = f"{_method(factors)}, centred by {n_mixed} pairs"
        self._evaluate = lambda X: evaluate(X) * flips

    def _functions(self, X: Array) -> Array:
        return self._evaluate(X)


def _with_mean(factors: tuple[Factor, ...]) -> tuple[ProductPairs, float]:
    """Pairs whose mean is not 0, down to rounding, and the first eigenvalue that was left out."""
    kept = [np.flatnonzero(factor.means) for factor in factors]
    sequences = [f.eigenvalues[places] for f, places in zip(factors, kept, strict=True)]
    values, local = largest_products(sequences, _MOST_COUPLED + 1)
    enough = min(int(np.count_nonzero(values > _ROUNDING * values[0])), _MOST_COUPLED)
    places = [places[column] for places, column in zip(kept, local[:enough].T, strict=True)]
    left_out = float(values[enough]) if len(values) > enough else 0.0
    return ProductPairs(factors, np.column_stack(places)), left_out


def _without_mean(factors: tuple[Factor, ...], count: int) -> ProductPairs:
    """The ``count`` largest pairs whose mean is 0."""
    asked = count
    while True:
        _, indices = largest_products([factor.eigenvalues for factor in factors], asked)
        loose = indices[ProductPairs(factors, indices).means == 0]
        if len(loose) >= count or len(indices) < asked:
            return ProductPairs(factors, loose[:count])
        asked *= 2


def _product_error(factors: tuple[Factor, ...]) -> float:
    """Bound on the error of a product, each factor's error beside the other factors' largest."""
    tops = [float(factor.eigenvalues[0]) for factor in factors]
    whole = float(np.prod(tops))
    return sum(f.error * whole / top for f, top in zip(factors, tops, strict=True))


def _method(factors: tuple[Factor, ...]) -> str:
    if any(factor.error for factor in factors):
        return f"products of {len(factors)} one-dimensional spectra by Gauss rules"
    return "closed form"


# --- factors -------------------------------------------------------------------------------------


def _factors(measure: Measure, widths: Array, count: int) -> tuple[Factor, ...] | None:
    """Eigenpairs of independent blocks, if the kernel and the measure factorise; else None."""
    if isinstance(measure, Normal):
        return _normal_factors(measure, widths, count)
    if isinstance(measure, Uniform) and measure.dimension > 1:
        edges = zip(measure.low, measure.high, strict=True)
        measure = Product([Uniform(low, high) for low, high in edges])
    if not isinstance(measure, Product):
        return None
    return tuple(
        factor
        for part, block in zip(measure.parts, measure.blocks, strict=True)
        for factor in _part_factors(part, widths[block], block, count)
    )


def _part_factors(part: Measure, widths: Array, block: slice, count: int) -> tuple[Factor, ...]:
    inner = _factors(part, widths, count)
    if inner is None:
        operator = KernelOperator(Gaussian(widths), part, n_components=count)
        inner = (
            Factor(
                operator.eigenvalues,
                operator.means,
                lambda X, m: operator._functions(X)[:, :m],
                operator.error_bound,
            ),
        )
    return tuple(_on_columns(factor, block) for factor in inner)


def _on_columns(factor: Factor, block: slice) -> Factor:
    return replace(factor, functions=lambda X, m: factor.functions(X[:, block], m))


def _normal_factors(measure: Normal, widths: Array, count: int) -> tuple[Factor, ...]:
    """One factor per principal axis, after scaling each coordinate to unit bandwidth."""
    variances, axes = np.linalg.eigh(measure.cov / np.outer(widths, widths))
    variances, axes = variances[::-1], axes[:, ::-1]
    axes = axes * largest_entry_signs(axes)
    noise = 1e-14 * len(variances) * max(float(variances[0]), 0.0)
    deviations = np.sqrt(np.where(variances > noise, variances, 0.0))

    def along(direction: Array) -> Any:
        return lambda X: ((X - measure.mean) / widths) @ direction

    return tuple(
        normal_factor(float(deviation), count, along(axis))
        for deviation, axis in zip(deviations, axes.T, strict=True)
    )


def normal_factor(ratio: float, count: int, coordinate: Any) -> Factor:
    r"""Eigenpairs of the Gaussian kernel under a normal law on the line.

    The means are :math:`\mu_{2q} = s^{1/4} \sqrt{2/(s+1)}\, \frac{\sqrt{(2q)!}}{2^q q!}
    \big(\frac{s-1}{s+1}\big)^q` and 0 for odd orders; their squares add up to 1.

    Parameters
    ----------
    ratio : float
        σ / w; 0 for a coordinate that does not vary.
    count : int
    coordinate : callable
        Takes points to their ``(x - μ) / w``.
    """
    if ratio == 0:
        return Factor(np.ones(1), np.ones(1), lambda X, m: np.ones((len(X), m)))
    beta = 2 * ratio**2
    s = float(np.sqrt(1 + 2 * beta))
    orders = np.arange(count)
    step = beta / (1 + beta + s)
    with np.errstate(under="ignore"):
        eigenvalues = np.sqrt(2 / (1 + beta + s)) * step**orders
    count = max(1, int(np.count_nonzero(eigenvalues > 0)))
    q = np.arange(1, (count + 1) // 2)
    ratios = np.sqrt((2 * q - 1) / (2 * q)) * (s - 1) / (s + 1)
    means = np.zeros(count)
    means[::2] = s**0.25 * np.sqrt(2 / (s + 1)) * np.cumprod(np.r_[1.0, ratios])

    def functions(X: Array, m: int) -> Array:
        z = coordinate(X) / ratio
        return s**0.25 * damped_hermite(np.sqrt(s / 2) * z, -(s - 1) * z**2 / 4, m)

    return Factor(eigenvalues[:count], means, functions)
