"""Paiva, Xu, Príncipe, Kernel Principal Components Are Maximum Entropy Projections, 2006.

Numbers come from the paper as corrected by the project's list of errata.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import approx_fprime
from sklearn.decomposition import PCA

from mercer import KernelPCA, MaximumEntropyProjection, ParzenDensity
from mercer.datasets import make_two_gaussians
from mercer.information import (
    feature_variance,
    information_potential,
    potential_gradient,
    renyi_entropy,
)
from mercer.kernels import Gaussian

# --- identities ----------------------------------------------------------------------------------


def test_potential_equals_the_integral_of_a_squared_parzen_density():
    """Equations (12) and (13): the Parzen window has bandwidth σ/√2."""
    X = make_two_gaussians((10, 10), random_state=0)[0][:, :1]
    density = ParzenDensity(kernel=Gaussian(0.5 / np.sqrt(2))).fit(X)
    integral, _ = quad(lambda x: density.pdf([[x]])[0] ** 2, -8, 8, epsabs=1e-13, limit=400)
    assert_allclose(integral, information_potential(X, Gaussian(0.5), normalize=True), rtol=1e-10)


def test_potential_equals_the_squared_norm_of_the_mean():
    """Equation (15), with the features of the full spectrum."""
    X, _ = make_two_gaussians((30, 30), random_state=0)
    features = KernelPCA(None, kernel=Gaussian(0.3), center=False, solver="dense").fit_transform(X)
    norm = (features.mean(axis=0) ** 2).sum()
    assert_allclose(norm, information_potential(X, Gaussian(0.3)), rtol=1e-10)


def test_feature_variance_equals_the_sum_of_centered_eigenvalues():
    """Equation (17): κ(0) - V is the sum of the centered eigenvalues over n."""
    X, _ = make_two_gaussians((30, 30), random_state=0)
    variance = feature_variance(X, Gaussian(0.3))
    assert_allclose(variance, 1 - information_potential(X, Gaussian(0.3)), rtol=1e-10)
    pca = KernelPCA(None, kernel=Gaussian(0.3), solver="dense").fit(X)
    assert_allclose(pca.eigenvalues_.sum() / len(X), variance, rtol=1e-10)


@pytest.mark.parametrize("bandwidth", [0.3, np.array([0.3, 0.8])])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_of_the_potential_equals_finite_differences(bandwidth, weighted):
    X, _ = make_two_gaussians((6, 6), random_state=0)
    w = np.arange(1.0, 13.0) if weighted else None
    kernel = Gaussian(bandwidth)
    potential, gradient = potential_gradient(X, kernel, sample_weight=w, normalize=True)
    assert_allclose(potential, information_potential(X, kernel, sample_weight=w, normalize=True))

    def moved(flat):
        return information_potential(flat.reshape(X.shape), kernel, sample_weight=w, normalize=True)

    step = 1e-5
    forward, backward = (
        approx_fprime(X.ravel(), moved, step),
        approx_fprime(X.ravel(), moved, -step),
    )
    central = 0.5 * (forward + backward).reshape(X.shape)
    assert_allclose(gradient, central, atol=1e-8)


# --- section 5 -----------------------------------------------------------------------------------


def test_components_of_wide_kernels_are_linear():
    """Correlations of the first components are 0.889, 0.9925 and 0.9999."""
    X, _ = make_two_gaussians((500, 500), random_state=0)
    linear = PCA(1).fit_transform(X)[:, 0]
    found = [
        abs(np.corrcoef(KernelPCA(1, kernel=Gaussian(v**0.5)).fit_transform(X)[:, 0], linear)[0, 1])
        for v in (1.0, 10.0, 100.0)
    ]
    assert found[0] == pytest.approx(0.889, abs=0.03)
    assert found[1] == pytest.approx(0.9925, abs=0.003)
    assert found[2] == pytest.approx(0.9999, abs=0.0001)
    assert found[0] < found[1] < found[2]


def test_scaled_kernel_principal_components_do_not_have_the_greatest_entropy():
    """Projections of unit variance, which the paper does not compare: 1.181, 1.270, 0.850."""
    linear, kernel, lines = [], [], []
    for seed in range(5):
        X, _ = make_two_gaussians(random_state=seed)
        linear.append(_entropy(PCA(1).fit_transform(X)))
        kernel.append(_entropy(KernelPCA(1, kernel=Gaussian(1.0)).fit_transform(X)))
        angles = np.linspace(0, np.pi, 30)
        projections = [X @ np.array([[np.cos(a)], [np.sin(a)]]) for a in angles]
        lines.append(max(map(_entropy, projections)))
    assert np.mean(kernel) < np.mean(linear) < np.mean(lines)
    assert_allclose(np.mean(linear), 1.181, atol=0.05)
    assert_allclose(np.mean(lines), 1.270, atol=0.03)
    assert_allclose(np.mean(kernel), 0.850, atol=0.1)


def _entropy(z):
    return renyi_entropy((z - z.mean()) / z.std(), Gaussian(0.2))


MINIMUM_ON_THE_INTERVAL = 0.4032


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", ["lbfgs", "gradient-descent"])
def test_training_reduces_the_potential_almost_to_its_minimum(optimizer):
    for seed in range(6):
        X, _ = make_two_gaussians(random_state=seed)
        model = MaximumEntropyProjection(optimizer=optimizer, random_state=seed).fit(X)
        assert 0.5 < model.initial_information_potential_ < 1.9947
        assert model.information_potential_ < model.initial_information_potential_
        assert MINIMUM_ON_THE_INTERVAL <= model.information_potential_ < 0.50
        if optimizer == "lbfgs":
            assert model.information_potential_ < 0.42


def test_potential_of_standardized_output_is_bounded_from_below():
    """No distribution of unit variance has V below 3/(5√5) / √(1 + σ²/2)."""
    minimum = 3 / (5 * np.sqrt(5)) / np.sqrt(1 + 0.2**2 / 2)
    for seed in range(6):
        X, _ = make_two_gaussians(random_state=seed)
        model = MaximumEntropyProjection(output="standardized", random_state=seed).fit(X)
        assert minimum <= model.information_potential_ < 0.285


def test_potential_of_unbounded_output_decreases_with_scale():
    """Towards κ(0)/n."""
    x = make_two_gaussians(random_state=0)[0][:, :1]
    found = [
        information_potential(s * x, Gaussian(0.2), normalize=True) for s in (1, 10, 100, 1000)
    ]
    assert_allclose(found, [0.317, 0.042, 0.014, 0.011], rtol=0.2)
    assert_allclose(found[-1], 1.9947 / 200, rtol=0.1)
