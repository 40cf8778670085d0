r"""Bounds on traces of matrix functions from moments and from Gaussian vectors.

With Gaussian vectors :math:`z_1, …, z_N` and symmetric matrices G and positive semi-definite H:

* :func:`lower_tail`: the mean of ``z'Hz`` is at least ``t tr H`` (Chernoff);
* :func:`largest_eigenvalue`: so :math:`P(\|B\|) \le \operatorname{mean} z'P(B)z / t` for a
  polynomial P ≥ 0 that grows fast beyond the other eigenvalues;
* :func:`trace_from_mean`: ``tr H``, if the largest eigenvalue of H is known;
* :func:`mean_deviation`: the mean of ``z'Gz`` exceeds ``tr G`` by more than
  :math:`2\|G\|_F \sqrt{x/N} + 2\max(\lambda_1(G), 0)\,x/N` with a probability of at most
  :math:`e^{-x}` (Laurent, Massart 2000, whose proof holds for signed weights).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import lambertw

from mercer.information.entropy import entropy_summand
from mercer.utils.types import Array

__all__ = [
    "chebyshev_power",
    "largest_eigenvalue",
    "lower_tail",
    "mean_deviation",
    "moment_bounds",
    "remainder_range",
    "trace_from_mean",
]

_GRID = 4000  # intervals on which the remainder is bounded
_BISECTIONS = 60


def moment_bounds(count: float, total: float, squares: float, order: float) -> tuple[float, float]:
    """Return the extreme sums of f over ``count`` numbers in [0, √squares] with given moments.

    Parameters
    ----------
    count, total, squares : float
        Number of the values (zeros included), their sum and the sum of their squares.
    order : float
        α of ``f(x) = x^α``, or 1 for ``-x log x``; not 0 or 2.

    Examples
    --------
    >>> x = np.array([0.1, 0.2, 0.3])
    >>> low, high = moment_bounds(3, x.sum(), (x**2).sum(), 1.0)
    >>> bool(low <= -(x @ np.log(x)) <= high)
    True
    """
    if total <= 0 or squares <= 0:
        return 0.0, 0.0
    # the sum of squares is at least that of equal numbers; rounding error may violate this
    squares = max(squares, total**2 / count)
    top = np.sqrt(squares)
    left = total**2 / squares * float(entropy_summand(squares / total, order))
    first = count * top - total
    second = max(count * top**2 - 2 * top * total + squares, first**2 / count)
    if first <= 0:
        return left, left
    inside = first**2 / second
    right = inside * entropy_summand(max(top - second / first, 0.0), order)
    right += max(count - inside, 0.0) * entropy_summand(top, order)
    return min(left, float(right)), max(left, float(right))


def lower_tail(count: int, probability: float) -> float:
    """Return t such that the mean of ``z'Hz`` falls below ``t tr H`` with small probability.

    Of ``count`` Gaussian vectors, for any positive semi-definite H: by Chernoff's inequality and
    ``Π(1 + 2s h_i) ≥ 1 + 2s Σh_i`` the probability is at most ``(t e^{1-t})^{count/2}``.

    >>> round(lower_tail(16, 1e-6), 3)
    0.07
    """
    return float(-lambertw(-np.exp(2 * np.log(probability) / count - 1)).real)


def trace_from_mean(mean: float, count: int, largest: float, probability: float) -> float:
    r"""Return an upper bound on tr H from the mean of ``z'Hz`` and a bound on ``‖H‖``.

    The mean falls below :math:`\operatorname{tr} H - 2\|H\|_F\sqrt{x/N}` with a probability of at
    most :math:`e^{-x}` (Laurent, Massart), and :math:`\|H\|_F^2 \le \|H\| \operatorname{tr} H`.

    >>> round(trace_from_mean(1.0, 48, 0.01, 1e-6), 3)
    1.113
    """
    step = largest * -np.log(probability) / count
    return float((np.sqrt(step) + np.sqrt(step + max(mean, 0.0))) ** 2)


def mean_deviation(norm: float, largest: float, count: int, probability: float) -> float:
    """Return a deviation that the mean of ``z'Gz`` exceeds with at most a given probability.

    Parameters
    ----------
    norm : float
        Bound on the Frobenius norm of G.
    largest : float
        Bound on the largest eigenvalue of G; negative values count as 0.
    count : int
        Number of vectors.
    probability : float

    Examples
    --------
    >>> round(mean_deviation(1.0, 0.1, 48, 1e-6), 3)
    1.131
    """
    ratio = -np.log(probability) / count
    return float(2 * norm * np.sqrt(ratio) + 2 * max(largest, 0.0) * ratio)


def chebyshev_power(x: Array, c: float, degree: int) -> Array:
    """Return ``x T_k(2x/c - 1)²``, of degree 2k + 1: at most x on [0, c], fast growing beyond.

    >>> chebyshev_power(np.array([0.0, 1.0, 2.0]), 1.0, 2).tolist()
    [0.0, 1.0, 578.0]
    """
    y = 2 * np.asarray(x, dtype=np.float64) / c - 1
    inside = np.cos(degree * np.arccos(np.clip(y, -1, 1)))
    with np.errstate(over="ignore"):
        beyond = np.cosh(degree * np.arccosh(np.maximum(np.abs(y), 1)))
        return np.asarray(x * np.where(np.abs(y) <= 1, inside, beyond) ** 2)


def largest_eigenvalue(trace: float, c: float, degree: int) -> float:
    """Return b with ``chebyshev_power(b) = trace``, at least c: ``‖B‖ ≤ b`` if tr P(B) ≤ trace.

    >>> round(largest_eigenvalue(578.0, 1.0, 2), 6)
    2.0
    """
    if trace <= c:
        return c
    low, high = c, 2 * c
    while float(chebyshev_power(np.array(high), c, degree)) < trace:
        high *= 2
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if float(chebyshev_power(np.array(middle), c, degree)) < trace:
            low = middle
        else:
            high = middle
    return high


def remainder_range(
    f: Callable[[Array], Array], peak: float, fitted: Array, top: float
) -> tuple[float, float]:
    """Return bounds on ``f - q`` over [0, top] for a quadratic q.

    Parameters
    ----------
    f : callable
        Increasing up to ``peak`` and decreasing beyond.
    peak : float
    fitted : array of shape (3,)
        Coefficients of q, constant first.
    top : float

    Examples
    --------
    >>> low, high = remainder_range(np.sqrt, np.inf, np.array([0.0, 1.0, 0.0]), 1.0)
    >>> bool(low <= 0 and 0.25 <= high < 0.26)
    True
    """
    grid = top * np.linspace(0, 1, _GRID + 1) ** 2  # finer near 0, where f may be steep
    marks = [peak, -fitted[1] / (2 * fitted[2]) if fitted[2] else 0.0]  # where f and q turn
    grid = np.unique(np.r_[grid, [x for x in marks if 0 < x < top]])
    values = f(grid), np.polynomial.polynomial.polyval(grid, fitted)
    (f_low, f_high), (q_low, q_high) = (
        (np.minimum(v[1:], v[:-1]), np.maximum(v[1:], v[:-1])) for v in values
    )
    return float((f_low - q_high).min()), float((f_high - q_low).max())
