"""The scikit-learn layer: thin estimators over one Spectrum."""

from mercer.estimators.eca import KernelECA
from mercer.estimators.pca import KernelPCA

__all__ = ["KernelECA", "KernelPCA"]
