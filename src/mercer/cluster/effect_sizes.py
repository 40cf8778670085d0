r"""Effect sizes of a group compared with all observations, for ranking variables of any kind.

The two measures are on a common scale: about 0.2 is small, 0.5 medium and 0.8 large.

References
----------
Cohen, J. (1988). Statistical Power Analysis for the Behavioral Sciences, 2nd ed., chapter 6.
"""

from __future__ import annotations

import numpy as np

from mercer.utils.types import Array

__all__ = ["cohens_h", "robust_scale"]

_NORMAL_IQR = 1.349  # interquartile range of the standard normal distribution


def robust_scale(values: Array) -> float:
    """Return the interquartile range divided by 1.349, or the standard deviation if that is 0.

    Both estimate the standard deviation of a normal distribution. A difference of medians divided
    by this scale is an effect size.

    >>> import numpy as np
    >>> round(robust_scale(np.array([0.0, 1.0, 2.0, 3.0, 40.0])), 4)
    1.4826
    >>> robust_scale(np.array([0.0, 0.0, 0.0, 0.0, 5.0]))
    2.0
    """
    low, high = np.quantile(values, [0.25, 0.75])
    return float((high - low) / _NORMAL_IQR) or float(np.std(values))


def cohens_h(p: Array, q: Array) -> Array:
    r"""Return Cohen's :math:`h = 2 \arcsin \sqrt p - 2 \arcsin \sqrt q` of two proportions.

    >>> import numpy as np
    >>> cohens_h(np.array([0.5, 1.0]), np.array([0.5, 0.0])).round(4)
    array([0.    , 3.1416])
    """
    return np.asarray(2 * np.arcsin(np.sqrt(p)) - 2 * np.arcsin(np.sqrt(q)))
