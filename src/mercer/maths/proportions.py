"""Shares of a whole: weights of a mixture, priors of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.maths.types import Array

__all__ = ["checked_shares"]


def checked_shares(shares: Any, count: int, name: str, owners: str = "laws") -> Array:
    """Check that there are ``count`` positive numbers that add up to 1.

    Parameters
    ----------
    shares : array-like
    count : int
    name : str
        Of the parameter, for messages.
    owners : str
        What has a share, for messages.
    """
    values = np.atleast_1d(np.asarray(shares, dtype=np.float64))
    if values.shape != (count,):
        raise ValueError(
            f"{name} has {values.size} entries for {count} {owners}; give one for each."
        )
    if not np.isfinite(values).all() or values.min() <= 0:
        raise ValueError(
            f"{name}={values.tolist()} must be positive; leave out {owners} of weight 0."
        )
    if abs(values.sum() - 1) > 1e-8:
        raise ValueError(
            f"{name} adds up to {values.sum():.10g}, not to 1; divide by the sum if proportions "
            "are meant."
        )
    return values / values.sum()
