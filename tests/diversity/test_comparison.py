"""Comparison of two samples and of two embeddings."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse.linalg import ArpackNoConvergence, eigs

import mercer
from mercer.bandwidth import fit_kernel, median_distance
from mercer.data.points import validate_points
from mercer.diversity import comparison, differences
from mercer.diversity.comparison import largest_standardized, permutation_p_value
from mercer.information import cauchy_schwarz_divergence
from mercer.kernels import Cosine, Gaussian, Laplacian, Neighbors
from mercer.solvers import Auto
from tests.expectations import raises


def pair(shift=0.0, n=60, m=50, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(1, 1, size=(n, d)), rng.normal(1 + shift, 1, size=(m, d))


@pytest.mark.parametrize("kernel", [Cosine(), Gaussian(1.5)], ids=repr)
def test_statistics_equal_their_definitions(kernel):
    X, Y = pair(0.5)
    found = mercer.compare_samples(X, Y, kernel)
    xx, yy, xy = kernel(X), kernel(Y), kernel(X, Y)
    assert_allclose(found.mmd**2, xx.mean() + yy.mean() - 2 * xy.mean(), rtol=1e-8)
    n, m = len(X), len(Y)
    off = [(K.sum() - len(K)) / (len(K) * (len(K) - 1)) for K in (xx, yy)]
    assert_allclose(found.squared_mmd, off[0] + off[1] - 2 * xy.mean(), atol=1e-10)
    assert_allclose(found.cauchy_schwarz, cauchy_schwarz_divergence(X, Y, kernel), rtol=1e-8)
    assert len(found.novelty) == m
    assert n + m == 110


def test_eigenvalues_equal_those_of_the_signed_kernel_matrix():
    X, Y = pair(0.5)
    Z, kernel = np.vstack([X, Y]), Gaussian(1.5)
    signs = np.r_[np.full(len(X), -1 / len(X)), np.full(len(Y), 1 / len(Y))]
    expected = np.sort(np.linalg.eigvals(kernel(Z) * signs).real)
    found = mercer.compare_samples(X, Y, kernel, n_modes=4)
    assert_allclose([mode.eigenvalue for mode in found.novel_modes], expected[::-1][:4], rtol=1e-6)
    assert_allclose([mode.eigenvalue for mode in found.missing_modes], -expected[:4], rtol=1e-6)
    assert found.error_bound == 0


def test_exchanged_samples_exchange_novel_and_missing_modes():
    X, Y = pair(0.5)
    one, other = mercer.compare_samples(X, Y), mercer.compare_samples(Y, X)
    assert_allclose(one.mmd, other.mmd, rtol=1e-10)
    assert_allclose(
        [mode.eigenvalue for mode in one.novel_modes],
        [mode.eigenvalue for mode in other.missing_modes],
        rtol=1e-8,
    )


def test_size_and_power():
    null = [
        mercer.compare_samples(*pair(0, seed=s), n_modes=0, n_permutations=39) for s in range(100)
    ]
    # the probability of more than 15 rejections of 100 at 5 % is 4e-5
    for name in ("p_value", "cauchy_schwarz_p_value"):
        assert sum(getattr(one, name) <= 0.05 for one in null) <= 15
    assert mercer.compare_samples(*pair(1.0, seed=1), "gaussian").p_value == 1 / 500


def test_automatic_bandwidth_tests_the_largest_standardized_statistic():
    X, Y = pair(0.2)
    found = mercer.compare_samples(X, Y, "gaussian", n_modes=0, n_permutations=99, random_state=3)
    Z, rng = np.vstack([X, Y]), np.random.default_rng(3)
    labels = (np.arange(110) < 60).astype(float)
    drawn = np.array([labels, *(rng.permutation(labels) for _ in range(99))])
    scores = []
    for bandwidth in median_distance(Z) * np.array([0.25, 0.5, 1, 2, 4]):
        K = Gaussian(bandwidth)(Z)
        means = drawn / 60 - (1 - drawn) / 50
        squared = np.einsum("ij,jk,ik->i", means, K, means)
        scores.append((squared - squared.mean()) / squared.std())
    largest = np.max(scores, axis=0)
    assert found.p_value == (largest >= largest[0] - 1e-6).mean()
    assert_allclose(found.test_bandwidths[[0, -1]], median_distance(Z) * np.array([0.25, 4]))
    assert "5 bandwidths" in found.tests_note
    assert found.tests_note in found._repr_html_()
    # all other results are those of the fitted kernel
    own = mercer.compare_samples(X, Y, found.kernel, n_modes=0, n_permutations=99)
    assert_allclose([found.mmd, found.squared_mmd], [own.mmd, own.squared_mmd], rtol=1e-9)
    assert_allclose(found.novelty, own.novelty, rtol=1e-6)


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Gaussian("median-distance"), Cosine()], ids=repr)
def test_given_kernel_is_tested_as_it_is(kernel):
    X, Y = pair(0.2)
    found = mercer.compare_samples(X, Y, kernel, n_modes=0, n_permutations=99, random_state=3)
    K, rng = found.kernel(np.vstack([X, Y])), np.random.default_rng(3)
    labels = (np.arange(110) < 60).astype(float)
    drawn = np.array([labels, *(rng.permutation(labels) for _ in range(99))])
    means = drawn / 60 - (1 - drawn) / 50
    squared = np.einsum("ij,jk,ik->i", means, K, means)
    assert found.p_value == (squared >= squared[0] - 1e-12).mean()
    assert found.test_bandwidths is None
    assert found.tests_note == ""


def test_several_bandwidths_detect_differences_that_one_does_not():
    X, Y = pair(n=100, m=100, d=10, seed=1)
    Y = 1 + 1.15 * (Y - 1)
    assert mercer.compare_samples(X, Y, "gaussian", n_modes=0).p_value < 0.05
    median = Gaussian("median-distance")
    assert mercer.compare_samples(X, Y, median, n_modes=0).p_value > 0.05


def test_size_with_the_automatic_bandwidth():
    rejected = [
        mercer.compare_samples(
            *pair(n=20, m=15, seed=s), "gaussian", n_modes=0, n_permutations=39
        ).p_value
        for s in range(100)
    ]
    # the probability of more than 15 rejections of 100 at 5 % is 4e-5
    assert sum(p <= 0.05 for p in rejected) <= 15


def test_bandwidths_with_constant_statistics_do_not_reject():
    constant = np.full(50, 0.3)
    constant[0] += 1e-13
    varied = np.r_[0.5, np.linspace(0, 1, 49)]
    largest = largest_standardized([constant, varied])
    assert_allclose(largest, np.maximum((varied - varied.mean()) / varied.std(), 0))
    assert permutation_p_value(largest_standardized([constant]), 1e-4) == 1


@pytest.mark.parametrize("landmarks", [False, True])
def test_several_bandwidths_of_many_rows(landmarks, monkeypatch):
    if landmarks:
        monkeypatch.setattr(comparison, "_EXACT", Auto(largest_gram=1e6, largest_product=1e6))
    X, Y = pair(0.0, 600, 500, d=5)
    Y = 1 + 1.2 * (Y - 1)
    found = mercer.compare_samples(X, Y, "gaussian", n_modes=0, n_permutations=19)
    assert found.p_value == 1 / 20
    assert len(found.test_bandwidths) == 5


def test_planted_mode_is_found_with_its_rows():
    rng = np.random.default_rng(0)
    X, Y = np.abs(rng.normal(size=(150, 10))), np.abs(rng.normal(size=(150, 10)))
    Y[:8] = 0.05 * rng.normal(size=(8, 10)) - np.eye(10)[0]
    for kernel in ("cosine", "gaussian"):
        found = mercer.compare_samples(X, Y, kernel, n_permutations=19)
        assert set(np.argsort(-found.novelty)[:8]) == set(range(8))


def test_many_rows_have_exact_statistics_and_eigenvalues():
    X, Y = pair(0.3, 700, 600, d=20)
    kernel = Gaussian(4.0)
    found = mercer.compare_samples(X, Y, kernel, n_modes=4)
    exact = kernel(X).mean() + kernel(Y).mean() - 2 * kernel(X, Y).mean()
    assert_allclose(found.mmd**2, exact, rtol=1e-8)
    K = kernel(np.vstack([X, Y]))
    signs = np.r_[np.full(700, -1 / 700), np.full(600, 1 / 600)]
    root = np.linalg.cholesky(K + 1e-13 * np.eye(1300))
    expected = np.linalg.eigvalsh((root.T * signs) @ root)
    novel = [mode.eigenvalue for mode in found.novel_modes]
    assert_allclose(novel, expected[::-1][:4], rtol=1e-6)
    assert_allclose([mode.eigenvalue for mode in found.missing_modes], -expected[:4], rtol=1e-6)
    assert found.error_bound < 1e-5 * expected[-1]
    assert found.p_value == 1 / 500
    assert found.novel_modes[0].significant


def test_significance_of_many_rows_is_relative_to_permuted_labels():
    X, Y = pair(0.0, 600, 600, d=10)
    found = mercer.compare_samples(X, Y, Gaussian(3.0), n_permutations=19)
    assert not any(mode.significant for mode in found.novel_modes[3:] + found.missing_modes[3:])


def test_landmarks_beyond_the_largest_kernel_matrix(monkeypatch):
    monkeypatch.setattr(comparison, "_EXACT", Auto(largest_gram=1e6, largest_product=1e6))
    X, Y = pair(0.3, 700, 600)
    kernel = Gaussian(3.0)
    found = mercer.compare_samples(X, Y, kernel)
    exact = kernel(X).mean() + kernel(Y).mean() - 2 * kernel(X, Y).mean()
    assert_allclose(found.mmd**2, exact, rtol=1e-3)
    assert 0 < found.error_bound < 0.01


def test_single_precision_agrees_with_double():
    X, Y = (Z.astype(np.float32) for Z in pair(0.3, 700, 600))
    found = mercer.compare_samples(X, Y, Gaussian(3.0), n_modes=2, n_permutations=19)
    exact = mercer.compare_samples(
        X.astype(float), Y.astype(float), Gaussian(3.0), n_modes=2, n_permutations=19
    )
    assert_allclose(found.mmd, exact.mmd, rtol=1e-9)


def test_opposite_samples_have_infinite_divergence():
    X = np.abs(pair()[0])
    found = mercer.compare_samples(X, -X[:40])
    assert found.cauchy_schwarz == np.inf
    assert found.cauchy_schwarz_p_value == 1 / 500


def test_result_reports_what_the_kernel_cannot_detect():
    X, Y = pair()
    assert "characteristic" in mercer.compare_samples(X, Y).limitations
    assert mercer.compare_samples(X, Y, "gaussian").limitations == ""
    assert len(mercer.compare_samples(X, Y).to_frame()) == 2
    assert "<table" in mercer.compare_samples(X, Y)._repr_html_()


def test_invalid_input_raises():
    X, Y = pair()
    with raises(ValueError, 3, 2):
        mercer.compare_samples(X, Y[:, :2])
    with raises(ValueError, "precomputed"):
        mercer.compare_samples(X, Y, "precomputed")
    with raises(ValueError, "n_permutations=3"):
        mercer.compare_samples(X, Y, n_permutations=3)
    with raises(ValueError, 60, 50):
        mercer.compare_embeddings(X, Y)


@pytest.mark.parametrize("n", [12, 90])
def test_difference_of_embeddings_equals_the_dense_spectrum(n):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(n, 4)), rng.normal(size=(n, 6))
    found = mercer.compare_embeddings(X, Y, n_modes=3)
    D = (Cosine()(X) - Cosine()(Y)) / n
    expected = np.linalg.eigvalsh(D)
    assert_allclose([mode.eigenvalue for mode in found.first_modes], expected[::-1][:3], rtol=1e-6)
    assert_allclose([mode.eigenvalue for mode in found.second_modes], -expected[:3], rtol=1e-6)
    assert_allclose(found.distance, np.linalg.norm(D), rtol=1e-9)
    assert found.residual < 1e-6
    assert found.first_vectors.shape == (n, 3)


def test_equal_embeddings_have_no_modes():
    X = pair()[0]
    found = mercer.compare_embeddings(X, X)
    assert found.first_modes == found.second_modes == []
    assert found.distance < 1e-12


@pytest.mark.parametrize("kernel", [Cosine(), Gaussian(1.5), Neighbors(5)], ids=repr)
def test_distance_of_embeddings_equals_the_norm_of_the_difference(kernel):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(700, 4)), rng.normal(size=(700, 5))
    found = mercer.compare_embeddings(X, Y, kernel, n_modes=1)
    first, second = (fit_kernel(kernel, validate_points(Z, kernel))(Z) for Z in (X, Y))
    assert_allclose(found.distance, np.linalg.norm(first - second) / 700, rtol=1e-9)


def test_distance_of_embeddings_needs_no_kernel_matrix():
    rng = np.random.default_rng(0)
    n = 20_000
    X, Y = rng.normal(size=(n, 8)), rng.normal(size=(n, 6))
    tracemalloc.start()
    found = mercer.compare_embeddings(X, Y, n_modes=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * n * 256
    A, B = (Z / np.linalg.norm(Z, axis=1, keepdims=True) for Z in (X, Y))
    squares = [np.linalg.norm(M) ** 2 for M in (A.T @ A, B.T @ B, A.T @ B)]
    assert_allclose(found.distance, np.sqrt(squares[0] + squares[1] - 2 * squares[2]) / n)


def test_modes_that_converged_are_returned_without_the_others(monkeypatch):
    rng = np.random.default_rng(0)
    K = Laplacian(1.0)(rng.normal(size=(90, 2)) + np.repeat([0.0, 1.0], [40, 50])[:, None])

    def novel_eigenvalues():
        novel, _, _ = differences.gram_modes(lambda V: K @ V, 90, 40, 3, np.random.default_rng(1))
        return [mode.eigenvalue for mode in novel]

    def stopped(*args, **kwargs):
        values, vectors = eigs(*args, **kwargs)
        order = np.argsort(-abs(values.real))[:2]
        raise ArpackNoConvergence("stopped", values[order], vectors[:, order])

    expected = novel_eigenvalues()
    monkeypatch.setattr(differences, "eigs", stopped)
    assert_allclose(novel_eigenvalues(), expected[:2], rtol=1e-6)
