"""Population spectra: kernel operators under known distributions (Liang 2014).

The eigenvalues ``λ_i / n`` of a Gram matrix and the eigenfunctions of kernel PCA converge to these.
"""

from __future__ import annotations

from mercer.population.comparison import (
    Comparison,
    SeparatedSpectrum,
    bounding_weights,
    compare,
    separated_spectrum,
)
from mercer.population.discriminants import (
    DiscriminantComparison,
    KernelDiscriminant,
    PolynomialDiscriminant,
    compare_discriminants,
)
from mercer.population.effects import CenteringEffect, DegreeEffect, centering_effect, degree_effect
from mercer.population.gaussian import GaussianOperator, centered_matrix, secular_eigenvalues
from mercer.population.kernel import KernelOperator
from mercer.population.mean_embedding import MeanEmbedding
from mercer.population.measure import Measure
from mercer.population.measures import Empirical, Mixture, Normal, Product, Uniform
from mercer.population.operator import PolynomialOperator
from mercer.population.quadrature import Quadrature

__all__ = [
    "CenteringEffect",
    "Comparison",
    "DegreeEffect",
    "DiscriminantComparison",
    "Empirical",
    "GaussianOperator",
    "KernelDiscriminant",
    "KernelOperator",
    "MeanEmbedding",
    "Measure",
    "Mixture",
    "Normal",
    "PolynomialDiscriminant",
    "PolynomialOperator",
    "Product",
    "Quadrature",
    "SeparatedSpectrum",
    "Uniform",
    "bounding_weights",
    "centered_matrix",
    "centering_effect",
    "compare",
    "compare_discriminants",
    "degree_effect",
    "secular_eigenvalues",
    "separated_spectrum",
]
