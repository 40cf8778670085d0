"""Comparison of a fitted sample with a population: eigenvalues and eigenfunctions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from mercer.eigen.spectrum import Spectrum
from mercer.population.measures import as_measure
from mercer.population.operator import PopulationOperator
from mercer.population.routes import operator_of
from mercer.utils.types import Array

__all__ = ["Comparison", "compare"]

# Components selected by entropy may have any rank; the search covers this many.
_N_SEARCHED = 50
_TOLERANCE = 3e-3


@dataclass(frozen=True)
class Comparison:
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
    n_searched = spectrum.n_components if by_order else max(_N_SEARCHED, spectrum.n_components)
    operator = operator_of(
        spectrum.kernel, measure, center=spectrum.centered, n_components=n_searched
    )
    correlations = _correlations(spectrum, operator)
    if by_order:
        rows = columns = np.arange(min(correlations.shape))
    else:
        rows, columns = linear_sum_assignment(correlations, maximize=True)
    n = _effective_size(spectrum)
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

    inner = operator.measure.expectation(products, tolerance=_TOLERANCE)
    k = operator.n_components
    correlations = inner[:, :k] / np.sqrt(np.diag(inner[:, k:]))[:, None]
    return np.minimum(np.abs(correlations), 1.0)


def _effective_size(spectrum: Spectrum) -> float:
    if spectrum.weights is None:
        return spectrum.total_weight
    return float(spectrum.weights.sum() ** 2 / (spectrum.weights**2).sum())
