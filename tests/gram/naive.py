"""Gram matrices written out, for comparison with operators."""

import numpy as np

__all__ = ["weighted_gram"]


def weighted_gram(kernel, X, weights=None, center=False):
    """Return ``W^½ K W^½``, centered in feature space if ``center``."""
    X = np.asarray(X, dtype=float)
    root = np.ones(len(X)) if weights is None else np.sqrt(weights)
    A = root[:, None] * kernel(X) * root
    if center:
        unit = root / np.linalg.norm(root)
        P = np.eye(len(X)) - np.outer(unit, unit)
        A = P @ A @ P
    return A
