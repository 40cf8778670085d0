"""Weights of a convex combination of densities, by maximum likelihood."""

from __future__ import annotations

import numpy as np

from mercer.utils.types import Array

__all__ = ["stacking_weights"]

_MAX_ITER = 20_000
_TOLERANCE = 1e-7  # of the mean log-likelihood


def stacking_weights(logs: Array, weights: Array) -> Array:
    """Maximize ``Σ_i w_i log Σ_m a_m exp(logs[i, m])`` over the simplex.

    The problem is concave. EM steps ``a_m ← a_m g_m`` with the gradient
    ``g_m = Σ_i w_i p_im / p_i / Σ_i w_i`` increase the objective, and ``max g - 1`` bounds what
    remains to be gained.

    Parameters
    ----------
    logs : array of shape (n, m)
        Log densities of the members at the rows; -inf is allowed unless a row has nothing else.
    weights : array of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> stacking_weights(np.log([[0.3, 0.1], [0.1, 0.3], [0.3, 0.1]]), np.ones(3)).round(4)
    array([0.8333, 0.1667])
    """
    usable = np.isfinite(logs).any(axis=1)
    top = logs[usable].max(axis=1, keepdims=True)
    values = np.exp(logs[usable] - top)
    masses = weights[usable] / weights[usable].sum()
    a = np.full(logs.shape[1], 1 / logs.shape[1])
    for _ in range(_MAX_ITER):
        gradient = (masses / (values @ a)) @ values
        if gradient.max() - 1 < _TOLERANCE:
            break
        a = a * gradient
        a /= a.sum()
    return np.asarray(a)
