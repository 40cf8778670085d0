"""How many components a mixture really has."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from mercer.chunks import summed
from mercer.maths.types import Array

__all__ = ["effective_weights"]

_SAME = 1e-3


def effective_weights(weights: Array, responsibilities: Array) -> Array:
    """Weights of the components that are there and differ, largest first; they add up to 1.

    A component is not there if all rows together give it less than one row's average weight. Two
    components are the same if every row is as likely under one as under the other, that is, if
    their responsibilities are in the ratio of their weights.

    >>> effective_weights(np.ones(4), np.full((4, 2), 0.5))
    array([1.])
    """
    (n, total), sums = summed(_sums, weights, responsibilities)
    shares = sums / total
    positive = np.maximum(shares, np.finfo(float).tiny)
    highest, apart = summed(partial(_gaps, positive), responsibilities, combine=_largest)
    kept: list[tuple[int, float]] = []
    for m in np.argsort(-shares):
        if shares[m] * n < 1 and kept:
            continue
        for place, (other, share) in enumerate(kept):
            if apart[m, other] <= _SAME * max(1.0, highest[m]):
                kept[place] = (other, share + float(shares[m]))
                break
        else:
            kept.append((int(m), float(shares[m])))
    merged = np.sort([share for _, share in kept])[::-1]
    return np.asarray(merged / merged.sum())


def _sums(weights: Array, responsibilities: Array) -> Any:
    return (len(weights), float(weights.sum())), weights @ responsibilities


def _gaps(shares: Array, responsibilities: Array) -> tuple[Array, Array]:
    """Largest entry of every profile, and the largest difference of every two."""
    profiles = responsibilities / shares
    highest = profiles.max(axis=0, initial=0.0)
    apart = [
        np.abs(profiles - profiles[:, [m]]).max(axis=0, initial=0.0) for m in range(len(shares))
    ]
    return highest, np.array(apart)


def _largest(parts: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    highest, apart = (np.maximum.reduce(place) for place in zip(*parts, strict=True))
    return highest, apart
