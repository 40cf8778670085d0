"""Parzen window density estimation with fixed or adaptive bandwidths and learned weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.bandwidth.adaptive_density import Adaptation, SamplePointDensity
from mercer.bandwidth.density import gaussian_in
from mercer.data.points import Points, Sample, validate_points, validate_weights
from mercer.density.bounds import Bounds
from mercer.density.conditional_density import condition_adapted, condition_kernel
from mercer.density.mixture_weights import mixture_weights
from mercer.density.parzen_functions import ParzenFunctions
from mercer.density.pointwise_bandwidths import adapted_density
from mercer.density.reflected_bandwidth import fit_reflected
from mercer.eigen import Lanczos, mean_window
from mercer.gram import WindowSum
from mercer.gram.cross_gram import cross_gram
from mercer.kernels import Gaussian, Kernel, as_kernel
from mercer.kernels.stationary import Radial
from mercer.utils.estimators import all_or_nothing
from mercer.utils.resources import run_in_threads
from mercer.utils.types import Array
from mercer.utils.validation import check_choice, check_real

__all__ = ["ParzenDensity", "maximum_likelihood"]

_MIN_SIGNAL_TO_NOISE = 1e6  # of sums on a frequency grid, for values at images of a point


class ParzenDensity(ParzenFunctions):
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
        (:mod:`mercer.bandwidth.density`). A fit warns if another bandwidth is much more likely than
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
    support : None, "positive", (low, high) or sequence
        Interval of possible values, for all columns or a sequence with one entry per column; None
        (also for one bound) means no bound. The density is 0 outside and has mass 1 inside.
    boundary : {"reflection", "transformation"}
        At the bounds of the support, "reflection" adds the mass of the estimate beyond a bound to
        its mirror image inside; "transformation" estimates the density of the logarithm of the
        distance from the bound (two bounds: of the log odds), which suits long tails and densities
        that are 0 at the bound. Values at a bound itself need reflection. The bandwidth rules
        "auto" and "leave-one-out" maximize the likelihood of the density with its bounds.
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
        The bounds of a support: arrays ``low`` and ``high``.
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
        boundary: Literal["reflection", "transformation"] = "reflection",
        solver: Any = "auto",
    ) -> None:
        self.kernel = kernel
        self.adaptive = adaptive
        self.weights = weights
        self.support = support
        self.boundary = boundary
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
        kernel = as_kernel(self.kernel)
        self.bounds_ = None
        if self.support is not None:
            X, kernel = self._apply_support(X, sample_weight, kernel)
        if self.adaptive:
            return self._fit_adaptive(X, sample_weight)
        self.adaptation_ = self._adapted = None
        sample = self._validate_density_training(X, sample_weight, kernel)
        self.support_ = _support(sample)
        self.likelihood_gap_ = float("nan")
        if self.weights == "learned":
            sample, selected, self.likelihood_gap_ = maximum_likelihood(sample)
            self.support_ = self.support_[selected]
        self._sum = mean_window(sample, self.solver)
        self.weights_ = self._sum.coefficients
        return self

    def _apply_support(self, X: Any, sample_weight: Any, kernel: Kernel) -> tuple[Points, Kernel]:
        """Check the support; return the rows on the line, and the kernel for reflection."""
        check_choice(self.boundary, "boundary", ("reflection", "transformation"))
        self._refuse_chunks(X)
        points = validate_points(X, kernel, estimator=self)
        if points.kind != "vectors":
            raise ValueError(f"support={self.support!r} needs a kernel on vectors, not {kernel!r}.")
        weights = validate_weights(sample_weight, points)
        used = np.arange(points.n) if weights is None else np.flatnonzero(weights)
        rows = points.data[used].astype(np.float64)
        bounds = Bounds.parse(self.support, rows.shape[1], self.boundary)
        bounds.check(rows, used)
        if bounds.reflects and not self.adaptive:
            kernel = fit_reflected(kernel, rows, None if weights is None else weights[used], bounds)
        line = np.broadcast_to(bounds.to_line(rows[:1]), points.data.shape).copy()
        line[used] = bounds.to_line(rows)  # rows with zero weight may be outside
        self.bounds_ = bounds
        return Points(line, "vectors", points.feature_names), kernel

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
        chosen: ParzenDensity = clone(self)
        if self._adapted is None:
            chosen.kernel = self.kernel_
        else:
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
    bounds_: Bounds | None = None
    adaptation_: Adaptation | None
    _per_row_attributes: ClassVar[tuple[str, ...]] = ("_sum", "weights_", "support_")

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
        if self.bounds_ is None:
            return self._log_density(points)
        return points.map_rows(partial(self._bounded_log_density, self.bounds_))

    def _log_density(self, points: Points) -> Array:
        """Return the log density without bounds."""
        if self._adapted is not None:
            return points.map_rows(partial(_adapted_logs, self._adapted))
        _, logs = self._sum.signed_log(points)
        return logs - self._log_normalizer

    def _bounded_log_density(self, bounds: Bounds, points: Points) -> Array:
        X = points.data.astype(np.float64, copy=False)
        logs = np.full(len(X), -np.inf)
        inside = bounds.inside(X)
        if not inside.any():
            return logs
        Z = bounds.to_line(X[inside])
        if bounds.reflects:
            images = bounds.images(self._reach())
            logs[inside] = bounds.reflected_logs(
                Z,
                images,
                lambda Y: self._log_density(Points(Y)),
                self._log_bound,
                self._image_log_density,
            )
        else:
            logs[inside] = self._log_density(Points(Z)) + bounds.log_slope(X[inside])
        return logs

    def _image_log_density(self, X: Array, logs: Array) -> Array:
        """Return the log density without bounds at images of points with the given log densities.

        On a frequency grid small values at images would be recomputed from the training points,
        which is slow. They need not be, where the point itself is well above the grid's error.
        """
        if self._adapted is not None or self._sum.waves is None:
            return self._log_density(Points(X))
        found = np.empty(len(X))
        exact = logs + self._log_normalizer < np.log(_MIN_SIGNAL_TO_NOISE * self._sum._noise)
        with np.errstate(divide="ignore"):
            values = self._sum.values(Points(X[~exact])) if not exact.all() else np.empty(0)
            found[~exact] = np.log(np.maximum(values, 0)) - self._log_normalizer
        if exact.any():
            found[exact] = self._log_density(Points(X[exact]))
        return found

    def _log_bound(self, X: Array) -> Array:
        """Return an upper bound of the log density without bounds; inf if none is known."""
        kernel = self.kernel_
        correlated = isinstance(kernel, Gaussian) and kernel.metric is not None
        if self._adapted is not None or correlated or not isinstance(kernel, Radial):
            return np.full(len(X), np.inf)
        nearest = np.clip(X, *self._sum.points.bounds())  # at least as near as any training point
        squares = (kernel.to_units(X - nearest) ** 2).sum(axis=1)
        return kernel.log_profile(-0.5 * squares) - self._log_normalizer

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
            drawn = self._adapted.draw(n_samples, rng)
        else:
            chosen = self._sum.points.draw(self.weights_, n_samples, rng)
            drawn = np.asarray(chosen + self.kernel_.draw(n_samples, chosen.shape[1], rng))
        return drawn if self.bounds_ is None else self.bounds_.from_line(drawn)

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
        points, weights = self._points_and_weights("conditional")
        fixed = self._given_columns(given)
        d = self.n_features_in_
        bounds, reflected = self.bounds_, None
        if bounds is not None:
            columns = sorted(fixed)
            values = np.array([[fixed[c] for c in columns]])
            bounds.take(columns).check(values, np.array(["given"]))
            line = bounds.take(columns).to_line(values)[0]
            fixed = dict(zip(columns, line.tolist(), strict=True))
            reflected = bounds.take(columns) if bounds.reflects else None
        free = [c for c in range(d) if c not in fixed]
        density = ParzenDensity(boundary=self.boundary)
        density.n_features_in_ = len(free)
        density.likelihood_gap_ = float("nan")
        density.adaptation_ = density._adapted = None
        density.bounds_ = None if bounds is None else bounds.take(free)
        if density.bounds_ is not None:
            density.support = np.stack([density.bounds_.low, density.bounds_.high], axis=1).tolist()
        if hasattr(self, "feature_names_in_"):
            density.feature_names_in_ = self.feature_names_in_[free]
        if self._adapted is not None:
            assert self.adaptation_ is not None
            density._adapted, terms = condition_adapted(self._adapted, fixed, reflected)
            found = replace(self.adaptation_, coordinates=density._adapted.coordinates)
            density.adaptation_, density.adaptive = found, self.adaptive
            density.kernel_ = gaussian_in(found.coordinates, found.bandwidth)
        else:
            density.kernel_, terms = condition_kernel(
                self.kernel_, points, weights, fixed, reflected
            )
            used = Points(terms.centers[terms.used])
            density._sum = WindowSum(density.kernel_, used, terms.weights)
        density.kernel = density.kernel_
        density._log_normalizer = density.kernel_.log_normalizer(len(free))
        density.weights_ = terms.weights
        density.support_ = None if self.support_ is None else self.support_[terms.used]
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
