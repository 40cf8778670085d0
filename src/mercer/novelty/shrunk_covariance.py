"""Shrunk covariance matrices, conditional means and distances without some of the columns."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer.utils.types import Array

__all__ = ["conditional_fill", "reduced_distances", "shrinkage", "shrunk_covariance"]


def shrunk_covariance(rows: Array) -> Array:
    """Return the Ledoit-Wolf estimate of a covariance, ``(1 - δ) C + δ (tr C / d) I``.

    C is the covariance of the sample, and δ minimizes the expected squared error.

    Parameters
    ----------
    rows : array of shape (n, d)
        Centered.

    References
    ----------
    Ledoit and Wolf, "A well-conditioned estimator for large-dimensional covariance matrices",
    Journal of Multivariate Analysis 88:365-411 (2004).

    Examples
    --------
    >>> rows = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> shrunk_covariance(rows)
    array([[1., 0.],
           [0., 1.]])
    """
    n, d = rows.shape
    C = rows.T @ rows / n
    amount = shrinkage(rows, np.ones(n), float(np.trace(C)), float((C**2).sum()))
    return np.asarray((1 - amount) * C + amount * np.trace(C) / d * np.eye(d))


def shrinkage(centered: Array, weights: Array, trace: float, squares: float) -> float:
    """Return the shrinkage δ of Ledoit and Wolf, for rows with multiplicities.

    Parameters
    ----------
    centered : array of shape (n, d)
    weights : array of shape (n,)
    trace, squares : float
        Of the covariance C: its trace and the sum of its squared entries.

    Examples
    --------
    >>> rows = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> shrinkage(rows, np.ones(4), trace=2.0, squares=2.0)
    1.0
    """
    d, total = centered.shape[1], float(weights.sum())
    distance = squares / d - (trace / d) ** 2  # ‖C - (tr C / d) I‖² per column
    if not distance > 0:
        return 1.0
    norms = np.einsum("ij,ij->i", centered, centered)
    error = (float(weights @ norms**2) / total - squares) / (d * total)
    return min(max(error, 0.0) / distance, 1.0)


def conditional_fill(rows: Array, mean: Array, precision: Array) -> Array:
    """Replace missing values by their expectation given the other values of the row.

    The rows have a normal distribution with this mean and inverse covariance M. The expectation of
    the missing part J given the others O is ``mean_J - M_JJ⁻¹ M_JO (x_O - mean_O)``; it minimizes
    the Mahalanobis distance of the row.

    Parameters
    ----------
    rows : array of shape (n, d)
        NaN where missing.
    mean : array of shape (d,)
    precision : array of shape (d, d)

    Examples
    --------
    >>> precision = np.linalg.inv(np.array([[1.0, 0.5], [0.5, 1.0]]))
    >>> conditional_fill(np.array([[2.0, np.nan]]), np.zeros(2), precision)
    array([[2., 1.]])
    """
    missing = np.isnan(rows)
    partial = missing.any(axis=1)
    if not partial.any():
        return rows
    centered = np.where(missing, 0.0, rows - mean)
    patterns, groups = np.unique(missing[partial], axis=0, return_inverse=True)
    incomplete = np.flatnonzero(partial)
    groups = groups.ravel()
    order = np.argsort(groups, kind="stable")
    bounds = np.searchsorted(groups[order], np.arange(len(patterns) + 1))
    for k, J in enumerate(patterns):
        members = incomplete[order[bounds[k] : bounds[k + 1]]]
        inner = cho_factor(precision[np.ix_(J, J)], lower=True)
        outer = centered[members] @ precision[:, J]  # missing values are zero here
        centered[np.ix_(members, J)] = -cho_solve(inner, outer.T).T
    return np.asarray(centered + mean)


def reduced_distances(centered: Array, precision: Array, groups: Array) -> Array:
    """Return how much the Mahalanobis distance decreases if a group of columns is unknown.

    ``(M x)_J' M_JJ⁻¹ (M x)_J`` for each group J of columns and every row x: the contribution of the
    group by reconstruction (Alcala and Qin, "Reconstruction-based contribution for process
    monitoring", Automatica 45:1593-1600, 2009).

    Parameters
    ----------
    centered : array of shape (n, d)
    precision : array of shape (d, d)
    groups : array of int of shape (d,)
        Group of each column, from 0.

    Returns
    -------
    array of shape (n, groups.max() + 1)

    Examples
    --------
    >>> reduced_distances(np.array([[1.0, 2.0]]), np.eye(2), np.array([0, 1]))
    array([[1., 4.]])
    """
    products = centered @ precision
    result = np.empty((len(centered), int(groups.max()) + 1))
    for j in range(result.shape[1]):
        J = groups == j
        inner = cho_factor(precision[np.ix_(J, J)], lower=True)
        part = products[:, J]
        result[:, j] = np.einsum("ij,ij->i", part, cho_solve(inner, part.T).T)
    return result
