"""Population spectra: kernel operators under known distributions (Liang 2014).

The eigenvalues ``λ_i / n`` of a Gram matrix and the eigenfunctions of kernel PCA converge to these.
"""

from __future__ import annotations

from mercer.population.centering import centered_matrix, secular_eigenvalues
from mercer.population.centering_effects import CenteringEffect, centering_effect
from mercer.population.comparison import Comparison, compare
from mercer.population.composite import Mixture, Product
from mercer.population.degrees import DegreeEffect, degree_effect
from mercer.population.discriminant import PolynomialDiscriminant
from mercer.population.gaussian import GaussianOperator
from mercer.population.kernel import KernelOperator
from mercer.population.kernel_discriminant import (
    DiscriminantComparison,
    KernelDiscriminant,
    compare_discriminants,
)
from mercer.population.mean_embedding import MeanEmbedding
from mercer.population.measure import Measure
from mercer.population.measures import Empirical, Normal, Uniform
from mercer.population.outliers import bounding_weights
from mercer.population.polynomial import PolynomialOperator
from mercer.population.quadrature import Quadrature
from mercer.population.separated import SeparatedSpectrum, separated_spectrum

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
