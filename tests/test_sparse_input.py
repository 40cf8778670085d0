"""Sparse matrices give the results of their dense versions, for dot-product kernels."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import mercer
from mercer.data.points import Points, validate_points
from mercer.data.subsampling import distinct_rows
from mercer.eigen.plan import Request, plan
from mercer.information import cauchy_schwarz_divergence, renyi_entropy, vendi_score
from mercer.kernels import Cosine, Gaussian, Linear, Neighbors, Polynomial
from mercer.utils.pairwise import as_sparse_rows, row_products

KERNELS = [
    Cosine(),
    Linear(2.0, 0.5),
    Polynomial(2, 1.0),
    Linear() + 0.5 * Cosine(),
    Cosine() * Cosine(),
]
SHAPES = [(120, 40), (90, 300)]  # solved by features, and by a Gram matrix
ESTIMATORS = {
    "KernelPCA": (lambda k: mercer.KernelPCA(3, kernel=k), ["transform", "reconstruction_error"]),
    "KernelECA": (lambda k: mercer.KernelECA(3, kernel=k), ["transform"]),
    "EntropyClustering": (lambda k: mercer.EntropyClustering(2, kernel=k), ["predict"]),
    "SpectralClustering": (lambda k: mercer.SpectralClustering(2, kernel=k), ["predict"]),
    "KernelNovelty": (lambda k: mercer.KernelNovelty(k), ["score_samples", "p_values"]),
    "KernelLDA": (lambda k: mercer.KernelLDA(kernel=k), ["predict_proba"]),
    "ComponentClassifier": (lambda k: mercer.ComponentClassifier(3, kernel=k), ["predict"]),
    "ComponentRegressor": (lambda k: mercer.ComponentRegressor(3, kernel=k), ["predict"]),
    "MercerMixture": (lambda k: mercer.MercerMixture(2, kernel=k), ["predict"]),
}


def counts(n, d, seed=0):
    """Return rows of two topics, each with its own frequent columns."""
    rng = np.random.default_rng(seed)
    topic = np.arange(n) % 2
    rates = np.where((np.arange(d) % 2)[None] == topic[:, None], 6.0, 1.0) / np.sqrt(d)
    return rng.poisson(rates).astype(float) + 0.1 * (np.arange(d) == 0), topic


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_results_equal_those_of_dense_rows(name, kernel, shape):
    make, methods = ESTIMATORS[name]
    X, topic = counts(*shape)
    new, _ = counts(20, shape[1], seed=1)
    dense = make(kernel).fit(X, topic)
    fitted = make(kernel).fit(sparse.csr_array(X), topic)
    for method in methods:
        expected = getattr(dense, method)(new)
        near = {"rtol": 1e-6, "atol": 1e-7 * np.abs(expected).max()}
        for form in (new, sparse.csr_matrix(new), sparse.coo_array(new)):
            np.testing.assert_allclose(getattr(fitted, method)(form), expected, **near)
        np.testing.assert_allclose(getattr(dense, method)(sparse.csc_array(new)), expected, **near)


@pytest.mark.parametrize("kernel", [*KERNELS, Neighbors(5, kernel=Cosine())], ids=repr)
def test_fitted_clusters_find_topics_in_sparse_rows(kernel):
    X, topic = counts(150, 200)
    clustering = mercer.SpectralClustering(2, kernel=kernel).fit(sparse.csr_array(X))
    agreement = (clustering.labels_ == topic).mean()
    assert max(agreement, 1 - agreement) > 0.9


def test_information_of_sparse_rows_equals_that_of_dense_rows():
    (X, _), (Y, _) = counts(80, 150), counts(60, 150, seed=1)
    A, B = sparse.csr_array(X), sparse.csr_matrix(Y)
    for measure in (renyi_entropy, vendi_score):
        assert measure(A, "cosine") == pytest.approx(measure(X, "cosine"), rel=1e-9)
    assert cauchy_schwarz_divergence(A, B, "cosine") == pytest.approx(
        cauchy_schwarz_divergence(X, Y, "cosine"), rel=1e-9
    )
    found, expected = mercer.compare_samples(A, B), mercer.compare_samples(X, Y)
    assert found.mmd == pytest.approx(expected.mmd, rel=1e-6)
    np.testing.assert_allclose(
        mercer.measure_diversity(A).scores, mercer.measure_diversity(X).scores, rtol=1e-6
    )


def test_weights_equal_copies_of_sparse_rows():
    X, _ = counts(60, 200)
    weights = np.arange(60) % 3
    weighted = mercer.KernelECA(2, kernel="cosine").fit(sparse.csr_array(X), sample_weight=weights)
    copies = mercer.KernelECA(2, kernel="cosine").fit(sparse.csr_array(np.repeat(X, weights, 0)))
    np.testing.assert_allclose(weighted.eigenvalues_, copies.eigenvalues_, rtol=1e-9)


def test_model_does_not_change_with_the_matrix_after_fit():
    X = sparse.csr_array(counts(60, 200)[0])
    model = mercer.KernelECA(2, kernel="cosine").fit(X)
    expected = model.transform(X)
    new = X.copy()
    X.data[:] = 7.0
    np.testing.assert_array_equal(model.transform(new), expected)


def test_validation_does_not_change_the_matrix():
    X = sparse.csr_array(
        (np.ones(4), np.array([2, 0, 2, 1]), np.array([0, 3, 4])), shape=(2, 3)
    )  # unsorted, with a repeated entry
    rows = validate_points(X, Linear()).data
    np.testing.assert_array_equal(rows.toarray(), [[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]])
    np.testing.assert_array_equal(X.indices, [2, 0, 2, 1])
    np.testing.assert_array_equal(X.data, 1.0)


@pytest.mark.parametrize("name", ["KernelECA", "SpectralClustering", "KernelNovelty"])
def test_models_of_sparse_rows_can_be_saved(name, tmp_path):
    make, (method, *_) = ESTIMATORS[name]
    X, _ = counts(90, 300)
    new = sparse.csr_array(counts(20, 300, seed=1)[0])
    model = make("cosine").fit(sparse.csr_array(X))
    mercer.save(model, tmp_path / "model")
    loaded = mercer.load(tmp_path / "model")
    np.testing.assert_array_equal(getattr(loaded, method)(new), getattr(model, method)(new))


def test_single_precision_is_kept():
    X = sparse.csr_array(counts(60, 200)[0].astype(np.float32))
    assert validate_points(X, Cosine()).dtype == np.float32
    assert Cosine()(X).dtype == np.float32


def test_integers_and_zero_rows_are_accepted():
    X = sparse.csr_array(np.array([[0, 0, 0], [0, 2, 0], [0, 3, 0]]))
    np.testing.assert_array_equal(Cosine()(X), [[0, 0, 0], [0, 1, 1], [0, 1, 1]])
    np.testing.assert_array_equal(Linear()(X, np.eye(3)), X.toarray())


def test_wide_matrices_are_not_made_dense():
    n, d = 900, 400_000  # 2.9 GB if dense
    rng = np.random.default_rng(0)
    entries = (np.repeat(np.arange(n), 20), rng.integers(0, d, 20 * n))
    X = sparse.csr_array((rng.random(20 * n), entries), shape=(n, d))
    sample = mercer.gram.Sample(Cosine(), validate_points(X, Cosine()))
    assert "Features" not in type(plan(sample, Request("entropy", 2)).operator).__name__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert mercer.KernelECA(2, kernel="cosine").fit_transform(X).shape == (n, 2)
    with pytest.raises(TypeError, match=r"400000.*toarray"):
        np.asarray(sample.points.data)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_distinct_rows_are_in_the_order_of_dense_rows(dtype):
    rng = np.random.default_rng(0)
    X = rng.integers(-1, 2, size=(300, 5)).astype(dtype) * rng.integers(0, 3, size=(300, 5))
    weights = rng.random(300)
    rows, masses = distinct_rows(X.astype(dtype), weights)
    found, found_masses = distinct_rows(as_sparse_rows(sparse.csr_array(X)), weights)
    np.testing.assert_array_equal(X[found], X[rows])
    np.testing.assert_allclose(found_masses, masses)


def test_products_fill_the_output():
    X = as_sparse_rows(sparse.csr_array(counts(6, 9)[0]))
    out = np.full((6, 12), np.nan)[:, ::2]
    assert row_products(X, X, out) is out
    np.testing.assert_allclose(out, (X @ X.T).toarray())


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Gaussian(1.0) + Linear(), "precomputed"])
def test_other_kernels_name_themselves_and_the_remedy(kernel):
    X = sparse.csr_array(np.eye(4))
    with pytest.raises(TypeError, match=r"(Gaussian|Precomputed)[\s\S]*sparse[\s\S]*toarray"):
        mercer.KernelPCA(2, kernel=kernel).fit(X)


def test_automatic_kernels_name_a_kernel_that_accepts_sparse_rows():
    X = sparse.csr_array(np.eye(4))
    for estimator in (mercer.SpectralClustering(2), mercer.KernelNovelty()):
        with pytest.raises(TypeError, match="cosine"):
            estimator.fit(X)


def test_results_in_input_space_need_dense_rows():
    X = sparse.csr_array(counts(60, 80)[0])
    pca = mercer.KernelPCA(2, kernel="linear").fit(X)
    detector = mercer.KernelNovelty("cosine").fit(X)
    calls = [
        lambda: pca.inverse_transform(pca.transform(X)),
        lambda: pca.contributions(X),
        lambda: detector.explain(X),
        lambda: mercer.KernelDenoiser(2, kernel="linear").fit(X),
        lambda: mercer.RobustKernelPCA(2, kernel="linear").fit(X),
        lambda: mercer.KernelNovelty("cosine", statistic="mahalanobis").fit(X),
        lambda: mercer.SpectralClustering(2, kernel="cosine", standardize=True).fit(X),
    ]
    for call in calls:
        with pytest.raises((TypeError, ValueError), match=r"dense"):
            call()


def test_missing_values_and_wrong_columns_raise():
    X = sparse.csr_array(counts(20, 4)[0])
    model = mercer.KernelPCA(2, kernel="linear").fit(X)
    with pytest.raises(ValueError, match="3 features"):
        model.transform(X[:, :3])
    X.data[0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        mercer.KernelPCA(2, kernel="linear").fit(X)


def test_points_report_sparse_rows():
    assert validate_points(sparse.csr_array(np.eye(3)), Linear()).is_sparse
    assert not Points(np.eye(3)).is_sparse


def test_tags_state_which_estimators_accept_sparse_matrices():
    for kernel, accepted in (("cosine", True), ("gaussian", False)):
        assert mercer.KernelPCA(kernel=kernel).__sklearn_tags__().input_tags.sparse is accepted
