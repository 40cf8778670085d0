"""Parzen window density estimation with fixed or adaptive bandwidths and learned weights."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.data import Points, Sample
from mercer.density_bandwidth import gaussian_in
from mercer.estimators.atomic_fit import all_or_nothing
from mercer.estimators.density_base import KernelDensityEstimator
from mercer.estimators.pointwise_bandwidths import adapted_density
from mercer.kernels import Gaussian, Kernel, as_kernel
from mercer.maths.adaptive_density import Adaptation, SamplePointDensity
from mercer.maths.mixture_weights import mixture_weights
from mercer.maths.types import Array
from mercer.operators.cross_gram import cross_gram
from mercer.resources import run_in_threads
from mercer.solvers import Lanczos, mean_window

__all__ = ["ParzenDensity", "maximum_likelihood"]


class ParzenDensity(KernelDensityEstimator):
    r"""Parzen window density estimator.

    .. math:: \hat p(x) = \sum_j a_j\, k(x, x_j) / c, \qquad c = \int k(x, 0)\,dx

    with weights :math:`a_j = w_j / \sum_i w_i`, or with maximum likelihood weights. Log densities
    are accurate in the tails, where densities would underflow.

    Parameters
    ----------
    kernel : str or Kernel
        A kernel with a finite integral: Gaussian, Laplacian, Matern, Epanechnikov or a sum of them,
        with one bandwidth, one per column, or the name of a rule. The bandwidth "auto" maximizes
        the leave-one-out likelihood over multiples of the columns' standard deviations and, for the
        Gaussian kernel, of the covariance matrix with all or half of the correlations
        (:mod:`mercer.density_bandwidth`). A fit warns if another bandwidth is much more likely than
        a given one.
    adaptive : False, True or "shape"
        With True every training point has its own bandwidth, wider where the density is low
        (Abramson); with "shape" its own bandwidth matrix, from the scatter of its neighbors. Both
        need a Gaussian kernel and at most a few ten thousand rows. If the bandwidth is the name of
        a rule, all parameters are chosen by cross-validated likelihood, in standardized or
        whitened columns; a number is used as the bandwidth of the pilot estimate, with Abramson's
        exponent 1/2.
    weights : None or "learned"
        With "learned" the weights :math:`a` maximize the likelihood of the sample,
        :math:`\sum_i w_i \log \hat p(x_i)`, on the simplex (Girolami 2002, footnote 2). Most of
        them are 0, and only points with positive weight are stored. The bandwidth is chosen
        first, so the problem is concave.
    solver : str or solver
        "auto" uses Fourier features for a Gaussian kernel and many points in at most three
        dimensions. In more dimensions, sums of a Gaussian kernel over at least 10⁷ pairs, for 1000
        rows or more, skip negligible points and have a relative error of at most 1e-6 (the
        absolute error of log densities). All other sums are exact up to rounding error. "fourier"
        and "lanczos" (exact) force one way.

    Attributes
    ----------
    kernel_ : Kernel
        The fitted kernel; with ``adaptive`` the one that has the overall bandwidth h.
    support_ : array of int
        Indices of the rows of X with positive weight in the density; None for a Dask collection
        (all rows with positive sample weight).
    weights_ : array
        Their weights a_j, which sum to 1.
    bandwidths_ : array of shape (n,)
        With ``adaptive=True``: the bandwidth of every training point, in the units of
        ``adaptation_.coordinates``.
    adaptation_ : Adaptation or None
        With ``adaptive``: the parameters that were chosen, and their cross-validated score.
    likelihood_gap_ : float
        Upper bound for the increase in mean log-likelihood that other weights could give; nan if
        weights are not learned.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ParzenDensity
    >>> from mercer.kernels import Gaussian
    >>> X = np.array([[-1.0], [1.0]])
    >>> density = ParzenDensity(kernel=Gaussian(0.5)).fit(X)
    >>> density.pdf([[0.0]]).round(4)
    array([0.108])
    >>> density.score_samples([[100.0]]).round(1)
    array([-19602.9])

    Bandwidths that follow the density:

    >>> X = np.random.default_rng(0).lognormal(size=(200, 1))
    >>> adaptive = ParzenDensity(adaptive=True).fit(X)
    >>> bool(adaptive.bandwidths_[X.argmax()] > 3 * np.median(adaptive.bandwidths_))
    True
    """

    def __init__(
        self,
        *,
        kernel: str | Kernel = "gaussian",
        adaptive: bool | Literal["shape"] = False,
        weights: Literal["learned"] | None = None,
        solver: Any = "auto",
    ) -> None:
        self.kernel = kernel
        self.adaptive = adaptive
        self.weights = weights
        self.solver = solver

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the density: one kernel at every row.

        Parameters
        ----------
        X : array-like of shape (n, d), Dask array or data frame
        y : ignored
        sample_weight : array-like of shape (n,) or None
            Sample weights; an integer weight is equivalent to repeated rows.
        """
        if self.weights not in (None, "learned"):
            raise ValueError(
                f"weights={self.weights!r} must be None or 'learned'. Pass fixed weights to fit as "
                "sample_weight."
            )
        if self.adaptive not in (False, True, "shape"):
            raise ValueError(f"adaptive={self.adaptive!r} must be False, True or 'shape'.")
        if self.adaptive:
            return self._fit_adaptive(X, sample_weight)
        self.adaptation_ = self._adapted = None
        sample = self._validate_density_training(X, sample_weight)
        self.support_ = _support(sample)
        self.likelihood_gap_ = float("nan")
        if self.weights == "learned":
            sample, selected, self.likelihood_gap_ = maximum_likelihood(sample)
            self.support_ = self.support_[selected]
        self._sum = mean_window(sample, self.solver)
        self.weights_ = self._sum.coefficients
        return self

    def _fit_adaptive(self, X: Any, sample_weight: Any) -> Self:
        if self.weights is not None:
            raise ValueError(
                f"adaptive={self.adaptive!r} and weights={self.weights!r} cannot be combined; "
                "pass weights=None."
            )
        kernel = as_kernel(self.kernel)
        if not isinstance(kernel, Gaussian):
            raise ValueError(
                f"adaptive={self.adaptive!r} needs a Gaussian kernel, not {kernel!r}. Use "
                "adaptive=False for other kernels."
            )
        self._refuse_chunks(X)
        by_rule = isinstance(kernel.bandwidth, str)
        # cross-validation replaces the rule
        kernel = kernel.with_bandwidth(1.0) if by_rule else kernel
        sample = self._validate_training(X, sample_weight, kernel=kernel)
        given = self._chosen if by_rule else None
        self._adapted, self.adaptation_ = adapted_density(sample, by_rule, self.adaptive, given)
        found = self.adaptation_
        self.kernel_ = gaussian_in(found.coordinates, found.bandwidth) if by_rule else sample.kernel
        self._log_normalizer = self.kernel_.log_normalizer(self.n_features_in_)
        self.support_, self.weights_ = _support(sample), self._adapted.weights
        self.likelihood_gap_ = float("nan")
        self.__dict__.pop("_sum", None)  # of an earlier fit with one bandwidth
        return self

    def with_chosen_parameters(self) -> ParzenDensity:
        """Return an unfitted density with the bandwidth, or the adaptation, that a fit has chosen.

        Unlike this estimator it does not choose them again when it is fitted to other rows.
        """
        check_is_fitted(self)
        if self._adapted is None:
            return ParzenDensity(kernel=self.kernel_, weights=self.weights, solver=self.solver)
        chosen: ParzenDensity = clone(self)
        chosen._chosen = self.adaptation_
        return chosen

    @property
    def bandwidths_(self) -> Array:
        """The bandwidth of every training point, with ``adaptive=True``."""
        if self._adapted is None or self._adapted.inverses.ndim != 1:
            raise AttributeError("bandwidths_ is available after a fit with adaptive=True.")
        return 1 / self._adapted.inverses

    _chosen: Adaptation | None = None  # parameters that are not chosen again
    _adapted: SamplePointDensity | None = None  # the default for models of earlier versions
    adaptation_: Adaptation | None
    _per_row_attributes: ClassVar[tuple[str, ...]] = ("_sum", "weights_", "support_")

    @np.errstate(under="ignore")
    def score_samples(self, X: Any) -> Array:
        """Return the log density at every row of X.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        array of shape (m,)
            -inf only outside the support of a kernel with compact support.
        """
        points = self._validate_new(X)
        if self._adapted is not None:
            return points.map_rows(partial(_adapted_logs, self._adapted))
        _, logs = self._sum.signed_log(points)
        return logs - self._log_normalizer

    @np.errstate(under="ignore")
    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw from the density: a training point by weight, plus a draw from the kernel.

        Parameters
        ----------
        n_samples : int
        random_state : int, RandomState or None

        Returns
        -------
        array of shape (n_samples, d)
        """
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        if self._adapted is not None:
            return self._adapted.draw(n_samples, rng)
        chosen = self._sum.points.draw(self.weights_, n_samples, rng)
        return np.asarray(chosen + self.kernel_.draw(n_samples, chosen.shape[1], rng))


def _adapted_logs(density: SamplePointDensity, points: Points) -> Array:
    return density.log_density(points.data.astype(np.float64, copy=False), run_in_threads)


def _support(sample: Sample) -> Any:
    """Return the indices of the rows of X in the sample; None for a Dask collection."""
    if sample.points.is_chunked:
        return None
    return np.arange(sample.points.n) if sample.indices is None else sample.indices


def maximum_likelihood(sample: Sample) -> tuple[Sample, Array, float]:
    """Return the points with positive learned weights, their indices, and the likelihood gap."""
    kernel, points = sample.kernel, sample.points
    gram = Lanczos().gram(Sample(kernel, points))
    found = mixture_weights(
        lambda indices: cross_gram(kernel, points, points.take(indices)).astype(np.float64),
        gram.__matmul__,
        sample.normalized_weights,
    )
    return Sample(kernel, points.take(found.support), found.weights), found.support, found.gap
