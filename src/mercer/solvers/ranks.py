"""Ranks of given eigenvalues among all eigenvalues."""

from __future__ import annotations

import numpy as np

from mercer.maths.types import Array
from mercer.operators import EigenProblem, Sample, center_gram
from mercer.solvers.block_krylov import leading_eigenpairs
from mercer.solvers.nystrom import Nystrom
from mercer.solvers.plan import Request, can_compute_all_eigenvalues, plan

__all__ = ["count_above", "eigenvalue_ranks"]


def eigenvalue_ranks(
    sample: Sample, eigenvalues: Array, error: float, center: bool = False
) -> Array | None:
    """Return the 1-based ranks of eigenvalues of K among all; None if this costs too much.

    Parameters
    ----------
    sample : Sample
        The sample of K. K is computed again.
    eigenvalues : array of shape (k,)
    error : float
        Bound on the error of the eigenvalues. Ranks are undefined if it is not small.
    center : bool

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import Points
    >>> from mercer.kernels import Gaussian
    >>> from mercer.operators import Sample
    >>> from mercer.solvers import eigenvalue_ranks
    >>> X = np.arange(40.0).reshape(-1, 1)
    >>> values = np.linalg.eigvalsh(Gaussian(1.0)(X))[::-1]
    >>> eigenvalue_ranks(Sample(Gaussian(1.0), Points(X)), values[[0, 4]], error=1e-9).tolist()
    [1, 5]
    """
    if sample.points.kind == "gram" or error > 1e-3 * eigenvalues.min():
        return None  # decompose counts the ranks of a precomputed matrix, which is not stored
    chosen = plan(sample, Request("variance", 1))
    if isinstance(chosen.operator, Nystrom):
        return None  # ranks in an approximation of K may differ
    gram = chosen.gram(sample)
    gram = center_gram(gram) if center else gram
    return count_above(gram.problem(), eigenvalues, max(error, gram.error_bound))


def count_above(
    problem: EigenProblem, values: Array, error: float = 0.0, affordable: int = 256
) -> Array | None:
    """Return the 1-based ranks of ``values`` among all eigenvalues; None if this costs too much.

    ``error`` bounds the error of the values. The number of leading eigenpairs is doubled until the
    last of them is below the smallest value.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import Points
    >>> from mercer.kernels import Gaussian
    >>> from mercer.operators import Sample
    >>> from mercer.solvers import Dense, count_above
    >>> gram = Dense().gram(Sample(Gaussian(1.0), Points(np.arange(40.0).reshape(-1, 1))))
    >>> values = np.linalg.eigvalsh(gram.dense())[::-1]
    >>> count_above(gram.problem(), values[[0, 4]]).tolist()
    [1, 5]
    """
    small = can_compute_all_eigenvalues(problem.size)
    k = 16
    while k <= min(32 if small else affordable, problem.size // 2):
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
