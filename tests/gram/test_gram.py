"""Every operator agrees with the Gram matrix written out."""

import pickle
from types import ModuleType

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import config_context
from mercer.data.points import Points
from mercer.eigen.approximations import FiniteFeatures
from mercer.gram import BlockedGram, DenseGram, ExactFeatures, ExplicitGram, Sample
from mercer.gram import gram as gram_module
from mercer.kernels import Gaussian, Linear
from mercer.solvers import Fourier, Lanczos, Nystrom
from tests.gram.naive import weighted_gram

N, D = 300, 3  # more than one tile


def explicit(kernel, points, weights):
    return ExplicitGram(ExactFeatures(kernel), points, weights)


CASES = [
    (DenseGram, Gaussian(1.3)),
    (BlockedGram, Gaussian(1.3)),
    (explicit, Linear(2.0, 0.5)),
]


@pytest.fixture(params=CASES, ids=lambda case: case[0].__name__)
def case(request):
    return request.param


@pytest.fixture(params=[None, "weighted"])
def weights(request, rng):
    return None if request.param is None else rng.uniform(0.2, 3, size=N)


@pytest.fixture(params=[False, True], ids=["plain", "centered"])
def center(request):
    return request.param


@pytest.fixture
def setup(case, weights, center, rng):
    kind, kernel = case
    X = rng.normal(size=(N, D)) + 1.0
    gram = kind(kernel, Points(X), weights)
    gram = gram.centered() if center else gram
    return gram, weighted_gram(kernel, X, weights, center), kernel, X


def test_products_diagonal_trace_and_potential(setup, rng):
    gram, A, _, _ = setup
    V = rng.normal(size=(N, 4))
    scale = np.abs(A).sum(axis=1).max()
    assert_allclose(gram @ V, A @ V, atol=1e-14 * scale * N**0.5)
    assert_allclose(gram @ V[:, 0], A @ V[:, 0], atol=1e-14 * scale * N**0.5)
    assert_allclose(gram.diagonal(), A.diagonal(), atol=1e-13)
    assert_allclose(gram.trace, A.trace(), rtol=1e-12)
    expected = gram.start @ A @ gram.start / gram.total**2
    assert_allclose(gram.potential, expected, rtol=1e-12, atol=1e-15)


def test_problem_has_the_eigenpairs_of_the_operator(setup):
    gram, A, _, _ = setup
    problem = gram.problem()
    values, vectors = np.linalg.eigh(problem.dense())
    k = 3
    expected = np.linalg.eigvalsh(A)[-k:]
    assert_allclose(values[-k:], expected, rtol=1e-12)
    assert_allclose(problem.product(vectors), vectors * values, atol=1e-12 * values[-1])


def test_expansion_projects_training_and_new_points_alike(setup):
    """Training scores √λ e/√w, the same from the formula for new points, and k(x, x)."""
    gram, A, _, X = setup
    values, vectors = np.linalg.eigh(gram.problem().dense())
    values, vectors = values[-3:], vectors[:, -3:]
    expansion = gram.expansion(values, vectors)
    scores = expansion.at_training(values)
    assert_allclose(expansion(Points(X)), scores, atol=1e-11)
    e = scores * gram.start[:, None] / np.sqrt(values)
    assert_allclose(e.T @ e, np.eye(3), atol=1e-11)
    assert_allclose(A @ e, e * values, atol=1e-11 * values[-1])
    norms = A.diagonal() / gram.start**2
    assert_allclose(expansion.squared_norms(Points(X)), norms, atol=1e-12)
    assert_allclose(expansion.training_squared_norms(), norms, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_matrix_free_products_in_both_precisions_on_any_number_of_threads(rng, dtype, threads):
    X = rng.normal(size=(700, 5)).astype(dtype)
    V = rng.normal(size=(700, 2))
    expected = Gaussian(1.5)(X.astype(float)) @ V
    with config_context(threads=threads):
        found = BlockedGram(Gaussian(1.5), Points(X)) @ V
    assert found.dtype == np.float64
    # rounding errors of the tiles, relative to the sum of |k v|
    assert_allclose(found, expected, atol=100 * np.finfo(dtype).eps * np.abs(expected).max())


def test_precomputed_matrices_are_never_written_to(rng):
    K = Gaussian(1.0)(rng.normal(size=(20, 2)))
    K.flags.writeable = False
    gram = DenseGram(Gaussian(1.0), Points(np.arange(20), "gram"), np.full(20, 2.0), K)
    assert_allclose(gram.dense(), 2 * K)
    plain = DenseGram(Gaussian(1.0), Points(np.arange(20), "gram"), None, K)
    plain.centered().dense()  # centers a copy
    assert_allclose(plain.matrix, K, atol=0)


def test_pickled_operators_multiply_the_same_and_hold_only_data(setup, rng):
    gram, _, _, _ = setup
    v = rng.normal(size=N)
    assert_allclose(pickle.loads(pickle.dumps(gram)) @ v, gram @ v, rtol=1e-14)
    assert not [name for name, value in vars(gram).items() if isinstance(value, ModuleType)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_of_a_stored_matrix_in_threads_equal_one_product(rng, dtype, monkeypatch):
    monkeypatch.setattr(gram_module, "_PARALLEL_PRODUCT", 1)
    n = 2 * gram_module._BLOCK_ROWS + 77
    gram = DenseGram(Gaussian(1.3), Points(rng.normal(size=(n, D)).astype(dtype)))
    V = rng.normal(size=(n, 5))
    expected = gram.dense().astype(np.float64) @ V
    accuracy = 100 * np.finfo(dtype).eps * np.abs(expected).max()
    with config_context(threads=3):
        found = gram.product(V)
        assert_allclose(found, expected, rtol=0, atol=accuracy)
        assert found.dtype == np.float64
        assert np.array_equal(gram.product(V), found)
    with config_context(threads=1):
        assert_allclose(gram.product(V), found, rtol=0, atol=accuracy)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_norm_of_a_stored_matrix(rng, dtype):
    X = rng.normal(size=(N, D)).astype(dtype)
    weights = rng.uniform(0.2, 3, size=N)
    A = weighted_gram(Gaussian(1.3), X.astype(np.float64), weights, center=False)
    found = DenseGram(Gaussian(1.3), Points(X), weights).squared_norm()
    assert_allclose(found, (A**2).sum(), rtol=100 * np.finfo(dtype).eps)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize(
    ("kernel", "solver"),
    [
        (Gaussian(0.8), Lanczos(stored=True)),
        (Gaussian(0.8), Lanczos(stored=False)),
        (Gaussian(0.8), Fourier()),
        (Gaussian(0.8), Nystrom(200)),
        (Linear(1.0, 0.5), FiniteFeatures()),
    ],
    ids=lambda part: type(part).__name__,
)
def test_quadratic_form_equals_that_of_the_matrix(kernel, solver, center, weighted, rng):
    X, V = rng.normal(size=(200, 2)), rng.normal(size=(200, 3))
    w = rng.integers(1, 4, size=200).astype(float) if weighted else None
    gram = solver.gram(Sample(kernel, Points(X), w))
    gram = gram.centered() if center else gram
    A = weighted_gram(kernel, X, w, center)
    root = np.ones(200) if w is None else np.sqrt(w)
    # the error of an entry of K is at most the tolerance of the Fourier features, 1e-10
    reach = float((root[:, None] * np.abs(V)).sum(axis=0).max())
    assert_allclose(gram.quadratic(V), V.T @ A @ V, rtol=0, atol=1e-10 * reach**2)
