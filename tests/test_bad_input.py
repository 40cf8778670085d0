"""Bad input: every refusal names the value, the limit and the remedy; nothing is silently wrong."""

from __future__ import annotations

import re
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

both = pytest.mark.parametrize("estimator", [KernelPCA, KernelECA])
every_solver = pytest.mark.parametrize("solver", ["auto", "dense", "lanczos"])


def array(n=40, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def refused(*parts, kind=ValueError):
    """Expect an error whose message holds all these parts, in this order."""
    return pytest.raises(kind, match="(?s)" + ".*".join(re.escape(part) for part in parts))


# --- the array ---------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_values_that_are_not_finite(estimator, value, name):
    X = array()
    model = estimator().fit(X)
    X[3, 1] = value
    with refused(name):
        estimator().fit(X)
    with refused(name):
        model.transform(X)


@both
def test_no_rows_and_no_columns(estimator):
    with refused("0 sample(s)", "minimum of 1"):
        estimator().fit(np.empty((0, 3)))
    with refused("0 feature(s)", "minimum of 1"):
        estimator().fit(np.empty((3, 0)))
    with refused("0 sample(s)"):
        estimator().fit(array()).transform(np.empty((0, 3)))


@both
def test_one_dimension(estimator):
    with refused("Expected 2D array, got 1D", "reshape"):
        estimator().fit(np.arange(5.0))
    with refused("Expected 2D array, got 1D", "reshape"):
        estimator().fit(array()).transform(np.arange(3.0))


@both
def test_three_dimensions(estimator):
    with refused("dim 3"):
        estimator().fit(np.zeros((4, 3, 2)))


@both
def test_sparse_matrices(estimator):
    with refused("Sparse", "dense data is required", "toarray", kind=TypeError):
        estimator().fit(sparse.csr_matrix(array()))


@both
@pytest.mark.parametrize("kernel", ["gaussian", "linear", "precomputed"])
def test_strings_for_a_kernel_on_numbers(estimator, kernel):
    with refused("could not convert string to float"):
        estimator(kernel=kernel).fit([["a", "b"], ["c", "d"]])


@both
def test_complex_numbers(estimator):
    with refused("Complex data not supported"):
        estimator().fit(array() + 1j)


@both
def test_another_number_of_columns(estimator):
    model = estimator().fit(array())
    with refused("X has 2 features", "expecting 3 features"):
        model.transform(array(5, 2))


@both
def test_transform_before_fit(estimator):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        estimator().transform(array())


def test_ranks_before_fit():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        _ = KernelECA().component_ranks_


# --- few rows, equal rows, constant columns ----------------------------------------------------


@both
def test_one_row_gives_no_bandwidth(estimator):
    with refused("1 sample", "every distance is 0", "Gaussian(bandwidth=1.0)"):
        estimator(1).fit([[1.0, 2.0]])


def test_one_row_with_a_bandwidth():
    with refused("no component", "one sample", "Add rows"):
        KernelPCA(1, kernel=Gaussian(1.0)).fit([[1.0, 2.0]])
    model = KernelECA(1, kernel=Gaussian(1.0)).fit([[1.0, 2.0]])
    assert model.entropy_terms_.tolist() == [1.0]
    assert model.transform([[1.0, 2.0]]).tolist() == [[1.0]]


@both
def test_all_rows_equal_give_no_bandwidth(estimator):
    with refused("6", "Gaussian(bandwidth=1.0)"):
        estimator().fit(np.full((6, 3), 0.1))


@every_solver
def test_all_rows_equal_with_a_bandwidth(solver):
    X = np.full((6, 3), 0.1)
    with refused("K is 0 to rounding", "n_samples=6", "Add rows that differ"):
        KernelPCA(1, kernel=Gaussian(1.0), solver=solver).fit(X)
    model = KernelECA(1, kernel=Gaussian(1.0), solver=solver).fit(X)
    assert_allclose(model.eigenvalues_, [6.0], rtol=1e-14)
    assert_allclose(model.entropy_terms_, [1.0], rtol=1e-14)
    with refused("n_components=2", "rank: 1", "at most 1"):
        KernelECA(2, kernel=Gaussian(1.0), solver=solver).fit(X)


@both
@pytest.mark.parametrize("value", [0.0, 0.1, -7e5])
def test_a_constant_column_says_nothing(estimator, value):
    X = array()
    X = X / X.std()
    more = np.column_stack([X, np.full(len(X), value)])
    width = Gaussian(1.3)
    found = estimator(kernel=width).fit_transform(more)
    assert_allclose(found, estimator(kernel=width).fit_transform(X), rtol=0, atol=1e-11)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator().fit(more)  # and the default bandwidth copes


# --- n_components ------------------------------------------------------------------------------


@both
@every_solver
def test_more_components_than_rows(estimator, solver):
    with refused("n_components=41", "between 1", "40 samples", "at most 40"):
        estimator(41, solver=solver).fit(array())
    weights = np.ones(40)
    weights[:5] = 0
    with refused("n_components=36", "35 samples with a positive weight", "at most 35"):
        estimator(36, solver=solver).fit(array(), sample_weight=weights)


@both
@every_solver
def test_more_components_than_the_rank(estimator, solver):
    X = array() + 1.0
    with refused("n_components=4", "rank: 3", "at most 3, or None"):
        estimator(4, kernel=Linear(), solver=solver).fit(X)
    assert estimator(None, kernel=Linear(), solver=solver).fit(X).n_components_ == 3
    assert estimator(3, kernel=Linear(), solver=solver).fit(X).n_components_ == 3


@both
@pytest.mark.parametrize("count", [0, -1, -7])
def test_too_few_components(estimator, count):
    with refused(f"n_components={count}", "between 1", "40 samples"):
        estimator(count).fit(array())


@both
@pytest.mark.parametrize("fraction", [0.0, 1.0, 1.5, -0.5, float("nan"), float("inf")])
def test_fractions_outside_the_unit_interval(estimator, fraction):
    with refused(f"n_components={fraction}", "in (0, 1)", "whole number"):
        estimator(fraction).fit(array())


@both
@pytest.mark.parametrize("wrong", [True, False, "2", "mle", [2], np.bool_(True)])
def test_components_that_are_no_number(estimator, wrong):
    with refused(
        f"n_components={wrong!r}", "a count, a fraction in (0, 1) or None", kind=TypeError
    ):
        estimator(wrong).fit(array())


@both
@pytest.mark.parametrize("count", [np.int64(2), np.int32(2), np.uint8(2)])
def test_numbers_of_numpy_count_too(estimator, count):
    found = estimator(count).fit_transform(array())
    assert_allclose(found, estimator(2).fit_transform(array()), rtol=0, atol=1e-14)


@both
def test_fractions_of_numpy_count_too(estimator):
    assert estimator(np.float64(0.9)).fit(array()).n_components_ > 1


# --- bandwidths --------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("kind", [Gaussian, Laplacian, Matern, Epanechnikov])
@pytest.mark.parametrize("width", [0, 0.0, -1.0, float("nan"), float("inf")])
def test_bandwidths_that_are_not_positive(estimator, kind, width):
    with refused(f"{kind.__name__}(bandwidth={width!r})", "positive and finite", "'auto'"):
        estimator(kernel=kind(width)).fit(array())


@both
def test_one_bad_bandwidth_among_several(estimator):
    with refused("Gaussian(bandwidth=", "positive and finite"):
        estimator(kernel=Gaussian(np.array([1.0, -1.0, 1.0]))).fit(array())


@both
@pytest.mark.parametrize("widths", [[1.0, 2.0], [1.0, 2.0, 3.0, 4.0], [[1.0, 2.0, 3.0]]])
def test_a_wrong_number_of_bandwidths(estimator, widths):
    size = np.size(widths)
    with refused(f"Gaussian got {size} bandwidths for 3 columns", "one number, or one per column"):
        estimator(kernel=Gaussian(np.array(widths))).fit(array())


@pytest.mark.parametrize("kind", [Gaussian, Laplacian, Matern, Epanechnikov])
@pytest.mark.parametrize("rule", ["auto", "silverman"])
def test_a_rule_cannot_be_called_directly(kind, rule):
    parts = (f"{kind.__name__}(bandwidth='{rule}')", "mercer.bandwidth.fit_kernel")
    with refused(*parts):
        kind(rule)(array())
    with refused(*parts):
        kind(rule).log_normalizer(3)


# --- names -------------------------------------------------------------------------------------


@both
def test_unknown_names_come_with_the_list(estimator):
    with refused("kernel='gausian'", "'gaussian'", "'rbf'", "'linear'", "'precomputed'"):
        estimator(kernel="gausian").fit(array())
    for wrong in ("arpack", None, Lanczos):
        with refused(f"solver={wrong!r}", "'auto'", "'dense'", "'lanczos'"):
            estimator(solver=wrong).fit(array())


@both
def test_unknown_parameters_come_with_the_list(estimator):
    with refused("no parameter 'gamma'", "bandwidth"):
        estimator().set_params(kernel__gamma=1.0)


@both
@pytest.mark.parametrize("products", [0, -5])
def test_an_iteration_needs_products(estimator, products):
    with refused(f"max_products={products}", "at least 1"):
        estimator(solver=Lanczos(max_products=products)).fit(array())


# --- precomputed -------------------------------------------------------------------------------


def gram(n=40, seed=0):
    return Gaussian(1.0)(array(n, seed=seed))


@both
def test_precomputed_must_be_square(estimator):
    with refused("square", "40 × 30", "transform"):
        estimator(kernel="precomputed").fit(gram()[:, :30])


@both
def test_precomputed_must_be_symmetric(estimator):
    K = gram()
    K[2, 5] += 0.25
    with refused("symmetric", "up to 0.25", "(K + K.T) / 2"):
        estimator(kernel="precomputed").fit(K)


@both
def test_precomputed_must_be_finite(estimator):
    K = gram()
    K[2, 5] = K[5, 2] = np.nan
    with refused("NaN"):
        estimator(kernel="precomputed").fit(K)


@both
def test_precomputed_new_points_need_a_value_per_training_point(estimator):
    model = estimator(kernel="precomputed").fit(gram())
    with refused("X has 39 features", "expecting 40"):
        model.transform(gram()[:, :39])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(4))
@every_solver
def test_a_centred_kernel_has_no_entropy(dtype, seed, solver):
    K = gram(60, seed)
    P = np.eye(60) - 1 / 60
    K = (P @ K @ P).astype(dtype)
    with refused("information potential", "no entropy", "uncentred kernel, or use KernelPCA"):
        KernelECA(kernel="precomputed", solver=solver).fit((K + K.T) / 2)
    assert KernelPCA(kernel="precomputed", solver=solver).fit((K + K.T) / 2).n_components_ == 2


@every_solver
def test_centred_columns_have_no_entropy_under_the_linear_kernel(solver):
    X = array()
    with refused("information potential", "linear kernel on centred columns"):
        KernelECA(kernel="linear", solver=solver).fit(X - X.mean(axis=0))


@both
def test_the_users_gram_matrix_is_left_alone(estimator):
    K = gram()
    before = K.copy()
    for solver in ("dense", "lanczos"):
        for weights in (None, np.arange(40.0)):
            estimator(kernel="precomputed", solver=solver).fit(K, sample_weight=weights)
    assert (before == K).all()


@both
def test_the_distance_of_new_points_from_a_precomputed_model_is_unknown(estimator):
    model = estimator(kernel="precomputed").fit(gram())
    new = Gaussian(1.0)(array(seed=1), array())
    for rows in (7, 40):  # as many new points as old ones are still new points
        with refused("does not know k(x, x) of new points", "kernel object"):
            model.reconstruction_error(new[:rows])


# --- indefinite kernels ------------------------------------------------------------------------


def indefinite(n=40):
    Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(n, n)))
    values = np.r_[np.linspace(5, 1, n - 15), np.linspace(-0.1, -3, 15)]
    K = (Q * values) @ Q.T
    return (K + K.T) / 2 + 0.2  # + 0.2: enough potential for an entropy


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
def test_indefinite_kernels_are_warned_of_and_used(estimator, kernel, X, solver):
    values = dense_eigenvalues(estimator, kernel, X)
    with pytest.warns(ApproximationWarning, match=rf"indefinite.*down to {values[0]:.3g}\b"):
        model = estimator(3, kernel=kernel, solver=solver).fit(X)
    assert (model.eigenvalues_ > 0).all()
    if estimator is KernelPCA:
        assert_allclose(model.eigenvalues_, values[:-4:-1], rtol=1e-10)


@indefinite_kernels
def test_the_entropy_terms_of_an_indefinite_kernel_are_signed(kernel, X):
    K = X if kernel == "precomputed" else kernel(X)
    values, vectors = np.linalg.eigh(K)
    expected = values * vectors.sum(axis=0) ** 2 / len(K) ** 2
    with pytest.warns(ApproximationWarning, match="signed"):
        model = KernelECA(None, kernel=kernel).fit(X)
    known = model.spectrum_.known_entropy_terms
    assert (known < 0).any()
    # terms are λ (1'e)²/n²; eigenvectors are known to eps·|K|/gap, gaps here are above 1e-4
    assert_allclose(np.sort(known), np.sort(expected), rtol=0, atol=1e-9)
    assert_allclose(known.sum(), K.mean(), rtol=1e-11)
    assert_allclose(model.information_potential_, K.mean(), rtol=1e-12)
    assert model.n_components_ == (values > 0).sum()
    assert (model.entropy_terms_ >= 0).all()
    # the negative terms are what the kept ones exceed V by
    assert_allclose(model.residual_potential_, expected[values < 0].sum(), rtol=0, atol=1e-12)


@both
@indefinite_kernels
@every_solver
def test_only_positive_eigenvalues_can_be_components(estimator, kernel, X, solver):
    positive = int((dense_eigenvalues(estimator, kernel, X) > 1e-10).sum())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximationWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = estimator(positive, kernel=kernel, solver=solver).fit(X)
        assert model.n_components_ == positive
        with refused(f"n_components={positive + 1}", f"{positive}", f"at most {positive}"):
            estimator(positive + 1, kernel=kernel, solver=solver).fit(X)


@pytest.mark.parametrize("width", [10.0, 100.0, 1e4, 1e6])
@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_rounding_is_not_called_indefinite(width, solver):
    # K is all ones but for 1e-2 … 1e-12; what rounding leaves after centring is no eigenvalue
    with warnings.catch_warnings():
        warnings.simplefilter("error", ApproximationWarning)
        KernelPCA(2, kernel=Gaussian(width), solver=solver).fit(array(60))


@pytest.mark.parametrize("width", [1e3, 1e4])
def test_rounding_is_no_component(width):
    model = KernelPCA(None, kernel=Gaussian(width)).fit(array(60))
    # entries of K round by eps/2 and centring by a few eps more: eigenvalues below eps are noise
    assert model.eigenvalues_.min() > np.finfo(float).eps


# --- memory ------------------------------------------------------------------------------------


@both
def test_a_gram_matrix_beyond_the_budget_is_refused_before_it_is_made(estimator):
    X = array(400)
    needed = 4 * 400**2 * 8 / 1e9
    with config_context(memory="1MB"):
        tracemalloc.start()
        try:
            with refused(
                "400 points needs",
                f"{needed:.3g} GB",
                "budget is 0.001 GB",
                "solver='lanczos'",
                "mercer.set_config(memory=",
                kind=MemoryBudgetError,
            ):
                estimator(solver="dense").fit(X)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 1e6  # K alone takes 1.28 MB
    assert issubclass(MemoryBudgetError, ValueError)


@both
def test_within_a_small_budget_auto_works_without_the_matrix(estimator):
    X = array(400)
    kernel = Gaussian(1.0)
    expected = estimator(3, kernel=kernel).fit(X)
    assert "full decomposition" in expected.spectrum_.method
    with config_context(memory="1MB"):
        found = estimator(3, kernel=kernel).fit(X)
        projected = found.transform(X[:50])
    assert "matrix-free" in found.spectrum_.method
    assert found.spectrum_.certified
    # residuals are below 1e-13 λ₁ and gaps above 1e-2 λ₁: eigenvectors agree to ~1e-10
    assert_allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-11)
    assert_allclose(projected, expected.transform(X[:50]), rtol=0, atol=1e-9)


@both
def test_a_reconstruction_beyond_the_budget_is_refused(estimator):
    model = estimator().fit(array(400))
    with (
        config_context(memory="1MB"),
        refused("400 points", "0.00128 GB", "projections", kind=MemoryBudgetError),
    ):
        model.spectrum_.gram()


# --- what cannot be identified -----------------------------------------------------------------


@both
@pytest.mark.filterwarnings("ignore::mercer.errors.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_isolated_points(estimator, solver):
    expected = r"100% of the points.*larger bandwidth"
    with pytest.warns(IdentifiabilityWarning, match=expected):
        estimator(kernel=Gaussian(1e-4), solver=solver).fit(array())


@both
def test_points_with_neighbours_are_not_called_isolated(estimator):
    X = array()
    X[0] = 50.0  # one lonely point in forty is 2.5 per cent
    with warnings.catch_warnings():
        warnings.simplefilter("error", IdentifiabilityWarning)
        estimator(kernel=Gaussian(1.0)).fit(X)


@pytest.mark.parametrize(("estimator", "multiplicity"), [(KernelPCA, 2), (KernelECA, 3)])
def test_equal_clusters_are_tied(estimator, multiplicity):
    X = np.repeat([[0.0, 0.0], [100.0, 0.0], [0.0, 100.0]], 8, axis=0)
    # K is three blocks of ones: λ = 8 three times, twice after centring
    expected = rf"tied to rounding: 8 \(×{multiplicity}\).*not identifiable"
    with pytest.warns(IdentifiabilityWarning, match=expected):
        model = estimator(1, kernel=Gaussian(1.0), solver="dense").fit(X)
    assert_allclose(model.eigenvalues_, [8.0], rtol=1e-12)
    assert model.spectrum_.multiplicities.tolist() == [multiplicity]


# --- iterations that are stopped ---------------------------------------------------------------


@both
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("stored", [True, False])
def test_an_iteration_cut_short_never_lies(estimator, seed, stored):
    X = array(300, 5, seed)
    kernel = Gaussian(0.8)  # a flat spectrum: three products find nothing
    solver = Lanczos(max_products=3, stored=stored)
    model, failure = None, ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = estimator(4, kernel=kernel, solver=solver).fit(X)
        except ConvergenceError as error:
            failure = str(error)
    if model is None:
        assert "max_products" in failure
        assert "solver='dense'" in failure
    elif model.spectrum_.certified:
        exact = estimator(4, kernel=kernel, solver="dense").fit(X)
        assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=1e-8)
    else:
        texts = [str(w.message) for w in caught if w.category is ConvergenceWarning]
        assert any("not proven" in text and "max_products" in text for text in texts)


def test_a_failed_iteration_carries_what_it_found():
    with pytest.raises(ConvergenceError) as failed:
        KernelPCA(4, kernel=Gaussian(0.8), solver=Lanczos(max_products=3)).fit(array(300, 5))
    pairs = failed.value.pairs
    assert len(pairs.values) == 4
    assert not pairs.certified


def test_an_unproven_selection_says_so():
    # Enough products for one converged pair, too few to prove that it is the largest of all.
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
    pytest.fail("never converged, so nothing was tested")


@both
def test_polynomials_of_constants_work(estimator):
    X = np.ones((5, 2))
    if estimator is KernelPCA:
        with refused("K is 0 to rounding"):
            estimator(1, kernel=Polynomial(2)).fit(X)
    else:
        assert_allclose(estimator(1, kernel=Polynomial(2)).fit(X).eigenvalues_, [20.0], rtol=1e-14)
