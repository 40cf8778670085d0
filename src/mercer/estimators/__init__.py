"""The scikit-learn layer: thin estimators over one Spectrum."""

from mercer.estimators.eca import KernelECA
from mercer.estimators.orthogonal import OrthogonalSeries
from mercer.estimators.parzen import ParzenDensity
from mercer.estimators.pca import KernelPCA
from mercer.estimators.projection import MaximumEntropyProjection
from mercer.estimators.series import SeriesDensity

__all__ = [
    "KernelECA",
    "KernelPCA",
    "MaximumEntropyProjection",
    "OrthogonalSeries",
    "ParzenDensity",
    "SeriesDensity",
]
