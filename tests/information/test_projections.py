"""Entropies of projections against plain sums, and the best direction against a scan."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelPCA
from mercer.datasets import make_two_gaussians
from mercer.information import (
    information_potential,
    maximum_entropy_direction,
    projection_entropies,
)
from mercer.kernels import Gaussian


def plain_entropy(y, h, weights):
    """Return ``-log V`` by a double loop over normalized Gaussian kernels."""
    total = 0.0
    for yi, wi in zip(y, weights, strict=True):
        for yj, wj in zip(y, weights, strict=True):
            total += wi * wj * np.exp(-((yi - yj) ** 2) / (2 * h**2)) / np.sqrt(2 * np.pi * h**2)
    return -np.log(total / sum(weights) ** 2)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("unit_variance", [False, True])
def test_entropies_equal_double_sums(weighted, unit_variance):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(30, 3)) * [1, 2, 5] + [0, 1, 7]
    w = rng.uniform(0.5, 2, 30) if weighted else np.ones(30)
    found = projection_entropies(
        Z, Gaussian(0.4), unit_variance=unit_variance, sample_weight=w if weighted else None
    )
    for y, entropy in zip(Z.T, found, strict=True):
        mean = (w * y).sum() / w.sum()
        scale = np.sqrt((w * (y - mean) ** 2).sum() / w.sum()) if unit_variance else 1.0
        assert_allclose(entropy, plain_entropy(y / scale, 0.4, w), rtol=1e-10)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("h", [0.2, 1.0])
def test_best_line_equals_the_best_of_a_scan_of_angles(seed, h):
    X, _ = make_two_gaussians((40, 40), random_state=seed)
    u, entropy = maximum_entropy_direction(X, Gaussian(h), random_state=0)
    angles = np.linspace(0, np.pi, 721)
    lines = X @ np.array([np.cos(angles), np.sin(angles)])
    scan = projection_entropies(lines, Gaussian(h))
    assert scan.max() <= entropy + 1e-9 <= scan.max() + 1e-4
    assert_allclose(projection_entropies((X @ u)[:, None], Gaussian(h)), entropy, rtol=1e-10)
    assert_allclose(np.linalg.norm(u), 1, rtol=1e-12)
    y = X @ u
    assert y[np.abs(y).argmax()] > 0


def test_potential_of_unit_norm_directions_follows_the_variance():
    """0 ≤ V/κ(0) - (1 - Var y/σ²) ≤ E(y - y')⁴ / 8σ⁴, because 0 ≤ e^-t - (1 - t) ≤ t²/2."""
    X, _ = make_two_gaussians((40, 40), random_state=0)
    Z = KernelPCA(None, kernel=Gaussian(1.0), solver="dense").fit_transform(X)
    rng = np.random.default_rng(0)
    for u in [*np.eye(Z.shape[1])[:3], *rng.normal(size=(5, Z.shape[1]))]:
        y = Z @ u / np.linalg.norm(u)
        remainder = information_potential(y[:, None], Gaussian(1.0)) - (1 - y.var())
        assert np.abs(y).max() <= 1 + 1e-9
        fourth = ((y[:, None] - y) ** 4).mean()
        assert 0 <= remainder <= fourth / 8


@pytest.mark.parametrize("variance", [1.0, 10.0])
def test_first_kernel_component_has_nearly_the_largest_entropy(variance):
    """The same kernel for the mapping and for the entropy, as section 6 of Paiva requires."""
    X, _ = make_two_gaussians(random_state=1)
    kernel = Gaussian(variance**0.5)
    Z = KernelPCA(None, kernel=kernel, solver="dense").fit_transform(X)
    u, entropy = maximum_entropy_direction(Z, kernel, random_state=0)
    assert abs(u[0]) > 0.9995
    first = projection_entropies(Z[:, :1], kernel)[0]
    assert 0 <= entropy - first < 1e-4
    others = projection_entropies(Z[:, 1:], kernel)
    assert (others < first).all()


def test_direction_with_weights_equals_repeated_rows():
    X, _ = make_two_gaussians((15, 15), random_state=0)
    w = np.random.default_rng(0).integers(1, 4, 30)
    one = maximum_entropy_direction(X, Gaussian(0.5), sample_weight=w, random_state=0)
    other = maximum_entropy_direction(np.repeat(X, w, axis=0), Gaussian(0.5), random_state=0)
    assert_allclose(one[0], other[0], atol=1e-4)
    assert_allclose(one[1], other[1], atol=1e-8)


def test_errors_name_the_value():
    Z = np.c_[np.arange(5.0), np.ones(5)]
    with pytest.raises(ValueError, match="Column 1"):
        projection_entropies(Z, Gaussian(1.0), unit_variance=True)
    with pytest.raises(ValueError, match="auto"):
        maximum_entropy_direction(Z, Gaussian("auto"))
    with pytest.raises(ValueError, match="n_init"):
        maximum_entropy_direction(Z, Gaussian(1.0), n_init=0)
