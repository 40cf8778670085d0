"""Effective number of components of a mixture."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from mercer.utils.row_passes import IN_MEMORY, RowPasses
from mercer.utils.types import Array

__all__ = ["effective_weights"]

_SAME = 1e-3  # relative difference of responsibilities below which components are equal


def effective_weights(
    weights: Array, responsibilities: Array, *, rows: RowPasses = IN_MEMORY
) -> Array:
    """Return the weights of the components that are neither empty nor equal, largest first.

    They add up to 1. A component is empty if all rows together give it a weight of less than 1,
    where weights are multiplicities. Two components are equal if every row is equally likely under
    both, that is, if their responsibilities are in the ratio of their weights.

    >>> effective_weights(np.ones(4), np.full((4, 2), 0.5))
    array([1.])
    """
    mass, sums = rows.sum(_sums, weights, responsibilities)
    proportions = sums / mass
    positive = np.maximum(proportions, np.finfo(float).tiny)
    highest, differences = rows.sum(
        partial(_profile_differences, positive), responsibilities, combine=_maxima
    )
    merged: list[tuple[int, float]] = []
    for m in np.argsort(-proportions):
        if sums[m] < 1 and merged:
            continue
        for i, (other, proportion) in enumerate(merged):
            if differences[m, other] <= _SAME * max(1.0, highest[m]):
                merged[i] = (other, proportion + float(proportions[m]))
                break
        else:
            merged.append((int(m), float(proportions[m])))
    found = np.sort([proportion for _, proportion in merged])[::-1]
    return np.asarray(found / found.sum())


def _sums(weights: Array, responsibilities: Array) -> Any:
    return float(weights.sum()), weights @ responsibilities


def _profile_differences(proportions: Array, responsibilities: Array) -> tuple[Array, Array]:
    """Return the largest entry of each profile and the largest difference of each pair.

    The profile of a component is the column of its responsibilities divided by its proportion.
    """
    profiles = responsibilities / proportions
    highest = profiles.max(axis=0, initial=0.0)
    differences = [
        np.abs(profiles - profiles[:, [m]]).max(axis=0, initial=0.0)
        for m in range(len(proportions))
    ]
    return highest, np.array(differences)


def _maxima(parts: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    highest, differences = (np.maximum.reduce(entries) for entries in zip(*parts, strict=True))
    return highest, differences
