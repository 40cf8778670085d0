"""Bandwidth rules, with the definitions that reproduce the papers.

Every rule takes points and optional weights (a weight of 2 is equivalent to two copies) and returns
one number. The sample size is ``n = max(Σw, (Σw)² / Σw²)``. The scale of the weights has no effect
on "median-distance", "distance-fraction" and "leave-one-out". Distances are computed between at
most 2000 representative rows, selected by value, so a rule never costs O(n²) and does not depend on
the order of rows.

========================= =================================================================
"auto"                    d ≤ 3: "silverman"; d > 3: "median-distance" / √2; in densities the
                          most likely kernel (:mod:`mercer.density_bandwidth`)
"silverman"               ``s (4 / ((2d + 1) n))^(1/(d+4))``, s² the mean marginal variance
"scott"                   ``s n^(-1/(d+4))``
"median-distance"         median over rows of the median distance to all rows, itself included
"distance-fraction"       0.15 of the "median-distance" (Jenssen uses 0.10 to 0.20)
"spectroscopy"            95 % of the points have 5 % of all points within the kernel's radius
"leave-one-out"           maximum of the leave-one-out likelihood
"normal-reference"        ``s (4 / ((d + 2) n))^(1/(d+4))``
"sheather-jones"          solve-the-equation plug-in, one column (R's ``bw.SJ``)
"improved-sheather-jones" fixed point of Botev, Grotowski and Kroese, one column
"plug-in"                 two-stage direct plug-in (R's ``bw.SJ(method="dpi")``)
"least-squares-cv"        least-squares (unbiased) cross-validation (R's ``bw.ucv``)
"biased-cv"               biased cross-validation (R's ``bw.bcv``)
"smoothed-cv"             smoothed cross-validation
========================= =================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from scipy.stats import chi2

from mercer.bandwidth_likelihood import most_likely_bandwidth
from mercer.bandwidth_selectors import SELECTORS, whitened_plug_in
from mercer.data import Points, PointSet, validate_points, validate_weights
from mercer.errors import ApproximationWarning, warn
from mercer.kernels import Gaussian, Kernel, Stationary
from mercer.kernels.sample_metric import sample_metric
from mercer.maths.pairwise import distance_blocks
from mercer.maths.quantiles import weighted_median, weighted_quantile
from mercer.maths.types import Array
from mercer.maths.weight_totals import multiplicities
from mercer.subsampling import representative_rows, select_representatives
from mercer.validation import check_real, warn_if_heavy

__all__ = [
    "biased_cv",
    "distance_fraction",
    "fit_kernel",
    "improved_sheather_jones",
    "least_squares_cv",
    "leave_one_out",
    "median_distance",
    "normal_reference",
    "plug_in",
    "plug_in_matrix",
    "representatives",
    "resolve",
    "scott",
    "sheather_jones",
    "silverman",
    "smoothed_cv",
    "spectroscopy",
]

_MAX_ROWS = 2000  # between which distances are computed
_MAX_SCALE_RATIO = 100.0  # of the columns' standard deviations, beyond which a fit warns
_MANY_COLUMNS = 20  # with more columns, a third of them may vary little

#: Deprecated alias of :func:`mercer.subsampling.representative_rows`.
representatives = representative_rows


def silverman(X: Any, sample_weight: Any = None) -> float:
    """Silverman's rule, ``s (4 / ((2d + 1) n))^(1/(d+4))``.

    s² is the mean of the columns' variances. (Textbooks have d + 2 for 2d + 1; this form gives the
    bandwidths that Jenssen 2010 reports.)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import silverman
    >>> round(silverman(np.arange(10.0).reshape(-1, 1)), 4)
    1.9196
    """
    return _silverman(_validated(X, sample_weight))


def scott(X: Any, sample_weight: Any = None) -> float:
    """Scott's rule, ``s n^(-1/(d+4))``, with s as in :func:`silverman`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import scott
    >>> round(scott(np.arange(10.0).reshape(-1, 1)), 4)
    1.8123
    """
    return _scott(_validated(X, sample_weight))


@np.errstate(under="ignore")
def median_distance(X: Any, sample_weight: Any = None) -> float:
    """Median over rows of each row's median distance to all rows, itself included.

    This is Jenssen's "median range": among the definitions tried it is the one that gives the
    ranges printed in the paper.

    Examples
    --------
    >>> from mercer.bandwidth import median_distance
    >>> median_distance([[0.0], [1.0], [2.0], [3.0], [10.0]])
    2.0
    """
    return _median_distance(_validated(X, sample_weight))


def distance_fraction(X: Any, sample_weight: Any = None, *, fraction: float = 0.15) -> float:
    """A fraction of :func:`median_distance`; Jenssen 2010 clusters with 10 to 20 percent.

    In many dimensions so small a bandwidth makes K almost the identity: use it as a range to search
    rather than as a single value.

    Examples
    --------
    >>> from mercer.bandwidth import distance_fraction
    >>> distance_fraction([[0.0], [1.0], [2.0], [3.0], [10.0]], fraction=0.5)
    1.0
    """
    check_real(fraction, "fraction", above=0, remedy="Jenssen 2010 uses 0.10 to 0.20.")
    return fraction * median_distance(X, sample_weight)


@np.errstate(under="ignore")
def spectroscopy(X: Any, sample_weight: Any = None) -> float:
    r"""The bandwidth of data spectroscopy (Shi, Belkin and Yu 2009).

    :math:`q / \sqrt{\chi^2_{0.95, d}}` with q the 95 % quantile, over rows, of the 5 % quantile of
    a row's distances to all rows, itself included: 95 % of the points then have 5 % of all points
    within the radius that contains 95 % of the mass of a Gaussian.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import spectroscopy
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> round(spectroscopy(X), 3), round(spectroscopy(10 * X), 2)
    (0.482, 4.82)
    """
    return _spectroscopy(_validated(X, sample_weight))


@np.errstate(under="ignore")
def leave_one_out(X: Any, sample_weight: Any = None, *, kernel: Stationary | None = None) -> float:
    r"""The bandwidth that maximizes the leave-one-out likelihood.

    .. math:: \max_h \sum_i w_i \log \frac{1}{n - w_i} \sum_{j: x_j \ne x_i} w_j k_h(x_i, x_j)

    with the normalized kernel :math:`k_h`. All copies of a point are left out together:
    otherwise rounded data would be most likely at bandwidth 0.

    Parameters
    ----------
    X : array-like of shape (n, d)
    sample_weight : array-like of shape (n,) or None
    kernel : Stationary or None
        The kernel of the density, whose own bandwidth is not used; None for the Gaussian.

    Notes
    -----
    Exact for up to 2000 distinct rows. Of more rows 2000 are used, evenly spaced in lexicographic
    order, and the result is extrapolated to the size of the sample by :math:`(m'/m)^{1/(d+4)}`, the
    rate at which the best bandwidth falls; m and m' are the effective sample sizes
    :math:`(\sum w)^2 / \sum w^2` of all distinct rows and of those used. At 2001 rows this changes
    the result by up to about 10 %. It does not depend on the scale of the weights.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import leave_one_out
    >>> X = np.random.default_rng(0).normal(size=(500, 1))
    >>> round(leave_one_out(X), 2)  # the best for a normal distribution: about 1.06 n^(-1/5) = 0.31
    0.3
    """
    return _leave_one_out(_validated(X, sample_weight), Gaussian() if kernel is None else kernel)


def normal_reference(X: Any, sample_weight: Any = None) -> float:
    """The best bandwidth for a normal distribution, ``s (4 / ((d + 2) n))^(1/(d+4))``.

    s is as in :func:`silverman`. With ``Gaussian("normal-reference", metric="covariance")`` the
    bandwidth matrix has the formula of ``Hns`` in R's package ks, with the covariance matrix
    divided by n instead of n - 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import normal_reference
    >>> round(normal_reference(np.arange(10.0).reshape(-1, 1)), 4)
    1.9196
    """
    return SELECTORS["normal-reference"](_validated(X, sample_weight))


@np.errstate(under="ignore")
def sheather_jones(X: Any, sample_weight: Any = None) -> float:
    """The plug-in bandwidth of Sheather and Jones (1991) for one column, as R's ``bw.SJ``.

    Pairs of points are counted on a grid of 100 cells per bandwidth, in O(n) for any n; if outliers
    make the grid too large, between 1000 representative rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import sheather_jones
    >>> X = np.random.default_rng(0).normal(size=(500, 1))
    >>> round(sheather_jones(X), 2)
    0.31
    """
    return SELECTORS["sheather-jones"](_validated(X, sample_weight))


@np.errstate(under="ignore")
def improved_sheather_jones(X: Any, sample_weight: Any = None) -> float:
    """The plug-in bandwidth of Botev, Grotowski and Kroese (2010) for one column.

    It does not assume a normal pilot, so it resolves modes that are far apart. The sample is binned
    on 16384 cells over twice its range. (KDEpy's function of this name scales its result with the
    range of the data instead of the range of its grid, and is smaller by this ratio.)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import improved_sheather_jones, sheather_jones
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(0, 1, (500, 1)), rng.normal(40, 1, (500, 1))]
    >>> round(improved_sheather_jones(X), 2), round(sheather_jones(X), 2)
    (0.32, 0.41)
    """
    return SELECTORS["improved-sheather-jones"](_validated(X, sample_weight))


@np.errstate(under="ignore")
def plug_in(X: Any, sample_weight: Any = None) -> float:
    r"""The two-stage direct plug-in bandwidth (Wand and Jones 1994), for any number of columns.

    .. math:: h^{d+4} = \frac{d}{n (4\pi)^{d/2} \hat\psi},
        \qquad \psi = \int f(x)\, \Delta^2 f(x)\, dx = \int (\Delta f(x))^2\, dx

    minimizes the asymptotic mean integrated squared error. :math:`\hat\psi` is a kernel estimate;
    its bandwidth needs :math:`\int f \Delta^3 f`, which is estimated too, with a bandwidth for
    the normal distribution. For one column this is R's ``bw.SJ(x, method="dpi")`` and the
    ``dpik`` of KernSmooth. For more columns use ``Gaussian("plug-in", metric="covariance")``: one
    multiple of the covariance matrix, from whitened ("sphered") rows with scalar pilot bandwidths.
    :func:`plug_in_matrix` minimizes over all matrices.

    Notes
    -----
    As for :func:`least_squares_cv`, without a search range: the result is a formula.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import plug_in
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> round(plug_in(X), 2)
    0.34
    """
    return SELECTORS["plug-in"](_validated(X, sample_weight))


@np.errstate(under="ignore")
def plug_in_matrix(X: Any, sample_weight: Any = None) -> Array:
    r"""The bandwidth matrix of the plug-in method (Chacón and Duong 2010), without constraints.

    It minimizes the asymptotic mean integrated squared error

    .. math::
        \frac{1}{n (4\pi)^{d/2} |H|^{1/2}} + \frac14 \int \operatorname{tr}^2(H\, D^2 f(x))\,dx

    over positive definite matrices H, with the integral estimated from whitened rows with the
    scalar pilot bandwidths of :func:`plug_in`; ``Hpi`` of R's package ks with ``pre="sphere"``
    minimizes the same error, with another pilot. Pass it as the metric of a Gaussian kernel:
    ``Gaussian(1.0, metric=plug_in_matrix(X))``.

    Parameters
    ----------
    X : array-like of shape (n, d)
        At most about ten columns: the cost is O(d⁴) per pair of at most 1000 rows.
    sample_weight : array-like of shape (n,) or None

    Returns
    -------
    array of shape (d, d)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import plug_in_matrix
    >>> X = np.random.default_rng(0).normal(size=(500, 2)) * [1.0, 10.0]
    >>> np.sqrt(plug_in_matrix(X).diagonal()).round(1)
    array([0.3, 3.4])
    """
    sample = _validated(X, sample_weight)
    data = sample.points if isinstance(sample, _InChunks) else sample.X
    weights = None if isinstance(sample, _InChunks) else sample.weights
    metric = Gaussian(1.0, sample_metric("covariance", data, weights))
    units = np.linalg.inv(metric.to_units(np.eye(sample.dimension)))
    found = whitened_plug_in(sample.whitened(metric))
    return np.asarray(units.T @ found @ units)


@np.errstate(under="ignore")
def least_squares_cv(X: Any, sample_weight: Any = None) -> float:
    r"""The bandwidth of least-squares (unbiased) cross-validation for a Gaussian kernel.

    It minimizes an estimate of :math:`\int (\hat p - p)^2` up to a constant,

    .. math::
        \frac{1}{n (4\pi h^2)^{d/2}} + \frac1{n^2} \sum_{i \ne j} [N_{2h^2} - 2 N_{h^2}](x_i - x_j),

    as R's ``bw.ucv`` for one column, between 0.1 and 2 times :math:`s\, n^{-1/(d+4)}`. Repeated
    values make it too small; a warning reports a minimum at an end of the range.

    Notes
    -----
    One column: as :func:`sheather_jones`. More columns: exact for up to 1000 distinct rows; of
    more, 1000 representative rows are used and the result is extrapolated by
    :math:`n^{-1/(d+4)}`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import least_squares_cv
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> round(least_squares_cv(X), 2)
    0.4
    """
    return SELECTORS["least-squares-cv"](_validated(X, sample_weight))


@np.errstate(under="ignore")
def biased_cv(X: Any, sample_weight: Any = None) -> float:
    r"""The bandwidth of biased cross-validation (Scott and Terrell 1987) for a Gaussian kernel.

    It minimizes an estimate of the asymptotic mean integrated squared error,

    .. math::
        \frac{1}{n (4\pi h^2)^{d/2}} + \frac1{16 n^2} \sum_{i \ne j}
        [u^4 - (2d + 4) u^2 + d (d + 2)]\, N_{2h^2}(x_i - x_j),
        \quad u^2 = \|x_i - x_j\|^2 / 2h^2,

    as R's ``bw.bcv`` for one column, between 0.1 and 1.144 times :math:`s\, n^{-1/(d+4)}`. Notes as
    for :func:`least_squares_cv`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import biased_cv
    >>> X = np.random.default_rng(0).normal(size=(500, 1))
    >>> round(biased_cv(X), 2)
    0.33
    """
    return SELECTORS["biased-cv"](_validated(X, sample_weight))


@np.errstate(under="ignore")
def smoothed_cv(X: Any, sample_weight: Any = None) -> float:
    r"""The bandwidth of smoothed cross-validation (Hall, Marron and Park 1992).

    .. math::
        \frac{1}{n (4\pi h^2)^{d/2}} + \frac1{n^2} \sum_{ij}
        [N_{2h^2 + 2g^2} - 2 N_{h^2 + 2g^2} + N_{2g^2}](x_i - x_j)

    with the normal reference pilot :math:`g = s\,(2/((d+4) n))^{1/(d+6)}`. It varies less than
    :func:`least_squares_cv` between samples. Notes as there.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import smoothed_cv
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> round(smoothed_cv(X), 2)
    0.38
    """
    return SELECTORS["smoothed-cv"](_validated(X, sample_weight))


def _auto_rule(X: Any, sample_weight: Any = None) -> float:
    return _auto(_validated(X, sample_weight))


#: Rules by the name that a bandwidth may have; each takes points and weights.
RULES: dict[str, Callable[..., float]] = {
    "auto": _auto_rule,
    "silverman": silverman,
    "scott": scott,
    "median-distance": median_distance,
    "distance-fraction": distance_fraction,
    "spectroscopy": spectroscopy,
    "leave-one-out": leave_one_out,
}

#: Selectors for densities by the name that a bandwidth may have; some are for one column only.
DENSITY_RULES: dict[str, Callable[..., float]] = {
    "normal-reference": normal_reference,
    "sheather-jones": sheather_jones,
    "improved-sheather-jones": improved_sheather_jones,
    "plug-in": plug_in,
    "least-squares-cv": least_squares_cv,
    "biased-cv": biased_cv,
    "smoothed-cv": smoothed_cv,
}


# --- fitting a kernel ----------------------------------------------------------------------------


@np.errstate(under="ignore")
def fit_kernel(
    kernel: Kernel, X: Any, sample_weight: Any = None, *, auto: AutoRule | None = None
) -> Kernel:
    """Return the kernel fitted to a sample.

    Every bandwidth rule is replaced by its value, and kernels on columns
    (:class:`~mercer.kernels.On`) store the values that represent a missing one.

    Parameters
    ----------
    kernel : Kernel
    X : data that the kernel compares, or Points
        Points are taken as validated, and so are the weights then.
    sample_weight : array-like of shape (n,) or None
    auto : callable or None
        What the bandwidth "auto" means to an estimator: a function of the kernel and the sample
        that returns the fitted kernel, such as ``mercer.density_bandwidth.most_likely_kernel``.
        None for the rule of this module.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import fit_kernel
    >>> from mercer.kernels import Gaussian
    >>> fit_kernel(Gaussian("scott"), np.arange(10.0).reshape(-1, 1))
    Gaussian(bandwidth=1.81228...)
    """
    points: Any = X
    weights = sample_weight
    if not isinstance(X, PointSet):
        points = validate_points(X, kernel)
        weights = validate_weights(sample_weight, points)
    if points.is_chunked:
        return _fit(kernel, points.with_weights(weights), None, auto)
    return _fit(kernel, points.data, weights, auto)


def resolve(kernel: Kernel, X: Any, sample_weight: Any = None) -> Kernel:
    """Deprecated alias of :func:`fit_kernel`.

    >>> resolve(Gaussian("median-distance"), [[0.0], [1.0], [3.0]])
    Gaussian(bandwidth=1.0)
    """
    return fit_kernel(kernel, X, sample_weight)


def _fit(kernel: Kernel, data: Any, weights: Array | None, auto: AutoRule | None) -> Kernel:
    """Fit a kernel, or the kernels inside it, to the data that each compares."""
    if isinstance(kernel, Gaussian) and isinstance(kernel.metric, str):
        kernel = kernel.with_metric(sample_metric(kernel.metric, data, weights))
    if isinstance(kernel, Stationary) and auto is not None and kernel.has_rule("auto"):
        return auto(kernel, _sample_of(data, weights))
    if isinstance(kernel, Stationary) and isinstance(kernel.bandwidth, str):
        return kernel.with_bandwidth(_bandwidth(kernel, data, weights))
    split = kernel.split_for_fit(data, weights)
    if split is None:
        return kernel.with_own_parameters()
    try:
        fitted = [_fit(*part, auto) for part in split.parts]
    except ValueError as error:
        if not split.label:
            raise
        raise ValueError(f"{split.label}: {error}") from error
    return split.assemble(fitted)


def _bandwidth(kernel: Stationary, data: Any, weights: Array | None) -> float:
    """Apply the rule that a kernel names."""
    known = {**RULES, **DENSITY_RULES}
    if kernel.bandwidth not in known:
        raise ValueError(
            f"bandwidth={kernel.bandwidth!r} is not a rule; use a positive number, one per column, "
            f"or one of {', '.join(map(repr, known))}."
        )
    sample = _sample_of(data, weights)
    if isinstance(kernel, Gaussian) and kernel.metric is not None:
        sample = sample.whitened(Gaussian(1.0, kernel.metric))
        kernel = Gaussian(kernel.bandwidth)
    else:
        _warn_of_scales(data, weights)
    if kernel.bandwidth == "leave-one-out":
        return _leave_one_out(sample, kernel)
    return _FORMULAS[str(kernel.bandwidth)](sample)


def _warn_of_scales(X: Any, weights: Array | None) -> None:
    if isinstance(X, PointSet):
        survey: Any = X.survey  # type: ignore[attr-defined]
        deviations = survey.deviation[survey.deviation > 0]
    else:
        X = X if weights is None else X[weights > 0]
        extent = np.ptp(X, axis=0)
        varies = (extent > 0) & np.isfinite(extent)
        scaled = X[:, varies] / extent[varies]  # squares must not overflow
        deviations = scaled.std(axis=0, dtype=np.float64) * extent[varies]
    if len(deviations) < 2:
        return
    negligible = int((_MAX_SCALE_RATIO * deviations < deviations.max()).sum())
    # Among many columns, such as pixels, some vary little in the common unit, which is harmless.
    tolerated = len(deviations) // 3 if len(deviations) > _MANY_COLUMNS else 0
    if negligible > tolerated:
        warn(
            f"The standard deviations of the columns differ by a factor of "
            f"{deviations.max() / deviations.min():.3g}: with one bandwidth, only the columns with "
            "the largest ones matter. Standardize the columns (for example with "
            "sklearn.preprocessing.StandardScaler) or pass one bandwidth per column.",
            ApproximationWarning,
        )


@dataclass(frozen=True)
class _InMemory:
    """Rows in double precision and their positive multiplicities; None if all are 1."""

    X: Array
    weights: Array | None

    @property
    def n_rows(self) -> int:
        return len(self.X)

    @property
    def size(self) -> float:
        """The sample size n."""
        return float(self.n_rows if self.weights is None else self.weights.sum())

    @property
    def dimension(self) -> int:
        return self.X.shape[1]

    @property
    def points_and_weights(self) -> tuple[PointSet, Array | None]:
        return Points(self.X), self.weights

    def whitened(self, metric: Gaussian) -> _InMemory:
        """Return the sample in the coordinates of a metric."""
        return _InMemory(metric.to_units(self.X), self.weights)

    def spread(self) -> float:
        """Root of the mean marginal variance."""
        return _spread(self.X, _or_ones(self.weights, self.X))

    def representatives(
        self, grouped: bool = False, most: int = _MAX_ROWS
    ) -> tuple[Array, Array | None, float]:
        """At most 2000 distinct rows, their multiplicities (None: all 1) and the size ratio."""
        if self.weights is None and len(self.X) <= most:
            rows = self.X[np.lexsort(self.X.T[::-1])]
            if (rows[1:] != rows[:-1]).any(axis=1).all():
                return rows, None, 1.0
        weights = _or_ones(self.weights, self.X)
        found = select_representatives(self.X, weights, most, grouped=grouped)
        return self.X[found.rows], found.weights, found.size_ratio


@dataclass(frozen=True)
class _InChunks:
    """The same for a Dask collection."""

    points: Any  # ChunkedPoints
    metric: Gaussian | None = None

    def whitened(self, metric: Gaussian) -> _InChunks:
        return _InChunks(self.points, metric)

    @property
    def n_rows(self) -> int:
        return self.points.n

    @property
    def size(self) -> float:
        return self.points.survey.totals.sample_size

    @property
    def dimension(self) -> int:
        return self.points.dimension

    @property
    def points_and_weights(self) -> tuple[PointSet, Any]:
        return self.points, self.points.weights

    def spread(self) -> float:
        if self.metric is None:
            return float(self.points.spread())
        covariance = sample_metric("covariance", self.points, None)
        units = self.metric.to_units(np.eye(self.dimension))
        return sqrt(float(np.trace(units.T @ covariance @ units)) / self.dimension)

    def representatives(
        self, grouped: bool = False, most: int = _MAX_ROWS
    ) -> tuple[Array, Array | None, float]:
        rows, weights, ratio = self.points.representatives(most, grouped=grouped)
        return rows if self.metric is None else self.metric.to_units(rows), weights, ratio


_Sample = _InMemory | _InChunks
#: A rule for the bandwidth "auto": from a kernel and a sample to the fitted kernel.
AutoRule = Callable[[Stationary, _Sample], Stationary]


def _validated(X: Any, sample_weight: Any) -> _Sample:
    points: Any = validate_points(X, "vectors")
    weights = validate_weights(sample_weight, points)
    data = points.with_weights(weights) if points.is_chunked else points.data
    sample = _sample_of(data, None if points.is_chunked else weights)
    if sample_weight is not None:
        warn_if_heavy(sample.size, sample.n_rows)
    return sample


def _sample_of(data: Any, weights: Array | None) -> _Sample:
    """Wrap validated data, without rows of zero weight."""
    if isinstance(data, PointSet):
        low, high = data.bounds()
        if (low == high).all():
            raise _no_distance(data.n)
        return _InChunks(data)
    X = data.astype(np.float64, copy=False)
    if weights is not None:
        X, weights = X[weights > 0], multiplicities(weights[weights > 0])
    if len(X) == 1 or (X[0] == X).all():
        raise _no_distance(len(X))
    return _InMemory(X, weights)


def _no_distance(n: int) -> ValueError:
    rows = "1 sample" if n == 1 else f"{n} equal rows"
    return ValueError(
        f"No bandwidth can be chosen from {rows}: every distance is 0. Pass a number, such as "
        "Gaussian(bandwidth=1.0)."
    )


def _or_ones(weights: Array | None, X: Array) -> Array:
    return np.ones(len(X)) if weights is None else weights


@np.errstate(under="ignore")
def _spread(X: Array, weights: Array) -> float:
    """Root of the mean marginal variance; does not overflow."""
    weights = weights / weights.sum()
    centered = X - weights @ X
    scale = np.abs(centered).max()
    return float(scale * np.sqrt((weights @ (centered / scale) ** 2).mean()))


# --- formulas ------------------------------------------------------------------------------------


def _auto(sample: _Sample) -> float:
    return _silverman(sample) if sample.dimension <= 3 else _median_distance(sample) / sqrt(2)


def _silverman(sample: _Sample) -> float:
    n, d = sample.size, sample.dimension
    return float(sample.spread() * (4 / ((2 * d + 1) * n)) ** (1 / (d + 4)))


def _scott(sample: _Sample) -> float:
    return float(sample.spread() * sample.size ** (-1 / (sample.dimension + 4)))


def _median_distance(sample: _Sample) -> float:
    X, weights, _ = sample.representatives()
    medians = np.concatenate([_median(block, weights) for _, block in distance_blocks(X)])
    median = float(_median(medians, weights))
    # 0 if more than half of the rows are equal: use the mean distance of distinct rows
    return median if median > 0 else _mean_distance(X, weights)


def _spectroscopy(sample: _Sample) -> float:
    X, weights, _ = sample.representatives()
    near = np.concatenate([_quantile(block, weights, 0.05) for _, block in distance_blocks(X)])
    radius = float(_quantile(near, weights, 0.95))
    if radius == 0:  # most rows have more than 5 % copies
        radius = _mean_distance(X, weights) * 0.05
    return radius / sqrt(chi2.ppf(0.95, X.shape[1]))


#: The rules that depend on the sample alone.
_FORMULAS: dict[str, Callable[[_Sample], float]] = {
    "auto": _auto,
    "silverman": _silverman,
    "scott": _scott,
    "median-distance": _median_distance,
    "distance-fraction": lambda sample: 0.15 * _median_distance(sample),
    "spectroscopy": _spectroscopy,
    **SELECTORS,
}


def _median(values: Array, weights: Array | None) -> Array:
    if weights is None:
        return np.asarray(np.median(values, axis=-1))
    return weighted_median(values, weights)


def _quantile(values: Array, weights: Array | None, level: float) -> Array:
    if weights is None:
        return np.asarray(np.quantile(values, level, axis=-1))
    return weighted_quantile(values, weights, level)


def _mean_distance(X: Array, weights: Array | None) -> float:
    """Mean distance between distinct rows."""
    weights = _or_ones(weights, X)
    weights = weights / weights.max()  # products must not overflow
    total = mass = 0.0
    for rows, distances in distance_blocks(X):
        pairs = weights[rows, None] * weights
        total += float((distances * pairs).sum())
        mass += float(pairs[distances > 0].sum())
    return total / mass


def _leave_one_out(sample: _Sample, kernel: Stationary) -> float:
    rows, weights, size_ratio = sample.representatives(grouped=True)
    weights = _or_ones(weights, rows)
    d = sample.dimension
    extent = _spread(rows, weights) * sqrt(d)
    return size_ratio ** (1 / (d + 4)) * most_likely_bandwidth(kernel, rows, weights, extent)
