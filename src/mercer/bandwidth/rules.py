"""Bandwidth rules as functions of points and optional weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.bandwidth.fit import FORMULAS, leave_one_out_bandwidth, validated_sample
from mercer.bandwidth.selectors import whitened_plug_in
from mercer.kernels import Gaussian, Stationary
from mercer.utils.estimators import ignore_underflow
from mercer.utils.types import Array
from mercer.utils.validation import check_real

__all__ = [
    "biased_cv",
    "distance_fraction",
    "improved_sheather_jones",
    "least_squares_cv",
    "leave_one_out",
    "median_distance",
    "normal_reference",
    "plug_in",
    "plug_in_matrix",
    "scott",
    "sheather_jones",
    "silverman",
    "smoothed_cv",
    "spectroscopy",
]


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
    return FORMULAS["silverman"](validated_sample(X, sample_weight))


def scott(X: Any, sample_weight: Any = None) -> float:
    """Scott's rule, ``s n^(-1/(d+4))``, with s as in :func:`silverman`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import scott
    >>> round(scott(np.arange(10.0).reshape(-1, 1)), 4)
    1.8123
    """
    return FORMULAS["scott"](validated_sample(X, sample_weight))


@ignore_underflow
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
    return FORMULAS["median-distance"](validated_sample(X, sample_weight))


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


@ignore_underflow
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
    return FORMULAS["spectroscopy"](validated_sample(X, sample_weight))


@ignore_underflow
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
    return leave_one_out_bandwidth(
        validated_sample(X, sample_weight), Gaussian() if kernel is None else kernel
    )


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
    return FORMULAS["normal-reference"](validated_sample(X, sample_weight))


@ignore_underflow
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
    return FORMULAS["sheather-jones"](validated_sample(X, sample_weight))


@ignore_underflow
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
    return FORMULAS["improved-sheather-jones"](validated_sample(X, sample_weight))


@ignore_underflow
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
    return FORMULAS["plug-in"](validated_sample(X, sample_weight))


@ignore_underflow
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
    sample = validated_sample(X, sample_weight)
    metric = Gaussian(1.0, sample.covariance())
    units = np.linalg.inv(metric.to_units(np.eye(sample.dimension)))
    found = whitened_plug_in(sample.whitened(metric))
    return np.asarray(units.T @ found @ units)


@ignore_underflow
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
    return FORMULAS["least-squares-cv"](validated_sample(X, sample_weight))


@ignore_underflow
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
    return FORMULAS["biased-cv"](validated_sample(X, sample_weight))


@ignore_underflow
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
    return FORMULAS["smoothed-cv"](validated_sample(X, sample_weight))


def _auto_rule(X: Any, sample_weight: Any = None) -> float:
    return FORMULAS["auto"](validated_sample(X, sample_weight))


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
