"""Validation of parameters and weights; messages contain the value, the limit and the remedy."""

from __future__ import annotations

from math import inf, isfinite
from numbers import Integral, Real
from typing import Any

from mercer.errors import InvalidParameterError, WeightWarning, warn

__all__ = [
    "check_choice",
    "check_gram",
    "check_integer",
    "check_real",
    "check_weight_totals",
    "check_weights",
    "round_down",
    "warn_if_heavy",
]

_SMALLEST_TOTAL = 1e-280  # of weights: eigenvalues far below the largest must not underflow
_HEAVY = 10  # mean weight above which a fit warns


def check_integer(
    value: Any, name: str, *, low: int = 1, high: int | None = None, remedy: str = ""
) -> int:
    """Return a parameter as an int; raise an error unless it is an integer within limits.

    ``name`` and ``remedy``, a sentence, are for the message. Booleans are not integers.
    """
    limits = f"of at least {low}" if high is None else f"between {low} and {high}"
    message = f"{name}={value!r} must be an integer {limits}.{' ' * bool(remedy)}{remedy}"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidParameterError(message)
    number = int(value)
    if number < low or (high is not None and number > high):
        raise InvalidParameterError(message)
    return number


def check_real(
    value: Any,
    name: str,
    *,
    above: float = -inf,
    low: float = -inf,
    high: float = inf,
    below: float = inf,
    remedy: str = "",
) -> float:
    """Return a parameter as a float; raise an error unless it is finite and within limits.

    ``above`` and ``below`` are exclusive limits; ``name`` and ``remedy`` are for the message.
    """
    limits = [
        f"{sign} {limit:g}"
        for sign, limit in ((">", above), (">=", low), ("<=", high), ("<", below))
        if isfinite(limit)
    ]
    message = f"{name}={value!r} must be a finite number{' ' * bool(limits)}{' and '.join(limits)}."
    message += f" {remedy}" if remedy else ""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidParameterError(message)
    number = float(value)
    if not (isfinite(number) and above < number < below and low <= number <= high):
        raise InvalidParameterError(message)
    return number


def check_choice(value: Any, name: str, choices: tuple[str, ...]) -> None:
    """Raise InvalidParameterError unless the value is one of the choices.

    >>> check_choice("size", "order", ("entropy", "variance"))
    Traceback (most recent call last):
    mercer.errors.InvalidParameterError: order='size' must be one of 'entropy', 'variance'.
    """
    if not isinstance(value, str) or value not in choices:
        raise InvalidParameterError(
            f"{name}={value!r} must be one of {', '.join(map(repr, choices))}."
        )


def round_down(value: float, largest: int) -> int:
    """Return the integer part of a number, at most ``largest``; rounding errors are ignored."""
    return largest if value >= largest else int(value * (1 + 1e-12))


def check_weight_totals(totals: Any) -> None:
    """Raise ValueError unless the sum of the sample weights is positive and within range."""
    if totals.largest == 0:
        raise ValueError("sample_weight is zero for every row; at least one must be positive.")
    problem = ""
    if not isfinite(totals.total):
        problem = "overflows"
    elif totals.total < _SMALLEST_TOTAL:
        problem = f"is {totals.total:.3g}, which is below {_SMALLEST_TOTAL:g}"
    if problem:
        raise ValueError(
            f"The sum of sample_weight {problem}: its largest is {totals.largest:.3g}. Divide the "
            "weights by their largest one."
        )


def warn_if_heavy(sample_size: float, n: int) -> None:
    """Warn if n rows with positive weight count as a sample of more than 10 n rows."""
    if sample_size > _HEAVY * n:
        warn(
            f"sample_weight sums to {sample_size:.6g} for {n} rows with positive weight, more than "
            f"{_HEAVY} per row. They are multiplicities: bandwidth rules and other rules assume as "
            "many rows. If the weights are not counts, divide them by their mean.",
            WeightWarning,
        )


def check_weights(weights: Any, name: str = "sample_weight") -> None:
    """Raise ValueError unless all weights are finite and non-negative; empty input passes."""
    import numpy as np  # imported here so that configuration does not import NumPy

    if not np.isfinite(weights).all():
        raise ValueError(f"{name} contains NaN or infinity; every weight must be finite.")
    if weights.min(initial=0) < 0:
        raise ValueError(
            f"{name} must not be negative, but its minimum is {weights.min():.6g}. "
            "Use 0 to ignore a row."
        )


def check_gram(K: Any) -> None:
    """Raise ValueError if a precomputed Gram matrix is not square and symmetric."""
    rows, columns = K.shape
    if rows != columns:
        raise ValueError(
            f"A precomputed kernel must be a square matrix of the training points; got "
            f"{rows} × {columns}. For new points pass their cross-Gram matrix to transform."
        )
    size = float(abs(K).max(initial=0.0))
    if size and _looks_like_distances(K):
        raise ValueError(
            f"K has zeros on the diagonal and entries of up to {size:.3g} elsewhere: it looks like "
            "distances, and a kernel is largest for equal points. Pass for example "
            "K = np.exp(-D**2 / (2 * np.median(D)**2))."
        )
    limit = (1e-8 if K.dtype.itemsize == 8 else 1e-4) * size
    step = max(1, 2**22 // rows)
    for first in range(0, rows, step):  # in blocks, to avoid a second n × n matrix
        block = slice(first, first + step)
        difference = float(abs(K[block] - K[:, block].T).max())
        if difference > limit:
            raise ValueError(
                f"A precomputed kernel must be symmetric; K - K.T has entries of up to "
                f"{difference:.3g} (allowed: {limit:.3g}). Pass (K + K.T) / 2 if that is intended."
            )


def _looks_like_distances(K: Any) -> bool:
    """Return whether a matrix has a zero diagonal, and a triangle inequality as far as tested.

    Affinities of a graph without loops also have a zero diagonal, but two near points and one far
    from both violate the inequality. Square roots, because distances may be squared.
    """
    if K.diagonal().any() or K.min() < 0 or len(K) < 3:
        return False
    for j in {0, len(K) // 2, len(K) - 1}:
        to_j = K[j] ** 0.5
        if any((row**0.5 > 1.001 * (root + to_j)).any() for row, root in zip(K, to_j, strict=True)):
            return False
    return True
