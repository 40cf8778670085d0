"""What every estimator with a kernel shares: admission of data, parameters, scikit-learn's tags."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer.bandwidth import resolve
from mercer.decomposition import Sample
from mercer.kernels import Kernel, Precomputed, as_kernel
from mercer.maths.types import Array
from mercer.points import Points, admit, admit_weights
from mercer.spectrum import Spectrum

__all__ = ["KernelEstimator", "SpectralTransformer"]


class KernelEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator with a ``kernel`` parameter: a name or a kernel object."""

    kernel: str | Kernel
    kernel_: Kernel

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``kernel__bandwidth`` works from a kernel's name too."""
        reaches_in = any(name.startswith("kernel__") for name in params)
        if reaches_in and isinstance(params.get("kernel", self.kernel), str):
            params["kernel"] = as_kernel(params.get("kernel", self.kernel))
        super().set_params(**params)
        return self

    def _admit_training(self, X: Any, sample_weight: Any) -> tuple[Points, Sample]:
        """Check X and weights, resolve the kernel into ``kernel_``, leave out weightless rows."""
        kernel = as_kernel(self.kernel)
        points = admit(X, kernel.compares, estimator=self, reset=True)
        weights = admit_weights(sample_weight, points.n)
        self.kernel_ = resolve(kernel, points, weights)
        return points, Sample.of(self.kernel_, points, weights)

    def _admit_new(self, X: Any) -> Points:
        check_is_fitted(self)
        return admit(X, self.kernel_.compares, estimator=self, reset=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed" or isinstance(
            self.kernel, Precomputed
        )
        return tags


class SpectralTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):  # type: ignore[misc]
    """Projections onto the components of a Spectrum."""

    spectrum_: Spectrum

    def _keep(self, spectrum: Spectrum) -> None:
        self.spectrum_ = spectrum
        self.n_components_ = spectrum.n_components
        self.eigenvalues_ = spectrum.eigenvalues

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit, and project the same points (those that weigh nothing as if they were new)."""
        self.fit(X, sample_weight=sample_weight)
        known = self.spectrum_.projections
        points = self._admit_new(X)
        if len(known) == points.n:
            return known.astype(points.dtype, copy=False)
        projected: Array = self.transform(X)
        projected[np.asarray(sample_weight) > 0] = known
        return projected

    def transform(self, X: Any) -> Array:
        """Project points onto the components.

        Parameters
        ----------
        X : array-like of shape (m, d); for a precomputed kernel the cross-Gram (m, n)

        Returns
        -------
        array of shape (m, n_components_)
        """
        points = self._admit_new(X)
        return self.spectrum_.project(points).astype(points.dtype, copy=False)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the components of a sample; each estimator says which."""
        raise NotImplementedError

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
