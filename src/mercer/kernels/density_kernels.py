"""Kernels divided by their integrals, as densities for Parzen windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.utils.types import Array

__all__ = ["DensityMethods"]

_DENSITY_KERNELS = "Use Gaussian, Laplacian, Matern, Epanechnikov or a sum of them."


class DensityMethods:
    """Methods of kernels that are densities up to a factor; for other kernels they raise.

    A density kernel overrides :meth:`log_normalizer` and :meth:`draw`.
    """

    def log_normalizer(self, d: int) -> float:
        """Return the logarithm of ``∫ k(x, 0) dx`` over d dimensions; it does not overflow."""
        raise ValueError(
            f"{self!r} is not a density: it has no known, finite integral ∫ k(x, 0) dx. "
            f"{_DENSITY_KERNELS}"
        )

    def normalizer(self, d: int) -> float:
        """Return ``∫ k(x, 0) dx`` over d dimensions; inf if it overflows."""
        with np.errstate(over="ignore"):
            return float(np.exp(self.log_normalizer(d)))

    @property
    def is_density(self) -> bool:
        """Whether the kernel, divided by its normalizer, is a density."""
        return type(self).log_normalizer is not DensityMethods.log_normalizer

    def draw(self, n: int, d: int, rng: np.random.Generator) -> Array:
        """Draw n points of d coordinates from the normalized kernel centered at 0."""
        raise ValueError(f"{self!r} does not support sampling. {_DENSITY_KERNELS}")

    def self_convolution(self, d: int | None = None) -> Any:
        """Return a kernel whose density is the self-convolution of this kernel's density.

        Gaussian, Laplacian and Matérn kernels and their sums have closed forms
        (``mercer.kernels.convolution``); other kernels raise ValueError.

        Parameters
        ----------
        d : int or None
            Number of columns, needed by Matérn kernels and sums.
        """
        from mercer.kernels.convolution import self_convolution

        return self_convolution(self, d)  # type: ignore[arg-type]
