"""Landmarks by randomly pivoted Cholesky: an approximation from below with a known error."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelECA, KernelPCA, config_context
from mercer.data.points import Points
from mercer.errors import ApproximationWarning, RankError
from mercer.gram import LandmarkFeatures, NystromGram, Sample, choose_landmarks
from mercer.kernels import Epanechnikov, Gaussian, Kernel, Linear
from mercer.solvers import Nystrom
from tests.expectations import raises, warns

N = 200


class SharedLetters(Kernel):
    """Number of distinct letters two words share: an inner product of indicator vectors."""

    compares = "objects"

    def matrix(self, X, Y):
        return np.array([[len(set(x) & set(y)) for y in Y] for x in X])


def landmarks_of(kernel, X, count, seed=0, weights=None, memory=10**9, tolerance=1e-10):
    points = X if isinstance(X, Points) else Points(X)
    return choose_landmarks(
        kernel, points, weights, count, tolerance=tolerance, random_state=seed, memory=memory
    )


@pytest.fixture
def X():
    return np.random.default_rng(1).normal(size=(N, 5))


def test_landmark_rows_are_exact(X):
    kernel = Gaussian(2.0)
    features = landmarks_of(kernel, X, 40)
    assert features.landmarks.n == 40
    S = features.landmarks.data
    assert_allclose(features.factor @ features.factor.T, kernel(S), atol=1e-12)
    # the error of a triangular solve grows with the condition of L, the root of that of k(S, S)
    slack = 1e-14 * np.linalg.cond(features.factor) ** 2
    assert slack < 1e-8
    assert_allclose(features(X) @ features(S).T, kernel(X, S), atol=slack)


def test_error_bound_holds_near_rounding_error():
    """Points close together: k(S, S) is ill-conditioned, and the error is tiny."""
    X = np.array([0.07, 0.72, 2.06, -2.6, 0.46, -0.21, -0.018, 0.93, -0.69, -0.81, -0.05, -3.4])
    X, kernel = np.r_[X, -9.2, -0.003][:, None], Gaussian(0.65)
    for seed in range(60):
        gram = Nystrom(10_000, random_state=seed).gram(Sample(kernel, Points(X)))
        missing = kernel(X) - gram.features(X) @ gram.features(X).T
        assert np.linalg.norm(missing, 2) <= gram.error_bound + 1e-12
        assert gram.error_bound <= 1e-6


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_approximation_is_from_below_with_the_exact_residual_trace(X, center, weighted):
    w = np.random.default_rng(2).uniform(0.2, 3, size=N) if weighted else None
    root = np.ones(N) if w is None else np.sqrt(w)
    gram = Nystrom(60).gram(Sample(Gaussian(2.0), Points(X), w))
    plain = root[:, None] * Gaussian(2.0)(X) * root
    approximation = gram @ np.eye(N)
    assert_allclose(gram.error_bound, (plain - approximation).trace(), rtol=1e-9)
    assert gram.error_bound > 0.01  # a real approximation
    A = plain
    whole = plain.trace()
    if center:
        whole -= gram.total * gram.potential  # the mean feature is that of the landmarks
        gram = gram.centered()
        u = root / np.linalg.norm(root)
        P = np.eye(N) - np.outer(u, u)
        A, approximation = P @ A @ P, gram @ np.eye(N)
        assert_allclose(gram.small_start, 0, atol=0)
    missing = A - approximation
    assert np.linalg.eigvalsh((missing + missing.T) / 2)[0] >= -1e-9 * N
    assert missing.trace() <= gram.error_bound + 1e-9
    exact = np.linalg.eigvalsh(A)[::-1][:60]
    found = np.linalg.eigvalsh(gram.problem().dense())[::-1]
    assert np.all(found <= exact + 1e-9)
    assert np.all(exact - found <= gram.error_bound + 1e-9)
    V = root @ approximation @ root / gram.total**2
    assert_allclose(gram.potential, V, rtol=1e-10, atol=1e-14)
    assert_allclose(gram.diagonal(), approximation.diagonal(), atol=1e-10)
    assert_allclose(gram.trace, whole, rtol=1e-10)  # the exact one, not that of ΦΦ*


def test_all_rows_as_landmarks_equal_the_dense_solution(X):
    kernel = Gaussian(1.5)
    found = KernelECA(4, kernel=kernel, solver=Nystrom(N)).fit(X)
    dense = KernelECA(4, kernel=kernel, solver="dense").fit(X)
    # the factorization stops at 1e-10 of the trace; rounding errors are of the same order
    assert_allclose(found.eigenvalues_, dense.eigenvalues_, rtol=1e-6)
    assert_allclose(found.entropy_terms_, dense.entropy_terms_, rtol=1e-6)
    assert_allclose(found.transform(X), dense.transform(X), atol=1e-6)
    assert found.spectrum_.error_bound <= 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_number_of_landmarks_of_copies_is_the_rank(seed):
    distinct = np.random.default_rng(seed).normal(size=(7, 3))
    X = np.repeat(distinct, 20, axis=0)
    features = landmarks_of(Gaussian(1.0), X, 100, seed)
    assert features.landmarks.n == 7
    assert len(np.unique(features.landmarks.data, axis=0)) == 7
    gram = NystromGram(features, Points(X))
    assert np.isfinite(features(X)).all()
    assert gram.error_bound <= 1e-9 * len(X)
    assert_allclose(features(X) @ features(X).T, Gaussian(1.0)(X), atol=1e-10)


@pytest.mark.parametrize("d", [1, 4])
def test_number_of_landmarks_of_a_linear_kernel_is_the_number_of_columns(d):
    X = np.random.default_rng(d).normal(size=(N, d))
    features = landmarks_of(Linear(), X, 50)
    assert features.landmarks.n == d
    assert_allclose(features(X) @ features(X).T, X @ X.T, atol=1e-9)


class Noisy(Kernel):
    """A kernel whose diagonal exceeds that of its matrix, as with rounding errors."""

    is_psd = True

    def matrix(self, X, Y):
        return Gaussian(1.0)(X, Y)

    def diagonal(self, X):
        return np.full(len(X), 1.1)


def test_search_ends_if_no_landmark_reduces_the_residual(X):
    features = landmarks_of(Noisy(), np.repeat(X[:3], 10, axis=0), 20)
    assert len(np.unique(features.landmarks.data, axis=0)) == features.landmarks.n == 3


def test_search_ends_if_the_residual_is_zero():
    """k(x, x) = 0 for all points but one, so one landmark is enough."""
    Z = np.zeros((20, 2))
    Z[3] = 1
    features = landmarks_of(Linear(), Z, 10)
    assert features.landmarks.n == 1
    assert_allclose(features(Z) @ features(Z).T, Z @ Z.T, atol=1e-14)


def test_integer_weights_equal_repeated_rows(X):
    """With all rows as landmarks the results do not depend on their choice."""
    X = X[:40]
    w = np.random.default_rng(3).integers(1, 4, size=40)
    kernel = Gaussian(2.0)
    weighted = Nystrom(40, tolerance=1e-13).gram(Sample(kernel, Points(X), w.astype(float)))
    copied = Nystrom(120, tolerance=1e-13).gram(Sample(kernel, Points(np.repeat(X, w, axis=0))))
    assert weighted.total == copied.total
    assert_allclose(weighted.potential, copied.potential, rtol=1e-10)
    found, expected = (
        np.linalg.eigvalsh(gram.problem().dense())[::-1][:10] for gram in (weighted, copied)
    )
    assert_allclose(found, expected, rtol=1e-8)


def test_error_on_clusters_is_below_that_of_uniform_landmarks():
    """Uniform landmarks miss some of the small distant clusters."""
    rng = np.random.default_rng(4)
    sizes = np.r_[400, np.full(20, 4)]
    X = np.repeat(rng.uniform(-50, 50, size=(21, 2)), sizes, axis=0)
    X += 0.3 * rng.normal(size=X.shape)
    kernel, count = Gaussian(1.0), 30
    K = kernel(X)
    ours, uniform = [], []
    for seed in range(20):
        ours.append(NystromGram(landmarks_of(kernel, X, count, seed), Points(X)).error_bound)
        rows = np.random.default_rng(seed).choice(len(X), size=count, replace=False)
        C = K[:, rows]
        uniform.append(len(X) - np.sum(C * (C @ np.linalg.pinv(K[np.ix_(rows, rows)], 1e-12))))
    assert np.mean(ours) < 0.5 * np.mean(uniform)


def test_pivots_have_the_distribution_of_the_sequential_method():
    """The first two pivots of a block, after rejection, compared with their exact probabilities."""
    X = np.array([[0.0], [0.3], [1.0], [4.0]])
    w = np.array([1.0, 2.0, 0.5, 1.0])
    kernel = Gaussian(1.0)
    K = kernel(X)
    probabilities = np.zeros((4, 4))
    for i in range(4):
        left = w * (1 - K[:, i] ** 2)
        left[i] = 0
        probabilities[i] = w[i] / w.sum() * left / left.sum()
    repeats = 4000
    counts = np.zeros((4, 4))
    for seed in range(repeats):
        chosen = landmarks_of(kernel, X, 2, seed, w).landmarks.data[:, 0]
        i, j = (int(np.flatnonzero(X[:, 0] == c)[0]) for c in chosen)
        counts[i, j] += 1
    assert np.all(counts.diagonal() == 0)
    cells = ~np.eye(4, dtype=bool)
    expected = repeats * probabilities[cells]
    assert expected.min() > 5
    statistic = np.sum((counts[cells] - expected) ** 2 / expected)
    assert statistic < 31.3  # χ² with 11 degrees of freedom, at 0.001


def test_pivots_within_a_block_have_the_sequential_distribution():
    """Sets of three pivots in a block of three, compared with a sum over all orders."""
    X = np.array([[0.0], [0.5], [1.5], [4.0]])
    K = Gaussian(1.0)(X)

    def add_orders(chosen, probability, probabilities):
        if len(chosen) == 3:
            key = frozenset(chosen)
            probabilities[key] = probabilities.get(key, 0) + probability
            return probabilities
        rest = K - K[:, chosen] @ np.linalg.pinv(K[np.ix_(chosen, chosen)]) @ K[chosen]
        left = np.maximum(rest.diagonal(), 0)
        left[chosen] = 0
        for j in np.flatnonzero(left > 0):
            add_orders([*chosen, int(j)], probability * left[j] / left.sum(), probabilities)
        return probabilities

    probabilities = add_orders([], 1.0, {})
    repeats, counts = 3000, dict.fromkeys(probabilities, 0)
    for seed in range(repeats):
        chosen = landmarks_of(Gaussian(1.0), X, 3, seed).landmarks.data[:, 0]
        counts[frozenset(int(np.flatnonzero(X[:, 0] == c)[0]) for c in chosen)] += 1
    statistic = sum(
        (counts[key] - repeats * p) ** 2 / (repeats * p) for key, p in probabilities.items()
    )
    assert statistic < 16.3  # χ² with 3 degrees of freedom, at 0.001


def test_landmarks_are_chosen_from_a_subsample_if_memory_is_small(X):
    kernel = Gaussian(2.0)
    features = landmarks_of(kernel, X, 20, memory=8 * 20 * 100)  # room for 100 rows
    assert features.landmarks.n == 20
    gram = NystromGram(features, Points(X))
    exact = (kernel(X) - gram @ np.eye(N)).trace()
    assert_allclose(gram.error_bound, exact, rtol=1e-9)  # over all rows, not the sample
    with config_context(memory="200KB"):
        small = KernelECA(2, kernel=Gaussian(3.0), solver=Nystrom(40)).fit(X)
    dense = KernelECA(2, kernel=Gaussian(3.0), solver="dense").fit(X)
    error = np.abs(small.eigenvalues_ - dense.eigenvalues_)
    assert np.all(error <= small.spectrum_.error_bound)


def test_strings_with_a_custom_kernel():
    rng = np.random.default_rng(5)
    words = ["".join(rng.choice(list("abcdefgh"), size=5)) for _ in range(60)]
    K = SharedLetters().matrix(words, words).astype(float)
    gram = Nystrom(60).gram(Sample(SharedLetters(), Points(words, "objects")))
    assert gram.features.landmarks.n == np.linalg.matrix_rank(K)
    assert_allclose(gram @ np.eye(60), K, atol=1e-9)
    pca = KernelPCA(2, kernel=SharedLetters(), solver="nystrom").fit(words)
    dense = KernelPCA(2, kernel=SharedLetters(), solver="dense").fit(words)
    assert_allclose(pca.eigenvalues_, dense.eigenvalues_, rtol=1e-9)
    assert pca.transform(["abc", "hhh"]).shape == (2, 2)
    assert_allclose(pca.transform(["abc", "hhh"]), dense.transform(["abc", "hhh"]), atol=1e-7)


def test_unsupported_kernels_and_counts_raise(X):
    with raises(ValueError, "positive semi-definite"):
        KernelECA(2, kernel=Epanechnikov(2.0), solver="nystrom").fit(X)
    with raises(ValueError, "precomputed", "solver='lanczos'"):
        KernelECA(2, kernel="precomputed", solver="nystrom").fit(Gaussian(1.0)(X))
    with raises(ValueError, "n_landmarks=0", 1):
        KernelECA(2, kernel=Gaussian(1.0), solver=Nystrom(0)).fit(X)


def test_kernels_that_are_zero_have_no_landmarks():
    with raises(RankError, 12) as caught:
        KernelPCA(1, kernel=Linear(), solver="nystrom").fit(np.zeros((12, 2)))
    assert caught.value.rank == 0


def test_warning_gives_the_missing_fraction_if_it_matters(X):
    with warns(ApproximationWarning, "trace") as caught:
        eca = KernelECA(2, kernel=Gaussian(1.0), solver=Nystrom(20)).fit(X)
    message = next(str(w.message) for w in caught if w.category is ApproximationWarning)
    missing = eca.spectrum_.error_bound / N  # the trace of K is n
    assert f"{missing:.2%}" in message
    with warnings.catch_warnings():
        warnings.simplefilter("error", ApproximationWarning)
        KernelECA(2, kernel=Gaussian(20.0), solver=Nystrom(100)).fit(X)


def test_seed_determines_the_landmarks(X):
    first, again, other = (landmarks_of(Gaussian(1.0), X, 30, seed) for seed in (3, 3, 4))
    assert isinstance(first, LandmarkFeatures)
    assert np.array_equal(first.landmarks.data, again.landmarks.data)
    assert np.array_equal(first.factor, again.factor)
    assert not np.array_equal(first.landmarks.data, other.landmarks.data)


def test_single_precision(X):
    single = X.astype(np.float32)
    eca = KernelECA(2, kernel=Gaussian(3.0), solver=Nystrom(100)).fit(single)
    dense = KernelECA(2, kernel=Gaussian(3.0), solver="dense").fit(single.astype(float))
    assert eca.transform(single).dtype == np.float32
    # rounding of float32 kernel values, n of them
    slack = N * np.finfo(np.float32).eps
    error = np.abs(eca.eigenvalues_ - dense.eigenvalues_)
    assert np.all(error <= eca.spectrum_.error_bound + slack)
    gram = Nystrom(100).gram(Sample(Gaussian(3.0), Points(single)))
    rest = Gaussian(3.0)(single.astype(float)) - gram @ np.eye(N)
    assert np.linalg.eigvalsh((rest + rest.T) / 2)[0] >= -slack


@pytest.mark.parametrize("seed", range(10))
def test_single_precision_with_many_landmarks_stays_accurate(X, seed):
    """k(S, S) is singular in float32 long before n landmarks are chosen."""
    single = X.astype(np.float32)
    eca = KernelECA(2, kernel=Gaussian(8.0), solver=Nystrom(N, random_state=seed)).fit(single)
    dense = KernelECA(2, kernel=Gaussian(8.0), solver="dense").fit(single.astype(float))
    assert np.isfinite(eca.transform(single)).all()
    assert_allclose(eca.eigenvalues_, dense.eigenvalues_, atol=1e-3)
    assert_allclose(eca.transform(single), dense.transform(single), atol=1e-3)


def test_weighted_sums_of_features_equal_products_with_them():
    X = np.random.default_rng(0).normal(size=(300, 3))
    points, weights = Points(X), np.random.default_rng(1).random((4, 300))
    features = choose_landmarks(
        Gaussian(1.0), points, None, 40, tolerance=0.0, random_state=0, memory=10**9
    )
    assert_allclose(features.weighted_sums(points, weights), weights @ features(X), rtol=1e-9)
