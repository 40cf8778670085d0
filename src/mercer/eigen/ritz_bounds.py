r"""Bounds on eigenvalues, eigenvectors and entropy terms from Ritz pairs and their residuals.

Let X be orthonormal with ``X'AX = Θ`` diagonal, R = AX - XΘ, and β a bound on the largest
eigenvalue of A on the orthogonal complement of X. In the basis [X, X⊥],

.. math:: A = \begin{pmatrix} Θ & R' \\ R & A_2 \end{pmatrix}, \quad A_2 \le β .

* ``λ_i ≥ θ_i`` (Cauchy), and ``λ_{q+1} ≤ β`` for q columns (Courant, Fischer).
* For μ > β the number of eigenvalues above μ is the number of positive eigenvalues of the Schur
  complement ``Θ - μ + R'(μ - A_2)⁻¹R ≤ Θ - μ + R'R / (μ - β)`` (Sylvester). So ``λ_i`` is at most
  the i-th eigenvalue of ``Θ + R'R / (θ_i - β)`` if θ_i > β: an error of second order.
* The sine of the angle between a Ritz vector and the eigenvector is at most its residual divided by
  the distance of θ to all other eigenvalues; likewise for groups of neighbors (Davis, Kahan 1970).

All bounds include ``error``, a bound on the norm of the error of each column of AX.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv

from mercer.utils.types import Array

__all__ = [
    "EntropyGroups",
    "RitzBounds",
    "bound_entropy_terms",
    "bound_matrix",
    "bound_norm",
    "bound_ritz_pairs",
]

_SPLIT = 0.01  # (1 + t) R'R + (1 + 1/t) error² bounds the residuals with their error
_SEPARATED = 100.0  # a gap that exceeds the residuals by this factor separates two groups


@dataclass(frozen=True)
class RitzBounds:
    """Proven statements about the leading eigenvalues and their eigenvectors.

    Attributes
    ----------
    proven : int
        For so many leading pairs ``lower[i] ≤ λ_i ≤ upper[i]``, λ_i the i-th largest eigenvalue.
    lower : array of shape (q,)
        ``λ_i ≥ lower[i]`` holds for all i.
    upper : array of shape (proven + 1,)
        The last one bounds all eigenvalues after the proven ones.
    residuals : array of shape (q,)
        Bounds on the norms of the residuals.
    sines : array of shape (q,)
        Bounds on the sine of the angle to the eigenvector; NaN where none is proven.
    """

    proven: int
    lower: Array
    upper: Array
    residuals: Array
    sines: Array


def bound_ritz_pairs(
    values: Array,
    squares: Array,
    rest: float,
    error: float | Array = 0.0,
    joint: float | None = None,
    needed: int | None = None,
) -> RitzBounds:
    """Return bounds for Ritz pairs in decreasing order.

    Parameters
    ----------
    values : array of shape (q,)
        θ, largest first.
    squares : array of shape (q, q)
        ``R'R``.
    rest : float
        β.
    error : float or array of shape (q,)
        Bound on the norm of the error of each column of AX.
    joint : float or None
        Bound on the norm of the matrix of these errors; None for its Frobenius norm.
    needed : int or None
        Number of pairs whose bounds are used; those of others may be larger. None for all.

    Examples
    --------
    >>> A = np.array([[5.0, 0.0, 0.01], [0.0, 3.0, 0.01], [0.01, 0.01, 0.1]])
    >>> R = A[2:, :2]  # X are the first two unit vectors
    >>> found = bound_ritz_pairs(np.array([5.0, 3.0]), R.T @ R, rest=0.1)
    >>> true = np.linalg.eigvalsh(A)[::-1]
    >>> bool((true[:2] <= found.upper[:2]).all()), found.proven
    (True, 2)
    """
    q = len(values)
    errors = np.broadcast_to(np.asarray(error, dtype=np.float64), (q,))
    drift = float(np.linalg.norm(errors)) if joint is None else joint  # of the Ritz values
    padded = (1 + _SPLIT) * squares + (1 + 1 / _SPLIT) * drift**2 * np.eye(q)
    lower = values - drift
    proven = int((lower > rest).sum())
    upper = np.empty(proven + 1)
    for i in range(proven):
        if needed is not None and i > needed:
            upper[i] = upper[i - 1]
            continue
        shifted = np.diag(values) + padded / (lower[i] - rest)
        upper[i] = np.linalg.eigvalsh(shifted)[q - 1 - i] + drift
    norm = float(np.sqrt(max(np.linalg.eigvalsh(padded)[-1], 0.0))) if q else 0.0
    upper[proven] = rest if proven == q else max(rest, float(lower[proven])) + norm + drift
    upper = np.minimum.accumulate(upper)
    residuals = np.sqrt(np.maximum(np.diag(squares), 0)) + errors
    sines = np.full(q, np.nan)
    for i in range(proven):
        gap = min(lower[i - 1] - values[i] if i else np.inf, values[i] - upper[i + 1])
        if gap > residuals[i]:
            sines[i] = residuals[i] / gap
            # Kato and Temple: this eigenvalue is the only one within the gap
            near = residuals[i] ** 2 / (gap - errors[i]) + errors[i]
            lower[i] = max(lower[i], values[i] - near)
            upper[i] = min(upper[i], values[i] + near)
    return RitzBounds(proven, lower, upper, residuals, sines)


def bound_norm(
    product: float, error: float, count: int, failure: float, rounding: float = 0.0
) -> float:
    """Return a bound on ``‖M‖₂`` of a symmetric matrix from a product with Gaussian vectors.

    Let G have ``count`` columns of independent standard normal numbers and ``H = MG + E``. For the
    eigenvector u of the largest eigenvalue μ, ``‖u'MH‖ ≥ μ² ‖u'G‖ - μ ‖E‖``, and ``‖u'G‖²`` has a
    chi-squared distribution, whose quantile at ``failure`` is t. So ``μ² √t - μ ‖E‖ ≤ ‖MH‖``.

    Parameters
    ----------
    product : float
        ``‖MH‖₂``.
    error : float
        ``‖E‖₂``.
    count : int
    failure : float
        Probability that the bound does not hold.
    rounding : float
        Bound on the norm of rounding errors of G.

    Examples
    --------
    >>> M = np.diag([3.0, 1.0, 0.5])
    >>> G = np.random.default_rng(0).normal(size=(3, 40))
    >>> bound = bound_norm(np.linalg.norm(M @ M @ G, 2), 0.0, 40, 1e-9)
    >>> bool(3 <= bound < 6)
    True
    """
    least = float(np.sqrt(2 * gammaincinv(count / 2, failure))) - rounding
    if least <= 0:
        return float("inf")
    return float((error + np.sqrt(error**2 + 4 * least * product)) / (2 * least))


def bound_matrix(product: float, count: int, failure: float) -> float:
    """Return a bound on ``‖E‖₂`` from ``‖EG‖₂`` for a matrix G of standard normal numbers.

    Parameters
    ----------
    product : float
        ``‖EG‖₂``.
    count : int
        Number of columns of G.
    failure : float
        Probability that the bound does not hold.

    Examples
    --------
    >>> E = np.diag([3.0, 1.0, 0.5])
    >>> G = np.random.default_rng(0).normal(size=(3, 40))
    >>> bool(3 <= bound_matrix(np.linalg.norm(E @ G, 2), 40, 1e-9) < 12)
    True
    """
    return product / float(np.sqrt(2 * gammaincinv(count / 2, failure)))


@dataclass(frozen=True)
class EntropyGroups:
    """Bounds on sums of entropy terms over groups of neighboring eigenvalues.

    Attributes
    ----------
    groups : list of slices
        Eigenvalues that are separated from all others.
    lower, upper : arrays
        Bounds on the sum of the terms of each group.
    hidden : float
        Bound on the term of every eigenpair outside of the groups.
    """

    groups: list[slice]
    lower: Array
    upper: Array
    hidden: float

    def unproven(self, selected: Array) -> str | None:
        """Return why the selected pairs may not have the largest terms; None if they do."""
        single = {group.start for group in self.groups if group.stop - group.start == 1}
        if any(int(j) not in single for j in selected):
            return "a selected eigenvalue is not separated from its neighbors"
        largest, threshold = self.largest_other(selected), self.smallest(selected)
        if largest < threshold:
            return None
        return (
            f"another eigenpair may have a term of {largest:.3e}; the smallest selected is at "
            f"least {threshold:.3e}"
        )

    def smallest(self, selected: Array) -> float:
        """Return a lower bound on the terms of the selected pairs."""
        return float(self.lower[self._contain(selected)].min(initial=np.inf))

    def largest_other(self, selected: Array) -> float:
        """Return an upper bound on the terms of all other pairs."""
        others = self.upper[~self._contain(selected)]
        return max(float(others.max(initial=0.0)), self.hidden)

    def _contain(self, selected: Array) -> Array:
        """Return which groups contain selected pairs."""
        found = [((selected >= g.start) & (selected < g.stop)).any() for g in self.groups]
        return np.array(found, dtype=bool)


def bound_entropy_terms(
    bounds: RitzBounds, squares: Array, overlaps: Array, total: float, potential: float
) -> EntropyGroups:
    """Return bounds on entropy terms ``λ (1'e)² / n²`` of a positive semi-definite matrix.

    Terms that are not found are at most V minus those found, and at most the next eigenvalue times
    the mass of the vector of ones that is not found.

    Parameters
    ----------
    bounds : RitzBounds
    squares : array of shape (q, q)
        ``R'R``.
    overlaps : array of shape (q,)
        ``1'x_i`` of the Ritz vectors.
    total : float
        n, the squared norm of the vector of ones.
    potential : float
        V.
    """
    groups: list[slice] = []
    lower, upper, masses = [], [], []
    first, values = 0, bounds.lower
    for i in range(bounds.proven):
        gap = values[i] - bounds.upper[i + 1]
        nearby = bounds.residuals[i : i + 2].max()
        if gap <= _SEPARATED * nearby:
            continue
        group = slice(first, i + 1)
        above = values[first - 1] - bounds.upper[first] if first else np.inf
        part = squares[group, group]
        errors = bounds.residuals[group] - np.sqrt(np.maximum(np.diag(part), 0))
        residual = np.sqrt(max(np.linalg.eigvalsh(part)[-1], 0.0)) + np.sqrt((errors**2).sum())
        sine = min(float(residual / min(gap, above)), 1.0)
        found = float(np.linalg.norm(overlaps[group]))
        missing = float(np.sqrt(max(total - found**2, 0.0)))
        least = max(np.sqrt(1 - sine**2) * found - sine * missing, 0.0)
        most = min(found + sine * missing, np.sqrt(total))
        groups.append(group)
        masses.append(least**2)
        lower.append(values[i] * least**2 / total**2)
        upper.append(bounds.upper[first] * most**2 / total**2)
        first = i + 1
    next_value = bounds.upper[first]
    hidden = min(potential - sum(lower), next_value * (total - sum(masses)) / total**2)
    return EntropyGroups(groups, np.array(lower), np.array(upper), max(float(hidden), 0.0))
