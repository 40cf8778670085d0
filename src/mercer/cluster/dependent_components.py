"""Principal components of a table that its columns have in common.

Categories separate the rows of a table even if the columns are independent, so gaps between rows do
not show clusters. Eigenvalues of the centered kernel matrix that exceed the largest one of a table
whose columns are permuted independently come from dependence (parallel analysis). The largest one
is the reference because a column without dependence has the same eigenvalue in both tables, at
another rank.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import eigsh

from mercer.kernels import Kernel
from mercer.utils.centering import double_center
from mercer.utils.types import Array

__all__ = ["dependent_components"]

_LARGER = 1.1  # eigenvalue, relative to the largest one of the permuted table
_MOST = 12


def dependent_components(frame: Any, kernel: Kernel, gram: Array | None = None) -> Array:
    """Return the leading kernel principal components with larger variance than without dependence.

    Parameters
    ----------
    frame : DataFrame
    kernel : Kernel
        Fitted.
    gram : array of shape (n, n) or None
        ``kernel(frame)``, if it exists already.

    Returns
    -------
    array of shape (n, m)
        With at least one column.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.bandwidth import fit_kernel
    >>> from mercer.kernels import table_kernel
    >>> groups = np.arange(60) % 2
    >>> noise = 0.01 * np.arange(60)
    >>> frame = pd.DataFrame({"x": groups + noise, "y": np.array(["a", "b"])[groups]})
    >>> dependent_components(frame, fit_kernel(table_kernel(frame), frame)).shape
    (60, 1)
    """
    rng = np.random.default_rng(0)
    n = len(frame)
    permuted = frame.copy()
    for place in range(frame.shape[1]):
        permuted.isetitem(place, frame.iloc[rng.permutation(n), place].array)
    values, vectors = _leading(kernel(frame) if gram is None else gram)
    reference, _ = _leading(kernel(permuted))
    is_larger = np.append(values > _LARGER * reference[0], False)
    count = max(1, int(np.argmin(is_larger)))
    return vectors[:, :count] * np.sqrt(np.maximum(values[:count], 0.0))


def _leading(gram: Array) -> tuple[Array, Array]:
    """Return the leading eigenvalues, relative to the trace, and eigenvectors of centered K."""
    n = len(gram)
    K = double_center(np.array(gram, dtype=np.float64), np.full(n, n**-0.5))
    start = np.random.default_rng(0).normal(size=n)
    values, vectors = eigsh(K, k=min(_MOST, n - 1), v0=start)
    order = np.argsort(-values)
    trace = max(float(np.trace(K)), float(np.finfo(np.float64).tiny))
    return values[order] / trace, vectors[:, order]
