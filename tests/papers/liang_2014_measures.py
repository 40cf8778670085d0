"""Measures of Liang 2014, and spectra by quadrature as a reference."""

from math import comb

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from numpy.testing import assert_allclose

from mercer.population import Mixture, Normal, Uniform

SQUARE = Uniform([0, 0], [1, 1])
CLOUDS = Mixture([0.5, 0.5], [Normal([-3, 1]), Normal([2, -1])])  # 3.2.2
ONE = Normal(2, 1)  # 4.3.2
TWO = Mixture([0.6, 0.4], [Normal(2, 1), Normal(-2, 1)])  # 4.3.3
BANDWIDTH = 1.5
CLASSES = [Normal([2, -2]), Normal([-1, 2])]  # (5.4), class 0 and class 1


def shifted(m, k=2.0):
    """Return the measure of (4.6) for any k."""
    return Normal([m, 0], [1, k])


def normal_nodes(mean, variances, n):
    nodes, weights = hermegauss(n)
    axes = [np.atleast_1d(mu + np.sqrt(v) * nodes) for mu, v in zip(mean, variances, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(axes))
    w = np.ones(1)
    for _ in axes:
        w = np.outer(w, weights / weights.sum()).ravel()
    return grid, w


def mixture_nodes(measure, n):
    parts = [normal_nodes(p.mean, np.diag(p.cov), n) for p in measure.parts]
    points = np.vstack([x for x, _ in parts])
    return points, np.concatenate([s * w for s, (_, w) in zip(measure.weights, parts, strict=True)])


def nodes_of(measure, n):
    if isinstance(measure, Mixture):
        return mixture_nodes(measure, n)
    if isinstance(measure, Normal):
        return normal_nodes(measure.mean, np.diag(measure.cov), n)
    x, w = np.polynomial.legendre.leggauss(n)
    grid = np.stack(np.meshgrid((1 + x) / 2, (1 + x) / 2, indexing="ij"), -1).reshape(-1, 2)
    return grid, np.outer(w, w).ravel() / 4


def by_quadrature(function, measure, count, center=False, n=60):
    """Return the leading eigenvalues of √w K √w; centering projects √w out."""
    X, w = nodes_of(measure, n)
    root = np.sqrt(w)
    A = root[:, None] * function(X[:, None, :], X[None, :, :]) * root
    if center:
        P = np.eye(len(w)) - np.outer(root, root)
        A = P @ A @ P
    return np.linalg.eigvalsh(A)[::-1][:count]


def polynomial(degree, constant=0.0):
    return lambda x, y: (constant + (x * y).sum(-1)) ** degree


def gaussian(bandwidth):
    return lambda x, y: np.exp(-((x - y) ** 2).sum(-1) / (2 * bandwidth**2))


def assert_close_up_to_sign(found, printed, atol):
    found, printed = np.asarray(found), np.asarray(printed)
    sign = np.sign((found * printed).sum(-1, keepdims=True))
    assert_allclose(sign * found, printed, atol=atol)


def features(X, degree):
    """Monomials of the highest degree and their multinomial coefficients, x1^d first."""
    powers = np.arange(degree + 1)
    monomials = X[:, :1] ** (degree - powers) * X[:, 1:] ** powers
    return monomials, np.array([comb(degree, k) for k in powers])
