"""The number of clusters, from stability and from data spectroscopy.

The two counts are independent. Stability: with the correct number of clusters, the labels hardly
depend on the bandwidth. Data spectroscopy: the number of eigenvectors without a change of sign,
which is reliable for clusters that hardly overlap. Stability is correct more often on data with
known classes (see the table in docs/report.md), so it takes precedence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mercer.bandwidth import fit_kernel, median_distance
from mercer.cluster.entropy_clustering import EntropyClustering
from mercer.cluster.spectroscopy import find_groups
from mercer.data.points import validate_points
from mercer.data.subsampling import random_rows, take_rows
from mercer.errors import RankError, suppress_warnings
from mercer.kernels import Kernel, as_kernel
from mercer.tables import BANDWIDTH_FACTORS
from mercer.utils.estimators import ignore_underflow
from mercer.utils.types import Array
from mercer.utils.validation import check_integer

__all__ = ["STABLE", "Counting", "count_clusters"]

_STABILITY_ROWS = 500
_SPECTROSCOPY_ROWS = 1000
_MIN_ROWS = 10  # fewer rows count as one group
_MAX_STABLE = 8  # largest number of clusters whose stability is computed
_MAX_SUGGESTED = 12
_FRACTIONS = np.geomspace(0.15, 1.0, 9)  # of the median distance
#: Smallest mean agreement at neighboring bandwidths that counts as stable.
STABLE = 0.9
_TIE = 0.005  # smaller differences of stability are ties
_STABILITY_MARGIN = 0.05  # by which the spectroscopic count may be less stable than the best number

Because = Literal["asked", "agree", "stable", "spectroscopy"]


@dataclass(frozen=True)
class Counting:
    """The number of clusters and its source.

    Attributes
    ----------
    chosen, suggested : int
        They differ only if the user requested a number.
    because : str
        "agree" (both counts), "stable" (stability only), "spectroscopy" (no number is stable) or
        "asked" (requested by the user).
    spectroscopy : int
        Number of eigenvectors without a change of sign.
    stable : int or None
        The most stable number, if its mean agreement reaches 0.9.
    stability : dict of int to float
        Mean agreement (adjusted Rand index) of the labels at neighboring bandwidths, by number of
        clusters.
    rows : int
        Number of rows from which stability was computed.

    Examples
    --------
    >>> from mercer.cluster.cluster_count import Counting
    >>> Counting(3, 3, "agree", 3, 3, {2: 0.7, 3: 0.99}, 150).chosen
    3
    """

    chosen: int
    suggested: int
    because: Because
    spectroscopy: int
    stable: int | None
    stability: dict[int, float]
    rows: int


@ignore_underflow
def count_clusters(data: Any, kernel: str | Kernel, asked: int | None = None) -> Counting:
    """Count clusters by stability and by spectroscopy, unless a number is requested.

    Subsamples are drawn with a fixed seed: 500 rows for stability, 1000 for spectroscopy.

    Parameters
    ----------
    data : array of shape (n, d) or data frame
    kernel : str or Kernel
        Gaussian with the bandwidth "auto" for an array; a table kernel for a data frame.
    asked : int or None
        The requested number of clusters, which is then the ``chosen`` one.

    Returns
    -------
    Counting
        Equal rows, and fewer than 10 rows, are one cluster.

    Raises
    ------
    ValueError, TypeError
        If an estimator could not be fitted: missing or infinite values, unknown rules, invalid
        parameters of the kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster.cluster_count import count_clusters
    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(at, 1, size=(100, 2)) for at in (0, 8, 16)])
    >>> counting = count_clusters(X, Gaussian("auto"))
    >>> counting.chosen, counting.because
    (3, 'agree')
    """
    data, kernel = validate_request(data, kernel)
    if asked is not None:
        asked = check_integer(asked, "n_clusters", high=len(data))
    sample = take_rows(data, random_rows(len(data), _STABILITY_ROWS))
    with suppress_warnings():
        stability = _stability_by_number(sample, kernel)
        groups = _count_groups(take_rows(data, random_rows(len(data), _SPECTROSCOPY_ROWS)), kernel)
    stable = _most_stable(stability, groups)
    because: Because = "spectroscopy"
    if stable is not None:
        because = "agree" if stable == groups else "stable"
    suggested = min(groups, _MAX_SUGGESTED) if stable is None else stable
    if asked is not None:
        because = "asked"
    chosen = suggested if asked is None else asked
    return Counting(chosen, suggested, because, groups, stable, stability, len(sample))


def validate_request(data: Any, kernel: str | Kernel) -> tuple[Any, Kernel]:
    """Return an array or a data frame, and a kernel; raise what estimators raise.

    Results for equal rows, few rows or subsamples need no fit to all rows, so invalid values and
    parameters are looked for here.
    """
    kernel = as_kernel(kernel)
    points = validate_points(data, kernel)
    with suppress_warnings():
        if kernel.compares == "vectors" and not points.is_chunked:
            data = points.data
            rows = np.random.default_rng(0).normal(size=(10, data.shape[1]))
            fit_kernel(kernel, rows)(rows[:1])  # rules cannot be applied to equal rows
        elif hasattr(data, "iloc"):
            fit_kernel(kernel, data)(data.iloc[:1], data)
        else:
            raise TypeError(
                f"Clusters of a {type(data).__name__} with the kernel {kernel!r} cannot be "
                "counted. Pass an array of numbers or a data frame."
            )
    return data, kernel


def _stability_by_number(sample: Any, kernel: Kernel) -> dict[int, float]:
    largest = min(_MAX_STABLE, len(sample) // 5)
    if largest < 2 or not can_vary_bandwidth(sample, kernel):
        return {}
    bandwidths = _bandwidths(sample)
    found = {}
    for k in range(2, largest + 1):
        try:
            path = EntropyClustering(k, kernel=kernel, bandwidths=bandwidths).fit(sample).path_
        except RankError:  # fewer positive eigenvalues than clusters, at every bandwidth
            break
        if len(path) > 1:
            found[k] = float(np.mean([record.stability for record in path]))
    return found


def _bandwidths(sample: Any) -> Array:
    """Return bandwidths for an array, multipliers of all bandwidths for a data frame."""
    if hasattr(sample, "iloc"):
        return np.array(BANDWIDTH_FACTORS)
    return median_distance(sample) * _FRACTIONS


def can_vary_bandwidth(data: Any, kernel: Kernel) -> bool:
    """Return whether there are several bandwidths to compare.

    There are none for an array of equal rows, and for a data frame whose kernel has no bandwidth
    (a single text column, for example).
    """
    if not hasattr(data, "iloc"):
        return not _all_rows_equal(data)
    return fit_kernel(kernel, data).has_bandwidth


def _all_rows_equal(data: Any) -> bool:
    return not hasattr(data, "iloc") and bool((np.asarray(data) == data[:1]).all())


def _most_stable(stability: dict[int, float], groups: int) -> int | None:
    """Return the spectroscopic count if it is nearly as stable as the best number, else the best.

    Ties are broken in favor of the largest number, whose clusters refine the others.
    """
    best = max(stability.values(), default=0.0)
    if best < STABLE:
        return None
    if stability.get(groups, 0.0) >= max(STABLE, best - _STABILITY_MARGIN):
        return groups
    return max(k for k, value in stability.items() if value >= best - _TIE)


def _count_groups(data: Any, kernel: Kernel) -> int:
    if len(data) < _MIN_ROWS or _all_rows_equal(data):
        return 1
    return max(find_groups(data, kernel=kernel).n_groups, 1)
