"""Process monitoring statistics of kernel PCA and ECA, with limits and contributions.

Notation: z the projections of a point, φ_i = √n/√λ_i · z_i the eigenfunctions, k components.
T² = Σ φ_i² (Hotelling) measures the standardized distance within the components.
SPE = k(x,x) - |z|² (squared prediction error, here ``reconstruction_error``) is the squared
distance from their span.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.stats import chi2, f

from mercer.data.points import Sample
from mercer.data.rowwise import rowwise
from mercer.decomposition.base import SpectralTransformer
from mercer.decomposition.typical_rows import contributions_of_columns, typical_row
from mercer.eigen.spectrum import Spectrum
from mercer.errors import (
    RankError,
    SaturationWarning,
    is_called_by_user,
    suppress_warnings,
    warn,
)
from mercer.kernels import Kernel, On, Product, Scaled, Stationary
from mercer.utils.conformal import conformal_level
from mercer.utils.row_passes import IN_MEMORY
from mercer.utils.types import Array

__all__ = ["MonitoredTransformer"]

_MANY_FOLDS_UP_TO = 1000  # rows, for 10 fits to nine tenths of the rows
_FEW_FOLDS_UP_TO = 3000  # rows, for 5 fits; beyond, one fit to nine tenths
_SAME_ROW = 1e-9  # relative difference of the residuals of equal rows

Statistic = Literal["reconstruction_error", "hotelling"]


class MonitoredTransformer(SpectralTransformer):
    """Base class of transformers with process monitoring statistics."""

    #: T², SPE and multiplicities of held-out rows, computed when limits are first requested
    _held_out: tuple[Array, Array, Array] | None
    _per_row_attributes: ClassVar[tuple[str, ...]] = ("_stream", "_held_out")

    @rowwise
    def reconstruction_error(self, X: Any) -> Array:
        """Return the squared prediction error ``k(x, x) - |z|²`` of the (centered) kernel.

        Returns
        -------
        array of shape (m,)
            Non-negative: the squared norm of the part of φ(x) outside the components.
        """
        points = self._validate_new(X)
        residual = self.spectrum_.squared_norms(points) - _squared(self.spectrum_.project(points))
        return np.maximum(residual, 0)

    @rowwise
    def hotelling(self, X: Any) -> Array:
        """Return Hotelling's ``T² = Σ_i z_i² / (λ_i/n)``, the sum of squared standardized scores.

        Its mean over the training points is the number of components. With a kernel that decays
        with the distance, T² becomes small again for rows that are far from all training rows, and
        a warning is issued: all their projections approach those of the mean. SPE, or the combined
        index of :class:`KernelNovelty`, detects such rows.
        """
        points = self._validate_new(X)
        if _decays(self.kernel_) and not getattr(self, "_warned", False) and is_called_by_user():
            self._warned = True
            warn(
                f"T² with the kernel {type(self.kernel_).__name__} becomes small again for rows "
                "far from all training rows: large faults look normal. Use reconstruction_error "
                "too, or KernelNovelty(statistic='combined').",
                SaturationWarning,
            )
        return _squared(self.spectrum_.eigenfunctions(points))

    @property
    def control_limits_(self) -> dict[str, dict[str, float]]:
        """Control limits at the 99 % level; see :meth:`control_limits`."""
        return self.control_limits()

    @np.errstate(under="ignore")
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
        if not 0 < level < 1:
            raise ValueError(f"level={level!r} must lie in (0, 1), for example 0.99.")
        spectrum = self.spectrum_
        values = self._held_out_values() if held_out else None
        rows: Any = spectrum.points.passes
        if values is None:
            z = spectrum.projections
            weights = spectrum.multiplicities_of_rows
            scale = np.sqrt(spectrum.total_weight / spectrum.eigenvalues)
            hotelling = rows.map(partial(_scaled_squares, scale), z)
            norms = spectrum.expansion.training_squared_norms()
            error = rows.persist(rows.map(_residuals, norms, z))
        else:
            rows = IN_MEMORY
            hotelling, error, weights = values
        total, weighted = rows.sum(_weighted_sum, error, weights)
        mean = weighted / total
        variance = rows.sum(partial(_weighted_squares, mean), error, weights) / total
        # after partial_fit n is that of all batches; beyond 1e12 the limit no longer changes
        n, k = min(max(total, spectrum.total_weight), 1e12), spectrum.n_components
        f_limit = n > k and k * (n**2 - 1) / (n * (n - k)) * f.ppf(level, k, n - k)
        chi2_limit = variance > 0 and variance / (2 * mean) * chi2.ppf(
            level, 2 * mean**2 / variance
        )
        position = level if values is None else conformal_level(level, total)
        return {
            "hotelling": {
                "quantile": rows.quantile(hotelling, weights, position),
                "f": float(f_limit) if n > k else float("inf"),
            },
            "reconstruction_error": {
                "quantile": rows.quantile(error, weights, position),
                "chi2": float(chi2_limit) if variance > 0 else mean,
            },
        }

    def _held_out_values(self) -> tuple[Array, Array, Array] | None:
        """Return T², SPE and multiplicities of held-out rows; None if there are none."""
        if "_held_out" not in self.__dict__:
            self._held_out = self._fit_folds()
        return self._held_out

    def _fit_folds(self) -> tuple[Array, Array, Array] | None:
        spectrum = self.spectrum_
        points = spectrum.points
        is_partial = getattr(self, "_stream", None) is not None
        if points.is_chunked or points.kind == "gram" or is_partial:
            return None
        fold = _folds(_residuals(spectrum.expansion.training_squared_norms(), spectrum.projections))
        n = points.n
        count = 10 if n <= _MANY_FOLDS_UP_TO else 5 if n <= _FEW_FOLDS_UP_TO else 1
        parts = []
        for k in range(count):
            out = np.flatnonzero(fold % (10 if count == 1 else count) == k)
            if not 0 < len(out) < n:
                continue
            rest = np.setdiff1d(np.arange(n), out, assume_unique=True)
            weights = None if spectrum.weights is None else spectrum.weights[rest]
            try:
                found = self._refit(Sample(spectrum.kernel, points.take(rest), weights))
            except RankError:  # fewer rows have fewer components
                return None
            some = points.take(out)
            z = found.project(some)
            inside = _squared(z * np.sqrt(found.total_weight / found.eigenvalues))
            error = np.maximum(found.squared_norms(some) - _squared(z), 0)
            parts.append((inside, error, spectrum.multiplicities_of_rows[out]))
        if not parts:
            return None
        inside, error, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
        return inside, error, weights

    def _refit(self, sample: Sample) -> Spectrum:
        """Return the spectrum of other rows, with the same number of components."""
        model = copy(self)
        model.n_components = self.n_components_
        with suppress_warnings():
            model._fit_sample(sample)
        return model.spectrum_

    @np.errstate(under="ignore")
    def contributions(self, X: Any, statistic: Statistic = "reconstruction_error") -> Array:
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
        if statistic not in ("reconstruction_error", "hotelling"):
            raise ValueError(
                f"statistic={statistic!r} must be 'reconstruction_error' or 'hotelling'."
            )
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
        return contributions_of_columns(getattr(self, statistic), points, typical)


def _folds(residuals: Array) -> Array:
    """Number groups of rows with equal residuals in increasing order.

    Equal rows are in the same group, so that a weight is equivalent to copies of a row.
    """
    order = np.argsort(residuals, kind="stable")
    steps = np.diff(residuals[order]) > _SAME_ROW * np.abs(residuals).max(initial=0)
    group = np.empty(len(residuals), dtype=int)
    group[order] = np.concatenate([[0], np.cumsum(steps)])
    return group


def _decays(kernel: Kernel) -> bool:
    """Return whether the kernel approaches 0 for distant rows."""
    if isinstance(kernel, Product):
        return any(map(_decays, kernel.inner_kernels().values()))
    if isinstance(kernel, On | Scaled):
        return all(map(_decays, kernel.inner_kernels().values()))
    return isinstance(kernel, Stationary)


def _scaled_squares(scale: Array, z: Array) -> Array:
    return _squared(z * scale)


def _residuals(norms: Array, z: Array) -> Array:
    return np.maximum(norms - _squared(z), 0)


def _weighted_sum(values: Array, weights: Array) -> tuple[float, float]:
    return float(weights.sum()), float(weights @ values)


def _weighted_squares(mean: float, values: Array, weights: Array) -> float:
    return float(weights @ (values - mean) ** 2)


def _squared(z: Array) -> Array:
    """Return the squared norm of every row."""
    return np.asarray(np.einsum("ij,ij->i", z, z))
