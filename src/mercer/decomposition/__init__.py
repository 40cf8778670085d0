"""Kernel PCA, kernel ECA, denoising with pre-images, and maximum-entropy projection."""

from mercer.utils.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "pca": "KernelPCA",
        "eca": "KernelECA",
        "robust_pca": "RobustKernelPCA",
        "denoising": "KernelDenoiser",
        "maximum_entropy": "MaximumEntropyProjection",
    },
)
