"""Agreement with the published formulas of Vendi, RKE, FKEA, KEN and SPEC."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.information import vendi_score
from mercer.kernels import Cosine, Gaussian


def vendi(K, q=1.0):
    """Return the score as in the package vendi-score: all eigenvalues of K/n."""
    p = np.linalg.eigvalsh(K / len(K))
    p = p[p > 0]
    if q == 1:
        return np.exp(-(p * np.log(p)).sum())
    return 1 / p.max() if np.isinf(q) else (p**q).sum() ** (1 / (1 - q))


def rke(K):
    """Return the Renyi kernel entropy score: 1 / ‖K/n‖_F²."""
    return 1 / (np.linalg.norm(K / len(K)) ** 2)


def fkea(X, bandwidth, count, q, rng):
    """Return the score from ``count`` random frequencies, each with cosine and sine."""
    angles = X @ rng.normal(scale=1 / bandwidth, size=(X.shape[1], count))
    features = np.hstack([np.cos(angles), np.sin(angles)]) / np.sqrt(count)
    p = np.linalg.eigvalsh(features.T @ features / len(X))
    p = p[p > 1e-15]
    return np.exp(-(p * np.log(p)).sum()) if q == 1 else (p**q).sum() ** (1 / (1 - q))


def ken_eigenvalues(X, Y, kernel):
    """Return the eigenvalues of the kernel matrix of the novelty of Y relative to X."""
    n, m = len(X), len(Y)
    cross = kernel(Y, X) / np.sqrt(n * m)
    return np.linalg.eigvals(np.block([[kernel(Y) / m, cross], [-cross.T, -kernel(X) / n]])).real


@pytest.mark.parametrize("kernel", [Cosine(), Gaussian(2.0)], ids=repr)
def test_vendi_and_rke(kernel):
    X = np.random.default_rng(0).normal(size=(80, 6))
    for q in (0.5, 1.0, 2.0, np.inf):
        assert_allclose(vendi_score(X, kernel, q), vendi(kernel(X), q), rtol=1e-6)
    assert_allclose(vendi_score(X, kernel, 2), rke(kernel(X)), rtol=1e-10)


def test_fkea_converges_to_the_score():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    for q in (1, 2):
        exact = vendi_score(X, Gaussian(2.0), q)
        # the error of 1000 random frequencies is about 1/√1000 = 3.2 % per kernel value
        assert_allclose(fkea(X, 2.0, 1000, q, rng), exact, rtol=0.064)


def test_ken_eigenvalues():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(50, 4)), rng.normal(0.7, 1, size=(40, 4))
    expected = np.sort(ken_eigenvalues(X, Y, Gaussian(2.0)))[::-1]
    found = mercer.compare_samples(X, Y, Gaussian(2.0), n_modes=5)
    assert_allclose([mode.eigenvalue for mode in found.novel_modes], expected[:5], rtol=1e-6)


def test_spec_eigenvalues():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 4)), rng.normal(size=(60, 3))
    expected = np.linalg.eigvalsh((Cosine()(X) - Cosine()(Y)) / 60)
    found = mercer.compare_embeddings(X, Y, n_modes=3)
    assert_allclose([mode.eigenvalue for mode in found.first_modes], expected[::-1][:3], rtol=1e-6)
