"""Kernels as densities: a kernel divided by its integral, as Parzen windows need it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.maths.types import Array

__all__ = ["DensityMethods"]

_DENSITY_KERNELS = "Use Gaussian, Laplacian, Matern, Epanechnikov or a sum of them."


class DensityMethods:
    """Methods of kernels that are densities up to a factor; other kernels raise ValueError.

    A density kernel overrides :meth:`log_normalizer` and :meth:`draw`.
    """

    def log_normalizer(self, d: int) -> float:
        """Logarithm of ``∫ k(x, 0) dx`` over d dimensions; never overflows."""
        raise ValueError(
            f"{self!r} is not a density: it has no known, finite integral ∫ k(x, 0) dx. "
            f"{_DENSITY_KERNELS}"
        )

    def normalizer(self, d: int) -> float:
        """``∫ k(x, 0) dx`` over d dimensions (inf if it overflows: see log_normalizer)."""
        with np.errstate(over="ignore"):
            return float(np.exp(self.log_normalizer(d)))

    @property
    def is_density(self) -> bool:
        """Whether the kernel, divided by its normalizer, is a density."""
        return type(self).log_normalizer is not DensityMethods.log_normalizer

    @property
    def is_window(self) -> bool:
        """Deprecated alias of :attr:`is_density`."""
        return self.is_density

    def draw(self, n: int, d: int, rng: np.random.Generator) -> Array:
        """Draw n points of d coordinates from the normalized kernel centered at 0."""
        raise ValueError(f"{self!r} cannot be sampled from. {_DENSITY_KERNELS}")

    def self_convolution(self) -> Any:
        """Return the kernel whose density is the convolution of this one's with itself."""
        raise ValueError(
            f"{self!r} has no self-convolution in closed form, only the Gaussian has; use "
            "estimator='mean', or a Gaussian kernel."
        )
