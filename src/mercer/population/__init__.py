"""What kernel methods converge to: spectra of kernel operators under known laws (Liang 2014)."""

from __future__ import annotations

from mercer.population.composite import Mixture, Product
from mercer.population.discriminant import PolynomialDiscriminant
from mercer.population.gaussian import GaussianOperator
from mercer.population.kernel import KernelOperator
from mercer.population.measure import Measure
from mercer.population.measures import Empirical, Normal, Uniform
from mercer.population.polynomial import PolynomialOperator
from mercer.population.quadrature import Quadrature

__all__ = [
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
    "Uniform",
]
