"""Generators: counts, distributions, seeds and invalid arguments."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kstest

from mercer.datasets import (
    make_annulus,
    make_bits,
    make_clusters,
    make_halo,
    make_machines,
    make_ring_and_blob,
    make_rings,
    make_two_gaussians,
    make_wheel,
)
from tests.expectations import raises

GENERATORS = [
    make_annulus,
    make_bits,
    make_clusters,
    make_halo,
    make_ring_and_blob,
    make_rings,
    make_two_gaussians,
    make_wheel,
]


def counts(y):
    return np.unique(y, return_counts=True)[1].tolist()


def test_rings_have_the_given_counts_and_radii():
    X, y = make_rings((5, 7), radii=(1.0, 3.0), noise=0.0)
    assert y.tolist() == [0] * 5 + [1] * 7
    assert_allclose(np.hypot(*X.T), np.where(y == 0, 1.0, 3.0), rtol=1e-15)


def test_default_counts_are_those_of_the_paper():
    assert counts(make_rings()[1]) == [63, 126, 126]
    assert counts(make_ring_and_blob()[1]) == [210, 500]


def angles(X):
    return np.arctan2(X[:, 1], X[:, 0]) % (2 * np.pi)


@pytest.mark.parametrize(("n", "step"), [(63, 0.1), (126, 0.05), (210, 0.03)])
def test_even_angles_agree_with_the_steps_of_the_paper(n, step):
    theta = angles(make_rings((n,), radii=(2.0,), noise=0.0)[0])
    assert_allclose(np.diff(theta), 2 * np.pi / n, atol=1e-14)
    # the bound is given in the docstring of make_rings
    assert_allclose(theta, np.arange(0, 2 * np.pi, step), atol=0.017)


def test_random_angles_are_uniform():
    X, _ = make_rings((4000,), radii=(2.0,), noise=0.0, even_angles=False, random_state=0)
    theta = np.sort(angles(X))
    assert np.diff(theta).max() > 4 * np.pi / 4000
    # Kolmogorov-Smirnov distance from the uniform distribution; 0.1 % quantile 1.95/sqrt(n)
    assert np.abs(theta / (2 * np.pi) - np.arange(4000) / 4000).max() < 1.95 / np.sqrt(4000)


@pytest.mark.parametrize("even_angles", [True, False])
def test_noise_is_proportional_to_its_standard_deviation(even_angles):
    exact, low, high = (
        make_rings(noise=noise, even_angles=even_angles, random_state=3)[0]
        for noise in (0.0, 0.1, 0.2)
    )
    assert_allclose(high - exact, 2 * (low - exact), atol=1e-13)


def test_ring_and_blob_have_the_given_noise():
    n = 20_000
    X, y = make_ring_and_blob(n, n, ring_noise=0.5, blob_noise=2.0, random_state=0)
    exact, _ = make_ring_and_blob(n, n, ring_noise=0.0, blob_noise=0.0, random_state=0)
    assert_allclose(np.hypot(*exact.T), np.where(y == 0, 10.0, 0.0), rtol=1e-14)
    for part, sd in ((0, 0.5), (1, 2.0)):
        residual = (X - exact)[y == part]
        # four standard errors of a mean, a standard deviation and a correlation
        assert_allclose(residual.mean(axis=0), 0, atol=4 * sd / np.sqrt(n))
        assert_allclose(residual.std(axis=0), sd, rtol=4 / np.sqrt(2 * n))
        assert abs(np.corrcoef(residual.T)[0, 1]) < 4 / np.sqrt(n)


@pytest.mark.parametrize("make", GENERATORS)
def test_seed_determines_the_sample(make):
    X, y = make(random_state=7)
    assert_array_equal(X, make(random_state=7)[0])
    assert_array_equal(X, make(random_state=np.random.default_rng(7))[0])
    assert np.any(make(random_state=8)[0] != X)
    assert len(X) == len(y)
    assert y.dtype == np.int64


@pytest.mark.parametrize("make", [make_rings, make_ring_and_blob])
def test_seed_determines_random_angles(make):
    X, _ = make(even_angles=False, random_state=7)
    assert_array_equal(X, make(even_angles=False, random_state=7)[0])
    assert np.all(make(even_angles=False, random_state=8)[0] != X)


def test_clusters_have_the_given_moments():
    n = 4000
    X, y = make_clusters((n, n, n), spread=0.3, noise=0.4, random_state=0)
    assert counts(y) == [n, n, n]
    for part, center in enumerate(((0.0, 0.7), (0.7, -0.7), (-0.7, -0.7))):
        assert_allclose(X[y == part].mean(axis=0), center, atol=4 * 0.5 / np.sqrt(n))
        assert_allclose(X[y == part].std(axis=0), 0.5, rtol=4 / np.sqrt(2 * n))
    clean, _ = make_clusters(spread=0.1, random_state=3)
    noisy, _ = make_clusters(spread=0.1, noise=1e-9, random_state=3)
    assert_allclose(noisy, clean, atol=1e-8)


def test_two_gaussians_have_the_given_moments():
    n = 8000
    X, y = make_two_gaussians((n, n), random_state=0)
    for part, mean, variances in ((0, -1, (1, 0.1)), (1, 1, (0.1, 1))):
        assert_allclose(X[y == part].mean(axis=0), mean, atol=4 / np.sqrt(n))
        assert_allclose(X[y == part].var(axis=0), variances, rtol=4 * np.sqrt(2 / n))


def test_annulus_is_uniform_in_area_and_angle():
    X, _ = make_annulus(4000, inner=1.0, outer=2.0, random_state=0)
    area = (np.hypot(*X.T) ** 2 - 1) / 3
    turn = np.arctan2(*X.T) / (2 * np.pi) + 0.5
    for uniform in (area, turn):
        assert kstest(uniform, "uniform").pvalue > 1e-3


def test_bits_have_the_given_probabilities():
    probabilities = np.array([[0.1, 0.5, 0.9], [0.9, 0.5, 0.1]])
    X, y = make_bits(8000, n_bits=3, probabilities=probabilities, random_state=0)
    for part in (0, 1):
        assert_allclose(
            X[y == part].mean(axis=0), probabilities[part], atol=4 * 0.5 / np.sqrt(3900)
        )


@pytest.mark.parametrize("make", GENERATORS)
def test_generator_is_advanced(make):
    rng = np.random.default_rng(0)
    assert np.any(make(random_state=rng)[0] != make(random_state=rng)[0])


@pytest.mark.parametrize("make", GENERATORS)
def test_global_random_state_is_not_used(make):
    state = np.random.get_state()  # noqa: NPY002
    try:
        np.random.seed(1)  # noqa: NPY002
        first, _ = make(random_state=0)
        np.random.seed(2)  # noqa: NPY002
        expected = np.random.get_state()[1].copy()  # noqa: NPY002
        second, _ = make(random_state=0)
        assert_array_equal(first, second)
        assert_array_equal(np.random.get_state()[1], expected)  # noqa: NPY002
    finally:
        np.random.set_state(state)  # noqa: NPY002


@pytest.mark.parametrize(
    ("call", "values"),
    [
        (lambda: make_rings(100), ["counts=100"]),
        (lambda: make_rings((3, 4)), ["counts=(3, 4)", "radii"]),
        (lambda: make_rings((), radii=()), ["counts=()", 1]),
        (lambda: make_rings((3, 0), radii=(1, 2)), ["counts[1]=0", 1]),
        (lambda: make_rings((3.5,), radii=(1,)), ["counts[0]=3.5", 1]),
        (lambda: make_rings((3,), radii=(-1.0,)), ["radii[0]=-1.0", 0]),
        (lambda: make_rings((3,), radii=(np.inf,)), ["radii[0]=inf"]),
        (lambda: make_rings(noise=-0.1), ["noise=-0.1", 0]),
        (lambda: make_rings(noise=np.nan), ["noise=nan"]),
        (lambda: make_rings(noise=(0.1, 0.2)), ["noise=(0.1, 0.2)"]),
        (lambda: make_ring_and_blob(0), ["n_ring=0", 1]),
        (lambda: make_ring_and_blob(5, -1), ["n_blob=-1", 1]),
        (lambda: make_ring_and_blob(True), ["n_ring=True", 1]),
        (lambda: make_ring_and_blob(radius=0.0), ["radius=0.0", 0]),
        (lambda: make_ring_and_blob(ring_noise=-1), ["ring_noise=-1", 0]),
        (lambda: make_ring_and_blob(blob_noise=-1), ["blob_noise=-1", 0]),
        (lambda: make_clusters((3, 4)), ["counts=(3, 4)", (3, 2)]),
        (lambda: make_clusters(spread=-1), ["spread=-1", 0]),
        (lambda: make_two_gaussians((3,)), ["counts=(3,)"]),
        (lambda: make_annulus(0), ["n_samples=0", 1]),
        (lambda: make_annulus(inner=5.0), ["inner=5.0", "outer=5.0"]),
        (lambda: make_halo(n_core=0), ["n_core=0", 1]),
        (lambda: make_wheel(n_rim=0), ["n_rim=0", 1]),
        (lambda: make_bits(probabilities=(0.5, 1.5)), ["probabilities=(0.5, 1.5)", 0, 1]),
        (lambda: make_machines(5, missing=-0.1), ["missing=-0.1", 0, 1]),
        (lambda: make_machines(5, missing=1), ["missing=1", 0]),
        (lambda: make_machines(5, missing=np.nan), ["missing=nan"]),
    ],
)
def test_invalid_arguments_are_named_with_their_limit(call, values):
    with raises((TypeError, ValueError), *values):
        call()


def test_numpy_scalars_and_arrays_are_accepted():
    X, _ = make_rings(np.array([3, 4]), radii=np.array([1, 2], np.float32), noise=np.float32(0))
    assert X.dtype == np.float64
    assert X.shape == (7, 2)
