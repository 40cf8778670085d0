"""Denoising by pre-images of projections onto the components of clean data."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer.decompose import decompose
from mercer.estimators.atomic_fit import all_or_nothing
from mercer.estimators.base import KernelEstimator
from mercer.estimators.dask_methods import rowwise
from mercer.kernels import Kernel, as_kernel
from mercer.maths.types import Array
from mercer.preimages import Preimage, check_preimage, preimages
from mercer.solvers.base import Target, check_order
from mercer.spectrum import Spectrum

__all__ = ["KernelDenoiser"]


class KernelDenoiser(OneToOneFeatureMixin, TransformerMixin, KernelEstimator):  # type: ignore[misc]
    """Denoising by the components of clean data (Jenssen 2010, section 5).

    A noisy point is projected onto the leading components of the clean training data, by entropy
    or by variance (both uncentered), and the pre-image of that projection is returned.

    Parameters
    ----------
    n_components : int, float in (0, 1) or None
        Number of components, a fraction of the total (of V or of the trace), or None for all.
    kernel : str or Kernel
        The bandwidth "auto" is Silverman's rule for at most three columns, and the median distance
        divided by √2 for more.
    order : {"entropy", "variance"}
        Order of the components.
    preimage : {"kwok-tsang", "mika", "ridge"}
        See :mod:`mercer.preimages`.
    n_neighbors : int
        Number of training points that "kwok-tsang" uses.
    solver : str or solver
    random_state : int or None

    Attributes
    ----------
    spectrum_ : Spectrum
        The components.
    kernel_ : Kernel
        The fitted kernel.

    Notes
    -----
    With few components the result is a prototype of the nearest group of clean data, not a
    cleaned copy of the input: on handwritten digits its mean squared error exceeds that of the
    noisy input at moderate noise (see ``docs/keca.md``). Use it to recover *which* clean pattern a
    point comes from.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDenoiser
    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> clean = np.concatenate([rng.normal(at, 0.1, size=(50, 2)) for at in (0, 3)])
    >>> denoiser = KernelDenoiser(n_components=2, kernel=Gaussian(1.0)).fit(clean)
    >>> np.abs(denoiser.transform([[0.6, 0.4], [2.5, 3.3]]).round(1))
    array([[0., 0.],
           [3., 3.]])
    """

    def __init__(
        self,
        n_components: int | float | None = 8,
        *,
        kernel: str | Kernel = "gaussian",
        order: Target = "entropy",
        preimage: Preimage = "kwok-tsang",
        n_neighbors: int = 10,
        solver: Any = "auto",
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.order = order
        self.preimage = preimage
        self.n_neighbors = n_neighbors
        self.solver = solver
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the components of clean data.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : ignored
        sample_weight : array-like of shape (n,) or None
        """
        self._refuse_chunks(X)
        check_order(self.order)
        check_preimage(as_kernel(self.kernel), self.preimage, self.n_neighbors)
        sample = self._validate_training(X, sample_weight)
        self.spectrum_: Spectrum = decompose(
            sample,
            self.order,
            self.n_components,
            solver=self.solver,
            random_state=self.random_state,
        )
        self.kernel_ = self.spectrum_.kernel
        return self

    @rowwise
    def transform(self, X: Any) -> Array:
        """Replace each point by the pre-image of its projection.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        array of shape (m, d)
        """
        check_is_fitted(self)
        points = self._validate_new(X)
        scores = self.spectrum_.project(points)
        found = preimages(self.spectrum_, scores, self.preimage, self.n_neighbors)
        return found.astype(points.dtype, copy=False)

    def _for_workers(self) -> Self:
        model = super()._for_workers()
        model.spectrum_ = self.spectrum_  # pre-images need the training points
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
