"""Kernel discriminant analysis."""

from __future__ import annotations

from functools import partial
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from mercer.chunks import passes_for
from mercer.data import Points, Sample
from mercer.decompose import decompose
from mercer.errors import ApproximationWarning, warn
from mercer.estimators.atomic_fit import all_or_nothing
from mercer.estimators.base import KernelEstimator
from mercer.estimators.dask_methods import rowwise
from mercer.estimators.targets import class_labels, encode_classes, encode_lazy_classes
from mercer.kernels import Kernel
from mercer.maths.discriminant import ClassMoments, Discriminants, LeaveOneOutScore
from mercer.maths.proportions import checked_proportions
from mercer.maths.row_passes import RowPasses
from mercer.maths.types import Array
from mercer.solvers import Auto
from mercer.spectrum import Spectrum

__all__ = ["KernelLDA"]

# the default rank: on 15 real sets, error and log-probability on new rows were near their best
_ROWS_PER_COORDINATE = 4
_FEW, _MOST = 10, 300
_EXACT_UP_TO = 2000  # beyond, hundreds of exact components cost long and separate no better
_NEGLIGIBLE = 1e-8  # eigenvalues below this share of the trace are left out,
_NOISE = 100.0  # or below this multiple of the arithmetic's noise
_CONSTANT = 1e-12  # a variance within classes below this share of the whole is rounding
_GRID = np.logspace(-5, 1, 13)


class _Discriminant(ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin):  # type: ignore[misc]
    """A classifier that transforms, as scikit-learn has it."""


class KernelLDA(_Discriminant, KernelEstimator):
    r"""Kernel discriminant analysis: functions that vary much between classes, little within.

    In the coordinates :math:`z(x)` of centred kernel PCA, with class means :math:`m_l`, priors
    :math:`\pi_l`, :math:`m = \sum_l \pi_l m_l`, :math:`W = \sum_l \pi_l \mathrm{Cov}_l` and
    :math:`B = \sum_l \pi_l (m_l - m)(m_l - m)'`, the discriminant functions are

    .. math::
        f_i(x) = a_i'(z(x) - m), \qquad B a_i = \lambda_i (W + \gamma I) a_i, \qquad
        a_i'(W + \gamma I) a_i = 1,

    with :math:`\gamma` = ``regularization`` · tr(W) / rank. Centring loses nothing, as B and W do
    not change when all points move alike, and no component is spent on the mean.

    Each f has variance 1 within classes, up to the ridge, and is positive, in the mean, for the
    last class (or the last one whose mean it moves): of two classes for the second. This is the
    scale of :class:`mercer.population.PolynomialDiscriminant`, to which f converges up to a
    constant; its ``ratio`` is :math:`\delta'W^{-1}\delta`, where ours for two classes is
    :math:`\pi_0 \pi_1 \delta'W^{-1}\delta`.

    Classes are predicted as Gaussian with a common covariance: their scores are
    :math:`s_l = \log \pi_l - |f - f_l|^2 / 2`. Probabilities are the softmax of
    :math:`t s_l`. The number t ≤ 1 makes the classes of left-out rows most likely
    (``confidence_``): discriminants in many coordinates separate their own sample better than
    any other, and without it probabilities are far too sure.

    Parameters
    ----------
    n_components : int or None
        How many functions ``transform`` returns: all (classes less one) by default. Predictions
        always use all.
    kernel : str or Kernel
    regularization : float or "cv"
        Not negative. "cv" chooses between 1e-5 and 10 by the error of left-out rows, then by their
        log-probability; it needs no refits (:func:`mercer.maths.discriminant.left_out_scores`).
    rank : int or None
        At most so many coordinates. None takes a quarter of the rows (at least 10, at most 300):
        with more, W is estimated badly; with fewer, accuracy suffers. Components with an eigenvalue
        below 1e-8 of the trace, or near the noise of the arithmetic, are left out.
    priors : array-like of shape (n_classes,) or None
        Probabilities of ``classes_`` (sorted labels); None for their shares of the weight.
    solver : str or solver
        "auto", "dense", "lanczos", "fourier", "nystrom", or a solver object. "auto" goes over to
        1000 landmarks at some 2000 rows (unless plane waves serve), where kernel PCA still
        iterates: it is the span of many components that matters here, not each of them.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    priors_ : array of shape (n_classes,)
    eigenvalues_ : array
        λ, the ratio of the variation between classes to that within, for all functions.
    class_means_ : array of shape (n_classes, len(eigenvalues_))
        Means of the functions in each class.
    n_components_ : int
    rank_ : int
        Coordinates in use.
    regularization_ : float
        As given, or as chosen.
    ridge_ : float
        γ.
    confidence_ : float
        t.
    cv_results_ : dict
        ``regularization`` (one value, or the grid of "cv") with the ``error`` and the mean
        ``log_probability`` of left-out rows.
    spectrum_ : Spectrum
        Of centred kernel PCA.
    kernel_ : Kernel

    See Also
    --------
    mercer.population.PolynomialDiscriminant : what two classes with known laws lead to.
    mercer.ComponentClassifier : least squares on the same kind of coordinates.

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
        regularization: float | Literal["cv"] = 1e-3,
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
        """Find the coordinates of X and the functions that tell its classes apart.

        Parameters
        ----------
        X : array-like of shape (n, d), Dask array or data frame, or what the kernel compares
        y : array-like of shape (n,)
            Labels of any kind: numbers or strings.
        sample_weight : array-like of shape (n,) or None
            How often each row counts.
        """
        grid = self._grid()
        sample, classes, codes = self._validate_classes(X, y, sample_weight)
        count = self._checked_count(len(classes) - 1)
        priors = self.priors
        if priors is not None:
            priors = checked_proportions(priors, len(classes), "priors", "classes")
        _warn_of_single_members(classes, codes, sample.passes)
        rank = self._resolved_rank(sample)
        solver = Auto(exact_up_to=_EXACT_UP_TO) if self.solver == "auto" else self.solver
        spectrum = decompose(sample, "variance", rank, solver=solver, center=True, at_most=True)
        rows, weights = sample.passes, sample.weights
        Z = rows.persist(spectrum.projections[:, : _usable(spectrum)])
        moments = ClassMoments.of(Z, codes, weights, priors, rows=rows)
        _check_variation(moments, spectrum)
        ridges = grid * moments.scale
        trials = [
            LeaveOneOutScore.of(Z, codes, weights, moments, ridge, rows=rows) for ridge in ridges
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
        self.confidence_ = trials[best].confidence
        self.cv_results_ = {
            "regularization": grid,
            "error": np.array([trial.error for trial in trials]),
            "log_probability": np.array([trial.log_probability for trial in trials]),
        }
        return self

    def _validate_classes(self, X: Any, y: Any, sample_weight: Any) -> tuple[Sample, Array, Array]:
        """The sample, its classes, and the class index of every row."""
        if not isinstance(X, np.ndarray) and passes_for(X).is_chunked:
            sample: Any = self._validate_training(X, sample_weight)
            labels = sample.points.align(y, "y")
            return sample, *encode_lazy_classes(labels, sample.passes)
        sample, used = self._validate_with_rows(X, sample_weight)
        return sample, *encode_classes(class_labels(y, len(used))[used])

    @rowwise
    def transform(self, X: Any) -> Array:
        """Values of the first ``n_components_`` discriminant functions.

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
        """Logarithms of class probabilities, up to a constant of each row.

        Of shape (m, n_classes); for two classes the logarithm of the odds of the second, of shape
        (m,).
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    @rowwise
    def predict(self, X: Any) -> Array:
        """Most likely classes."""
        winners = np.argmax(self._scores(X), axis=1)
        return self.classes_[winners]

    @rowwise
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of ``classes_``, of shape (m, n_classes)."""
        return np.asarray(softmax(self._scores(X), axis=1))

    def _scores(self, X: Any) -> Array:
        points = self._validate_new(X)
        return self.confidence_ * self._discriminants.scores(self._coordinates(points))

    def _coordinates(self, points: Points) -> Array:
        return self.spectrum_.project(points)[:, : self.rank_]

    def _grid(self) -> Array:
        """The regularisations to choose from: one, or many for "cv"."""
        value: Any = self.regularization
        if isinstance(value, str) and value == "cv":
            return _GRID
        if isinstance(value, bool) or not isinstance(value, Real):
            raise ValueError(f"regularization={value!r} must be a number, or 'cv'.")
        if not 0 <= float(value) < np.inf:
            raise ValueError(
                f"regularization={value!r} must be finite and not negative: it is a share of the "
                "mean variance within classes, such as 1e-3."
            )
        return np.array([float(value)])

    def _checked_count(self, most: int) -> int:
        count: Any = self.n_components
        if count is None:
            return most
        if (
            isinstance(count, bool)
            or not isinstance(count, int | np.integer)
            or not 1 <= count <= most
        ):
            raise ValueError(
                f"n_components={count!r} must be between 1 and the number of classes less one, "
                f"here {most}; None takes them all."
            )
        return int(count)

    def _resolved_rank(self, sample: Sample) -> int:
        n = sample.points.n
        rank: Any = self.rank
        if rank is None:
            rows = n if sample.weights is None else max(n, int(sample.points.total(sample.weights)))
            return min(n, max(_FEW, min(_MOST, rows // _ROWS_PER_COORDINATE)))
        if isinstance(rank, bool) or not isinstance(rank, int | np.integer) or rank < 1:
            raise ValueError(
                f"rank={rank!r} must be a whole number of at least 1, or None for a quarter "
                "of the rows."
            )
        return min(n, int(rank))

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cv_results_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _usable(spectrum: Spectrum) -> int:
    """How many coordinates mean something: beyond, they are noise of the arithmetic.

    An error of size ε in each kernel value moves a coordinate by about ε √(n/λ), where its own
    size is √(λ/n).
    """
    least = max(_NEGLIGIBLE, _NOISE * spectrum.expansion.noise) * spectrum.trace
    return max(1, int((spectrum.eigenvalues > least).sum()))


def _check_variation(moments: ClassMoments, spectrum: Spectrum) -> None:
    total = float(spectrum.operator_eigenvalues.sum())
    if np.trace(moments.within) <= _CONSTANT * total:
        raise ValueError(
            "Nothing varies within classes: all rows of a class are alike to the kernel, and the "
            "ratio of variation between classes to variation within has no largest value. Give "
            "each class rows that differ, or a kernel that tells them apart."
        )


def _class_sizes(count: int, codes: Array) -> Array:
    return np.bincount(codes, minlength=count)


def _warn_of_single_members(classes: Array, codes: Array, rows: RowPasses) -> None:
    alone = classes[rows.sum(partial(_class_sizes, len(classes)), codes) == 1]
    if len(alone):
        some = ", ".join(map(repr, alone[:3].tolist())) + (", …" if len(alone) > 3 else "")
        warn(
            f"{len(alone)} of {len(classes)} classes have one member only ({some}): they tell "
            "nothing about the variation within classes, and cannot be left out to see how well "
            "they are predicted. Give them more rows, or join them with other classes.",
            ApproximationWarning,
        )
