"""Parzen window density estimation with fixed or adaptive bandwidths and learned weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.bandwidth import fit_kernel
from mercer.bandwidth.adaptive_density import Adaptation, SamplePointDensity, adapted_density
from mercer.bandwidth.likelihood import (
    fit_reflected,
    gaussian_in,
    has_likelihood_rule,
    most_likely_kernel,
    reflection_gain,
)
from mercer.data.points import (
    Points,
    Sample,
    require_memory,
    validate_points,
    validate_weights,
)
from mercer.decomposition.base import KernelEstimator
from mercer.density.base import Density
from mercer.density.bounds import BoundaryMethod, Bounds
from mercer.density.kernel_sum import KernelSum, mean_window, validate_density_sample
from mercer.density.mixture_weights import maximum_likelihood
from mercer.errors import ConvergenceWarning, warn
from mercer.kernels import Gaussian, Kernel, Stationary, as_kernel
from mercer.utils.distributions import GaussianTerms
from mercer.utils.estimators import all_or_nothing
from mercer.utils.types import Array
from mercer.utils.validation import check_choice, check_integer, check_real

__all__ = ["ParzenDensity"]


class ParzenDensity(Density, KernelEstimator):
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
        Gaussian kernel, of the covariance matrix with all or half of the correlations. A row that
        is more than three times as far from the median of a column as all others has no influence
        on this choice (:mod:`mercer.bandwidth.likelihood`). A fit warns if another bandwidth is
        much more likely than a given one.
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
    support : None, "positive", (low, high) or sequence
        Interval of possible values, for all columns or a sequence with one entry per column; None
        (also for one bound) means no bound. The density is 0 outside and has mass 1 inside.
    boundary : {"auto", "reflection", "transformation"}
        At the bounds of the support, "reflection" adds the mass of the estimate beyond a bound to
        its mirror image inside; "transformation" estimates the density of the logarithm of the
        distance from the bound (two bounds: of the log odds), which suits long tails and densities
        that are 0 at the bound. Values at a bound itself need reflection. The bandwidth rules
        "auto" and "leave-one-out" maximize the likelihood of the density with its bounds. With
        these, "auto" chooses the method with the larger leave-one-out likelihood on at most 500
        rows (``bounds_.boundary``); with a given bandwidth, whose unit depends on the method, it
        means "reflection".
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
    bounds_ : Bounds or None
        The bounds of a support: arrays ``low`` and ``high``, and the method ``boundary``.
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

    No mass below 0, and functions of the density:

    >>> positive = ParzenDensity(
    ...     kernel=Gaussian(0.3), support="positive", boundary="transformation"
    ... ).fit(X)
    >>> positive.pdf([[-1.0]])
    array([0.])
    >>> positive.quantile([0.1, 0.5, 0.9]).round(1)
    array([0.3, 1. , 3.8])
    >>> positive.modes().round(1).ravel()
    array([0.3, 0.1])
    """

    def __init__(
        self,
        *,
        kernel: str | Kernel = "gaussian",
        adaptive: bool | Literal["shape"] = False,
        weights: Literal["learned"] | None = None,
        support: Any = None,
        boundary: Literal["auto"] | BoundaryMethod = "auto",
        solver: Any = "auto",
    ) -> None:
        self.kernel = kernel
        self.adaptive = adaptive
        self.weights = weights
        self.support = support
        self.boundary = boundary
        self.solver = solver

    _density: KernelSum
    adaptation_: Adaptation | None
    _chosen: Adaptation | None = None  # parameters that are not chosen again
    _per_row_attributes: ClassVar[tuple[str, ...]] = ("_density", "weights_", "support_")

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
        in_memory = {"adaptive": self.adaptive or None, "weights": self.weights}
        for name, value in (in_memory | {"support": self.support}).items():
            if value is not None:
                require_memory(X, f"ParzenDensity({name}={value!r})")
        kernel, bounds = as_kernel(self.kernel), None
        if self.support is not None:
            X, kernel, bounds = self._apply_support(X, sample_weight, kernel)
        if self.adaptive:
            return self._fit_adaptive(X, sample_weight, bounds)
        sample = validate_density_sample(self, X, sample_weight, kernel)
        self.kernel_, self.adaptation_, support = sample.kernel, None, _support(sample)
        self.likelihood_gap_ = float("nan")
        if self.weights == "learned":
            sample, selected, self.likelihood_gap_ = maximum_likelihood(sample)
            support = support[selected]
        window = mean_window(sample, self.solver)
        self._set_density(KernelSum(window, bounds), window.coefficients, support)
        return self

    def _fit_kernel(self, kernel: Kernel, points: Any, weights: Any) -> Kernel:
        """Fit the kernel; "auto" is the bandwidth with the largest leave-one-out likelihood."""
        return fit_kernel(kernel, points, weights, auto=most_likely_kernel)

    def _set_density(self, density: KernelSum, weights: Array, support: Any) -> None:
        self._density, self.bounds_ = density, density.bounds
        self.weights_, self.support_ = weights, support

    def _apply_support(
        self, X: Any, sample_weight: Any, kernel: Kernel
    ) -> tuple[Points, Kernel, Bounds]:
        """Check the support; return the rows on the line, the kernel for reflection, the bounds."""
        check_choice(self.boundary, "boundary", ("auto", "reflection", "transformation"))
        points = validate_points(X, kernel, estimator=self)
        if points.kind != "vectors":
            raise ValueError(f"support={self.support!r} needs a kernel on vectors, not {kernel!r}.")
        weights = validate_weights(sample_weight, points)
        used = np.arange(points.n) if weights is None else np.flatnonzero(weights)
        rows = points.data[used].astype(np.float64)
        some = None if weights is None else weights[used]
        boundary: BoundaryMethod = "reflection" if self.boundary == "auto" else self.boundary
        bounds = Bounds.parse(self.support, rows.shape[1], boundary)
        bounds.check(rows, used)
        if has_likelihood_rule(kernel) and (rows != rows[0]).any():
            if self.boundary == "auto":
                bounds = _likelier_bounds(bounds, kernel, rows, some)
            if bounds.reflects and not self.adaptive:
                kernel = fit_reflected(kernel, rows, some, bounds.images)
        line = np.broadcast_to(bounds.to_line(rows[:1]), points.data.shape).copy()
        line[used] = bounds.to_line(rows)  # rows with zero weight may be outside
        return Points(line, "vectors", points.feature_names), kernel, bounds

    def _fit_adaptive(self, X: Any, sample_weight: Any, bounds: Bounds | None) -> Self:
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
        by_rule = isinstance(kernel.bandwidth, str)
        # cross-validation replaces the rule
        kernel = kernel.with_bandwidth(1.0) if by_rule else kernel
        sample = self._validate_training(X, sample_weight, kernel=kernel)
        given = self._chosen if by_rule else None
        terms, found = adapted_density(sample, by_rule, self.adaptive, given)
        self.adaptation_, self.likelihood_gap_ = found, float("nan")
        self.kernel_ = gaussian_in(found.coordinates, found.bandwidth) if by_rule else sample.kernel
        self._set_density(KernelSum(terms, bounds), terms.weights, _support(sample))
        return self

    def with_chosen_parameters(self) -> ParzenDensity:
        """Return an unfitted density with the bandwidth, or the adaptation, that a fit has chosen.

        Unlike this estimator it does not choose them again when it is fitted to other rows.
        """
        check_is_fitted(self)
        chosen: ParzenDensity = clone(self)
        if self.bounds_ is not None:
            chosen.boundary = self.bounds_.boundary
        if self.adaptation_ is None:
            chosen.kernel = self.kernel_
        else:
            chosen._chosen = self.adaptation_
        return chosen

    @property
    def bandwidths_(self) -> Array:
        """The bandwidth of every training point, with ``adaptive=True``."""
        terms = self._density.terms if hasattr(self, "_density") else None
        if not isinstance(terms, SamplePointDensity) or terms.inverses.ndim != 1:
            raise AttributeError("bandwidths_ is available after a fit with adaptive=True.")
        return 1 / terms.inverses

    @property
    def why_not_saved(self) -> str | None:
        """Return a reason why a model file would be useless, or None."""
        return self._density.why_not_saved if hasattr(self, "_density") else None

    def _distribution(self) -> KernelSum:
        return self._density

    # --- functions of the density -----------------------------------------------------------------

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
        new = self._validate_new(X)
        return self._density.log_density(new)

    def cdf(self, X: Any) -> Array:
        """Return the distribution function, the probability of ``x' <= x`` in all columns.

        Parameters
        ----------
        X : array-like of shape (m, d)
            For more than one column the kernel must be a product over the columns (Gaussian without
            correlations, Laplacian).

        Returns
        -------
        array of shape (m,)
        """
        new = self._validate_new(X)
        return self._density.cdf(new)

    def gradient(self, X: Any, *, log: bool = True) -> Array:
        """Return the gradient of the log density, or of the density, at every row of X.

        Parameters
        ----------
        X : array-like of shape (m, d)
        log : bool
            False for the gradient of the density itself.

        Returns
        -------
        array of shape (m, d)
            NaN where the density is 0.
        """
        new = self._validate_new(X)
        return self._density.gradient(new, log=log)

    def modes(
        self,
        X: Any = None,
        *,
        tol: float = 1e-6,
        max_iter: int = 1000,
        merge_distance: float = 0.1,
        return_labels: bool = False,
    ) -> Any:
        """Return the local maxima of the density, by mean shift.

        Every start moves to the weighted mean of the training points, weighted by their kernels
        there, until it stops; this never decreases the density.

        Parameters
        ----------
        X : array-like of shape (m, d) or None
            Starts; None for at most 500 representative training points.
        tol : float
            Length of a step, in bandwidths, at which an iteration has converged.
        max_iter : int
            Number of steps after which a ConvergenceWarning is issued.
        merge_distance : float
            Distance in bandwidths below which two maxima are one.
        return_labels : bool
            Also return the index of the mode that each row of X leads to (-1 where the density
            is 0).

        Returns
        -------
        modes : array of shape (k, d)
            The one with the highest density first.
        labels : array of int of shape (m,)
            Only if ``return_labels`` is true.
        """
        check_real(tol, "tol", above=0)
        check_real(merge_distance, "merge_distance", above=0)
        check_integer(max_iter, "max_iter")
        check_is_fitted(self)
        starts = None
        if X is not None:
            starts = self._validate_new(X).data.astype(np.float64, copy=False)
        found, labels, converged = self._density.modes(
            starts, tol=tol, max_iter=max_iter, merge=merge_distance
        )
        if not converged:
            warn(
                f"The mean shift did not converge in {max_iter} steps. Increase max_iter or tol.",
                ConvergenceWarning,
            )
        return (found, labels) if return_labels else found

    def mean(self) -> Array:
        """Return the mean of the density, shape (d,).

        With a bounded support this needs a Gaussian kernel.
        """
        check_is_fitted(self)
        return self._density.mean()

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
        check_is_fitted(self)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        return self._density.draw(n_samples, rng)

    def gaussian_terms(self) -> tuple[GaussianTerms, ...] | None:
        """Return the density as a sum of normal densities; None if it is not such a sum.

        It is one for a Gaussian kernel with the same bandwidth at all points and no bounds.
        """
        check_is_fitted(self)
        return self._density.gaussian_terms()

    def conditional(self, given: Mapping[Any, float]) -> ParzenDensity:
        """Return the conditional density of the other columns, given values of some columns.

        It is a sum of kernels too: a fitted :class:`ParzenDensity` with all its methods. Its mean
        is the Nadaraya-Watson regression estimate. The kernel must be Gaussian (also with a metric
        or adaptive) or Laplacian.

        Parameters
        ----------
        given : dict
            Values by column index or, if the density was fitted to a data frame, by column name.

        Returns
        -------
        ParzenDensity

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import ParzenDensity
        >>> rng = np.random.default_rng(0)
        >>> x = rng.uniform(0, 6, 500)
        >>> y = np.sin(x) + 0.1 * rng.normal(size=500)
        >>> joint = ParzenDensity(kernel=Gaussian([0.2, 0.05])).fit(np.column_stack([x, y]))
        >>> at_2 = joint.conditional({0: 2.0})
        >>> at_2.mean().round(1), at_2.quantile([0.05, 0.95]).round(1)
        (array([0.9]), array([0.6, 1.1]))
        """
        check_is_fitted(self)
        fixed = self._given_columns(given)
        found, used = self._density.conditional(fixed)
        boundary = self.boundary if self.bounds_ is None else self.bounds_.boundary
        density = ParzenDensity(adaptive=self.adaptive, boundary=boundary)
        if isinstance(found.terms, SamplePointDensity):
            assert self.adaptation_ is not None
            density.adaptation_ = replace(self.adaptation_, coordinates=found.terms.coordinates)
            density.kernel_ = gaussian_in(found.terms.coordinates, self.adaptation_.bandwidth)
            weights = found.terms.weights
        else:
            density.adaptation_, density.kernel_ = None, found.terms.kernel
            weights = found.terms.coefficients
        density.kernel = density.kernel_
        if found.bounds is not None:
            density.support = np.stack([found.bounds.low, found.bounds.high], axis=1).tolist()
        free = [column for column in range(self.n_features_in_) if column not in fixed]
        density.n_features_in_, density.likelihood_gap_ = len(free), float("nan")
        if hasattr(self, "feature_names_in_"):
            density.feature_names_in_ = self.feature_names_in_[free]
        support = None if self.support_ is None else self.support_[used]
        density._set_density(found, weights, support)
        return density

    def _given_columns(self, given: Mapping[Any, float]) -> dict[int, float]:
        names = list(getattr(self, "feature_names_in_", ()))
        d, fixed = self.n_features_in_, {}
        for column, value in given.items():
            index = names.index(column) if column in names else column
            if isinstance(index, bool) or index not in range(d):
                raise ValueError(
                    f"Column {column!r} is not one of the {d} columns of the density. Pass an "
                    f"index from 0 to {d - 1}, or a column name."
                )
            fixed[int(index)] = check_real(value, f"value of column {column!r}")
        if not 0 < len(fixed) < d:
            raise ValueError(
                f"given has {len(fixed)} of {d} columns; pass at least one, and not all."
            )
        return fixed


def _likelier_bounds(
    reflecting: Bounds, kernel: Stationary, rows: Array, weights: Array | None
) -> Bounds:
    """Return the bounds with the boundary method that has the larger leave-one-out likelihood."""
    transforming = replace(reflecting, boundary="transformation")
    if not transforming.inside(rows).all():  # values at a bound
        return reflecting
    line, slopes = transforming.to_line(rows), transforming.log_slope(rows)
    gain = reflection_gain(kernel, rows, weights, reflecting.images, line, slopes)
    return reflecting if gain >= 0 else transforming


def _support(sample: Sample) -> Any:
    """Return the indices of the rows of X in the sample; None for a Dask collection."""
    if sample.points.is_chunked:
        return None
    return np.arange(sample.points.n) if sample.indices is None else sample.indices
