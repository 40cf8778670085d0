"""Estimators and sums with factored operators give the numbers of the full decomposition."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from mercer import KernelECA, KernelPCA
from mercer.data.points import Points
from mercer.eigen import summing_gram
from mercer.gram import FourierGram, Sample
from mercer.gram.fourier import FourierExpansion
from mercer.information import cauchy_schwarz_divergence, information_potential, renyi_entropy
from mercer.kernels import Gaussian
from mercer.solvers import Fourier, Nystrom

N = 300


def data(d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, d)) * [2.0, 1.0, 0.7][:d] + 1


# (solver, accuracy of an eigenvalue relative to λ₁): n entries with errors of (2d + 2) tolerances;
# landmarks stop at 1e-10 of the trace
SOLVERS = [("fourier", 1e-9), (Fourier(1e-6), 1e-5), (Nystrom(N), 1e-6)]


@pytest.mark.parametrize(("solver", "accuracy"), SOLVERS, ids=["fourier", "1e-6", "nystrom"])
@pytest.mark.parametrize(("d", "sigma"), [(1, 0.5), (2, 1.0), (3, 3.0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_entropy_components_are_those_of_the_full_decomposition(
    solver, accuracy, d, sigma, weighted
):
    X = data(d)
    w = np.random.default_rng(1).uniform(0.5, 2, size=N) if weighted else None
    found, dense = (
        KernelECA(3, kernel=Gaussian(sigma), solver=s).fit(X, sample_weight=w)
        for s in (solver, "dense")
    )
    largest = dense.eigenvalues_.max()
    assert_allclose(found.eigenvalues_, dense.eigenvalues_, atol=accuracy * largest)
    terms = 1e-8 if solver == "fourier" else 100 * accuracy
    assert_allclose(
        found.entropy_terms_, dense.entropy_terms_, atol=terms * dense.entropy_terms_[0]
    )
    assert_allclose(found.information_potential_, dense.information_potential_, rtol=accuracy)
    assert_allclose(found.renyi_entropy_, dense.renyi_entropy_, atol=accuracy)
    assert found.certified_
    # an approximation to 1e-6 does not determine ranks
    expected = None if solver == Fourier(1e-6) else dense.component_ranks_
    assert np.array_equal(found.component_ranks_, expected)
    new = np.random.default_rng(2).normal(size=(50, d)) * 3
    # vectors turn by error/gap; gaps here are above 1e-2 λ₁
    slack = 300 * accuracy
    assert_allclose(found.transform(X), dense.transform(X), atol=slack)
    assert_allclose(found.transform(new), dense.transform(new), atol=slack)
    assert_allclose(found.fit_transform(X, sample_weight=w), found.transform(X), atol=1e-10)
    errors = found.reconstruction_error(new), dense.reconstruction_error(new)
    assert_allclose(*errors, atol=2 * slack)
    assert_allclose(
        found.hotelling(X), dense.hotelling(X), rtol=1e4 * accuracy, atol=1e4 * accuracy
    )
    assert found.spectrum_.error_bound > 0
    assert np.all(np.abs(found.eigenvalues_ - dense.eigenvalues_) <= found.spectrum_.error_bound)


@pytest.mark.parametrize(("solver", "accuracy"), SOLVERS, ids=["fourier", "1e-6", "nystrom"])
@pytest.mark.parametrize("center", [False, True])
def test_principal_components_are_those_of_the_full_decomposition(solver, accuracy, center):
    X = data(2)
    found, dense = (
        KernelPCA(3, kernel=Gaussian(1.0), center=center, solver=s).fit(X)
        for s in (solver, "dense")
    )
    assert_allclose(found.eigenvalues_, dense.eigenvalues_, rtol=10 * accuracy)
    ratios = found.explained_variance_ratio_, dense.explained_variance_ratio_
    assert_allclose(*ratios, rtol=20 * accuracy)
    assert_allclose(found.transform(X), dense.transform(X), atol=300 * accuracy)
    errors = found.reconstruction_error(X), dense.reconstruction_error(X)
    assert_allclose(*errors, atol=600 * accuracy)


# --- sums over K -------------------------------------------------------------------------------


def naive_mean(kernel, X, Y, v, w):
    """Σ v_i w_j k(x_i, y_j) / (Σv Σw), a stripe of rows at a time."""
    parts = (v[i : i + 500] @ kernel(X[i : i + 500], Y) @ w for i in range(0, len(X), 500))
    return sum(parts) / v.sum() / w.sum()


@pytest.mark.parametrize(("d", "sigma"), [(1, 0.1), (2, 0.4), (3, 1.0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_over_many_points(d, sigma, weighted):
    rng = np.random.default_rng(d)
    X, Y = rng.normal(size=(6000, d)), rng.normal(size=(4500, d)) + 0.5
    v, w = (rng.uniform(0.2, 2, len(Z)) if weighted else np.ones(len(Z)) for Z in (X, Y))
    kernel = Gaussian(sigma)
    assert isinstance(summing_gram(Sample(kernel, Points(X), None, None)), FourierGram)
    V, U, C = (naive_mean(kernel, *a) for a in ((X, X, v, v), (Y, Y, w, w), (X, Y, v, w)))
    weights = v if weighted else None
    assert_allclose(information_potential(X, kernel, sample_weight=weights), V, rtol=1e-8)
    entropy = d / 2 * np.log(2 * np.pi) + d * np.log(sigma) - np.log(V)
    assert_allclose(renyi_entropy(X, kernel, sample_weight=weights), entropy, atol=1e-8)
    pair = (v, w) if weighted else (None, None)
    divergence = cauchy_schwarz_divergence(X, Y, kernel, sample_weight=pair)
    assert_allclose(divergence, 0.5 * np.log(V * U) - np.log(C), atol=1e-8)


def test_divergence_of_disjoint_samples_is_infinite_by_either_route():
    """The frequency grid leaves noise of the size of its tolerance where the true mean is 0."""
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(4500, 1)), rng.normal(size=(4500, 1)) + 200
    assert cauchy_schwarz_divergence(X[:50], Y[:50], Gaussian(0.5)) == np.inf
    assert cauchy_schwarz_divergence(X, Y, Gaussian(0.5)) == np.inf


def test_auto_chooses_the_frequency_grid_for_many_points():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4500, 1))
    found, exact = (
        KernelECA(2, kernel=Gaussian(0.5), solver=solver).fit(X) for solver in ("auto", "lanczos")
    )
    assert isinstance(found.spectrum_.expansion, FourierExpansion)
    assert_allclose(found.entropy_terms_, exact.entropy_terms_, rtol=1e-8)


# --- as a scikit-learn estimator ---------------------------------------------------------------


@pytest.mark.parametrize("solver", ["fourier", Fourier(1e-6), Nystrom(50)], ids=repr)
@pytest.mark.parametrize("kind", [KernelECA, KernelPCA])
def test_pickle_clone_and_frames(kind, solver):
    pytest.importorskip("pandas")
    X = data(2)
    fitted = kind(2, kernel=Gaussian(2.0), solver=solver).fit(X)
    z = fitted.transform(X)
    assert_allclose(pickle.loads(pickle.dumps(fitted)).transform(X), z, atol=0)
    fresh = clone(fitted)
    assert fresh.solver == solver
    assert not hasattr(fresh, "spectrum_")
    frame = fresh.set_output(transform="pandas").fit_transform(X)
    assert list(frame.columns) == [f"{kind.__name__.lower()}{i}" for i in range(2)]
    assert_allclose(frame.to_numpy(), z, atol=1e-10)


def test_single_precision_in_and_out():
    X = data(2).astype(np.float32)
    found = KernelECA(2, kernel=Gaussian(1.0), solver="fourier").fit(X)
    dense = KernelECA(2, kernel=Gaussian(1.0), solver="dense").fit(X.astype(float))
    assert found.transform(X).dtype == np.float32
    # tolerance 1e-6: n (2d + 2) 1e-6 in an eigenvalue of about n/3
    assert_allclose(found.eigenvalues_, dense.eigenvalues_, atol=found.spectrum_.error_bound)
    assert_allclose(found.transform(X), dense.transform(X), atol=1e-3)


def test_fourier_features_find_multiple_eigenvalues_of_points_on_a_grid():
    """K is a Kronecker product, so all eigenvalues are known; most of them are double."""
    side, k = 66, 150
    axis = np.linspace(-1, 1, side)
    X = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    line = np.linalg.eigvalsh(Gaussian(0.2)(axis[:, None]))
    expected = np.sort(np.multiply.outer(line, line).ravel())[::-1][:k]
    pca = KernelPCA(k, kernel=Gaussian(0.2), center=False, solver="fourier").fit(X)
    assert_allclose(pca.eigenvalues_, expected, atol=1e-8 * expected[0])


@pytest.mark.parametrize(("d", "multiplicity"), [(1, 1), (2, 20), (3, 55)])
def test_blocks_are_as_wide_as_multiplicities_on_grids(d, multiplicity):
    gram = Fourier(1e-3).gram(Sample(Gaussian(3.0), Points(data(d))))
    assert multiplicity <= gram.problem().block_width(200) < 208
    assert gram.problem().block_width(5) == 13
