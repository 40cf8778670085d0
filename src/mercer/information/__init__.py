"""Information potential, Renyi entropy and divergence of samples, from sums over a kernel.

The kernel can be interpreted in two ways. With ``estimator="mean"`` (Jenssen) the kernel is the
Parzen window and V is the mean density at the sample. With ``estimator="integral"`` (Girolami,
Paiva) V is ``∫ p̂²`` of the Parzen density p̂, a sum over the kernel convolved with itself: for a
Gaussian of bandwidth h, one of bandwidth √2 h. Laplacian and Matérn kernels, and sums of them, have
closed forms too.
"""

from __future__ import annotations

from mercer.information.dependence import ColumnDependence, column_dependence
from mercer.information.divergence import (
    DensityDistance,
    cauchy_schwarz_divergence,
    integrated_squared_error,
    kullback_leibler,
)
from mercer.information.matrix_entropy import (
    EntropyBounds,
    MatrixEntropies,
    matrix_renyi_entropy,
    vendi_score,
)
from mercer.information.potential import (
    diversity_gradient,
    entropy_terms,
    feature_variance,
    information_potential,
    potential_gradient,
    renyi_entropy,
)
from mercer.information.projections import maximum_entropy_direction, projection_entropies
from mercer.information.samples import log_normalizer

__all__ = [
    "ColumnDependence",
    "DensityDistance",
    "EntropyBounds",
    "MatrixEntropies",
    "cauchy_schwarz_divergence",
    "column_dependence",
    "diversity_gradient",
    "entropy_terms",
    "feature_variance",
    "information_potential",
    "integrated_squared_error",
    "kullback_leibler",
    "log_normalizer",
    "matrix_renyi_entropy",
    "maximum_entropy_direction",
    "potential_gradient",
    "projection_entropies",
    "renyi_entropy",
    "vendi_score",
]
