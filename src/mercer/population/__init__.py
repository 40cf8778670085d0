"""What kernel methods converge to: spectra of kernel operators under known laws (Liang 2014)."""

from __future__ import annotations

from mercer.population.comparison import Comparison, compare
from mercer.population.composite import Mixture, Product
from mercer.population.diagnostics import (
    CenteringEffect,
    DegreeEffect,
    bounding_weights,
    centering_effect,
    degree_effect,
)
from mercer.population.discriminant import PolynomialDiscriminant
from mercer.population.gaussian import GaussianOperator
from mercer.population.kernel import KernelOperator
from mercer.population.measure import Measure
from mercer.population.measures import Empirical, Normal, Uniform
from mercer.population.polynomial import PolynomialOperator
from mercer.population.quadrature import Quadrature
from mercer.population.separated import SeparatedSpectrum, separated_spectrum

__all__ = [
    "CenteringEffect",
    "Comparison",
    "DegreeEffect",
    "Empirical",
    "GaussianOperator",
    "KernelOperator",
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
    "centering_effect",
    "compare",
    "degree_effect",
    "separated_spectrum",
]
