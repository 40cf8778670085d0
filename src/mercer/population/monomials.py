"""Monomials ``x^j = x_1^{j_1} ⋯ x_p^{j_p}``: exponents, values and multiplicities."""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import comb

import numpy as np
from scipy.special import gammaln

from mercer.utils.types import Array

__all__ = ["count_monomials", "exponents_of_degree", "monomial_values", "multinomials", "spell"]


def count_monomials(p: int, degree: int) -> int:
    """Return ``C(degree + p - 1, degree)``, the number of monomials of a degree in p variables."""
    return comb(degree + p - 1, degree)


def exponents_of_degree(p: int, degree: int) -> Array:
    """Return all multi-indices j with ``|j| = degree``, as rows, ``x_1^degree`` first.

    >>> exponents_of_degree(2, 2).tolist()
    [[2, 0], [1, 1], [0, 2]]
    """
    choices = np.array(list(combinations_with_replacement(range(p), degree)), dtype=np.intp)
    rows = np.zeros((len(choices), p), dtype=np.int64)
    for factor in choices.T:
        rows[np.arange(len(rows)), factor] += 1
    return rows


def monomial_values(X: Array, exponents: Array) -> Array:
    """Return ``x_i^j`` as an array of shape (n, m)."""
    values = np.ones((len(X), len(exponents)))
    for column, powers in zip(X.T, exponents.T, strict=True):
        if powers.any():
            values *= (column[:, None] ** np.arange(powers.max() + 1))[:, powers]
    return values


def multinomials(exponents: Array) -> Array:
    """Return ``|j|! / (j_1! ⋯ j_p!)`` for every row, rounded to integers."""
    logs = gammaln(exponents.sum(axis=1) + 1.0) - gammaln(exponents + 1.0).sum(axis=1)
    return np.rint(np.exp(logs))


def spell(exponents: Array) -> str:
    """Return a monomial as text; coordinates are numbered from 1.

    >>> spell(np.array([2, 0, 1]))
    'x1² x3'
    """
    raised = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    factors = [
        f"x{i}" + (str(j).translate(raised) if j > 1 else "")
        for i, j in enumerate(exponents, start=1)
        if j
    ]
    return " ".join(factors) or "1"
