r"""The spectrum after centering, from eigenvalues and means of eigenfunctions (Liang 2014, 4.2).

With :math:`K = \sum \lambda_i \phi_i \otimes \phi_i` and :math:`\mu_i = E\phi_i`, the centered
operator has the nonzero eigenvalues of

.. math:: \tilde M = \Lambda^{1/2} (I - \mu\mu') \Lambda^{1/2},

a diagonal matrix minus a rank-one term, so they are also the roots of the secular equation
:math:`1 = \sum_i \lambda_i \mu_i^2 / (\lambda_i - t)`. (The diagonal is
:math:`\lambda_i (1 - \mu_i^2)`; the thesis misprints the square.) With the first N pairs only,
the error of every eigenvalue is at most :math:`\lambda_{N+1}`, the norm of the omitted part.
"""

from __future__ import annotations

import numpy as np

from mercer.utils.types import Array

__all__ = ["centered_matrix", "secular_eigenvalues"]

# Eigenvalues that agree to this relative precision count as one pole of the secular equation.
_SAME_POLE = 1e-13
_BISECTIONS = 120


def centered_matrix(eigenvalues: Array, means: Array) -> Array:
    r"""Return ``M̃ = Λ^½ (I - μμ') Λ^½``, whose eigenvalues are those of the centered operator.

    Parameters
    ----------
    eigenvalues, means : arrays of shape (k,)
        ``λ_i`` and ``E φ_i`` of an uncentered expansion: of a population operator, or of any other
        orthonormal expansion of the kernel.

    Returns
    -------
    array of shape (k, k)
        An eigenvector v belongs to the centered eigenfunction
        ``Σ_i √λ_i v_i (φ_i - E φ_i) / √λ̃``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.population import centered_matrix
    >>> centered_matrix(np.array([1.0, 0.5]), np.array([0.6, 0.8])).round(4).tolist()
    [[0.64, -0.3394], [-0.3394, 0.18]]
    """
    loading = np.sqrt(eigenvalues) * means
    return np.asarray(np.diag(eigenvalues) - np.outer(loading, loading))


def secular_eigenvalues(eigenvalues: Array, means: Array) -> Array:
    """Return the eigenvalues of :func:`centered_matrix`, largest first.

    They are the roots of the secular equation. Each root lies between two neighboring poles; all
    are found at once by bisection. Eigenvalues with mean 0 do not change, nor do all but one copy
    of a multiple eigenvalue.

    Parameters
    ----------
    eigenvalues : array of shape (k,), positive
    means : array of shape (k,)
        With ``Σ μ² ≤ 1``.

    Examples
    --------
    >>> from mercer.population import GaussianOperator, Normal, secular_eigenvalues
    >>> operator = GaussianOperator(1.5, Normal(2, 1))
    >>> secular_eigenvalues(operator.eigenvalues, operator.means)[:3].round(6).tolist()
    [0.1875, 0.068518, 0.011719]
    """
    order = np.argsort(-eigenvalues, kind="stable")
    poles, squares = eigenvalues[order], means[order] ** 2
    coupled = poles * squares > 0
    unchanged = list(poles[~coupled])
    poles, squares = poles[coupled], squares[coupled]
    if len(poles) == 0:
        return np.sort(np.array(unchanged))[::-1]
    starts = np.flatnonzero(np.r_[True, poles[1:] < poles[:-1] * (1 - _SAME_POLE)])
    repeated = np.ones(len(poles), dtype=bool)
    repeated[starts] = False
    unchanged += list(poles[repeated])
    strengths = np.add.reduceat(poles * squares, starts)
    poles = poles[starts]
    upper, lower = poles, np.r_[poles[1:], 0.0]
    for _ in range(_BISECTIONS):
        middle = (upper + lower) / 2
        with np.errstate(divide="ignore"):
            value = 1 - (strengths / (poles - middle[:, None])).sum(axis=1)
        # the function decreases from +∞ at the lower pole to -∞ at the upper one
        lower, upper = np.where(value > 0, middle, lower), np.where(value > 0, upper, middle)
    return np.sort(np.r_[(upper + lower) / 2, unchanged])[::-1]
