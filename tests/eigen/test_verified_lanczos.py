"""Lanczos from one vector: what it finds, and that its proof is never wrong."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import KernelPCA
from mercer.eigen.verified_lanczos import is_complete
from mercer.errors import ConvergenceError, IdentifiabilityWarning, RankError
from mercer.kernels import Gaussian, Sigmoid
from mercer.solvers import VerifiedLanczos
from tests.eigen.problems import RotatedProblem, selection
from tests.expectations import raises

EPS = np.finfo(float).eps


def solved(problem, k, solver=None, seed=0):
    request = selection(problem, "variance", k)
    return (solver or VerifiedLanczos()).solve(problem, request, random_state=seed)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
@pytest.mark.parametrize("k", [1, 5, 12])
def test_leading_pairs_are_found_and_proven(scale, k, rng):
    values = scale * np.sort(rng.exponential(size=150))[::-1]
    problem = RotatedProblem(values, rng.uniform(size=150))
    found = solved(problem, k)
    assert_allclose(found.values, values[:k], rtol=1e-12)
    vectors = problem.basis[:, :k]
    assert_allclose(np.abs(np.sum(vectors * found.vectors, axis=0)), 1, rtol=1e-12)
    assert_allclose(found.overlaps, np.abs(problem.start @ vectors), rtol=1e-7, atol=1e-7)
    assert found.certified
    assert found.converged
    assert_array_equal(found.ranks, np.arange(1, k + 1))
    assert_array_equal(found.multiplicities, 1)
    assert 0 < found.products < 100


def test_small_eigenvalues_of_smooth_kernels_are_proven():
    """Differences below 1e-11 of the largest eigenvalue, but not small relative to themselves."""
    values = 0.5 ** np.arange(150)
    found = solved(RotatedProblem(values, np.ones(150)), 40)
    assert values[39] - values[40] < 1e-11 * values[0]
    assert_allclose(found.values, values[:40], atol=1e-14)
    assert found.certified
    assert_array_equal(found.multiplicities, 1)


@pytest.mark.parametrize("gap", [1e-6, 1e-8])
def test_close_eigenvalues_are_separated(gap):
    values = np.r_[2.0, 2 * (1 - gap), np.linspace(1, 0.1, 80)]
    found = solved(RotatedProblem(values, np.ones(82)), 2, VerifiedLanczos(82))
    assert_allclose(found.values, values[:2], rtol=1e-13)
    assert found.certified


def with_small_values(*values):
    return RotatedProblem(np.r_[values, np.linspace(0.9, 0.1, 60)], np.ones(60 + len(values)))


@pytest.mark.parametrize("values", [[3.0, 2.0, 2.0, 1.5], [3.0, 3.0, 2.0, 1.5]], ids=str)
@pytest.mark.parametrize("seed", range(10))
def test_multiple_eigenvalues_are_found_completely_or_not_proven(values, seed):
    """Only rounding errors lead from one eigenvector to others of the same eigenvalue."""
    try:
        found = solved(with_small_values(*values), 3, seed=seed)
    except ConvergenceError:
        return
    assert_allclose(found.values, values[:3], rtol=1e-12)
    assert_array_equal(found.multiplicities, [values.count(value) for value in values[:3]])


def test_a_tie_at_the_border_is_not_proven():
    """Another vector of the tie would be as good."""
    with raises(ConvergenceError, "3", "dense"):
        solved(with_small_values(3.0, 2.5, 2.0, 2.0, 1.5), 3)


@pytest.mark.parametrize("missing", [0, 1, 4])
@pytest.mark.parametrize("n", [20, 300])
def test_a_missing_eigenpair_is_always_noticed(n, missing, rng):
    """Deflating the others leaves one eigenvalue above the smallest of them."""
    values = np.sort(rng.exponential(size=n))[::-1]
    problem = RotatedProblem(values, np.ones(n))
    others = np.delete(np.arange(7), missing)
    deflated = values[others], problem.basis[:, others]
    assert not is_complete(problem.dense(), *deflated, 0.0)
    assert is_complete(problem.dense(), values[:7], problem.basis[:, :7], 0.0)
    half_gap = (values[6] - values[7]) / 2
    assert is_complete(problem.dense(), values[:7], problem.basis[:, :7], half_gap)
    assert not is_complete(problem.dense(), values[:7], problem.basis[:, :7], 4 * half_gap)


@pytest.mark.parametrize("seed", range(20))
def test_the_proof_holds_for_gaps_of_rounding_error(seed):
    """A gap below the error of the factorization is never claimed, whatever rounding does."""
    rng = np.random.default_rng(seed)
    n = 100
    gap = 10.0 ** rng.uniform(-15, -9)
    values = np.r_[1.0, 1 - gap, np.full(n - 2, 1 - gap) - rng.exponential(size=n - 2)]
    problem = RotatedProblem(values, np.ones(n))
    A = problem.dense()
    A = (A + A.T) / 2
    true = np.linalg.eigvalsh(A)[::-1]
    claimed = is_complete(A.copy(), values[:1], problem.basis[:, :1], gap / 2)
    wrong = true[1] > values[0] - gap / 2 + 10 * n * EPS
    assert not (claimed and wrong)
    assert claimed or gap < 1e-10  # the error bound is about 100² eps


def test_any_vectors_are_safe(rng):
    """The proof does not rely on the accuracy of the vectors."""
    values = np.array([4.0, 3.0, 2.0, *np.linspace(1, 0.1, 30)])
    problem = RotatedProblem(values, np.ones(33))
    wrong = problem.basis[:, :3] + 0.5 * rng.normal(size=(33, 3))
    for theta in (1.1, 1.5, 1.9):  # two columns remove at most two of three larger eigenvalues
        for vectors in (wrong[:, :2], 100 * wrong[:, :2], wrong[:, [0, 0, 1]]):
            values_of_vectors = np.full(vectors.shape[1], theta)
            assert not is_complete(problem.dense(), values_of_vectors, vectors, 0.0)


def test_limit_of_products():
    problem = RotatedProblem(np.linspace(1, 0.99, 300), np.ones(300))
    with raises(ConvergenceError, "2 eigenpairs", "7 products"):
        solved(problem, 2, VerifiedLanczos(7))
    with raises(ValueError, "max_products", "0"):
        solved(problem, 2, VerifiedLanczos(0))


@pytest.mark.parametrize(("target", "k"), [("entropy", 2), ("variance", 0.5), ("variance", None)])
def test_only_a_number_of_leading_components(target, k):
    problem = RotatedProblem(np.linspace(1, 0.1, 30), np.ones(30))
    with raises(ValueError, target, repr(k)):
        VerifiedLanczos().solve(problem, selection(problem, target, k))


def test_exhausted_krylov_space():
    """A matrix of rank 5: all its eigenpairs are found in 6 steps, a sixth does not exist."""
    problem = RotatedProblem(np.r_[5.0, 4, 3, 2, 1, np.zeros(60)], np.ones(65))
    found = solved(problem, 5)
    assert_allclose(found.values, [5, 4, 3, 2, 1], rtol=1e-13)
    assert found.certified
    with raises(ConvergenceError, "6"):
        solved(problem, 6)


def test_smallest_ritz_value_of_an_indefinite_matrix():
    values = np.r_[3.0, 2.0, np.linspace(1, -0.5, 60), -4.0]
    found = solved(RotatedProblem(values, np.ones(63)), 2)
    assert_allclose(found.values, [3, 2], rtol=1e-12)
    assert_allclose(found.lowest, -4, rtol=1e-6)


def two_copies(n, d, rng):
    """Two equal clusters that do not interact: every eigenvalue of K is double."""
    cluster = rng.normal(size=(n, d))
    return np.vstack([cluster, cluster + 1e3])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("center", [True, False])
def test_kernel_pca_equals_the_full_decomposition(center, dtype, rng):
    X = rng.normal(size=(650, 5)).astype(dtype)
    weights = rng.uniform(0.5, 2, size=650)
    for sample_weight in (None, weights):
        found, full = (
            KernelPCA(6, center=center, solver=solver).fit(X, sample_weight=sample_weight)
            for solver in ("auto", "dense")
        )
        assert found.spectrum_.method.startswith("verified Lanczos")
        assert found.spectrum_.certified
        # rounding errors of n terms; vectors have errors of a few eps over relative gaps near 0.002
        accuracy = 650 * np.finfo(dtype).eps
        assert_allclose(found.eigenvalues_, full.eigenvalues_, rtol=accuracy)
        assert_allclose(found.transform(X), full.transform(X), atol=10 * accuracy)
        ratio = found.explained_variance_ratio_
        assert_allclose(ratio, full.explained_variance_ratio_, rtol=accuracy)


def test_double_eigenvalues_are_both_found(rng):
    X = two_copies(325, 3, rng)
    values = np.linalg.eigvalsh(Gaussian(2.0)(X))[::-1]
    assert_allclose(values[0], values[1], rtol=1e-11)
    for k in (1, 4):  # a tie at the border is decomposed in full
        with pytest.warns(IdentifiabilityWarning, match="tied"):
            found = KernelPCA(k, kernel=Gaussian(2.0), center=False).fit(X)
        assert_allclose(found.eigenvalues_, values[:k], rtol=1e-11)
        assert_array_equal(found.spectrum_.pairs.multiplicities, 2)


def test_requests_beyond_the_rank_state_the_rank(rng):
    X = rng.uniform(size=(650, 1))
    with raises(RankError, "n_components=20"):
        KernelPCA(20, kernel=Gaussian(3.0)).fit(X)


def test_results_do_not_depend_on_the_seed(rng):
    X = rng.normal(size=(650, 8))
    scores = [KernelPCA(5, random_state=seed).fit_transform(X) for seed in (None, 1, None)]
    assert_allclose(scores[1], scores[0], atol=1e-9)
    assert_array_equal(scores[2], scores[0])


@pytest.mark.filterwarnings("ignore::mercer.errors.ApproximationWarning")
def test_indefinite_kernels_warn(rng):
    X = rng.normal(size=(650, 12))
    pca = KernelPCA(3, kernel=Sigmoid(scale=1.0, constant=-1.0)).fit(X)
    full = KernelPCA(3, kernel=Sigmoid(scale=1.0, constant=-1.0), solver="dense").fit(X)
    assert pca.spectrum_.products > 0
    assert full.spectrum_.pairs.lowest <= pca.spectrum_.pairs.lowest < 0
    assert_allclose(pca.eigenvalues_, full.eigenvalues_, rtol=1e-10)
