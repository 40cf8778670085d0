"""Ranks of given eigenvalues among all eigenvalues."""

from __future__ import annotations

import numpy as np

from mercer.eigen.block_krylov import leading_eigenpairs
from mercer.eigen.nystrom import Nystrom
from mercer.eigen.plan import Request, can_compute_all_eigenvalues, plan
from mercer.gram import EigenProblem, Sample
from mercer.utils.eigenpairs import RANK_ERROR
from mercer.utils.types import Array

__all__ = ["count_above", "eigenvalue_ranks"]


_MIN_PAIRS, _MAX_PAIRS = 32, 256  # limits of the number of leading eigenpairs to compute


def eigenvalue_ranks(
    sample: Sample,
    eigenvalues: Array,
    error: float,
    center: bool = False,
    *,
    at_least: int = 1,
    products: int = _MAX_PAIRS,
) -> Array | None:
    """Return the 1-based ranks of eigenvalues of K among all; None if this costs too much.

    Parameters
    ----------
    sample : Sample
        The sample of K. K is computed again.
    eigenvalues : array of shape (k,)
        For weights as given by the user: in units of ``sample.unit``.
    error : float
        Bound on the error of the eigenvalues. Ranks are undefined if it is not small.
    center : bool
    at_least : int
        Lower bound on the largest rank, if one is known. A large one is too costly at once.
    products : int
        Number of products with K that the fit took. Not many more leading eigenpairs are computed:
        products with a block are faster, so this takes about as long as the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data.points import Points
    >>> from mercer.kernels import Gaussian
    >>> from mercer.gram import Sample
    >>> from mercer.eigen import eigenvalue_ranks
    >>> X = np.arange(40.0).reshape(-1, 1)
    >>> values = np.linalg.eigvalsh(Gaussian(1.0)(X))[::-1]
    >>> eigenvalue_ranks(Sample(Gaussian(1.0), Points(X)), values[[0, 4]], error=1e-9).tolist()
    [1, 5]
    """
    if sample.points.kind == "gram" or error > RANK_ERROR * eigenvalues.min():
        return None  # decompose counts the ranks of a precomputed matrix, which is not stored
    affordable = min(max(products, _MIN_PAIRS), _MAX_PAIRS)
    if at_least > affordable and not can_compute_all_eigenvalues(sample.points.n):
        return None
    chosen = plan(sample, Request("variance", 1))
    if isinstance(chosen.operator, Nystrom):
        return None  # ranks in an approximation of K may differ
    gram = chosen.gram(sample)
    gram = gram.centered() if center else gram
    values, error = eigenvalues / sample.unit, error / sample.unit
    return count_above(gram.problem(), values, max(error, gram.error_bound), affordable, at_least)


def count_above(
    problem: EigenProblem,
    values: Array,
    error: float = 0.0,
    affordable: int = _MAX_PAIRS,
    at_least: int = 1,
) -> Array | None:
    """Return the 1-based ranks of ``values`` among all eigenvalues; None if this costs too much.

    ``error`` bounds the error of the values. The number of leading eigenpairs, at first somewhat
    more than the lower bound ``at_least`` on the largest rank, is doubled until the last of them is
    below the smallest value.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data.points import Points
    >>> from mercer.kernels import Gaussian
    >>> from mercer.gram import Sample
    >>> from mercer.eigen import Dense, count_above
    >>> gram = Dense().gram(Sample(Gaussian(1.0), Points(np.arange(40.0).reshape(-1, 1))))
    >>> values = np.linalg.eigvalsh(gram.dense())[::-1]
    >>> count_above(gram.problem(), values[[0, 4]]).tolist()
    [1, 5]
    """
    small = can_compute_all_eigenvalues(problem.size)
    limit = problem.size // 16 if small else problem.size // 2  # else all values are cheaper
    k = max(_MIN_PAIRS // 2, at_least + at_least // 4 + 1)
    while k <= min(max(limit, _MIN_PAIRS), affordable, problem.size // 2):
        found, _, converged, _ = leading_eigenpairs(
            problem.product, problem.size, k, tolerance=1e-10
        )
        if converged and found[-1] < values.min() * (1 - 1e-8) - error:
            return _ranks(values, found, error)
        k *= 2
    return _ranks(values, np.linalg.eigvalsh(problem.dense()), error) if small else None


def _ranks(values: Array, all_values: Array, error: float) -> Array:
    """Return one plus the number of eigenvalues that exceed each value by more than the error."""
    slack = max(1e-9 * np.abs(all_values).max(), error)
    return np.asarray((all_values[None, :] > values[:, None] + slack).sum(axis=1) + 1)
