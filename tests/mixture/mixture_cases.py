"""Samples of the tests of mixtures."""

import numpy as np
import pandas as pd


def points(n=60, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def frame(n=80, seed=0):
    rng = np.random.default_rng(seed)
    color = rng.choice(["red", "green", "blue"], size=n, p=[0.6, 0.3, 0.1])
    size = rng.normal(size=n) + 2 * (color == "blue")
    size[rng.random(n) < 0.2] = np.nan
    return pd.DataFrame({"size": size, "color": color, "flag": rng.random(n) < 0.3})
