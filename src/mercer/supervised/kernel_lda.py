"""Kernel discriminant analysis."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from mercer.data.dask import passes_for
from mercer.data.points import Points, Sample, rowwise
from mercer.decomposition.base import KernelEstimator
from mercer.eigen import Auto
from mercer.eigen.decompose import Spectrum, decompose
from mercer.errors import ApproximationWarning, suppress_warnings, warn
from mercer.kernels import Kernel
from mercer.supervised.scatter import ClassMoments, Discriminants, LeaveOneOutScore
from mercer.utils.estimators import all_or_nothing
from mercer.utils.row_passes import RowPasses
from mercer.utils.targets import (
    class_labels,
    encode_classes,
    encode_lazy_classes,
)
from mercer.utils.types import Array
from mercer.utils.validation import check_integer, check_real, round_down
from mercer.utils.weights import checked_proportions

__all__ = ["KernelLDA"]

_GRID = np.logspace(-5, 1, 7)


class _Discriminant(ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin):  # type: ignore[misc]
    """A classifier that is also a transformer."""


class KernelLDA(_Discriminant, KernelEstimator):
    r"""Kernel discriminant analysis: maximize between-class relative to within-class variance.

    In the coordinates :math:`z(x)` of centered kernel PCA, with class means :math:`m_l`, priors
    :math:`\pi_l`, :math:`m = \sum_l \pi_l m_l`, :math:`W = \sum_l \pi_l \mathrm{Cov}_l` and
    :math:`B = \sum_l \pi_l (m_l - m)(m_l - m)'`, the discriminant functions are

    .. math::
        f_i(x) = a_i'(z(x) - m), \qquad B a_i = \lambda_i (W + \gamma I) a_i, \qquad
        a_i'(W + \gamma I) a_i = 1,

    with :math:`\gamma` = ``regularization`` · tr(W) / rank. Centering does not change B
    and W, and saves the component that would represent the mean.

    Each f has within-class variance 1, up to the ridge, and a positive mean in the last class whose
    mean is not zero (for two classes: in the second). This is the scale of
    :class:`mercer.population.PolynomialDiscriminant`, to which f converges up to a constant; its
    ``ratio`` is :math:`\delta'W^{-1}\delta`, whereas the eigenvalue here for two classes is
    :math:`\pi_0 \pi_1 \delta'W^{-1}\delta`.

    Classes are predicted as Gaussian with a common covariance: their scores are
    :math:`s_l = \log \pi_l + f'f_l - |f_l|^2 / 2`. Probabilities are the softmax of
    :math:`t s_l`. The factor t ≤ 1 (``confidence_``) maximizes the leave-one-out likelihood of the
    classes: discriminants in many coordinates separate the training sample better than new rows,
    and probabilities with t = 1 would be overconfident. If the likelihood is then lower than that
    of the priors, because the classes hardly depend on X, probabilities are proportional to
    :math:`\pi_l \exp(t f'f_l - t \rho |f_l|^2 / 2)` with t and ρ (``shrinkage_``) in [0, 1] chosen
    in the same way; with t = 0 they are the priors.

    Parameters
    ----------
    n_components : int or None
        Number of functions that ``transform`` returns; None for all (the number of classes minus
        one). Predictions always use all.
    kernel : str or Kernel
        As in :class:`KernelPCA`. The bandwidth "auto" is Silverman's rule for at most three
        columns, and the median distance divided by √2 for more.
    regularization : float or "cv"
        "cv" selects a power of ten between 1e-5 and 10 by leave-one-out error, then by
        log-probability; it needs no refits. Or a number that is not negative.
    rank : int or None
        Maximum number of coordinates. None: a quarter of the sample size (at least 10, at most
        300). With more, the estimate of W is poor; with fewer, accuracy decreases. Components with
        an eigenvalue below 1e-8 of the trace, or near rounding error, are dropped.
    priors : array-like of shape (n_classes,) or None
        Probabilities of ``classes_`` (sorted labels); None for class frequencies.
    solver : str or solver
        "auto", "dense", "lanczos", "fourier", "nystrom", or a solver object. With more than 1000
        rows, "auto" uses 1.5 × ``rank`` landmarks unless Fourier features apply, because only the
        span of the components matters, and not each of them.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    priors_ : array of shape (n_classes,)
    eigenvalues_ : array
        λ, the ratio of between-class to within-class variance, for all functions.
    class_means_ : array of shape (n_classes, len(eigenvalues_))
        Means of the functions in each class.
    n_components_ : int
    rank_ : int
        Number of coordinates.
    regularization_ : float
        The given or selected value.
    ridge_ : float
        γ.
    confidence_ : float
        t.
    shrinkage_ : float or None
        ρ, the factor of class means; None if t multiplies the whole score.
    cv_results_ : dict
        ``regularization`` (one value, or the grid of "cv") with the leave-one-out ``error`` and
        mean ``log_probability``.
    spectrum_ : Spectrum
        Spectrum of centered kernel PCA.
    kernel_ : Kernel

    See Also
    --------
    mercer.population.PolynomialDiscriminant : the limit for two classes with known distributions.
    mercer.ComponentClassifier : least squares on kernel coordinates.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelLDA
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelLDA().fit(X, y)
    >>> model.transform(X).shape, bool(model.score(X, y) > 0.95)
    ((150, 2), True)
    """

    classes_: Array
    spectrum_: Spectrum
    _discriminants: Discriminants

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: str | Kernel = "gaussian",
        regularization: float | Literal["cv"] = "cv",
        rank: int | None = None,
        priors: Any = None,
        solver: Any = "auto",
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.regularization = regularization
        self.rank = rank
        self.priors = priors
        self.solver = solver

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the coordinates of X and the discriminant functions.

        Parameters
        ----------
        X : array-like of shape (n, d), Dask array or data frame, or data that the kernel compares
        y : array-like of shape (n,)
            Labels of any type: numbers or strings.
        sample_weight : array-like of shape (n,) or None
            Sample weights; an integer weight is equivalent to repeated rows.
        """
        grid = self._grid()
        sample, classes, codes = self._validate_classes(X, y, sample_weight)
        count = self._checked_count(len(classes) - 1)
        priors = self.priors
        if priors is not None:
            priors = checked_proportions(priors, len(classes), "priors", "classes")
        _warn_of_single_members(classes, codes, sample.passes)
        rank = self._rank_for(sample)
        spectrum = self._decompose(sample, rank)
        rows = sample.passes
        weights = None if sample.weights is None else sample.multiplicities
        Z = rows.persist(spectrum.projections[:, : _n_usable(spectrum)])
        moments = ClassMoments.of(Z, codes, weights, priors, rows=rows)
        _check_variation(moments, spectrum)
        ridges = grid * moments.scale
        residuals = rows.map(moments.residuals, Z, codes)
        trials = [
            LeaveOneOutScore.of(residuals, codes, weights, moments, ridge, rows=rows)
            for ridge in ridges
        ]
        # ties in the error are broken by likelihood, then by the larger ridge, which comes last
        best = max(range(len(grid)), key=lambda i: (-trials[i].error, trials[i].log_probability, i))
        self._discriminants = moments.discriminants(ridges[best])
        self.spectrum_, self.kernel_ = spectrum, spectrum.kernel
        self.classes_, self.priors_ = classes, moments.priors
        self.eigenvalues_ = self._discriminants.ratios
        self.class_means_ = self._discriminants.class_means
        self.n_components_ = min(count, len(self.eigenvalues_))
        self.rank_ = Z.shape[1]
        self.regularization_, self.ridge_ = float(grid[best]), float(ridges[best])
        self.confidence_, self.shrinkage_ = trials[best].confidence, trials[best].shrinkage
        self.cv_results_ = {
            "regularization": grid,
            "error": np.array([trial.error for trial in trials]),
            "log_probability": np.array([trial.log_probability for trial in trials]),
        }
        return self

    def _decompose(self, sample: Sample, rank: int) -> Spectrum:
        """Find the coordinates; by default from landmarks, because only their span matters."""
        if not (isinstance(self.solver, str) and self.solver == "auto"):
            return decompose(
                sample, "variance", rank, solver=self.solver, center=True, at_most=True
            )
        solver = Auto(exact_up_to=1000, n_landmarks=3 * rank // 2)
        # the missing trace is not an error of the discriminants
        with suppress_warnings(*([ApproximationWarning] if sample.kernel.is_psd else [])):
            return decompose(sample, "variance", rank, solver=solver, center=True, at_most=True)

    def _validate_classes(self, X: Any, y: Any, sample_weight: Any) -> tuple[Sample, Array, Array]:
        """Return the sample, its classes, and the class index of every row."""
        if not isinstance(X, np.ndarray) and passes_for(X).is_chunked:
            sample: Any = self._validate_training(X, sample_weight)
            labels = sample.points.align(y, "y")
            return sample, *encode_lazy_classes(labels, sample.passes)
        sample, used = self._validate_with_rows(X, sample_weight)
        return sample, *encode_classes(class_labels(y, len(used))[used])

    @rowwise
    def transform(self, X: Any) -> Array:
        """Return the values of the first ``n_components_`` discriminant functions.

        Parameters
        ----------
        X : array-like of shape (m, d); for a precomputed kernel the cross-Gram (m, n)

        Returns
        -------
        array of shape (m, n_components_)
        """
        points = self._validate_new(X)
        values = self._discriminants(self._coordinates(points))[:, : self.n_components_]
        return values.astype(points.dtype, copy=False)

    @rowwise
    def decision_function(self, X: Any) -> Array:
        """Return log-probabilities of classes, up to a constant per row.

        The shape is (m, n_classes). For two classes, the result is the log-odds of the second
        class, of shape (m,).
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    @rowwise
    def predict(self, X: Any) -> Array:
        """Return the most likely classes."""
        return self.classes_[np.argmax(self._scores(X), axis=1)]

    @rowwise
    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of ``classes_``, of shape (m, n_classes)."""
        return np.asarray(softmax(self._scores(X), axis=1))

    def _scores(self, X: Any) -> Array:
        Z = self._coordinates(self._validate_new(X))
        return self._discriminants.scores(Z, self.confidence_, self.shrinkage_)

    def _coordinates(self, points: Points) -> Array:
        return self.spectrum_.project(points)[:, : self.rank_]

    def _grid(self) -> Array:
        """Return the candidates for the regularization: one value, or a grid for "cv"."""
        value: Any = self.regularization
        if isinstance(value, str) and value == "cv":
            return _GRID
        remedy = "It is a fraction of the mean within-class variance, such as 1e-3, or 'cv'."
        return np.array([check_real(value, "regularization", low=0, remedy=remedy)])

    def _checked_count(self, limit: int) -> int:
        if self.n_components is None:
            return limit
        remedy = "The limit is the number of classes minus one; None selects all."
        return check_integer(self.n_components, "n_components", high=limit, remedy=remedy)

    def _rank_for(self, sample: Sample) -> int:
        n = sample.points.n
        if self.rank is None:
            rank = round_down(sample.sample_size / 4, 300)
            return min(n, max(10, rank))
        return min(
            n, check_integer(self.rank, "rank", remedy="None is a quarter of the sample size.")
        )

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cv_results_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _n_usable(spectrum: Spectrum) -> int:
    """Return the number of coordinates above rounding error.

    An error of size ε in each kernel value changes a coordinate of size √(λ/n) by about ε √(n/λ).
    """
    # smaller eigenvalues are dropped
    threshold = max(1e-8, 100.0 * spectrum.expansion.noise) * spectrum.trace
    return max(1, int((spectrum.eigenvalues > threshold).sum()))


def _check_variation(moments: ClassMoments, spectrum: Spectrum) -> None:
    total = float(spectrum.operator_eigenvalues.sum())
    if np.trace(moments.within) <= 1e-12 * total:
        raise ValueError(
            "The within-class variance is zero, so the ratio of between-class to within-class "
            "variance is infinite. Provide distinct rows in each class, or a kernel that "
            "distinguishes them."
        )


def _class_sizes(count: int, codes: Array) -> Array:
    return np.bincount(codes, minlength=count)


def _warn_of_single_members(classes: Array, codes: Array, rows: RowPasses) -> None:
    single = classes[rows.sum(partial(_class_sizes, len(classes)), codes) == 1]
    if len(single):
        examples = ", ".join(map(repr, single[:3].tolist())) + (", …" if len(single) > 3 else "")
        warn(
            f"{len(single)} of {len(classes)} classes have only one row ({examples}). Such classes "
            "do not contribute to the within-class variance or to the leave-one-out error. Provide "
            "more rows, or merge them with other classes.",
            ApproximationWarning,
        )
