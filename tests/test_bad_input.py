"""Invalid input of kernel PCA and kernel ECA: errors name the value, the limit and the remedy."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import NotFittedError

from mercer import KernelECA, KernelPCA, config_context
from mercer.errors import (
    ApproximationWarning,
    ConvergenceError,
    ConvergenceWarning,
    IdentifiabilityWarning,
    MemoryBudgetError,
    RankError,
)
from mercer.kernels import (
    Epanechnikov,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Sigmoid,
)
from mercer.solvers import Lanczos
from tests.expectations import names_values, raises, warns

both = pytest.mark.parametrize("estimator", [KernelPCA, KernelECA])
every_solver = pytest.mark.parametrize("solver", ["auto", "dense", "lanczos"])


def array(n=40, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


# --- arrays ------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_nan_and_infinity_raise(estimator, value, name):
    X = array()
    model = estimator().fit(X)
    X[3, 1] = value
    with raises(ValueError, name):
        estimator().fit(X)
    with raises(ValueError, name):
        model.transform(X)


@both
def test_arrays_without_rows_or_columns_raise(estimator):
    with raises(ValueError, "0 sample", (0, 3), 1):
        estimator().fit(np.empty((0, 3)))
    with raises(ValueError, "0 feature", (3, 0), 1):
        estimator().fit(np.empty((3, 0)))
    with raises(ValueError, "0 sample", (0, 3), 1):
        estimator().fit(array()).transform(np.empty((0, 3)))


@both
def test_one_dimensional_arrays_raise(estimator):
    with raises(ValueError, "2D", "1D", "reshape"):
        estimator().fit(np.arange(5.0))
    with raises(ValueError, "2D", "1D", "reshape"):
        estimator().fit(array()).transform(np.arange(3.0))


@both
def test_three_dimensional_arrays_raise(estimator):
    with raises(ValueError, "dim 3"):
        estimator().fit(np.zeros((4, 3, 2)))


@both
def test_sparse_matrices_raise(estimator):
    with raises(TypeError, "sparse", "toarray"):
        estimator().fit(sparse.csr_matrix(array()))


@both
@pytest.mark.parametrize("kernel", ["gaussian", "linear", "precomputed"])
def test_strings_raise_for_kernels_on_vectors(estimator, kernel):
    with raises(ValueError, "'a'"):
        estimator(kernel=kernel).fit([["a", "b"], ["c", "d"]])


@both
def test_complex_numbers_raise(estimator):
    with raises(ValueError, "Complex"):
        estimator().fit(array() + 1j)


@both
def test_transform_rejects_another_number_of_columns(estimator):
    model = estimator().fit(array())
    with raises(ValueError, "2 features", "3 features"):
        model.transform(array(5, 2))


@both
def test_transform_before_fit_raises(estimator):
    with raises(NotFittedError, estimator.__name__):
        estimator().transform(array())


def test_ranks_before_fit_raise():
    with raises(NotFittedError, "KernelECA"):
        _ = KernelECA().component_ranks_


# --- few rows, equal rows, constant columns ----------------------------------------------------


@both
def test_one_row_gives_no_bandwidth(estimator):
    with raises(ValueError, "1 sample", "Gaussian(bandwidth=1.0)"):
        estimator(1).fit([[1.0, 2.0]])


def test_one_row_with_a_bandwidth():
    with raises(RankError, "n_samples=1", "center=False"):
        KernelPCA(1, kernel=Gaussian(1.0)).fit([[1.0, 2.0]])
    model = KernelECA(1, kernel=Gaussian(1.0)).fit([[1.0, 2.0]])
    assert model.entropy_terms_.tolist() == [1.0]
    assert model.transform([[1.0, 2.0]]).tolist() == [[1.0]]


@both
def test_equal_rows_give_no_bandwidth(estimator):
    with raises(ValueError, 6, "Gaussian(bandwidth=1.0)"):
        estimator().fit(np.full((6, 3), 0.1))


@every_solver
def test_equal_rows_with_a_bandwidth(solver):
    X = np.full((6, 3), 0.1)
    with raises(RankError, "n_samples=6", "center=False"):
        KernelPCA(1, kernel=Gaussian(1.0), solver=solver).fit(X)
    model = KernelECA(1, kernel=Gaussian(1.0), solver=solver).fit(X)
    assert_allclose(model.eigenvalues_, [6.0], rtol=1e-14)
    assert_allclose(model.entropy_terms_, [1.0], rtol=1e-14)
    with raises(RankError, "n_components=2", 1, "None"):
        KernelECA(2, kernel=Gaussian(1.0), solver=solver).fit(X)


@both
@pytest.mark.parametrize("value", [0.0, 0.1, -7e5])
def test_constant_columns_do_not_change_the_scores(estimator, value):
    X = array()
    X = X / X.std()
    more = np.column_stack([X, np.full(len(X), value)])
    kernel = Gaussian(1.3)
    found = estimator(kernel=kernel).fit_transform(more)
    assert_allclose(found, estimator(kernel=kernel).fit_transform(X), rtol=0, atol=1e-11)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator().fit(more)  # the default bandwidth does not warn


# --- n_components ------------------------------------------------------------------------------


@both
@every_solver
def test_more_components_than_rows_raise(estimator, solver):
    with raises(ValueError, "n_components=41", 1, 40):
        estimator(41, solver=solver).fit(array())
    weights = np.ones(40)
    weights[:5] = 0
    with raises(ValueError, "n_components=36", 1, 35):
        estimator(36, solver=solver).fit(array(), sample_weight=weights)


@both
@every_solver
def test_more_components_than_the_rank_raise(estimator, solver):
    X = array() + 1.0
    with raises(RankError, "n_components=4", 3, "None"):
        estimator(4, kernel=Linear(), solver=solver).fit(X)
    assert estimator(None, kernel=Linear(), solver=solver).fit(X).n_components_ == 3
    assert estimator(3, kernel=Linear(), solver=solver).fit(X).n_components_ == 3


@both
@pytest.mark.parametrize("count", [0, -1, -7])
def test_fewer_than_one_component_raises(estimator, count):
    with raises(ValueError, f"n_components={count}", 1, 40):
        estimator(count).fit(array())


@both
@pytest.mark.parametrize("fraction", [0.0, 1.0, 1.5, -0.5, float("nan"), float("inf")])
def test_fractions_outside_the_unit_interval_raise(estimator, fraction):
    with raises(ValueError, f"n_components={fraction}", "(0, 1)"):
        estimator(fraction).fit(array())


@both
@pytest.mark.parametrize("wrong", [True, False, "2", "mle", [2], np.bool_(True)])
def test_n_components_of_other_types_raise(estimator, wrong):
    with raises(TypeError, f"n_components={wrong!r}", "(0, 1)", None):
        estimator(wrong).fit(array())


@both
@pytest.mark.parametrize("count", [np.int64(2), np.int32(2), np.uint8(2)])
def test_n_components_may_be_a_numpy_integer(estimator, count):
    found = estimator(count).fit_transform(array())
    assert_allclose(found, estimator(2).fit_transform(array()), rtol=0, atol=1e-14)


@both
def test_n_components_may_be_a_numpy_float(estimator):
    found = estimator(np.float64(0.9)).fit_transform(array())
    assert_allclose(found, estimator(0.9).fit_transform(array()), rtol=0, atol=1e-14)
    assert found.shape[1] > 1


# --- bandwidths --------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("kind", [Gaussian, Laplacian, Matern, Epanechnikov])
@pytest.mark.parametrize("width", [0, 0.0, -1.0, float("nan"), float("inf")])
def test_bandwidths_that_are_not_positive_raise(estimator, kind, width):
    with raises(ValueError, f"{kind.__name__}(bandwidth={width!r})", "'auto'"):
        estimator(kernel=kind(width)).fit(array())


@both
def test_one_negative_bandwidth_among_several_raises(estimator):
    with raises(ValueError, "Gaussian(bandwidth=", -1):
        estimator(kernel=Gaussian(np.array([1.0, -1.0, 1.0]))).fit(array())


@both
@pytest.mark.parametrize("widths", [[1.0, 2.0], [1.0, 2.0, 3.0, 4.0]])
def test_number_of_bandwidths_must_match_the_columns(estimator, widths):
    size = np.size(widths)
    with raises(ValueError, "Gaussian", f"{size} bandwidths", "3 columns"):
        estimator(kernel=Gaussian(np.array(widths))).fit(array())


@both
def test_bandwidths_in_a_matrix_raise_an_error_with_the_shape(estimator):
    with raises(ValueError, "Gaussian", (1, 3), (3,)):
        estimator(kernel=Gaussian(np.array([[1.0, 2.0, 3.0]]))).fit(array())


@pytest.mark.parametrize("kind", [Gaussian, Laplacian, Matern, Epanechnikov])
@pytest.mark.parametrize("rule", ["auto", "silverman"])
def test_kernels_with_a_rule_cannot_be_evaluated(kind, rule):
    values = (f"{kind.__name__}(bandwidth='{rule}')", "mercer.bandwidth.fit_kernel")
    with raises(ValueError, *values):
        kind(rule)(array())
    with raises(ValueError, *values):
        kind(rule).log_normalizer(3)


# --- names -------------------------------------------------------------------------------------


@both
def test_errors_for_unknown_names_list_the_known_ones(estimator):
    with raises(ValueError, "kernel='gausian'", "'gaussian'", "'rbf'", "'linear'", "'precomputed'"):
        estimator(kernel="gausian").fit(array())
    for wrong in ("arpack", None, Lanczos):
        with raises(ValueError, f"solver={wrong!r}", "'auto'", "'dense'", "'lanczos'"):
            estimator(solver=wrong).fit(array())


@both
def test_errors_for_unknown_parameters_list_the_known_ones(estimator):
    with raises(ValueError, "'gamma'", "bandwidth"):
        estimator().set_params(kernel__gamma=1.0)


@both
@pytest.mark.parametrize("products", [0, -5])
def test_max_products_must_be_positive(estimator, products):
    with raises(ValueError, f"max_products={products}", 1):
        estimator(solver=Lanczos(max_products=products)).fit(array())


# --- precomputed -------------------------------------------------------------------------------


def gram(n=40, seed=0):
    return Gaussian(1.0)(array(n, seed=seed))


@both
def test_precomputed_must_be_square(estimator):
    with raises(ValueError, "40 × 30", "transform"):
        estimator(kernel="precomputed").fit(gram()[:, :30])


@both
def test_precomputed_must_be_symmetric(estimator):
    K = gram()
    K[2, 5] += 0.25
    with raises(ValueError, 0.25, "(K + K.T) / 2"):
        estimator(kernel="precomputed").fit(K)


@both
def test_precomputed_must_be_finite(estimator):
    K = gram()
    K[2, 5] = K[5, 2] = np.nan
    with raises(ValueError, "NaN"):
        estimator(kernel="precomputed").fit(K)


@both
def test_precomputed_new_points_need_a_value_per_training_point(estimator):
    model = estimator(kernel="precomputed").fit(gram())
    with raises(ValueError, "39 features", "40 features"):
        model.transform(gram()[:, :39])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(4))
@every_solver
def test_entropy_of_a_centered_kernel_matrix_raises(dtype, seed, solver):
    K = gram(60, seed)
    P = np.eye(60) - 1 / 60
    K = (P @ K @ P).astype(dtype)
    with raises(ValueError, "V = 1'K1/n²", "KernelPCA"):
        KernelECA(kernel="precomputed", solver=solver).fit((K + K.T) / 2)
    assert KernelPCA(kernel="precomputed", solver=solver).fit((K + K.T) / 2).n_components_ == 2


@every_solver
def test_entropy_of_a_linear_kernel_on_centered_columns_raises(solver):
    X = array()
    with raises(ValueError, "V = 1'K1/n²", "KernelPCA"):
        KernelECA(kernel="linear", solver=solver).fit(X - X.mean(axis=0))


@both
def test_precomputed_matrix_is_not_changed(estimator):
    K = gram()
    before = K.copy()
    for solver in ("dense", "lanczos"):
        for weights in (None, np.arange(40.0)):
            estimator(kernel="precomputed", solver=solver).fit(K, sample_weight=weights)
    assert (before == K).all()


@both
def test_reconstruction_error_of_new_points_needs_a_kernel_object(estimator):
    model = estimator(kernel="precomputed").fit(gram())
    new = Gaussian(1.0)(array(seed=1), array())
    for rows in (7, 40):  # 40 is the number of training points
        with raises(ValueError, "'precomputed'", "k(x, x)"):
            model.reconstruction_error(new[:rows])


# --- indefinite kernels ------------------------------------------------------------------------


def indefinite(n=40):
    Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(n, n)))
    values = np.r_[np.linspace(5, 1, n - 15), np.linspace(-0.1, -3, 15)]
    K = (Q * values) @ Q.T
    return (K + K.T) / 2 + 0.2  # + 0.2 makes V positive


INDEFINITE = [
    (Epanechnikov(2.0), array()),
    (Sigmoid(0.5, 0.5), array() + 0.5),
    ("precomputed", indefinite()),
]
indefinite_kernels = pytest.mark.parametrize(
    ("kernel", "X"), INDEFINITE, ids=["epanechnikov", "sigmoid", "precomputed"]
)


def dense_eigenvalues(estimator, kernel, X):
    K = X.copy() if kernel == "precomputed" else kernel(X)
    if estimator is KernelPCA:
        P = np.eye(len(K)) - 1 / len(K)
        K = P @ K @ P
    return np.linalg.eigvalsh(K)


@both
@indefinite_kernels
@pytest.mark.parametrize("solver", ["auto", "dense"])
def test_indefinite_kernels_warn_and_are_fitted(estimator, kernel, X, solver):
    values = dense_eigenvalues(estimator, kernel, X)
    with warns(ApproximationWarning, f"{values[0]:.3g}"):
        model = estimator(3, kernel=kernel, solver=solver).fit(X)
    assert (model.eigenvalues_ > 0).all()
    if estimator is KernelPCA:
        assert_allclose(model.eigenvalues_, values[:-4:-1], rtol=1e-10)


@indefinite_kernels
def test_entropy_terms_of_indefinite_kernels_are_signed(kernel, X):
    K = X if kernel == "precomputed" else kernel(X)
    values, vectors = np.linalg.eigh(K)
    expected = values * vectors.sum(axis=0) ** 2 / len(K) ** 2
    with warns(ApproximationWarning, f"{values[0]:.3g}"):
        model = KernelECA(None, kernel=kernel).fit(X)
    known = model.spectrum_.known_entropy_terms
    assert (known < 0).any()
    # terms are λ (1'e)²/n²; eigenvectors have errors of eps·|K| over the distance to the next
    # eigenvalue, which is above 1e-4 here
    assert_allclose(np.sort(known), np.sort(expected), rtol=0, atol=1e-9)
    assert_allclose(known.sum(), K.mean(), rtol=1e-11)
    assert_allclose(model.information_potential_, K.mean(), rtol=1e-12)
    assert model.n_components_ == (values > 0).sum()
    assert (model.entropy_terms_ >= 0).all()
    # the selected terms exceed V by the sum of the negative ones
    assert_allclose(model.residual_potential_, expected[values < 0].sum(), rtol=0, atol=1e-12)


@both
@indefinite_kernels
@every_solver
def test_components_have_positive_eigenvalues(estimator, kernel, X, solver):
    positive = int((dense_eigenvalues(estimator, kernel, X) > 1e-10).sum())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximationWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = estimator(positive, kernel=kernel, solver=solver).fit(X)
        assert model.n_components_ == positive
        with raises(RankError, f"n_components={positive + 1}", positive):
            estimator(positive + 1, kernel=kernel, solver=solver).fit(X)


@pytest.mark.parametrize("width", [10.0, 100.0, 1e4, 1e6])
@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_rounding_errors_do_not_warn_of_an_indefinite_kernel(width, solver):
    # entries of K are 1 up to 1e-2 … 1e-12; after centering, rounding errors remain
    with warnings.catch_warnings():
        warnings.simplefilter("error", ApproximationWarning)
        KernelPCA(2, kernel=Gaussian(width), solver=solver).fit(array(60))


@pytest.mark.parametrize("width", [1e3, 1e4])
def test_rounding_errors_are_not_components(width):
    model = KernelPCA(None, kernel=Gaussian(width)).fit(array(60))
    # entries of K have errors of eps/2, and centering adds a few eps: smaller eigenvalues are noise
    assert model.eigenvalues_.min() > np.finfo(float).eps


# --- memory ------------------------------------------------------------------------------------


@both
def test_matrix_beyond_the_memory_budget_raises_before_allocation(estimator):
    X = array(400)
    needed = 4 * 400**2 * 8 / 1e9
    with config_context(memory="1MB"):
        tracemalloc.start()
        try:
            with raises(
                MemoryBudgetError,
                400,
                f"{needed:.3g} GB",
                "0.001 GB",
                "solver='lanczos'",
                "mercer.set_config(memory=",
            ):
                estimator(kernel=Gaussian(1.0), solver="dense").fit(X)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 1e6  # K alone takes 1.28 MB
    assert issubclass(MemoryBudgetError, ValueError)


@both
def test_auto_solver_is_matrix_free_within_a_small_budget(estimator):
    X = array(400)
    kernel = Gaussian(1.0)
    expected = estimator(3, kernel=kernel).fit(X)
    assert "full decomposition" in expected.spectrum_.method
    with config_context(memory="1MB"):
        found = estimator(3, kernel=kernel).fit(X)
        projected = found.transform(X[:50])
    assert "matrix-free" in found.spectrum_.method
    # in the order of variance, a random start finds all components almost surely: no certificate
    assert found.spectrum_.certified == (estimator is KernelECA)
    # residuals are below 1e-13 λ₁, and eigenvalues differ by more than 1e-2 λ₁: eigenvectors agree
    # up to about 1e-10
    assert_allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-11)
    assert_allclose(projected, expected.transform(X[:50]), rtol=0, atol=1e-9)


@both
def test_reconstruction_beyond_the_memory_budget_raises(estimator):
    model = estimator().fit(array(400))
    with (
        config_context(memory="1MB"),
        raises(MemoryBudgetError, 400, "0.00128 GB", "projections"),
    ):
        model.spectrum_.gram()


# --- identifiability ---------------------------------------------------------------------------


@both
@pytest.mark.filterwarnings("ignore::mercer.errors.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_isolated_points_warn(estimator, solver):
    with warns(IdentifiabilityWarning, "100%", "bandwidth"):
        estimator(kernel=Gaussian(1e-4), solver=solver).fit(array())


@both
def test_a_single_isolated_point_does_not_warn(estimator):
    X = array()
    X[0] = 50.0  # one isolated point of 40 is 2.5 %
    with warnings.catch_warnings():
        warnings.simplefilter("error", IdentifiabilityWarning)
        estimator(kernel=Gaussian(1.0)).fit(X)


@pytest.mark.parametrize(("estimator", "multiplicity"), [(KernelPCA, 2), (KernelECA, 3)])
def test_equal_clusters_warn_of_tied_eigenvalues(estimator, multiplicity):
    X = np.repeat([[0.0, 0.0], [100.0, 0.0], [0.0, 100.0]], 8, axis=0)
    # K is three blocks of ones: λ = 8 three times, twice after centering
    with warns(IdentifiabilityWarning, f"8 (×{multiplicity})"):
        model = estimator(1, kernel=Gaussian(1.0), solver="dense").fit(X)
    assert_allclose(model.eigenvalues_, [8.0], rtol=1e-12)
    assert model.spectrum_.multiplicities.tolist() == [multiplicity]


# --- iterations that do not converge -----------------------------------------------------------


@both
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("stored", [True, False])
def test_interrupted_iterations_raise_warn_or_are_exact(estimator, seed, stored):
    X = array(300, 5, seed)
    kernel = Gaussian(0.8)  # the spectrum is flat, so that three products do not suffice
    solver = Lanczos(max_products=3, stored=stored)
    model, message = None, ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = estimator(4, kernel=kernel, solver=solver).fit(X)
        except ConvergenceError as error:
            message = str(error)
    if model is None:
        assert names_values(message, "max_products", "solver='dense'") == []
    elif model.spectrum_.certified:
        exact = estimator(4, kernel=kernel, solver="dense").fit(X)
        assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=1e-8)
    else:
        texts = [str(w.message) for w in caught if w.category is ConvergenceWarning]
        assert any("max_products" in text for text in texts)


def test_convergence_error_holds_the_approximate_pairs():
    with raises(ConvergenceError, "max_products", "pairs") as failed:
        KernelPCA(4, kernel=Gaussian(0.8), solver=Lanczos(max_products=3)).fit(array(300, 5))
    pairs = failed.value.pairs
    assert len(pairs.values) == 4
    assert not pairs.certified


def test_uncertified_selection_warns():
    # A pair can converge before it is certified to be the largest.
    X = array(300, 2)
    for products in range(6, 120, 6):
        solver = Lanczos(max_products=products)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                model = KernelECA(6, kernel=Gaussian(0.3), solver=solver).fit(X)
            except ConvergenceError:
                continue
        warned = any(w.category is ConvergenceWarning for w in caught)
        assert warned is not model.certified_
        if model.certified_:
            exact = KernelECA(6, kernel=Gaussian(0.3), solver="dense").fit(X)
            assert_allclose(model.entropy_terms_, exact.entropy_terms_, rtol=1e-8)
            return
    pytest.fail("no number of products converged")


@both
def test_polynomial_kernel_of_equal_rows(estimator):
    X = np.ones((5, 2))
    if estimator is KernelPCA:
        with raises(RankError, "n_samples=5", "center=False"):
            estimator(1, kernel=Polynomial(2)).fit(X)
    else:
        assert_allclose(estimator(1, kernel=Polynomial(2)).fit(X).eigenvalues_, [20.0], rtol=1e-14)
