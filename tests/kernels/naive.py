"""Points, naive kernel matrices and the formulas of all kernels on vectors."""

from __future__ import annotations

from math import exp, gamma, inf, sqrt, tanh

import numpy as np
from numpy.testing import assert_allclose
from scipy.special import kv

from mercer.kernels import (
    Cosine,
    Epanechnikov,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Sigmoid,
)

__all__ = ["BANDWIDTHS", "FORMULAS", "IDS", "naive", "points", "smallest_eigenvalue"]

BANDWIDTHS = (0.7, 1.3, 2.0, 0.4)


def points(n=17, d=4, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d))
    X.setflags(write=False)
    return X


def naive(formula, X, Y):
    """Return a kernel matrix by a double loop over points."""
    return np.array([[float(formula(x, y)) for y in Y] for x in X])


def scaled_distance(x, y, b):
    b = b if isinstance(b, tuple) else (b,) * len(x)
    return sqrt(sum(((p - q) / s) ** 2 for p, q, s in zip(x, y, b, strict=True)))


def dot(x, y):
    return sum(p * q for p, q in zip(x, y, strict=True))


def matern(r, nu):
    if nu == inf:
        return exp(-r * r / 2)
    t = sqrt(2 * nu) * r
    return 1.0 if t == 0 else 2 ** (1 - nu) / gamma(nu) * t**nu * float(kv(nu, t))


def laplacian(x, y, b):
    b = b if isinstance(b, tuple) else (b,) * len(x)
    return exp(-sum(abs(p - q) / s for p, q, s in zip(x, y, b, strict=True)))


def array_of(b):
    return np.array(b) if isinstance(b, tuple) else b


FORMULAS = [
    *[
        (Gaussian(array_of(b)), lambda x, y, b=b: exp(-(scaled_distance(x, y, b) ** 2) / 2))
        for b in (0.5, 1.0, 3.0, BANDWIDTHS)
    ],
    *[
        (Laplacian(array_of(b)), lambda x, y, b=b: laplacian(x, y, b))
        for b in (0.5, 2.0, BANDWIDTHS)
    ],
    *[
        (Matern(array_of(b), nu), lambda x, y, b=b, nu=nu: matern(scaled_distance(x, y, b), nu))
        for b in (1.3, BANDWIDTHS)
        for nu in (0.5, 0.8, 1.5, 2.5, 3.7, 6.0, inf)
    ],
    *[
        (
            Epanechnikov(array_of(b)),
            lambda x, y, b=b: max(0.0, 1 - scaled_distance(x, y, b) ** 2),
        )
        for b in (0.5, 2.5, (2.0, 3.0, 4.0, 1.5))
    ],
    (Linear(), dot),
    (Linear(0.3, 2.0), lambda x, y: 2.0 + 0.3 * dot(x, y)),
    (Linear(-1.0), lambda x, y: -dot(x, y)),
    (Polynomial(), lambda x, y: dot(x, y) ** 2),
    (Polynomial(3, 1.5, 0.4), lambda x, y: (1.5 + 0.4 * dot(x, y)) ** 3),
    (Polynomial(1, 0.0, 2.0), lambda x, y: 2 * dot(x, y)),
    (Sigmoid(), lambda x, y: tanh(dot(x, y))),
    (Sigmoid(0.2, -0.5), lambda x, y: tanh(0.2 * dot(x, y) - 0.5)),
    (Cosine(), lambda x, y: dot(x, y) / sqrt(dot(x, x) * dot(y, y))),
]


IDS = [repr(kernel) for kernel, _ in FORMULAS]


def smallest_eigenvalue(K):
    """Return the smallest eigenvalue of a symmetric matrix."""
    assert_allclose(K, K.T, rtol=1e-12, atol=1e-14)
    return np.linalg.eigvalsh(K)[0]
