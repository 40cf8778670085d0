"""Which terms an orthogonal series density should keep.

Dictionary: ``ĉ_k = mean of Φ_k over the sample`` the coefficients, ``ŝ_k`` the means of Φ_k², n the
sample size. The variance of ĉ_k is about (ŝ_k - ĉ_k²)/n, so a term reduces the mean integrated
square error if its square exceeds that. With unbiased estimates this reads
``ĉ_k² > 2 ŝ_k / (n + 1)`` (Kronmal and Tarter 1968; Girolami 2002, section 4). For the eigenvectors
of a Gram matrix ĉ_k² = λ_k (1'e_k)²/n² and ŝ_k = λ_k/n, so it is ``(1'e_k)² > 2n/(n + 1)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.maths.types import Array

__all__ = ["RULES", "check_terms", "choose_terms"]


def _kronmal_tarter(squares: Array, second_moments: Array, n: float) -> Array:
    """All terms that reduce the estimated error."""
    return np.flatnonzero(squares > 2 * second_moments / (n + 1))


def _kronmal_tarter_run(squares: Array, second_moments: Array, n: float) -> Array:
    """The terms before the first that does not."""
    passes = squares > 2 * second_moments / (n + 1)
    return np.arange(len(passes) if passes.all() else int(np.argmin(passes)))


def _diggle_hall(squares: Array, second_moments: Array, n: float) -> Array:
    """The leading terms that together have the least estimated error.

    Diggle and Hall (1986) object to stopping at the first violation: the error of the whole
    estimate is to be minimised over the place of the cut.
    """
    errors = np.cumsum(2 * second_moments / (n + 1) - squares)
    return np.arange(int(np.argmin(np.r_[0.0, errors])))


RULES: dict[str, Callable[[Array, Array, float], Array]] = {
    "kronmal-tarter": _kronmal_tarter,
    "kronmal-tarter-run": _kronmal_tarter_run,
    "diggle-hall": _diggle_hall,
}


def check_terms(rule: Any) -> None:
    """Refuse, in words, what is neither a rule's name nor a number of terms nor None."""
    if isinstance(rule, int | np.integer) and rule < 1:
        raise ValueError(f"terms={rule} must be at least 1, or None for all.")
    if not (rule is None or isinstance(rule, int | np.integer) or rule in RULES):
        raise ValueError(
            f"terms={rule!r} must be a number of terms, None for all, or one of "
            f"{', '.join(map(repr, RULES))}."
        )


def choose_terms(rule: Any, squares: Array, second_moments: Array, n: float) -> Array:
    """Numbers of the terms to keep, in their order.

    Parameters
    ----------
    rule : str, int or None
        A rule's name, how many of the leading terms, or None for all.
    squares, second_moments : arrays
        ĉ_k² and ŝ_k of the terms in their natural order.
    n : float
        Sample size.

    Examples
    --------
    >>> squares, moments = np.array([1.0, 0.001, 0.3, 0.002]), np.ones(4)
    >>> choose_terms("kronmal-tarter", squares, moments, 99)
    array([0, 2])
    >>> choose_terms("kronmal-tarter-run", squares, moments, 99)
    array([0])
    >>> choose_terms("diggle-hall", squares, moments, 99)
    array([0, 1, 2])
    """
    if rule is None:
        return np.arange(len(squares))
    if isinstance(rule, str):
        return RULES[rule](squares, second_moments, n)
    return np.arange(min(rule, len(squares)))
