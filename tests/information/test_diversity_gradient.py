"""Gradient of the Vendi score of order 2."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.information import diversity_gradient, vendi_score
from mercer.kernels import Cosine, Gaussian, Laplacian
from tests.expectations import raises


@pytest.mark.parametrize("kernel", [Gaussian(1.3), Gaussian(np.array([0.7, 2.0, 1.0])), Cosine()])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_equals_finite_differences(kernel, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    w = rng.exponential(size=12) if weighted else None
    score, gradient = diversity_gradient(X, kernel, sample_weight=w)
    assert_allclose(score, vendi_score(X, kernel, 2, sample_weight=w), rtol=1e-10)
    step = 1e-6
    for i, j in ((0, 0), (3, 2), (11, 1)):
        ends = []
        for sign in (1, -1):
            moved = X.copy()
            moved[i, j] += sign * step
            ends.append(vendi_score(moved, kernel, 2, sample_weight=w))
        assert_allclose(gradient[i, j], (ends[0] - ends[1]) / (2 * step), rtol=1e-5, atol=1e-7)


def test_gradient_errors():
    with raises(ValueError, "Laplacian"):
        diversity_gradient(np.eye(3), Laplacian(1.0))
    with raises(ValueError, "zeros"):
        diversity_gradient(np.zeros((2, 2)), "cosine")
