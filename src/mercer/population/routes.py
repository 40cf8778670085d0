"""The choice of the operator for a kernel and a measure: closed forms are preferred."""

from __future__ import annotations

from typing import TypeGuard

from mercer.kernels import Gaussian, Kernel, Linear, Polynomial
from mercer.population.gaussian import GaussianOperator
from mercer.population.kernel import KernelOperator
from mercer.population.measure import Measure
from mercer.population.monomials import count_monomials
from mercer.population.operator import PopulationOperator
from mercer.population.polynomial import MAX_MONOMIALS, PolynomialOperator

__all__ = ["degree_of", "has_moments", "operator_of"]


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
