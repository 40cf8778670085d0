"""How many groups? Eigenvectors that do not change sign (data spectroscopy).

Under a mixture of well separated parts the top eigenfunction of each part's own kernel operator
shows up among those of the whole, and it alone has no change of sign (Shi, Belkin and Yu 2009;
Liang 2014, section 2.3.2). Counting such eigenvectors of the uncentred Gram matrix counts the
groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np

from mercer.bandwidth import representatives, resolve
from mercer.data import Points, validate_points, validate_weights
from mercer.decompose import decompose
from mercer.errors import suppress_warnings
from mercer.kernels import Kernel, Stationary, as_kernel
from mercer.maths.eigen import TIE, is_sign_free, separate_ties
from mercer.maths.types import Array
from mercer.operators import Sample

__all__ = ["Groups", "find_groups", "groups_of"]

_ROWS = 2000
_LEADING = 200
# An isolated point has a sign-free eigenvector of its own: a group should hold more than this.
_SMALLEST_SHARE = 0.02


@dataclass(frozen=True)
class Groups:
    """What :func:`find_groups` found.

    Attributes
    ----------
    n_groups : int
        At least 1.
    components : int array of shape (n_groups,)
        1-based places of the sign-free eigenvectors among all.
    shares : array of shape (n_groups,)
        Share of the points that each speaks loudest for.
    kernel : Kernel
        The kernel that was used, with its numbers.
    n_rows : int
        Rows that were looked at.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.spectroscopy import find_groups
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(at, 1, size=(100, 2)) for at in (0, 10)])
    >>> groups = find_groups(X)
    >>> groups.n_groups, groups.shares.tolist()
    (2, [0.5, 0.5])
    """

    n_groups: int
    components: Array
    shares: Array
    kernel: Kernel
    n_rows: int


def find_groups(X: Any, *, kernel: str | Kernel = "gaussian", sample_weight: Any = None) -> Groups:
    """Count groups by eigenvectors without a change of sign.

    With a bandwidth of "auto" (the default kernel's) the bandwidth is that of data spectroscopy.
    At most 2000 rows are looked at, chosen by their values, and their 200 leading eigenvectors.
    An eigenvector counts if none of its entries has the other sign by more than a share 1/n of the
    largest entry, and if more than 2 % of the points have their largest entry (among those that
    count) in it: single outliers have sign-free eigenvectors too, and are no groups.

    Parameters
    ----------
    X : array-like of shape (n, d), or what the kernel compares
    kernel : str or Kernel
    sample_weight : array-like of shape (n,) or None

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.spectroscopy import find_groups
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(at, 1, size=(100, 2)) for at in (0, 10, 20)])
    >>> find_groups(X).n_groups
    3
    >>> find_groups(X[:100]).n_groups
    1
    """
    kernel = as_kernel(kernel)
    points = validate_points(X, kernel.compares)
    weights = validate_weights(sample_weight, points)
    return groups_of(kernel, points, weights)


def groups_of(kernel: Kernel, points: Points, weights: Array | None) -> Groups:
    """:func:`find_groups` for admitted data; rules of the kernel are resolved here.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.data import validate_points
    >>> from mercer.spectroscopy import groups_of
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(at, 1, size=(100, 2)) for at in (0, 10)])
    >>> groups_of(Gaussian("spectroscopy"), validate_points(X, "vectors"), None).n_groups
    2
    """
    kernel = kernel.replace_parts(_spectroscopic)
    if points.kind != "gram":
        points, weights = _few_rows(points, weights)
    sample = Sample.of(resolve(kernel, points, weights), points, weights)
    # all, and the leading ones of these: fewer may be positive than are looked at
    with suppress_warnings():
        spectrum = decompose(sample, "variance", None, solver="dense")
    if spectrum.n_components == 0:
        raise ValueError("K is 0 to rounding: there are no groups to count. Check the kernel.")
    n = spectrum.total_weight
    count = max(isqrt(int(n)), _LEADING)
    values, vectors = spectrum.eigenvalues[:count], spectrum.eigenvectors[:, :count]
    if sample.weights is not None:
        vectors = vectors / np.sqrt(sample.weights)[:, None]
    vectors = separate_ties(values, vectors, TIE * values[0], sample.weights)
    free = np.flatnonzero(is_sign_free(vectors, n))
    if not len(free):
        free = np.array([0])
    loudest = np.argmax(np.abs(vectors[:, free]), axis=1)
    shares = np.bincount(loudest, sample.weights, minlength=len(free)) / n
    large = np.flatnonzero(shares > _SMALLEST_SHARE)
    if not len(large):  # nothing but outliers: then they are one group
        large = np.array([int(np.argmax(shares))])
    return Groups(len(large), free[large] + 1, shares[large], sample.kernel, sample.points.n)


def _spectroscopic(leaf: Kernel) -> Kernel:
    if isinstance(leaf, Stationary) and leaf.has_rule("auto"):
        return leaf.with_bandwidth("spectroscopy")
    return leaf


def _few_rows(points: Any, weights: Array | None) -> tuple[Points, Array | None]:
    if points.is_chunked:
        found, shares = points.with_weights(weights).representatives(_ROWS)
        return Points(found), shares
    if points.n <= _ROWS:
        return points, weights
    if points.kind == "vectors":
        rows, shares = representatives(
            points.data, np.ones(points.n) if weights is None else weights
        )
        return points.take(rows), shares
    rows = np.arange(points.n) if weights is None else np.flatnonzero(weights)
    rows = rows[np.linspace(0, len(rows) - 1, min(_ROWS, len(rows))).astype(int)]
    return points.take(rows), None if weights is None else weights[rows]
