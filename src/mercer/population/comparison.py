"""Comparison of a fitted sample with a population: eigenvalues and eigenfunctions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeGuard

import numpy as np
from scipy.optimize import linear_sum_assignment

from mercer.bandwidth import fit_kernel
from mercer.data.points import validate_points
from mercer.eigen.decompose import Spectrum
from mercer.kernels import Gaussian, Kernel, Linear, Polynomial, as_kernel
from mercer.population.gaussian import GaussianOperator
from mercer.population.kernel import KernelOperator
from mercer.population.measure import Measure, admit_vectors, count_monomials
from mercer.population.measures import Mixture, as_measure
from mercer.population.operator import MAX_MONOMIALS, PolynomialOperator, PopulationOperator
from mercer.utils.formatting import Result
from mercer.utils.types import Array
from mercer.utils.validation import check_integer
from mercer.utils.weights import effective_size

__all__ = [
    "Comparison",
    "SeparatedSpectrum",
    "bounding_weights",
    "compare",
    "degree_of",
    "has_moments",
    "operator_of",
    "separated_spectrum",
]


def has_moments(kernel: Kernel, measure: Measure) -> TypeGuard[Linear | Polynomial]:
    """Return whether to compute the operator from moments: for polynomial kernels of unit scale.

    If a sample has fewer points than monomials, its Gram matrix is smaller than the moment matrix.
    """
    if not isinstance(kernel, Linear | Polynomial) or kernel.scale != 1 or kernel.constant < 0:
        return False
    degree = degree_of(kernel)
    monomials = count_monomials(measure.dimension + (kernel.constant > 0), max(1, int(degree)))
    return not measure.is_discrete or monomials <= min(measure.grid_size(1), MAX_MONOMIALS)


def operator_of(
    kernel: Kernel, measure: Measure, *, center: bool, n_components: int
) -> PopulationOperator:
    """Return the operator of a kernel under a measure, by the most accurate method."""
    if isinstance(kernel, Gaussian) and kernel.metric is None:
        return GaussianOperator(kernel.bandwidth, measure, center=center, n_components=n_components)
    if has_moments(kernel, measure):
        return PolynomialOperator(
            degree_of(kernel),
            measure,
            constant=kernel.constant,
            center=center,
            n_components=n_components,
        )
    return KernelOperator(kernel, measure, center=center, n_components=n_components)


def degree_of(kernel: Linear | Polynomial) -> int:
    """Return the degree of a polynomial kernel as an int, 1 for a linear one."""
    degree = kernel.degree if isinstance(kernel, Polynomial) else 1
    return int(degree) if degree == int(degree) else degree  # kernels accept 2.0 as 2


# --- comparison -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison(Result):
    """Components of a sample and of the population.

    Attributes
    ----------
    sample_eigenvalues, population_eigenvalues : arrays of shape (k,)
        ``λ_i / n`` of the Gram matrix, and their limits.
    standard_errors : array of shape (k,)
        ``λ_i √((E φ_i⁴ - 1) / n)``, of the sample's eigenvalues to first order.
    correlations : array of shape (k,)
        ``|E φ̂_i φ_i| / (E φ̂_i²)^½`` under the measure: 1 for the same function.
    ranks : int array of shape (k,)
        1-based ranks of the population components.
    n : float
        Number of points (the effective number, if they are weighted).

    Examples
    --------
    >>> from mercer import KernelPCA
    >>> from mercer.kernels import Gaussian
    >>> from mercer.population import Normal, compare
    >>> p = Normal(2, 1)
    >>> pca = KernelPCA(2, kernel=Gaussian(1.5)).fit(p.sample(400, random_state=0))
    >>> comparison = compare(pca, p)
    >>> abs(comparison.sample_eigenvalues - comparison.population_eigenvalues) < 3 * (
    ...     comparison.standard_errors
    ... )
    array([ True,  True])
    """

    sample_eigenvalues: Array
    population_eigenvalues: Array
    standard_errors: Array
    correlations: Array
    ranks: Array
    n: float
    operator: PopulationOperator = field(repr=False)

    @property
    def z_scores(self) -> Array:
        """Differences of sample and population eigenvalues in standard errors."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(
                (self.sample_eigenvalues - self.population_eigenvalues) / self.standard_errors
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, for tables and files."""
        return {
            "n": self.n,
            "ranks": self.ranks.tolist(),
            "sample_eigenvalues": self.sample_eigenvalues.tolist(),
            "population_eigenvalues": self.population_eigenvalues.tolist(),
            "standard_errors": self.standard_errors.tolist(),
            "z_scores": self.z_scores.tolist(),
            "correlations": self.correlations.tolist(),
        }

    def __str__(self) -> str:
        lines = ["rank     sample  population  std. error  deviation  correlation"]
        rows = zip(
            self.ranks,
            self.sample_eigenvalues,
            self.population_eigenvalues,
            self.standard_errors,
            self.z_scores,
            self.correlations,
            strict=True,
        )
        for rank, sample, population, error, z, correlation in rows:
            lines.append(
                f"{rank:4d}  {sample:9.5g}  {population:10.5g}  {error:10.3g}  {z:+6.2f} sd"
                f"  {correlation:11.4f}"
            )
        far = int(np.count_nonzero(np.abs(self.z_scores) > 3))
        verdict = (
            "All eigenvalues are within 3 standard errors of the measure's."
            if far == 0
            else f"{far} of {len(self.ranks)} eigenvalues differ by more than 3 standard errors: "
            "the sample does not match this measure, or n is too small for the formula."
        )
        return "\n".join([*lines, verdict])


def compare(estimator: Any, measure: Any) -> Comparison:
    r"""Compare a fitted kernel PCA or ECA with the population operator of an assumed distribution.

    Components by variance are compared in order; components by entropy with the most similar
    population components. The standard errors are valid for independent points and simple
    eigenvalues; they do not include the estimation of the bandwidth.

    Parameters
    ----------
    estimator : fitted estimator with a ``spectrum_``, or a Spectrum
    measure : measure or frozen scipy distribution

    Examples
    --------
    >>> from mercer import KernelPCA
    >>> from mercer.kernels import Gaussian
    >>> from mercer.population import Normal, compare
    >>> p = Normal(2, 1)
    >>> pca = KernelPCA(2, kernel=Gaussian(1.5)).fit(p.sample(400, random_state=0))
    >>> compare(pca, p).population_eigenvalues.round(4).tolist()
    [0.1875, 0.0685]
    """
    spectrum = getattr(estimator, "spectrum_", estimator)
    if not isinstance(spectrum, Spectrum):
        raise TypeError(
            f"{type(estimator).__name__} has no spectrum_; fit a KernelPCA or KernelECA first."
        )
    measure = as_measure(measure)
    if spectrum.points.dimension != measure.dimension:
        raise ValueError(
            f"The estimator was fitted to {spectrum.points.dimension} columns, but the measure has "
            f"{measure.dimension} dimensions. Use a measure of the same dimension."
        )
    by_order = spectrum.target == "variance"
    # components selected by entropy may have any rank
    n_searched = spectrum.n_components if by_order else max(50, spectrum.n_components)
    operator = operator_of(
        spectrum.kernel, measure, center=spectrum.centered, n_components=n_searched
    )
    correlations = _correlations(spectrum, operator)
    if by_order:
        rows = columns = np.arange(min(correlations.shape))
    else:
        rows, columns = linear_sum_assignment(correlations, maximize=True)
    weights = spectrum.weights
    n = spectrum.total_weight if weights is None else effective_size(weights)
    return Comparison(
        spectrum.operator_eigenvalues[rows],
        operator.eigenvalues[columns],
        operator.standard_errors(n, columns),
        correlations[rows, columns],
        columns + 1,
        n,
        operator,
    )


def _correlations(spectrum: Spectrum, operator: PopulationOperator) -> Array:
    """Return ``|E φ̂_i φ_j| / (E φ̂_i²)^½`` for all pairs, shape (sample, population)."""

    def products(X: Array) -> Array:
        sample, population = spectrum.eigenfunctions(X), operator.eigenfunctions(X)
        both = np.concatenate([population, sample], axis=1)
        return np.asarray(sample[:, :, None] * both[:, None, :])

    inner = operator.measure.expectation(products, tolerance=3e-3)
    k = operator.n_components
    correlations = inner[:, :k] / np.sqrt(np.diag(inner[:, k:]))[:, None]
    return np.minimum(np.abs(correlations), 1.0)


# --- separated parts ------------------------------------------------------------------------------


@dataclass(frozen=True)
class SeparatedSpectrum:
    """The approximation ``π_g λ_i^g`` of a mixture's spectrum, and the exact spectrum.

    Attributes
    ----------
    eigenvalues : array of shape (k,)
        ``π_g λ_i^g``, largest first.
    parts, orders : int arrays of shape (k,)
        g and i of each eigenvalue, from 0.
    exact : array of shape (m,), m ≤ k
        Eigenvalues of the mixture by quadrature, if they exceed the quadrature error.
    exact_error : float
        Bound on the error of ``exact``.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.population import Mixture, Normal, separated_spectrum
    >>> far = Mixture([0.6, 0.4], [Normal(8, 1), Normal(-8, 1)])
    >>> found = separated_spectrum(Gaussian(1.5), far, n_components=2)
    >>> found.eigenvalues.round(4), found.exact.round(4)
    (array([0.45, 0.3 ]), array([0.45, 0.3 ]))
    """

    eigenvalues: Array
    parts: Array
    orders: Array
    exact: Array
    exact_error: float
    mixture: Mixture = field(repr=False)
    operators: tuple[PopulationOperator, ...] = field(repr=False)

    @property
    def relative_errors(self) -> Array:
        """``approximation / exact - 1`` for each eigenvalue in ``exact``."""
        return np.asarray(self.eigenvalues[: len(self.exact)] / self.exact - 1)

    def eigenfunctions(self, X: Any) -> Array:
        """Return ``φ_i^g / √π_g`` at points, shape (n, k).

        They have unit norm under the mixture if the parts are far apart.
        """
        points = admit_vectors(X, self.mixture.dimension)
        each = [operator.eigenfunctions(points) for operator in self.operators]
        columns = [each[g][:, i] for g, i in zip(self.parts, self.orders, strict=True)]
        return np.column_stack(columns) / np.sqrt(self.mixture.weights[self.parts])

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, for tables and files."""
        return {
            "eigenvalues": self.eigenvalues.tolist(),
            "parts": self.parts.tolist(),
            "orders": self.orders.tolist(),
            "exact": self.exact.tolist(),
            "relative_errors": self.relative_errors.tolist(),
        }

    def __str__(self) -> str:
        lines = ["part  order  approximation     exact   error"]
        for g, i, value, exact, error in zip(
            self.parts,
            self.orders,
            self.eigenvalues,
            self.exact,
            self.relative_errors,
            strict=False,
        ):
            lines.append(f"{g:4d}  {i:5d}  {value:13.6g}  {exact:8.4g}  {100 * error:+5.1f}%")
        within = int(np.count_nonzero(np.cumprod(np.abs(self.relative_errors) < 0.05)))
        lines.append(f"The first {within} eigenvalues are within 5 % of the exact ones.")
        return "\n".join(lines)


def separated_spectrum(
    kernel: str | Kernel, mixture: Mixture, *, n_components: int = 10
) -> SeparatedSpectrum:
    r"""Approximate the spectrum of a well separated mixture, with the exact one for comparison.

    If the parts of :math:`\sum_g \pi_g p_g` are far apart in bandwidths, the eigenvalues are
    approximately :math:`\pi_g \lambda_i^g` with the eigenvalues :math:`\lambda_i^g` of the parts
    (Shi, Belkin and Yu 2009; Liang 2014, 4.3.3). The result includes the exact eigenvalues: in the
    example of the thesis the approximation is good for the first two or three only.

    Parameters
    ----------
    kernel : str or Kernel
        With numbers as parameters.
    mixture : Mixture
    n_components : int

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.population import Mixture, Normal, separated_spectrum
    >>> p = Mixture([0.6, 0.4], [Normal(2, 1), Normal(-2, 1)])
    >>> print(separated_spectrum(Gaussian(1.5), p, n_components=3))
    part  order  approximation     exact   error
       0      0           0.45    0.4709   -4.4%
       1      0            0.3    0.3035   -1.2%
       0      1         0.1125    0.1269  -11.3%
    The first 2 eigenvalues are within 5 % of the exact ones.
    """
    kernel = as_kernel(kernel)
    count = check_integer(n_components, "n_components")
    if not isinstance(mixture, Mixture):
        raise TypeError(f"separated_spectrum needs a Mixture, not {mixture!r}.")
    operators = tuple(
        operator_of(kernel, part, center=False, n_components=count) for part in mixture.parts
    )
    parts = np.concatenate([np.full(o.n_components, g) for g, o in enumerate(operators)])
    orders = np.concatenate([np.arange(o.n_components) for o in operators])
    values = np.concatenate(
        [weight * o.eigenvalues for weight, o in zip(mixture.weights, operators, strict=True)]
    )
    first = np.argsort(-values, kind="stable")[:count]
    exact = KernelOperator(kernel, mixture, n_components=count)
    return SeparatedSpectrum(
        values[first],
        parts[first],
        orders[first],
        exact.eigenvalues[: len(first)],
        exact.error_bound,
        mixture,
        operators,
    )


# --- bounded influence ----------------------------------------------------------------------------


def bounding_weights(X: Any, kernel: str | Kernel, *, quantile: float = 0.75) -> Array:
    r"""Return sample weights that prevent points of large feature norm from dominating kernel PCA.

    A point adds ``k(x, x) = ‖Φ(x)‖²`` to the trace, which for a polynomial kernel of degree d grows
    like ``‖x‖^(2d)``. The weight

    .. math:: w = \min(1,\; q / k(x, x)), \qquad q \text{ the given quantile of } k(x, x),

    caps the contribution of every point at that of a typical one. Pass the result as
    ``sample_weight`` to :class:`mercer.KernelPCA`. This is robust if the fraction of outliers is
    below 1 - quantile. For kernels with constant k(x, x), such as the Gaussian, all weights are 1.

    Parameters
    ----------
    X : array-like of shape (n, d)
    kernel : str or Kernel
    quantile : float in (0, 1)

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> from mercer.kernels import Polynomial
    >>> from mercer.population import bounding_weights
    >>> bounding_weights([[1.0], [1.0], [1.0], [10.0]], Polynomial(2)).round(4).tolist()
    [1.0, 1.0, 1.0, 0.0001]
    """
    if not 0 < quantile < 1:
        raise ValueError(f"quantile={quantile!r} must be between 0 and 1; 0.75 is the default.")
    kernel = as_kernel(kernel)
    points = validate_points(X, kernel)
    norms = fit_kernel(kernel, points).diagonal(points.data)
    # without interpolation, which would move the cap toward an outlier
    cap = np.quantile(norms, quantile, method="lower")
    if cap <= 0:
        raise ValueError(
            f"The {quantile} quantile of k(x, x) is {cap:.3g}; a cap must be positive. Use a "
            "kernel with k(x, x) > 0, or a higher quantile."
        )
    return np.asarray(np.minimum(1.0, cap / np.maximum(norms, cap)))
