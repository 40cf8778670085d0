"""Base classes of estimators with a kernel: validation of data, parameters, scikit-learn's tags."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from copy import copy, deepcopy
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer.bandwidth import fit_kernel
from mercer.data.points import (
    Points,
    require_memory,
    rowwise,
    validate_points,
    validate_weights,
)
from mercer.decomposition.preimages import Preimage, preimages
from mercer.decomposition.statistics import (
    FeatureDistance,
    Statistics,
    contributions_of_columns,
    control_limits,
    decays,
    held_out_statistics,
    typical_row,
)
from mercer.eigen import Plan, as_solver, streaming_gram
from mercer.eigen.decompose import PlannedGram, Spectrum
from mercer.errors import SaturationWarning, is_called_by_user, suppress_warnings, warn
from mercer.gram import FactoredGram, Sample
from mercer.kernels import Kernel, Precomputed, as_kernel
from mercer.utils import resources
from mercer.utils.estimators import MercerBase, all_or_nothing
from mercer.utils.resources import show_progress
from mercer.utils.types import Array
from mercer.utils.validation import check_choice, warn_if_heavy

__all__ = ["KernelEstimator", "SpectralTransformer", "own_points"]

_IMMUTABLE = (str, bytes, int, float, complex, frozenset, type(None), np.generic)


def own_points(points: Points, X: Any) -> Points:
    """Return points that do not change if the caller changes X.

    Arrays that validation has just created are used as they are; all other data are copied, except
    read-only memory maps and Gram matrices (of which a model stores nothing).

    ``points``: X after validation. ``X``: what the caller passed.
    """
    if not resources.settings.copy_X or points.is_chunked or points.kind == "gram":
        return points
    return replace(points, data=_own_data(points.data, X))


def _own_data(data: Any, X: Any) -> Any:
    if isinstance(data, np.ndarray):
        if data.dtype.kind == "O":
            owned = np.empty(data.size, dtype=object)
            owned[:] = [_own_item(item) for item in data.ravel()]
            return owned.reshape(data.shape)
        # what another container returns as an array may be its own memory
        converted = isinstance(X, np.ndarray | list | tuple) or hasattr(X, "iloc")
        is_new = converted and data is not X and data.base is None
        return data if is_new or _is_read_only_map(data) else data.copy()
    if isinstance(data, list | tuple):
        return [_own_item(item) for item in data]
    if hasattr(data, "iloc"):
        return _own_frame(data)
    return deepcopy(data)


def _is_read_only_map(data: Any) -> bool:
    """Return whether an array is a view of a memory map that was opened with mode "r"."""
    while data is not None and not isinstance(data, np.memmap):
        data = getattr(data, "base", None)
    return data is not None and not data.flags.writeable


def _own_frame(frame: Any) -> Any:
    """Copy a data frame; cells that are objects are copied too."""
    frame = frame.copy()
    for position, dtype in enumerate(frame.dtypes):
        if dtype.kind == "O":
            frame.isetitem(position, frame.iloc[:, position].map(_own_item))
    return frame


def _own_item(item: Any) -> Any:
    """Copy an object, unless its type is immutable."""
    return item if isinstance(item, _IMMUTABLE) else deepcopy(item)


class KernelEstimator(BaseEstimator, MercerBase):  # type: ignore[misc]
    """An estimator with a ``kernel`` parameter: a name or a kernel object."""

    kernel: str | Kernel
    kernel_: Kernel

    #: what kernel="table" stands for: a sum for variances, a product for entropies and mixtures,
    #: nothing where rows must be vectors
    _table: ClassVar[Literal["sum", "product"] | None] = "sum"

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``kernel__bandwidth`` also works if the kernel is given by name."""
        reaches_in = any(name.startswith("kernel__") for name in params)
        if reaches_in and isinstance(params.get("kernel", self.kernel), str):
            params["kernel"] = as_kernel(params.get("kernel", self.kernel))
        super().set_params(**params)
        return self

    def _validate_training(
        self,
        X: Any,
        sample_weight: Any,
        fitted: Kernel | None = None,
        weight_unit: float | None = None,
        kernel: Kernel | None = None,
    ) -> Sample:
        """Validate X and weights, fit the kernel, drop rows with zero weight.

        ``fitted``: the fitted kernel of an earlier batch; X must then have the columns of that
        batch. ``weight_unit``: unit of the sample's weights, if it must be the same in several
        batches. ``kernel``: the kernel to fit; None for the parameter ``kernel``.
        """
        kernel = fitted or kernel or as_kernel(self.kernel, X, table=self._table)
        points = validate_points(X, kernel, estimator=self, reset=fitted is None)
        points = own_points(points, X)
        weights = validate_weights(sample_weight, points)
        kernel = self._fit_kernel(kernel, points, weights)
        sample = Sample.of(kernel, points, weights, weight_unit)
        if sample_weight is not None:
            warn_if_heavy(sample.sample_size, sample.points.n)
        return sample

    def _fit_kernel(self, kernel: Kernel, points: Any, weights: Any) -> Kernel:
        """Fit the kernel; an estimator overrides this to define its own bandwidth "auto"."""
        return fit_kernel(kernel, points, weights)

    def _refuse_chunks(self, X: Any) -> None:
        """Raise TypeError for Dask collections, where an estimator needs all rows in memory."""
        require_memory(X, f"{type(self).__name__}.fit")

    def _validate_with_rows(self, X: Any, sample_weight: Any) -> tuple[Sample, Array]:
        """Return the sample and the mask of its rows, to be applied to the targets too."""
        self._refuse_chunks(X)
        sample = self._validate_training(X, sample_weight)
        weights = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
        used = np.ones(sample.points.n, dtype=bool) if weights.ndim == 0 else weights > 0
        return sample, used

    def _validate_new(self, X: Any) -> Points:
        check_is_fitted(self)
        return validate_points(X, self.kernel_, estimator=self, reset=False)

    #: attributes with one entry per training row, which are not sent to Dask workers
    _per_row_attributes: ClassVar[tuple[str, ...]] = ()

    def _for_workers(self) -> Self:
        """Return the fitted model without per-row attributes, for sending to Dask workers."""
        model = copy(self)
        for name in (
            *self._per_row_attributes,
            "feature_names_in_",
        ):  # names are checked before sending
            model.__dict__.pop(name, None)
        if "spectrum_" in model.__dict__:
            model.spectrum_ = self.spectrum_.without_points()
        return model

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """IPython's hook: scikit-learn's diagram followed by the fitted spectrum.

        It raises AttributeError, as scikit-learn's does, if diagrams are turned off.
        """
        diagram = super()._repr_html_
        return lambda: diagram() + self._fitted_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._fitted_html()
        return bundle

    def _fitted_html(self) -> str:
        """Return the HTML of the spectrum or the kernel, if fitted."""
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
        with suppress(ValueError):  # an invalid kernel
            name = isinstance(self.kernel, str) and self.kernel
            tags.input_tags.sparse = name != "auto" and as_kernel(self.kernel).accepts_sparse
        return tags


def _has_partial_fit(estimator: SpectralTransformer) -> bool:
    """Return True if the operator can absorb more points; raises AttributeError otherwise."""
    try:
        can_grow = as_solver(estimator.solver).can_grow
    except ValueError as error:
        raise AttributeError(f"partial_fit is not available: {error}") from error
    if not can_grow:
        raise AttributeError(
            "partial_fit needs solver='auto', Nystrom(n_landmarks) or Fourier(box=(low, high)), "
            f"not {estimator.solver!r}."
        )
    return True


class SpectralTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):  # type: ignore[misc]
    """Base class of estimators that project points onto the components of a Spectrum.

    With the statistics of process monitoring for these components.
    """

    spectrum_: Spectrum
    solver: Any
    preimage: Preimage
    verbose: bool

    #: statistics of held-out rows, computed when control limits are first requested
    _held_out: Statistics | None

    _per_row_attributes: ClassVar[tuple[str, ...]] = ("_stream", "_held_out")

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the components of a sample.

        Parameters
        ----------
        X : array-like of shape (n, d), Dask array or data frame, or what the kernel compares
        y : ignored
        sample_weight : array-like of shape (n,) or None
            Multiplicity of each row.
        """
        self._stream: FactoredGram | None = None
        sample = self._validate_training(X, sample_weight)
        with show_progress() if self.verbose else nullcontext():
            return self._fit_sample(sample)

    @available_if(_has_partial_fit)  # type: ignore[untyped-decorator]
    @all_or_nothing
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the components of all batches so far, as if they were one sample.

        Needs a solver with fixed features: ``Fourier(box=(low, high))``, with a box that contains
        all later batches, ``Nystrom``, with landmarks from the first batch, or "auto" (landmarks
        too). A bandwidth rule is fitted on the first batch. Results for training points
        (``spectrum_.projections``, ``control_limits_``, and the signs of components with zero
        overlap, which are all of them in centered kernel PCA) refer to the last batch. ``fit``
        discards earlier batches.

        Parameters
        ----------
        X : array-like of shape (n, d), or what the kernel compares
        y : ignored
        sample_weight : array-like of shape (n,) or None
        """
        earlier = getattr(self, "_stream", None)
        if earlier is None:
            sample = self._validate_training(X, sample_weight, weight_unit=1.0)
            gram = streaming_gram(sample, self.solver)
        else:
            sample = self._validate_training(X, sample_weight, self.kernel_, weight_unit=1.0)
            gram = earlier.with_points(sample.points, sample.weights)
            gram.absorb(earlier)
        with show_progress() if self.verbose else nullcontext():
            self._fit_sample(sample, PlannedGram(Plan(as_solver(self.solver), None), gram))
        self._stream = gram
        return self

    def _fit_sample(self, sample: Sample, planned: PlannedGram | None = None) -> Self:
        """Decompose the sample and set the fitted attributes."""
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "spectrum_")

    def _set_spectrum(self, spectrum: Spectrum) -> None:
        self.spectrum_ = spectrum
        self.kernel_ = spectrum.kernel
        self.n_components_ = spectrum.n_components
        self.eigenvalues_ = spectrum.eigenvalues
        self.__dict__.pop("_held_out", None)  # values of an earlier fit, for control limits

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit and project the same points (rows with zero weight are projected as new points)."""
        self.fit(X, sample_weight=sample_weight)
        if self.spectrum_.points.is_chunked:
            return self.transform(X)
        known = self.spectrum_.projections
        points = self._validate_new(X)
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
        points = self._validate_new(X)
        return self.spectrum_.project(points).astype(points.dtype, copy=False)

    def inverse_transform(self, Z: Any, *, n_neighbors: int = 10) -> Array:
        """Return points whose projections are close to the given ones (pre-images).

        The method is the ``preimage`` parameter: "kwok-tsang" needs a kernel whose values determine
        input distances (Gaussian, Matérn, Epanechnikov, linear, polynomial of odd degree), "mika"
        the Gaussian kernel, "ridge" any kernel on vectors. After ``partial_fit`` they
        use the points of the last batch.

        Parameters
        ----------
        Z : array-like of shape (m, n_components_)
        n_neighbors : int
            Number of training points that "kwok-tsang" uses.

        Returns
        -------
        array of shape (m, d)
        """
        check_is_fitted(self)
        Z = check_array(Z, dtype=[np.float64, np.float32], input_name="Z")
        if Z.shape[1] != self.n_components_:
            raise ValueError(
                f"Z has {Z.shape[1]} columns, but {type(self).__name__} has {self.n_components_} "
                "components. Pass projections as returned by transform."
            )
        return preimages(self.spectrum_, Z, self.preimage, n_neighbors).astype(Z.dtype, copy=False)

    # --- statistics of process monitoring -------------------------------------------------------

    @rowwise
    def reconstruction_error(self, X: Any) -> Array:
        """Return the squared prediction error ``k(x, x) - |z|²`` of the (centered) kernel.

        Returns
        -------
        array of shape (m,)
            Non-negative: the squared norm of the part of φ(x) outside the components.
        """
        return FeatureDistance.spe(self.spectrum_)(self._validate_new(X))

    @rowwise
    def hotelling(self, X: Any) -> Array:
        """Return Hotelling's ``T² = Σ_i z_i² / (λ_i/n)``, the sum of squared standardized scores.

        Its mean over the training points is the number of components. With a kernel that decays
        with the distance, T² becomes small again for rows that are far from all training rows, and
        a warning is issued: all their projections approach those of the mean. SPE, or the combined
        index of :class:`KernelNovelty`, detects such rows.
        """
        points = self._validate_new(X)
        if decays(self.kernel_) and not getattr(self, "_warned", False) and is_called_by_user():
            self._warned = True
            warn(
                f"T² with the kernel {type(self.kernel_).__name__} becomes small again for rows "
                "far from all training rows: large faults look normal. Use reconstruction_error "
                "too, or KernelNovelty(statistic='combined').",
                SaturationWarning,
            )
        return FeatureDistance.hotelling(self.spectrum_)(points)

    @property
    def control_limits_(self) -> dict[str, dict[str, float]]:
        """Control limits at the 99 % level; see :meth:`control_limits`."""
        return self.control_limits()

    def control_limits(
        self, level: float = 0.99, *, held_out: bool = True
    ) -> dict[str, dict[str, float]]:
        """Return limits that a normal point exceeds with probability 1 - level.

        Each statistic has two limits: the ``"quantile"`` of the values of held-out training rows
        (the value of rank ``level (n + 1)``, as in conformal prediction), and the common
        parametric form, ``"f"`` for T² (``k(n²-1)/(n(n-k)) F_{k,n-k}``, for Gaussian scores) and
        ``"chi2"`` for SPE (``g χ²_h`` matched to mean and variance, Box 1954). With weights, n is
        the sample size ``max(Σw, (Σw)² / Σw²)``.

        Training rows are closer to their own components than new rows are. Therefore the values
        are those of rows that a fit with the same kernel left out: from 10 fits up to 1,000 rows,
        5 fits up to 3,000 rows, and one fit to nine tenths of more rows. They are computed once
        per fit.

        Parameters
        ----------
        level : float in (0, 1)
        held_out : bool
            False for the values of the training rows themselves, whose limits are too low for SPE.
            These are also used after a fit to a Dask collection or a precomputed matrix, and
            after ``partial_fit``.
        """
        check_is_fitted(self)
        return control_limits(self.spectrum_, level, self._held_out_values() if held_out else None)

    def _held_out_values(self) -> Statistics | None:
        if "_held_out" not in self.__dict__:
            points = self.spectrum_.points
            is_partial = getattr(self, "_stream", None) is not None
            if points.is_chunked or points.kind == "gram" or is_partial:
                self._held_out = None
            else:
                self._held_out = held_out_statistics(self.spectrum_, self._refit)
        return self._held_out

    def _refit(self, sample: Sample) -> Spectrum:
        """Return the spectrum of other rows, with the same number of components."""
        model: Any = copy(self)
        model.n_components = self.n_components_
        with suppress_warnings():
            model._fit_sample(sample)
        return model.spectrum_

    def contributions(
        self,
        X: Any,
        statistic: Literal["reconstruction_error", "hotelling"] = "reconstruction_error",
    ) -> Array:
        """Return the contribution of each column to a statistic.

        Entry (i, j) is the statistic of row i minus its value with column j replaced by the
        training median (of labels and texts: the most frequent value): large if that column makes
        the row abnormal, negative if it makes the row look more normal. Works for vectors and data
        frames; the entries of a row need not sum to its statistic.

        Parameters
        ----------
        X : array-like of shape (m, d) or data frame
        statistic : {"reconstruction_error", "hotelling"}

        Returns
        -------
        array of shape (m, d)
        """
        check_choice(statistic, "statistic", ("reconstruction_error", "hotelling"))
        points = self._validate_new(X)
        self.spectrum_.points.require_dense("contributions")
        points.require_dense("contributions")
        typical = None
        if points.kind != "gram":
            typical = typical_row(self.spectrum_.points, self.spectrum_.counts)
        if typical is None:
            raise ValueError(
                "contributions needs data with columns, an array or a data frame; got data of kind "
                f"{points.kind!r}."
            )
        spe = statistic == "reconstruction_error"
        distance = (FeatureDistance.spe if spe else FeatureDistance.hotelling)(self.spectrum_)
        return contributions_of_columns(distance, points, typical)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
