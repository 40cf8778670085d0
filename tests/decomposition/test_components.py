"""Invariances of kernel PCA and kernel ECA, and agreement of their solvers."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.decomposition import KernelPCA as SklearnKernelPCA
from sklearn.preprocessing import scale

from mercer import EntropyClustering, KernelECA, KernelPCA, config_context
from mercer.datasets import make_ring_and_blob, make_rings
from mercer.kernels import Cosine, Gaussian, Laplacian, Linear, Matern, Polynomial
from mercer.solvers import Dense, Lanczos
from tests.expectations import raises

ESTIMATORS = [KernelPCA(3), KernelPCA(3, center=False), KernelECA(3)]
KERNELS = [
    Gaussian(1.5),
    Gaussian(np.array([1.0, 2.0, 1.5, 0.7])),
    Laplacian(3.0),
    Matern(2.0),
    Polynomial(2, 1.0),
    Linear(1.0, 0.5),
    Cosine(),
    Gaussian(1.0) + 0.5 * Linear(),
]


@pytest.fixture(params=ESTIMATORS, ids=repr)
def estimator(request):
    return clone(request.param)


@pytest.fixture
def X(rng):
    """Three groups of unequal sizes, with entropy in several components."""
    centers = np.array([[0, 0, 0, 0], [4, 0, 0, 1], [0, 4, 4, 0]])
    return centers[rng.choice(3, p=[0.5, 0.3, 0.2], size=150)] + rng.normal(size=(150, 4))


def gram_of(scores):
    """Return inner products of scores, which do not depend on signs and bases of ties."""
    return scores @ scores.T


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("solver", ["auto", Dense(), Lanczos(), Lanczos(stored=False)], ids=repr)
def test_training_and_new_points_have_the_same_projections(estimator, kernel, solver, X):
    estimator.set_params(kernel=kernel, solver=solver)
    scores = estimator.fit_transform(X)
    assert_allclose(estimator.transform(X), scores, atol=1e-10 * np.abs(scores).max())
    assert_allclose(estimator.fit(X).transform(X), scores, atol=1e-10 * np.abs(scores).max())


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("solver", ["auto", Lanczos(), Lanczos(stored=False)], ids=repr)
def test_solvers_agree(estimator, kernel, solver, X):
    estimator.set_params(kernel=kernel)
    dense = clone(estimator).set_params(solver="dense").fit(X)
    other = clone(estimator).set_params(solver=solver).fit(X)
    assert_allclose(other.eigenvalues_, dense.eigenvalues_, rtol=1e-10)
    expected = dense.transform(X)
    assert_allclose(other.transform(X), expected, atol=1e-8 * np.abs(expected).max())
    assert_allclose(
        other.spectrum_.entropy_terms,
        dense.spectrum_.entropy_terms,
        atol=1e-8 * dense.spectrum_.trace / len(X) ** 2,
    )


def test_eigenvectors_follow_the_conventions(estimator, X):
    estimator.set_params(kernel=Gaussian(1.5)).fit(X)
    spectrum = estimator.spectrum_
    e, values = spectrum.eigenvectors, spectrum.eigenvalues
    K = Gaussian(1.5)(X)
    if spectrum.centered:
        J = np.eye(len(X)) - 1 / len(X)
        K = J @ K @ J
    assert_allclose(e.T @ e, np.eye(3), atol=1e-12)
    assert_allclose(K @ e, e * values, atol=1e-11 * values.max())
    assert (e.sum(axis=0) >= -1e-9).all()
    assert_allclose(spectrum.operator_eigenvalues, values / len(X))
    functions = spectrum.eigenfunctions(X)
    assert_allclose(functions, np.sqrt(len(X)) * e, atol=1e-9)
    assert_allclose((functions**2).mean(axis=0), 1, rtol=1e-9)
    assert_allclose(spectrum.gram(), (e * values) @ e.T, atol=1e-12)
    assert_allclose(spectrum.trace, K.trace(), rtol=1e-12)
    if spectrum.centered:  # no overlap: the sign follows the largest entry
        assert (e[np.abs(e).argmax(axis=0), range(3)] > 0).all()


def test_agrees_with_scikit_learn_up_to_sign(X):
    ours = KernelPCA(4, kernel=Gaussian(1.3)).fit(X)
    theirs = SklearnKernelPCA(4, kernel="rbf", gamma=1 / (2 * 1.3**2)).fit(X)
    assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-10)
    assert_allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), atol=1e-8)


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_weights_equal_repeated_rows(estimator, solver, X, rng):
    """Integer weights equal repeated rows, zero weights equal absent rows."""
    weights = rng.integers(0, 4, size=len(X))
    repeated = np.repeat(X, weights, axis=0)
    estimator.set_params(solver=solver)  # the bandwidth rule takes the weights too
    weighted = clone(estimator).fit(X, sample_weight=weights)
    copies = clone(estimator).fit(repeated)
    assert_allclose(weighted.kernel_.bandwidth, copies.kernel_.bandwidth, rtol=1e-12)
    assert_allclose(weighted.eigenvalues_, copies.eigenvalues_, rtol=1e-10)
    assert_allclose(weighted.transform(X), copies.transform(X), atol=1e-9)
    assert_allclose(weighted.spectrum_.entropy_terms, copies.spectrum_.entropy_terms, atol=1e-12)
    assert_allclose(weighted.spectrum_.trace, copies.spectrum_.trace, rtol=1e-12)
    assert_allclose(weighted.hotelling(X), copies.hotelling(X), rtol=1e-7)
    in_sample = clone(estimator).fit_transform(X, sample_weight=weights)
    assert_allclose(in_sample, weighted.transform(X), atol=1e-9)
    for name, limits in weighted.control_limits_.items():
        for form, value in limits.items():
            assert_allclose(value, copies.control_limits_[name][form], rtol=1e-7)


def test_results_do_not_depend_on_the_order_of_rows(estimator, X, rng):
    order = rng.permutation(len(X))
    scores = estimator.fit_transform(X)
    permuted = clone(estimator).fit_transform(X[order])
    assert_allclose(permuted, scores[order], atol=1e-9)


def test_single_precision_is_preserved_and_accurate(estimator, X):
    estimator.set_params(kernel=Gaussian(1.5))
    double = estimator.fit_transform(X)
    for solver in ("dense", "lanczos", Lanczos(stored=False)):
        single = clone(estimator).set_params(solver=solver).fit_transform(X.astype(np.float32))
        assert single.dtype == np.float32
        assert_allclose(single, double, atol=2e-4 * np.abs(double).max())


@pytest.mark.parametrize("stored", [True, False])
def test_results_do_not_depend_on_the_number_of_threads(estimator, stored, X):
    estimator.set_params(kernel=Gaussian(1.5), solver=Lanczos(stored=stored))
    results = []
    for threads in (1, 2, 5):
        with config_context(threads=threads):
            results.append(clone(estimator).fit_transform(X))
    for other in results[1:]:
        assert_allclose(other, results[0], atol=1e-9)


def test_precomputed_equals_the_kernel(estimator, X, rng):
    kernel = Gaussian(1.5)
    new = rng.normal(size=(7, 4))
    direct = clone(estimator).set_params(kernel=kernel).fit(X)
    given = clone(estimator).set_params(kernel="precomputed").fit(kernel(X))
    assert_allclose(given.eigenvalues_, direct.eigenvalues_, rtol=1e-12)
    assert_allclose(given.transform(kernel(new, X)), direct.transform(new), atol=1e-10)
    weights = rng.integers(0, 3, size=len(X))
    direct.fit(X, sample_weight=weights)
    given.fit(kernel(X), sample_weight=weights)
    assert_allclose(given.transform(kernel(new, X)), direct.transform(new), atol=1e-10)


@pytest.mark.parametrize("solver", ["auto", "lanczos"])
def test_ranks_are_known_for_a_precomputed_matrix(solver, rng):
    """Above 600 rows the solver is iterative; the model does not store K to count ranks later."""
    K = Gaussian(1.0)(rng.normal(size=(618, 3)))
    values, vectors = np.linalg.eigh(K)
    terms = (values * vectors.sum(axis=0) ** 2)[::-1]
    expected = np.argsort(-terms)[:3] + 1
    eca = KernelECA(3, kernel="precomputed", solver=solver).fit(K)
    assert eca.component_ranks_.tolist() == expected.tolist()
    clustering = EntropyClustering(3, kernel="precomputed", solver=solver).fit(K)
    assert clustering.path_[0].components.tolist() == expected.tolist()


def test_pickle_is_small_and_equal(estimator, X):
    X = np.tile(X, (8, 1)) + np.random.default_rng(1).normal(size=(1200, 4)) * 0.1
    estimator.fit(X)
    data = pickle.dumps(estimator)
    assert len(data) < 10 * X.nbytes  # K alone would be 300 times X
    assert_allclose(pickle.loads(data).transform(X[:5]), estimator.transform(X[:5]), atol=0)


def test_fractions_and_all_components(X):
    full = KernelECA(None, kernel=Gaussian(1.5)).fit(X)
    assert_allclose(full.entropy_terms_.sum(), full.information_potential_, rtol=1e-12)
    assert_allclose(full.residual_potential_, 0, atol=1e-13)
    for solver in ("dense", "lanczos"):
        part = KernelECA(0.9, kernel=Gaussian(1.5), solver=solver).fit(X)
        assert part.entropy_ratio_.sum() >= 0.9
        assert part.entropy_ratio_[:-1].sum() < 0.9
        k = part.n_components_
        assert_allclose(part.entropy_terms_, full.entropy_terms_[:k], rtol=1e-8)
        pca = KernelPCA(0.5, kernel=Gaussian(1.5), solver=solver).fit(X)
        assert pca.explained_variance_ratio_.sum() >= 0.5
        assert pca.explained_variance_ratio_[:-1].sum() < 0.5


def test_feature_names_and_data_frames(estimator, X):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    out = estimator.set_output(transform="pandas").fit_transform(frame)
    prefix = type(estimator).__name__.lower()
    assert list(out.columns) == [f"{prefix}{i}" for i in range(3)]
    assert list(out.index) == list(frame.index)
    assert list(estimator.feature_names_in_) == list("abcd")
    assert_allclose(out.to_numpy(), clone(estimator).set_output().fit_transform(X), atol=1e-12)
    with raises(ValueError, "feature names"):
        estimator.transform(frame[["b", "a", "c", "d"]])


@pytest.mark.parametrize("n", [1, 2, 3])
def test_tiny_samples(n):
    X = np.arange(float(n)).reshape(-1, 1)
    eca = KernelECA(1, kernel=Gaussian(1.0)).fit(X)
    K = Gaussian(1.0)(X)
    values, vectors = np.linalg.eigh(K)
    terms = values * vectors.sum(axis=0) ** 2 / n**2
    assert_allclose(eca.entropy_terms_[0], terms.max(), rtol=1e-12)
    assert_allclose(eca.information_potential_, K.mean(), rtol=1e-12)


def test_duplicate_rows(rng):
    X = np.repeat(rng.normal(size=(5, 2)), 4, axis=0)
    for solver in ("dense", "lanczos"):
        full = KernelECA(None, kernel=Gaussian(1.0), solver=solver).fit(X)
        assert full.n_components_ == 5
        assert_allclose(full.spectrum_.gram(), Gaussian(1.0)(X), atol=1e-12)


@pytest.mark.parametrize("data", ["rings", "ring and blob", "wine", "normal"])
def test_entropy_lanczos_equals_the_full_decomposition(data, rng):
    """The terms agree up to 1e-8 V, and the selection is certified."""
    X = {
        "rings": lambda: make_rings(random_state=0)[0],
        "ring and blob": lambda: make_ring_and_blob(random_state=0)[0],
        "wine": lambda: scale(load_wine().data),
        "normal": lambda: rng.normal(size=(400, 5)),
    }[data]()
    for k in (1, 3, 5):
        dense = KernelECA(k, solver="dense").fit(X)
        krylov = KernelECA(k, solver="lanczos").fit(X)
        V = dense.information_potential_
        assert krylov.certified_
        assert dense.certified_
        assert_allclose(krylov.entropy_terms_, dense.entropy_terms_, atol=1e-8 * V)
        assert_allclose(krylov.information_potential_, V, rtol=1e-12)
        assert list(krylov.component_ranks_) == list(dense.component_ranks_)
        assert_allclose(gram_of(krylov.transform(X)), gram_of(dense.transform(X)), atol=1e-8)
