"""How many components a mixture really has."""

from __future__ import annotations

import numpy as np

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
    shares = weights @ responsibilities / weights.sum()
    kept: list[tuple[Array, float]] = []
    for m in np.argsort(-shares):
        if shares[m] * len(weights) < 1 and kept:
            continue
        profile = responsibilities[:, m] / shares[m]
        for place, (other, share) in enumerate(kept):
            if np.abs(profile - other).max() <= _SAME * max(1.0, float(profile.max())):
                kept[place] = (other, share + float(shares[m]))
                break
        else:
            kept.append((profile, float(shares[m])))
    merged = np.sort([share for _, share in kept])[::-1]
    return np.asarray(merged / merged.sum())
