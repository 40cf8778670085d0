"""Nonuniform FFTs with and without finufft, compared with direct sums."""

import sys

import numpy as np
import pytest
from scipy.special import i1e, j1

from mercer import KernelECA, KernelPCA, ParzenDensity
from mercer.gram import nonuniform_fft as nufft
from mercer.gram.nonuniform_fft import (
    alias_bound,
    kernel_polynomials,
    kernel_shape,
    kernel_transform,
    kernel_values,
    kernel_width,
)
from mercer.information import cauchy_schwarz_divergence, information_potential, renyi_entropy
from mercer.kernels import Gaussian, Matern
from mercer.solvers import Dense, Fourier
from tests.expectations import raises

MODES = {1: (31,), 2: (15, 9), 3: (9, 5, 7)}
TOLERANCES = (1e-3, 1e-6, 1e-9, 1e-11, 1e-13)
ROUNDING = 2e-13  # of sums with weights of total 1, amplified in the corners of the grid


def frequencies(modes):
    axes = [np.fft.fftfreq(n, 1 / n) for n in modes]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")])


def direct_sums(angles, weights, modes):
    waves = np.exp(-1j * np.stack(angles, axis=1) @ frequencies(modes))
    return (np.atleast_2d(weights) @ waves).reshape(-1, *modes)


def direct_series(coefficients, angles):
    waves = np.exp(1j * np.stack(angles, axis=1) @ frequencies(coefficients.shape[1:]))
    return (waves @ coefficients.reshape(len(coefficients), -1).T).real


def random_angles(rng, n, d):
    """Points everywhere and at the ends of the period, and a cluster."""
    angles = rng.uniform(-np.pi, np.pi, (d, n))
    angles[:, : n // 3] = 0.7 + 0.01 * rng.normal(size=(d, n // 3))
    angles[:, -2:] = -np.pi, np.nextafter(np.pi, 0)
    return list(angles)


def real_coefficients(rng, k, modes):
    """Coefficients of real functions, with Σ|b| = 1."""
    values = np.fft.fftn(rng.normal(size=(k, *modes)), axes=range(1, len(modes) + 1))
    return values / np.abs(values).reshape(k, -1).sum(axis=1).reshape(-1, *[1] * len(modes))


# --- the kernel -----------------------------------------------------------------------------------


def transform_anywhere(v, beta):
    """Return ∫ sinh(β√(1 - t²)) exp(-ivt) dt · exp(-β) / (πβ), for any v ≠ β."""
    z = np.sqrt(np.abs(beta**2 - v**2))
    inner = i1e(np.minimum(z, beta)) * np.exp(np.minimum(z, beta) - beta)
    return np.where(np.abs(v) < beta, inner, j1(z) * np.exp(-beta)) / z


@pytest.mark.parametrize("width", range(2, 18))
def test_aliases_of_the_grid_are_within_the_bound(width):
    beta, r = kernel_shape(width), np.arange(1, 2000)
    for relative in np.linspace(0, 0.25, 11) - 1e-9:  # frequency / grid size, at most 1/4
        alias = np.abs(transform_anywhere(np.pi * width * (relative + np.r_[-r, r]), beta))
        # |J_1(z)| ≤ √(2 / (π z)) up to 1 % there, so the terms beyond decay like r^(-3/2)
        tail = 4.1 * np.sqrt(2 / np.pi) * (np.pi * width) ** -1.5 * np.exp(-beta) / np.sqrt(r[-1])
        main = transform_anywhere(np.array(np.pi * width * relative), beta)
        assert (alias.sum() + tail) / main <= alias_bound(width)


@pytest.mark.parametrize("width", [2, 7, 17])
def test_kernel_transform_is_the_fourier_integral(width):
    n = 20_000
    angle = np.pi * ((np.arange(n) + 0.5) / n - 0.5)  # s = w/2 sin: no singularity at the ends
    s, weight = 0.5 * width * np.sin(angle), 0.5 * width * np.cos(angle) * np.pi / n
    for frequency in (0.0, 0.4, np.pi / 2):
        integral = (kernel_values(s, width) * np.cos(frequency * s) * weight).sum()
        assert integral == pytest.approx(float(kernel_transform(frequency, width)), rel=1e-9)


@pytest.mark.parametrize("tolerance", TOLERANCES)
@pytest.mark.parametrize("block", [3, 8, 64])
def test_polynomials_equal_the_kernel(tolerance, block):
    width = kernel_width(tolerance, 2)
    coefficients = kernel_polynomials(width, block, tolerance)
    position = np.linspace(-1, 1, 501)
    exact = kernel_values(
        0.5 * block * (position + 1) - (np.arange(block + width) - width // 2)[:, None], width
    )
    error = np.abs(coefficients @ nufft._chebyshev(position, coefficients.shape[1]) - exact)
    smallest = kernel_transform(np.array(np.pi / 2), width)
    assert error.sum(axis=0).max() <= 0.1 * tolerance * smallest + 1e-14 * block


def test_width_grows_with_the_number_of_digits_and_is_limited():
    widths = [kernel_width(10.0**-digits, 2) for digits in range(1, 17)]
    assert widths == sorted(widths)
    assert widths[-1] == 17
    assert all(kernel_width(1e-8, d) <= kernel_width(1e-8, d + 1) for d in (1, 2))


# --- transforms -----------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("tolerance", TOLERANCES)
def test_sums_equal_the_direct_sums(d, tolerance, rng):
    angles, modes = random_angles(rng, 400, d), MODES[d]
    weights = rng.normal(size=(3, 400))
    weights /= np.abs(weights).sum(axis=1, keepdims=True)
    found = nufft.trigonometric_sums(angles, weights, modes, tolerance)
    assert np.abs(found - direct_sums(angles, weights, modes)).max() <= tolerance + ROUNDING
    one = nufft.trigonometric_sums(angles, weights[1], modes, tolerance)
    np.testing.assert_allclose(one, found[1], rtol=0, atol=1e-15)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("tolerance", TOLERANCES)
def test_series_equals_the_direct_sums(d, tolerance, rng):
    angles = random_angles(rng, 300, d)
    coefficients = real_coefficients(rng, 3, MODES[d])
    found = nufft.real_series(coefficients, angles, tolerance)
    assert np.abs(found - direct_series(coefficients, angles)).max() <= tolerance + ROUNDING


@pytest.mark.parametrize("block", [3, 6, 16, 32])
@pytest.mark.parametrize("d", [1, 2])
def test_results_do_not_depend_on_the_blocks(monkeypatch, block, d, rng):
    modes, n = (61, 45)[:d], 500
    angles, coefficients = random_angles(rng, n, d), real_coefficients(rng, 2, modes)
    monkeypatch.setattr(nufft, "_BLOCKS", (block,))
    monkeypatch.setattr(nufft, "_POINTS_PER_TASK", 70)
    sums = nufft.trigonometric_sums(angles, np.full(n, 1 / n), modes, 1e-11)
    values = nufft.real_series(coefficients, angles, 1e-11)
    exact = direct_sums(angles, np.full(n, 1 / n), modes)[0]
    assert np.abs(sums - exact).max() <= 1e-11
    assert np.abs(values - direct_series(coefficients, angles)).max() <= 1e-11


def test_many_frequencies(rng):
    """High frequencies lose the digits of the angles, as in a direct sum."""
    angles, modes = [rng.uniform(-np.pi, np.pi, 50)], (20_001,)
    weights = np.full(50, 0.02)
    found = nufft.trigonometric_sums(angles, weights, modes, 1e-11)
    assert np.abs(found - direct_sums(angles, weights, modes)[0]).max() <= 2e-11


def test_type_2_is_the_adjoint_of_type_1(rng):
    """Exactly: both use the same kernel, so errors of the two cancel in the inner product."""
    angles, modes = random_angles(rng, 200, 2), (11, 13)
    weights, coefficients = rng.normal(size=200), real_coefficients(rng, 1, modes)
    sums = nufft.trigonometric_sums(angles, weights, modes, 1e-3)
    values = nufft.real_series(coefficients, angles, 1e-3)[:, 0]
    assert values @ weights == pytest.approx(np.vdot(sums, coefficients[0]).real, rel=1e-12)


def test_batches_of_functions_equal_one_call(monkeypatch, rng):
    angles, coefficients = random_angles(rng, 100, 2), real_coefficients(rng, 5, (9, 9))
    together = nufft.real_series(coefficients, angles, 1e-9)
    monkeypatch.setattr(nufft, "_BATCH_SIZE", 1)
    out = np.empty((100, 5))
    assert nufft.real_series(coefficients, angles, 1e-9, out=out) is out
    np.testing.assert_allclose(out, together, rtol=0, atol=1e-15)


def test_threads_share_the_tasks(monkeypatch, rng):
    """Each part of the tasks has a grid of its own."""
    monkeypatch.setattr(nufft, "_POINTS_PER_TASK", 32)

    def run(tasks, work):
        return [work(tasks[i::3]) for i in range(3)]

    angles, weights = random_angles(rng, 500, 2), np.full(500, 1 / 500)
    coefficients = real_coefficients(rng, 2, (9, 9))
    one = nufft.trigonometric_sums(angles, weights, (9, 9), 1e-11)
    three = nufft.trigonometric_sums(angles, weights, (9, 9), 1e-11, run, 2)
    np.testing.assert_allclose(three, one, rtol=0, atol=1e-15)
    values = nufft.real_series(coefficients, angles, 1e-11)
    np.testing.assert_array_equal(nufft.real_series(coefficients, angles, 1e-11, run, 2), values)


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("modes", [(1,), (1, 3), (3, 1, 1)])
def test_few_points_and_frequencies(n, modes, rng):
    angles = [rng.uniform(-9, 9, n) for _ in modes]  # any number of periods
    sums = nufft.trigonometric_sums(angles, np.ones(n), modes, 1e-12)
    np.testing.assert_allclose(sums, direct_sums(angles, np.ones(n), modes)[0], atol=1e-12)
    coefficients = real_coefficients(rng, 2, modes)
    values = nufft.real_series(coefficients, angles, 1e-12)
    np.testing.assert_allclose(values, direct_series(coefficients, angles), atol=1e-12)


def test_even_numbers_of_frequencies_are_rejected():
    with raises(ValueError, (4, 3)):
        nufft.trigonometric_sums([np.zeros(2)] * 2, np.ones(2), (4, 3), 1e-6)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-11])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_agrees_with_finufft(d, tolerance, rng):
    finufft = pytest.importorskip("finufft")
    angles, modes = random_angles(rng, 5000, d), {1: (501,), 2: (61, 51), 3: (15, 21, 17)}[d]
    weights = np.full(5000, 1 / 5000)
    plan = finufft.Plan(1, modes, eps=tolerance, isign=-1, modeord=1, nthreads=1)
    plan.setpts(*angles)
    found = nufft.trigonometric_sums(angles, weights, modes, tolerance)
    assert np.abs(found - plan.execute(weights.astype(complex))).max() <= 2 * tolerance
    coefficients = real_coefficients(rng, 1, modes)
    plan = finufft.Plan(2, modes, eps=tolerance, isign=1, modeord=1, nthreads=1)
    plan.setpts(*angles)
    found = nufft.real_series(coefficients, angles, tolerance)[:, 0]
    assert np.abs(found - plan.execute(coefficients[0]).real).max() <= 2 * tolerance


@pytest.fixture
def without_finufft(monkeypatch):
    monkeypatch.setenv("MERCER_FINUFFT", "0")
    assert not nufft.uses_finufft()


def test_finufft_is_used_if_it_is_installed(monkeypatch):
    pytest.importorskip("finufft")
    monkeypatch.delenv("MERCER_FINUFFT", raising=False)
    assert nufft.uses_finufft()


@pytest.mark.parametrize("error", ["ImportError", "OSError"])
def test_finufft_that_cannot_be_imported_is_not_used(monkeypatch, tmp_path, error):
    (tmp_path / "finufft.py").write_text(f"raise {error}('no library')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "finufft", raising=False)
    monkeypatch.delenv("MERCER_FINUFFT", raising=False)
    nufft._finufft.cache_clear()
    try:
        assert not nufft.uses_finufft()
    finally:
        nufft._finufft.cache_clear()


@pytest.mark.usefixtures("without_finufft")
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_components_equal_a_dense_solve(d, weighted, rng):
    X, new = rng.normal(size=(300, d)), rng.normal(size=(40, d))
    weights = rng.uniform(0.5, 2, 300) if weighted else None
    kernel = Gaussian(2.5)
    dense, fourier = (
        KernelPCA(3, kernel=kernel, solver=solver).fit(X, sample_weight=weights)
        for solver in (Dense(), Fourier(1e-8))
    )
    np.testing.assert_allclose(fourier.eigenvalues_, dense.eigenvalues_, rtol=1e-5)
    np.testing.assert_allclose(fourier.transform(new), dense.transform(new), atol=1e-4)


@pytest.mark.usefixtures("without_finufft")
@pytest.mark.parametrize("tolerance", [1e-5, 1e-12])
def test_error_bound_of_the_eigenvalues_holds(tolerance, rng):
    X = rng.normal(size=(200, 2))
    exact = KernelECA(3, kernel=Gaussian(1.0), solver=Dense()).fit(X)
    found = KernelECA(3, kernel=Gaussian(1.0), solver=Fourier(tolerance)).fit(X)
    difference = np.abs(found.eigenvalues_ - exact.eigenvalues_).max()
    assert difference <= found.spectrum_.error_bound + 1e-12 * len(X)


@pytest.mark.usefixtures("without_finufft")
def test_matern_kernel(rng):
    X = rng.normal(size=(200, 1))
    kernel = Matern(1.0)
    exact = KernelPCA(3, kernel=kernel, solver=Dense()).fit(X)
    found = KernelPCA(3, kernel=kernel, solver=Fourier(1e-4)).fit(X)
    np.testing.assert_allclose(found.eigenvalues_, exact.eigenvalues_, atol=1e-3 * len(X))


def test_information_and_densities_do_not_depend_on_finufft(monkeypatch, rng):
    """Sums over 6000 points choose Fourier features by themselves."""
    X, Y = rng.normal(size=(6000, 2)), rng.normal(0.3, 1.2, size=(6000, 2))
    kernel = Gaussian(0.5)

    def results():
        density = ParzenDensity(kernel=kernel).fit(X)
        return [
            information_potential(X, kernel),
            renyi_entropy(X, kernel),
            cauchy_schwarz_divergence(X, Y, kernel),
            *density.score_samples(Y[:50]),
            ParzenDensity(kernel="gaussian").fit(X).kernel_.bandwidth,
        ]

    monkeypatch.setenv("MERCER_FINUFFT", "0")
    without = results()
    monkeypatch.delenv("MERCER_FINUFFT")
    for a, b in zip(results(), without, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-9)


@pytest.mark.usefixtures("without_finufft")
def test_results_are_the_same_in_every_run_and_close_for_any_number_of_threads(rng):
    from mercer import config_context

    X = rng.normal(size=(20_000, 2))

    def values(threads):
        with config_context(threads=threads):
            return KernelECA(2, kernel=Gaussian(1.0), solver="fourier").fit(X).eigenvalues_

    two = values(2)
    np.testing.assert_array_equal(values(2), two)
    np.testing.assert_allclose(values(1), two, rtol=1e-12)
