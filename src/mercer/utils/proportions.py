"""Validation of proportions with sum 1: mixture weights and class priors."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.utils.types import Array

__all__ = ["checked_proportions"]


def checked_proportions(
    proportions: Any, count: int, name: str, owners: str = "components"
) -> Array:
    """Return ``count`` positive proportions with sum 1, or raise ValueError.

    Parameters
    ----------
    proportions : array-like
    count : int
    name : str
        Name of the parameter in messages.
    owners : str
        What the proportions belong to, for messages.
    """
    values = np.atleast_1d(np.asarray(proportions, dtype=np.float64))
    if values.shape != (count,):
        raise ValueError(
            f"{name} has {values.size} entries for {count} {owners}; pass one for each."
        )
    if not np.isfinite(values).all() or values.min() <= 0:
        raise ValueError(
            f"{name}={values.tolist()} must be positive; remove {owners} with proportion 0."
        )
    if abs(values.sum() - 1) > 1e-8:
        raise ValueError(
            f"{name} adds up to {values.sum():.10g}, not to 1; divide by the sum if proportions "
            "are intended."
        )
    return values / values.sum()
