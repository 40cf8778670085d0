"""What every estimator with a kernel shares: admission of data, parameters, scikit-learn's tags."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer.bandwidth import resolve
from mercer.chunks import passes_for
from mercer.data import Points, validate_points, validate_weights
from mercer.decompose import make_streaming_gram
from mercer.estimators.atomic_fit import all_or_nothing
from mercer.estimators.dask_methods import rowwise
from mercer.kernels import Kernel, Precomputed, as_kernel
from mercer.maths.types import Array
from mercer.operators import FactoredGram, GramOperator, Sample
from mercer.preimages import Preimage, preimages
from mercer.progress import show_progress
from mercer.solvers import as_solver
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

    def _admit_training(self, X: Any, sample_weight: Any, resolved: Kernel | None = None) -> Sample:
        """Check X and weights, resolve the kernel, leave out the rows that weigh nothing.

        Parameters
        ----------
        resolved : Kernel or None
            The kernel of an earlier batch: X then has to have that batch's columns.
        """
        kernel = as_kernel(self.kernel) if resolved is None else resolved
        points = validate_points(X, kernel.compares, estimator=self, reset=resolved is None)
        weights = validate_weights(sample_weight, points)
        return Sample.of(resolve(kernel, points, weights), points, weights)

    def _refuse_chunks(self, X: Any) -> None:
        """Say what to do instead, where an estimator needs all rows in one place."""
        if not isinstance(X, np.ndarray) and passes_for(X).is_chunked:
            raise TypeError(
                f"{type(self).__name__} does not work on Dask collections: its fit needs all rows "
                "in one place. Take a sample of the rows, for example X[::100].compute(), and hand "
                "the rest to the fitted model, X itself or chunk by chunk with X.map_blocks."
            )

    def _admit_with_rows(self, X: Any, sample_weight: Any) -> tuple[Sample, Array]:
        """The sample, and which of all rows are in it: targets must leave out the same."""
        self._refuse_chunks(X)
        sample = self._admit_training(X, sample_weight)
        weights = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
        used = np.ones(sample.points.n, dtype=bool) if weights.ndim == 0 else weights > 0
        return sample, used

    def _admit_new(self, X: Any) -> Points:
        check_is_fitted(self)
        return validate_points(X, self.kernel_.compares, estimator=self, reset=False)

    #: attributes with something for every training row: tasks on chunks do without them
    _per_row_attributes: ClassVar[tuple[str, ...]] = ()

    def _for_workers(self) -> Self:
        """What of this fitted model goes to where chunks of new rows are."""
        model = copy(self)
        for name in (*self._per_row_attributes, "feature_names_in_"):  # names were checked before
            model.__dict__.pop(name, None)
        if "spectrum_" in model.__dict__:
            model.spectrum_ = self.spectrum_.without_points()
        return model

    def _repr_html_inner(self) -> str:
        """Return scikit-learn's diagram, and below it what was found."""
        return super()._repr_html_inner() + self._found_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._found_html()
        return bundle

    def _found_html(self) -> str:
        """The spectrum, or at least the kernel, once they are there."""
        for name in ("spectrum_", "kernel_"):
            found = getattr(self, name, None)
            if found is not None:
                return str(found._repr_html_())
        return ""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed" or isinstance(
            self.kernel, Precomputed
        )
        return tags


def _can_grow(estimator: SpectralTransformer) -> bool:
    """Whether the solver's operator can absorb more points; if not, say why."""
    if estimator.solver != "auto" and not as_solver(estimator.solver, None).can_grow:
        raise AttributeError(
            f"partial_fit needs an operator that can grow: solver=Fourier(box=(low, high)), "
            f"Nystrom(n_landmarks) or 'auto', not {estimator.solver!r}."
        )
    return True


class SpectralTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):  # type: ignore[misc]
    """Projections onto the components of a Spectrum."""

    spectrum_: Spectrum
    solver: Any
    preimage: Preimage
    verbose: bool

    _per_row_attributes: ClassVar[tuple[str, ...]] = ("_stream",)

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the components of a sample.

        Parameters
        ----------
        X : array-like of shape (n, d), Dask array or data frame, or what the kernel compares
        y : ignored
        sample_weight : array-like of shape (n,) or None
            How often each row counts.
        """
        self._stream: FactoredGram | None = None
        with show_progress(self.verbose):
            return self._learn(self._admit_training(X, sample_weight))

    @available_if(_can_grow)  # type: ignore[untyped-decorator]
    @all_or_nothing
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the components of all batches so far, as if they had come as one sample.

        Needs a solver whose features stay fixed: ``Fourier(box=(low, high))``, with a box that
        holds all points still to come, ``Nystrom``, with landmarks from the first batch, or "auto"
        (landmarks too). A bandwidth rule is resolved on the first batch. What refers to training
        points (``spectrum_.projections``, ``control_limits_``, and the sign of components without
        overlap, which are all of them in centred kernel PCA) refers to the last batch. A call of
        ``fit`` forgets the batches.

        Parameters
        ----------
        X : array-like of shape (n, d), or what the kernel compares
        y : ignored
        sample_weight : array-like of shape (n,) or None
        """
        earlier = getattr(self, "_stream", None)
        if earlier is None:
            sample = self._admit_training(X, sample_weight)
            gram = make_streaming_gram(sample, self.solver)
        else:
            sample = self._admit_training(X, sample_weight, resolved=self.kernel_)
            gram = earlier.another(sample.points, sample.weights)
            gram.absorb(earlier)
        self._learn(sample, gram)
        self._stream = gram
        return self

    def _learn(self, sample: Sample, gram: GramOperator | None = None) -> Self:
        """Decompose and keep the results; each estimator says how."""
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "spectrum_")

    def _set_spectrum(self, spectrum: Spectrum) -> None:
        self.spectrum_ = spectrum
        self.kernel_ = spectrum.kernel
        self.n_components_ = spectrum.n_components
        self.eigenvalues_ = spectrum.eigenvalues

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit, and project the same points (those that weigh nothing as if they were new)."""
        self.fit(X, sample_weight=sample_weight)
        if self.spectrum_.points.is_chunked:
            return self.transform(X)
        known = self.spectrum_.projections
        points = self._admit_new(X)
        if len(known) == points.n:
            return known.astype(points.dtype, copy=False)
        projected: Array = self.transform(X)
        projected[np.asarray(sample_weight) > 0] = known
        return projected

    @rowwise
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

    def inverse_transform(self, Z: Any, *, n_neighbors: int = 10) -> Array:
        """Return points whose projections are close to the given ones (pre-images).

        The way is the ``preimage`` parameter: "kwok-tsang" needs a kernel that translates distances
        in feature space into input distances (Gaussian, Matérn, Epanechnikov, linear, polynomial
        of odd degree), "mika" the Gaussian kernel, "ridge" any kernel on vectors (see
        :mod:`mercer.preimages`). After ``partial_fit`` they lean on the points of the last batch.

        Parameters
        ----------
        Z : array-like of shape (m, n_components_)
        n_neighbors : int
            Training points that "kwok-tsang" leans on.

        Returns
        -------
        array of shape (m, d)
        """
        check_is_fitted(self)
        Z = check_array(Z, dtype=[np.float64, np.float32], input_name="Z")
        if Z.shape[1] != self.n_components_:
            raise ValueError(
                f"Z has {Z.shape[1]} columns, and {type(self).__name__} has {self.n_components_} "
                "components: pass projections as transform gives them."
            )
        return preimages(self.spectrum_, Z, self.preimage, n_neighbors).astype(Z.dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
