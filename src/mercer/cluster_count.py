"""How many clusters? Two counts that know nothing of each other, and what to make of them.

Data spectroscopy counts eigenvectors that do not change sign. It was made for numbers, and it
needs groups that hardly touch. The other count is by stability: with the right number of clusters
the labels hardly change when the bandwidth does. On the embedded sets and on clouds without groups
the second is right more often (docs/report.md has the table), so it goes first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mercer import EntropyClustering
from mercer.bandwidth import median_distance
from mercer.errors import suppress_warnings
from mercer.kernels import Kernel
from mercer.maths.types import Array
from mercer.spectroscopy import find_groups
from mercer.subsampling import drawn_rows, take
from mercer.tables import WIDTH_FACTORS

__all__ = ["STABLE", "Counting", "count_clusters"]

_ROWS = 500
_GROUP_ROWS = 1000
_FEW = 10  # rows that say nothing of groups
_MOST_STABLE = 8
_MOST = 12  # more clusters than this nobody reads
_FRACTIONS = np.geomspace(0.15, 1.0, 9)  # of the median distance
#: Mean agreement of neighbouring bandwidths from which on a number of clusters counts as found.
STABLE = 0.9
_TIE = 0.005
_NEARLY = 0.05  # by so much less stable a number may be if spectroscopy sees it too

Because = Literal["asked", "agree", "stable", "spectroscopy"]


@dataclass(frozen=True)
class Counting:
    """The number of clusters, and where it comes from.

    Attributes
    ----------
    chosen, suggested : int
        They differ where the user asked for a number.
    because : str
        "agree" (both counts), "stable" (stability only), "spectroscopy" (no number is stable) or
        "asked".
    spectroscopy : int
        Eigenvectors without a change of sign.
    stable : int or None
        The most stable number, if its mean agreement reaches 0.9.
    stability : dict of int to float
        Mean agreement (adjusted Rand index) of the labels at neighbouring bandwidths, by number.
    rows : int
        Rows that stability was judged by.

    Examples
    --------
    >>> from mercer.cluster_count import Counting
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


def count_clusters(data: Any, kernel: Kernel, asked: int | None = None) -> Counting:
    """Count clusters, or take the number asked for (both counts are made all the same).

    Both look at rows drawn with a fixed seed: 500 for stability, 1000 for spectroscopy.

    Parameters
    ----------
    data : array of shape (n, d) or data frame
    kernel : Kernel
        Gaussian with the bandwidth "auto" for an array; a table's kernel for a data frame.
    asked : int or None

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster_count import count_clusters
    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(at, 1, size=(100, 2)) for at in (0, 8, 16)])
    >>> counting = count_clusters(X, Gaussian("auto"))
    >>> counting.chosen, counting.because
    (3, 'agree')
    """
    sample = take(data, drawn_rows(len(data), _ROWS))
    with suppress_warnings():
        stability = _stability_by_number(sample, kernel)
        groups = _groups(take(data, drawn_rows(len(data), _GROUP_ROWS)), kernel)
    stable = _most_stable(stability, groups)
    because: Because = "spectroscopy"
    if stable is not None:
        because = "agree" if stable == groups else "stable"
    suggested = min(groups, _MOST) if stable is None else stable
    if asked is not None:
        because = "asked"
    chosen = suggested if asked is None else asked
    return Counting(chosen, suggested, because, groups, stable, stability, len(sample))


def _stability_by_number(sample: Any, kernel: Kernel) -> dict[int, float]:
    found = {}
    for k in range(2, min(_MOST_STABLE, len(sample) // 5) + 1):
        try:
            widths = _widths(sample)
            tried = EntropyClustering(k, kernel=kernel, bandwidths=widths).fit(sample).path_
        except ValueError:  # fewer positive eigenvalues than clusters, at every bandwidth
            break
        if len(tried) > 1:
            found[k] = float(np.mean([record.stability for record in tried]))
    return found


def _widths(sample: Any) -> Array:
    if hasattr(sample, "iloc"):
        return np.array(WIDTH_FACTORS)
    return median_distance(sample) * _FRACTIONS


def _most_stable(stability: dict[int, float], groups: int) -> int | None:
    """The number that spectroscopy sees if it is nearly as stable as the best, else the best.

    Of equals the largest, which holds the others.
    """
    best = max(stability.values(), default=0.0)
    if best < STABLE:
        return None
    if stability.get(groups, 0.0) >= max(STABLE, best - _NEARLY):
        return groups
    return max(k for k, value in stability.items() if value >= best - _TIE)


def _groups(data: Any, kernel: Kernel) -> int:
    if len(data) < _FEW:
        return 1
    try:
        return max(find_groups(data, kernel=kernel).n_groups, 1)
    except ValueError:  # too few rows, or too many alike, for a bandwidth
        return 1
