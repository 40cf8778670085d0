"""Kernels, samples and grids of the tests of densities."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.kernels import Epanechnikov, Gaussian, Laplacian, Matern

DENSITIES = [
    Gaussian(0.4),
    Gaussian(np.array([0.3, 0.6])),
    Laplacian(0.3),
    Matern(0.4, 1.5),
    Epanechnikov(0.9),
    Gaussian(0.2) + 0.5 * Laplacian(0.4),
]
RULES = ["kronmal-tarter", "kronmal-tarter-run", "diggle-hall", 4, None]
every_density = pytest.mark.parametrize("kernel", DENSITIES, ids=repr)
every_rule = pytest.mark.parametrize("terms", RULES)


def array(n=80, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def grid(low=-6.0, high=6.0, cells=240):
    side = low + (high - low) * (np.arange(cells) + 0.5) / cells
    return np.stack(np.meshgrid(side, side), -1).reshape(-1, 2), ((high - low) / cells) ** 2
