"""A table of the tests of kernels, and its mean embedding."""

from __future__ import annotations

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
NAMES = ["Ada", "Grace", "Emmy", "Sofia", "Maria", "Emilie", "Hypatia", "Mary", "Ada"]
FRAME = pd.DataFrame(
    {
        "age": [36.0, 85.0, 53.0, 41.0, 80.0, 42.0, 60.0, 91.0, 36.0],
        "height": [1.6, 1.7, 1.55, 1.62, 1.58, 1.71, 1.66, 1.6, 1.6],
        "land": ["uk", "us", "de", "ru", "it", "fr", "eg", "uk", "uk"],
        "size": pd.Categorical(list("smlsmlsml"), categories=list("sml"), ordered=True),
        "name": NAMES,
        "alive": [False, False, False, True, False, False, True, False, False],
    }
)


def with_missing_values(frame, fraction=0.3, seed=0):
    """Return the frame with missing values and at least two observed values per column."""
    gone = np.random.default_rng(seed).random(frame.shape) < fraction
    gone[:2] = False
    return frame.astype({"alive": object}).mask(gone)


def mean_embedding(kernel, cells, missing, weights=None):
    """Return ``P K P'``: a row of P selects an observed value, or averages for a missing one."""
    weights = np.ones(len(cells)) if weights is None else weights
    seen = [i for i, gone in enumerate(missing) if not gone and weights[i] > 0]
    P = np.zeros((len(cells), len(cells)))
    fraction = np.zeros(len(cells))
    fraction[seen] = weights[seen] / weights[seen].sum()
    for i, gone in enumerate(missing):
        P[i] = fraction if gone else np.eye(len(cells))[i]
    filled = [cells[seen[0]] if gone else cell for cell, gone in zip(cells, missing, strict=True)]
    return P @ kernel(filled) @ P.T
