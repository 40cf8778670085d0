r"""Stahel-Donoho outlyingness: how far a point is from the median, in its worst direction.

.. math:: o_i = \max_v |v'x_i - \mathrm{med}_j\, v'x_j| / \mathrm{MAD}_j(v'x_j)
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mercer.utils.quantiles import weighted_median
from mercer.utils.types import Array

__all__ = ["MAD_FACTOR", "outlyingness"]

MAD_FACTOR = 1.4826  # makes the median absolute deviation consistent for normal data
_CONSTANT = 1e-12  # a spread below this fraction of the largest value is rounding error


def outlyingness(projections: Iterable[Array], weights: Array) -> Array:
    """Return the largest standardized deviation from the median over all directions.

    Parameters
    ----------
    projections : iterable of arrays of shape (n,)
        The points projected onto each direction. Directions in which more than half of the points
        coincide have no scale and are skipped.
    weights : array of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> outlyingness([np.array([1.0, 2.0, 3.0, 4.0, 90.0])], np.ones(5)).round(1)
    array([ 1.3,  0.7,  0. ,  0.7, 58.7])
    """
    worst = np.zeros(len(weights))
    for values in projections:
        deviations = np.abs(values - weighted_median(values, weights))
        spread = MAD_FACTOR * float(weighted_median(deviations, weights))
        if spread > _CONSTANT * float(np.abs(values).max(initial=0.0)):
            np.maximum(worst, deviations / spread, out=worst)
    return worst
