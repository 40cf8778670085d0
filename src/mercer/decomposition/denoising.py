"""Denoising by pre-images of projections onto the components of clean data."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer.data.points import rowwise
from mercer.decomposition.base import KernelEstimator
from mercer.decomposition.preimages import Preimage, check_preimage, preimages
from mercer.eigen.base import Target, check_order
from mercer.eigen.decompose import Spectrum, decompose
from mercer.gram import Sample
from mercer.kernels import Gaussian, Kernel, as_kernel
from mercer.utils.estimators import all_or_nothing
from mercer.utils.types import Array

__all__ = ["KernelDenoiser"]


class KernelDenoiser(OneToOneFeatureMixin, TransformerMixin, KernelEstimator):  # type: ignore[misc]
    """Denoising by the components of clean data (Jenssen 2010, section 5).

    A noisy point is projected onto the leading components of the clean training data, by entropy
    or by variance (both uncentered), and the pre-image of that projection is returned.

    Parameters
    ----------
    n_components : int, float in (0, 1), None or "auto"
        Number of components, a fraction of the total (of V or of the trace), or None for all.
        "auto" is the smallest number that holds 95 % of the trace, at most 256.
    kernel : str or Kernel
        The bandwidth "auto" is Silverman's rule for at most three columns, and the median distance
        divided by √2 for more.
    order : {"auto", "entropy", "variance"}
        Order of the components. "auto" is "variance" if ``n_components="auto"``, and "entropy", as
        in the paper, if a number or a fraction is given.
    preimage : {"auto", "kwok-tsang", "mika", "ridge"}
        Method of the pre-images. "auto" is "mika" if ``n_components="auto"`` and
        the kernel is Gaussian, and "kwok-tsang", as in the paper, otherwise.
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
    n_components_ : int
        The number of components.
    order_, preimage_ : str
        The order and the pre-image in use.

    Notes
    -----
    The defaults minimize the error over several data sets and noise levels. With few components
    (``KernelDenoiser(8)``, the setting of the paper) the result is a prototype of the nearest
    group of clean data, not a cleaned copy of the input. Use that to recover *which* clean pattern
    a point comes from.

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

    _table: ClassVar[Literal["sum", "product"] | None] = None

    def __init__(
        self,
        n_components: int | float | Literal["auto"] | None = "auto",
        *,
        kernel: str | Kernel = "gaussian",
        order: Target | Literal["auto"] = "auto",
        preimage: Preimage | Literal["auto"] = "auto",
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
        kernel = as_kernel(self.kernel, X, table=self._table)
        is_auto = self.n_components == "auto"
        order, preimage = self.order, self.preimage
        if order == "auto":
            order = "variance" if is_auto else "entropy"
        if preimage == "auto":
            preimage = "mika" if is_auto and isinstance(kernel, Gaussian) else "kwok-tsang"
        check_order(order)
        check_preimage(kernel, preimage, self.n_neighbors)
        sample = self._validate_training(X, sample_weight)
        sample.points.require_dense("KernelDenoiser")
        self.spectrum_: Spectrum = self._decompose(sample, order)
        self.kernel_ = self.spectrum_.kernel
        self.n_components_ = self.spectrum_.n_components
        self.order_: Target = order
        self.preimage_: Preimage = preimage
        return self

    def _decompose(self, sample: Sample, order: Target) -> Spectrum:
        solve = partial(
            decompose, sample, order, solver=self.solver, random_state=self.random_state
        )
        if self.n_components != "auto":
            return solve(self.n_components)
        most = solve(min(256, sample.points.n), at_most=True)
        held = np.cumsum(most.eigenvalues) / most.trace
        count = int(np.searchsorted(held, 0.95 * (1 - 1e-9))) + 1  # up to rounding error
        return most if count >= most.n_components else solve(count)

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
        found = preimages(self.spectrum_, scores, self.preimage_, self.n_neighbors)
        return found.astype(points.dtype, copy=False)

    def _for_workers(self) -> Self:
        model = super()._for_workers()
        model.spectrum_ = self.spectrum_  # pre-images need the training points
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = False
        return tags
