"""Data spectroscopy: the number of groups from eigenvectors that do not change sign.

Under a mixture of well separated parts the first eigenfunction of each part's kernel operator is
close to an eigenfunction of the mixture, and only these do not change sign (Shi, Belkin and Yu
2009; Liang 2014, section 2.3.2). So the number of groups is the number of eigenvectors of the
uncentered Gram matrix that do not change sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np

from mercer.bandwidth import fit_kernel
from mercer.data.points import Points, validate_points, validate_weights
from mercer.data.subsampling import evenly_spaced_rows, representative_rows
from mercer.eigen.decompose import decompose
from mercer.errors import suppress_warnings
from mercer.gram import Sample
from mercer.kernels import Kernel, Stationary, as_kernel
from mercer.kernels.base import map_leaves
from mercer.utils.eigenpairs import TIE, is_sign_free, separate_ties
from mercer.utils.estimators import ignore_underflow
from mercer.utils.types import Array
from mercer.utils.validation import round_down, warn_if_heavy

__all__ = ["Groups", "find_groups", "groups_of"]

_MAX_ROWS = 2000
_N_LEADING = 200
# An isolated point also has an eigenvector without sign change, so a group needs more points.
_MIN_FRACTION = 0.02


@dataclass(frozen=True)
class Groups:
    """The result of :func:`find_groups`.

    Attributes
    ----------
    n_groups : int
        At least 1.
    components : int array of shape (n_groups,)
        1-based ranks of the eigenvectors without sign change.
    fractions : array of shape (n_groups,)
        Fraction of the points at which each has the largest entry.
    kernel : Kernel
        The fitted kernel.
    n_rows : int
        Number of rows used.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster.spectroscopy import find_groups
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(at, 1, size=(100, 2)) for at in (0, 10)])
    >>> groups = find_groups(X)
    >>> groups.n_groups, groups.fractions.tolist()
    (2, [0.5, 0.5])
    """

    n_groups: int
    components: Array
    fractions: Array
    kernel: Kernel
    n_rows: int


@ignore_underflow
def find_groups(X: Any, *, kernel: str | Kernel = "gaussian", sample_weight: Any = None) -> Groups:
    """Count groups by eigenvectors without a change of sign.

    The bandwidth "auto" (the default) selects the rule of data spectroscopy. At most 2000
    representative rows and their 200 leading eigenvectors are used. An eigenvector counts if no
    entry of the opposite sign exceeds 1/n of the largest entry, and if it has the largest entry
    (among those eigenvectors) at more than 2 % of the points. The second condition excludes single
    outliers, which also have eigenvectors without sign change.

    Parameters
    ----------
    X : array-like of shape (n, d), or data that the kernel compares
    kernel : str or Kernel
    sample_weight : array-like of shape (n,) or None

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster.spectroscopy import find_groups
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(at, 1, size=(100, 2)) for at in (0, 10, 20)])
    >>> find_groups(X).n_groups
    3
    >>> find_groups(X[:100]).n_groups
    1
    """
    kernel = as_kernel(kernel)
    points = validate_points(X, kernel)
    weights = validate_weights(sample_weight, points)
    sample = Sample.of(kernel, points, weights)
    warn_if_heavy(sample.sample_size, sample.points.n)
    return groups_of(kernel, points, weights)


def groups_of(kernel: Kernel, points: Points, weights: Array | None) -> Groups:
    """Count groups as :func:`find_groups` does, for validated data.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.data.points import validate_points
    >>> from mercer.cluster.spectroscopy import groups_of
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(at, 1, size=(100, 2)) for at in (0, 10)])
    >>> groups_of(Gaussian("spectroscopy"), validate_points(X, "vectors"), None).n_groups
    2
    """
    kernel = map_leaves(kernel, _with_spectroscopy_rule)
    if points.kind != "gram":
        points, weights = _subsample(points, weights)
    sample = Sample.of(fit_kernel(kernel, points, weights), points, weights)
    # compute all eigenvectors, because fewer than requested may have positive eigenvalues
    with suppress_warnings():
        spectrum = decompose(sample, "variance", None, solver="dense")
    if spectrum.n_components == 0:
        raise ValueError("K is 0 up to rounding error, so there are no groups. Check the kernel.")
    n = sample.sample_size
    count = max(isqrt(round_down(n, len(spectrum.eigenvalues) ** 2)), _N_LEADING)
    values, vectors = spectrum.eigenvalues[:count], spectrum.eigenvectors[:, :count]
    if sample.weights is not None:
        vectors = vectors / np.sqrt(sample.weights)[:, None]
    vectors = separate_ties(values, vectors, TIE * values[0], sample.weights)
    same_sign = np.flatnonzero(is_sign_free(vectors, n))
    if not len(same_sign):
        same_sign = np.array([0])
    largest = np.argmax(np.abs(vectors[:, same_sign]), axis=1)
    masses = np.bincount(largest, sample.weights, minlength=len(same_sign))
    fractions = masses / sample.points.total(sample.weights)
    groups = np.flatnonzero(fractions > _MIN_FRACTION)
    if not len(groups):  # only outliers: one group
        groups = np.array([int(np.argmax(fractions))])
    components = same_sign[groups] + 1
    return Groups(len(groups), components, fractions[groups], sample.kernel, sample.points.n)


def _with_spectroscopy_rule(leaf: Kernel) -> Kernel:
    if isinstance(leaf, Stationary) and leaf.has_rule("auto"):
        return leaf.with_bandwidth("spectroscopy")
    return leaf


def _subsample(points: Any, weights: Array | None) -> tuple[Points, Array | None]:
    if points.is_chunked:
        rows, counts, _ = points.with_weights(weights).representatives(_MAX_ROWS)
        return Points(rows), counts
    if points.n <= _MAX_ROWS:
        return points, weights
    if points.kind == "vectors":
        counts = np.ones(points.n) if weights is None else weights
        indices, counts = representative_rows(points.data, counts, _MAX_ROWS)
        return points.take(indices), counts
    present = np.arange(points.n) if weights is None else np.flatnonzero(weights)
    # objects are not sorted: the rows are evenly spaced in their given order
    indices = present[evenly_spaced_rows(present, _MAX_ROWS)]
    return points.take(indices), None if weights is None else weights[indices]
