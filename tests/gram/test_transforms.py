"""Fourier features with and without finufft."""

import sys

import numpy as np
import pytest

from mercer import KernelECA, KernelPCA, ParzenDensity
from mercer.gram import transforms
from mercer.information import cauchy_schwarz_divergence, information_potential, renyi_entropy
from mercer.kernels import Gaussian, Matern
from mercer.solvers import Dense, Fourier


@pytest.fixture
def without_finufft(monkeypatch):
    monkeypatch.setenv("MERCER_FINUFFT", "0")
    assert not transforms.uses_finufft()


def test_finufft_is_used_if_it_is_installed(monkeypatch):
    pytest.importorskip("finufft")
    monkeypatch.delenv("MERCER_FINUFFT", raising=False)
    assert transforms.uses_finufft()


@pytest.mark.parametrize("error", ["ImportError", "OSError"])
def test_finufft_that_cannot_be_imported_is_not_used(monkeypatch, tmp_path, error):
    (tmp_path / "finufft.py").write_text(f"raise {error}('no library')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "finufft", raising=False)
    monkeypatch.delenv("MERCER_FINUFFT", raising=False)
    transforms._finufft.cache_clear()
    try:
        assert not transforms.uses_finufft()
    finally:
        transforms._finufft.cache_clear()


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
