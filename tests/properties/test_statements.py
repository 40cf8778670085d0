"""Statements about a spectrum, in reports, ``repr``, notebooks and warnings, are true of it."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mercer import KernelECA, KernelPCA, SpectralClustering
from mercer.errors import ConvergenceError, ConvergenceWarning, RankError
from mercer.kernels import Gaussian, Laplacian, Linear
from mercer.report.methods import describe_spectrum
from mercer.solvers import Dense, Fourier, Lanczos, Nystrom, VerifiedLanczos
from tests.properties.strategies import Examples, property_test

SOLVERS = ["auto", Dense(), Lanczos(), Lanczos(12), VerifiedLanczos(), Nystrom(8), Nystrom(99)]
ESTIMATORS = [
    KernelECA,
    KernelPCA,
    lambda *args, **kwargs: KernelPCA(*args, center=False, **kwargs),
]


def exact_spectrum(spectrum, X, centered):
    """Return eigenvalues and entropy terms of K by NumPy, largest eigenvalue first."""
    K, n = spectrum.kernel(X), len(X)
    if centered:
        K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    values, vectors = np.linalg.eigh(K)
    return values[::-1], (values * vectors.sum(axis=0) ** 2)[::-1] / n**2


@pytest.mark.parametrize("solver", [*SOLVERS, Fourier()], ids=repr)
@pytest.mark.parametrize("make", ESTIMATORS, ids=["eca", "pca", "uncentered"])
@property_test
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.sampled_from([30, 80]),
    count=st.integers(1, 4),
    kernel=st.sampled_from([Gaussian(0.4), Gaussian(2.0), Laplacian(1.0), Linear(constant=1.0)]),
)
def test_statements_about_a_spectrum(solver, make, seed, n, count, kernel):
    X = np.random.default_rng(seed).normal(size=(n, 3 - 2 * isinstance(solver, Fourier)))
    assume(isinstance(kernel, Gaussian) or not isinstance(solver, Fourier))
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        try:
            spectrum = make(count, kernel=kernel, solver=solver).fit(X).spectrum_
        except (RankError, ConvergenceError, ValueError):  # or a solver for other requests
            return
    values, terms = exact_spectrum(spectrum, X, spectrum.centered)
    error = np.abs(spectrum.eigenvalues[:, None] - values).min(axis=1).max() / values[0]
    statement = describe_spectrum(spectrum)
    proven = "Certified:" in statement
    assert ("certified)" in repr(spectrum)) == (proven or "not certified)" in repr(spectrum))
    assert spectrum.proof in repr(spectrum)
    assert spectrum.proof in spectrum._repr_html_()
    if "exact up to rounding error" in statement:
        assert error < 1e-7
    else:
        assert error <= (spectrum.error_bound + 1e-7) / values[0]
    if "all eigenpairs are known" in statement or "Full decomposition" in statement:
        assert spectrum.error_bound == 0
        assert error < 1e-7
        if spectrum.centered or not getattr(solver, "only_selected", False):
            assert len(spectrum.known_eigenvalues) == n
    if proven and spectrum.target == "entropy":
        np.testing.assert_allclose(
            spectrum.entropy_terms, np.sort(terms)[: -count - 1 : -1], atol=1e-7
        )
    elif proven:
        np.testing.assert_allclose(spectrum.eigenvalues, values[:count], atol=1e-7 * values[0])
    unproven = any(issubclass(one.category, ConvergenceWarning) for one in raised)
    assert not (proven and unproven)
    if spectrum.target == "entropy":
        assert unproven == (spectrum.proof == "not certified")
    Examples.count += 1


def test_the_confidence_of_a_number_of_clusters_depends_on_the_data():
    rng = np.random.default_rng(0)
    found = []
    for distance in (0.0, 2.0, 3.0, 4.0, 6.0, 10.0):
        X = rng.normal(size=(90, 2)) + distance * (np.arange(90) % 3)[:, None]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(round(SpectralClustering().fit(X).confidence_, 6))
    assert all(0 <= one <= 1 for one in found)
    assert len(set(found)) > 2
