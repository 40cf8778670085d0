"""Pre-images: Kwok-Tsang, Mika's fixed point and ridge, for both transforms."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelDenoiser, KernelECA, KernelPCA, config_context
from mercer.decomposition.preimages import points_at_distances, preimages
from mercer.kernels import (
    Cosine,
    Epanechnikov,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Sigmoid,
)
from mercer.solvers import Fourier, Nystrom
from tests.expectations import raises

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

every_transform = pytest.mark.parametrize(
    "make",
    [
        lambda k, **settings: KernelPCA(k, **settings),
        lambda k, **settings: KernelPCA(k, center=False, **settings),
        lambda k, **settings: KernelECA(k, **settings),
    ],
    ids=["centered PCA", "PCA", "ECA"],
)


@pytest.fixture(autouse=True)
def one_thread():
    """Use one thread: small transforms are slower with more."""
    with config_context(threads=1):
        yield


@pytest.fixture
def X(rng):
    return rng.normal(size=(30, 2))


class Words(Kernel):
    """Number of common letters: a kernel on objects."""

    compares = "objects"

    def matrix(self, X, Y):
        return np.array([[len(set(x) & set(y)) for y in Y] for x in X], dtype=float)


# --- Kwok-Tsang ---------------------------------------------------------------------------------

ROUND_TRIPS = [
    Gaussian(1.0),
    Gaussian(np.array([0.5, 2.0])),
    3.0 * Gaussian(1.0),
    Matern(1.0, nu=0.5),
    Matern(1.0, nu=1.5),
    Matern(1.0, nu=2.5),
    Matern(1.0, nu=np.inf),
    Matern(np.array([0.7, 1.6]), nu=0.8),
    Linear(),
    Linear(2.0, 0.5),
    Polynomial(1),
    Polynomial(3),
    Polynomial(3, 1.0),
    Polynomial(5, 0.5, 0.3),
    0.2 * Polynomial(3, 1.0),
]


@every_transform
@pytest.mark.parametrize("kernel", ROUND_TRIPS, ids=repr)
def test_all_components_recover_training_points(make, kernel, X):
    model = make(None, kernel=kernel)
    scores = model.fit_transform(X)
    assert_allclose(model.inverse_transform(scores), X, atol=1e-7)
    assert_allclose(model.inverse_transform(scores, n_neighbors=4), X, atol=1e-6)


@every_transform
@pytest.mark.parametrize("kernel", [Linear(1.5, 0.2), Polynomial(3, 1.0), Polynomial(3)], ids=repr)
def test_finite_features_recover_any_point(make, kernel, X, rng):
    """If the components span the feature space, the projection of a new point is its image."""
    new = rng.normal(size=(7, 2))
    model = make(None, kernel=kernel).fit(X)
    assert_allclose(model.inverse_transform(model.transform(new)), new, atol=1e-6)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("k", [1, 3, 8])
def test_kwok_tsang_equals_the_direct_formula(center, k, X, rng):
    """Pre-images are ½(ZZ')⁻¹Z(c² - d²) + mean, with d² = -2σ² log(1 - |f - φ|²/2)."""
    sigma, q = 0.8, 6
    new = 0.7 * rng.normal(size=(5, 2))
    n = len(X)

    def k_of(A, B):
        return np.exp(-((A[:, None] - B) ** 2).sum(axis=2) / (2 * sigma**2))

    K, cross = k_of(X, X), k_of(new, X)
    H = np.eye(n) - 1 / n if center else np.eye(n)
    values, vectors = np.linalg.eigh(H @ K @ H)
    leading = np.argsort(-values)[:k]
    model = KernelPCA(k, kernel=Gaussian(sigma), center=center).fit(X)
    found = model.inverse_transform(model.transform(new), n_neighbors=q)
    for i in range(len(new)):
        # f = Σ_j γ_j φ(x_j): coefficients of the projection, plus the mean if centered
        row = (cross[i] - K.mean(axis=0)) @ H if center else cross[i]
        gamma = H @ (vectors[:, leading] / values[leading]) @ vectors[:, leading].T @ row
        gamma = gamma + 1 / n if center else gamma
        products, norm = K @ gamma, gamma @ K @ gamma
        distance = norm + 1 - 2 * products
        near = np.argsort(distance)[:q]
        d2 = -2 * sigma**2 * np.log((2 - distance[near]) / 2)
        Z = (X[near] - X[near].mean(axis=0)).T
        c2 = (Z**2).sum(axis=0)
        expected = 0.5 * np.linalg.inv(Z @ Z.T) @ Z @ (c2 - d2) + X[near].mean(axis=0)
        assert_allclose(found[i], expected, atol=1e-7)


def test_preimages_scale_with_columns_and_bandwidths(X, rng):
    stretch = np.array([1.0, 1000.0])
    new = rng.normal(size=(5, 2))
    plain = KernelPCA(4, kernel=Gaussian(0.9)).fit(X)
    wide = KernelPCA(4, kernel=Gaussian(0.9 * stretch)).fit(X * stretch)
    expected = plain.inverse_transform(plain.transform(new)) * stretch
    assert_allclose(wide.inverse_transform(wide.transform(new * stretch)), expected, rtol=1e-6)


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Matern(1.2)], ids=repr)
@pytest.mark.parametrize("center", [False, True])
def test_preimages_are_equivariant_under_rotation_and_translation(kernel, center, X, rng):
    rotation, _ = np.linalg.qr(rng.normal(size=(2, 2)))
    new = rng.normal(size=(5, 2))
    here = KernelPCA(5, kernel=kernel, center=center).fit(X)
    there = KernelPCA(5, kernel=kernel, center=center).fit(X @ rotation + [3.0, -40.0])
    expected = here.inverse_transform(here.transform(new)) @ rotation + [3.0, -40.0]
    moved = new @ rotation + [3.0, -40.0]
    assert_allclose(there.inverse_transform(there.transform(moved)), expected, atol=1e-7)


@pytest.mark.parametrize("nu", [0.5, 0.8, 1.5, 2.5, 4.0, np.inf])
def test_matern_profile_is_inverted(nu):
    kernel = Matern(1.0, nu=nu)
    r = np.array([0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0])
    values = kernel.profile(-0.5 * r**2)
    assert_allclose(np.sqrt(kernel.inverse_profile(values)), r, rtol=1e-8)
    assert_allclose(kernel.inverse_profile(np.array([1.0])), 0, atol=1e-7)


@pytest.mark.parametrize("nu", [0.5, 1.5, 3.3, np.inf])
def test_matern_inverse_of_tiny_values_is_finite(nu):
    kernel = Matern(1.0, nu=nu)
    far = kernel.inverse_profile(np.array([np.finfo(float).tiny, 1e-200]))
    assert np.isfinite(far).all()
    assert far[0] >= far[1] > 100


def test_nearly_equal_neighbors_are_distinguished():
    """⟨f, φ⟩ slightly below 1 cancels in squared distances, which loses neighbors."""
    X = np.concatenate([[[0.0]], 10.0 ** -np.arange(1, 8)[:, None], [[1.0], [2.0]]])
    kernel = Gaussian(20.0)  # all kernel values within 1e-2 of 1, most within 1e-9
    model = KernelPCA(None, kernel=kernel, center=False).fit(X)
    from mercer.decomposition.preimages import _Similarity

    similarity = _Similarity(model.spectrum_)
    X = similarity.data
    exact = kernel(X)
    near = similarity.nearest(exact, 3)
    assert near[0].tolist()[0] == 0
    distinguished = 0
    for i in range(len(X)):
        order = np.argsort(np.abs(X[:, 0] - X[i, 0]), kind="stable")
        apart = np.diff(-exact[i, order[:4]]) > 1e-14
        if apart.all():  # distinct in double precision
            distinguished += 1
            assert near[i].tolist() == order[:3].tolist()
    assert distinguished >= 4


def test_neighbors_of_distant_points_do_not_depend_on_row_order(rng):
    """Two groups, and more neighbors than a group has points."""
    X = np.concatenate([rng.normal(0, 0.6, size=(6, 2)), rng.normal(9, 0.6, size=(5, 2))])
    new, kernel = rng.normal(0, 0.6, size=(5, 2)), Gaussian(0.5)
    found = KernelDenoiser(2, kernel=kernel).fit(X).transform(new)
    for _ in range(20):
        other = KernelDenoiser(2, kernel=kernel).fit(rng.permutation(X)).transform(new)
        assert_allclose(other, found, atol=1e-9)


def test_points_are_recovered_if_kernel_values_are_near_one(rng):
    X = rng.normal(size=(40, 2))
    model = KernelECA(None, kernel=Gaussian(300.0)).fit(X)  # 1 - k about 1e-5
    found = model.inverse_transform(model.transform(X))
    assert_allclose(found, X, atol=1e-3)


def assert_within(points, X):
    """Check that points are in the bounding box of the training points."""
    assert (X.min(axis=0) <= points).all()
    assert (points <= X.max(axis=0)).all()


def test_preimages_of_unattainable_scores_are_near_the_data(X):
    """No point has these scores; kernel values outside of (0, 1] are clipped."""
    model = KernelECA(2, kernel=Gaussian(0.5)).fit(X)
    for scores in (np.zeros((1, 2)), np.array([[50.0, -50.0]]), np.array([[-1e8, 1e8]])):
        assert_within(model.inverse_transform(scores), X)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Matern(1.0), Epanechnikov(6.0)], ids=repr)
def test_preimages_of_distant_points_are_near_the_data(kernel, X):
    model = KernelECA(2, kernel=kernel).fit(X)
    scores = model.transform([[1e3, 1e3]])
    assert_allclose(scores, 0, atol=1e-200)
    assert_within(model.inverse_transform(scores), X)


@pytest.mark.parametrize(
    "kernel",
    [
        Polynomial(2),
        Polynomial(4, 1.0),
        Laplacian(1.0),
        Cosine(),
        Sigmoid(0.1),
        Gaussian(1.0) + Linear(),
    ],
    ids=repr,
)
@every_transform
def test_kernels_without_input_distances_raise(make, kernel, X):
    model = make(1, kernel=kernel).fit(X + 1)
    with raises(ValueError, repr(kernel), "preimage='ridge'"):
        model.inverse_transform(np.ones((2, 1)))
    ridge = make(1, kernel=kernel, preimage="ridge").fit(X + 1)
    found = ridge.inverse_transform(ridge.transform(X + 1))
    assert np.sqrt(((found - X - 1) ** 2).mean()) < 0.9 * X.std()  # better than the mean


def test_linear_kernel_with_scale_zero_raises(X):
    model = KernelECA(1, kernel=Linear(0.0, 1.0)).fit(X)
    with raises(ValueError, "Linear(scale=0.0"):
        model.inverse_transform([[1.0]])


def test_epanechnikov_recovers_points_if_the_matrix_is_definite():
    """Only adjacent points have positive kernel values."""
    X = np.array([[0.0], [0.8], [1.5], [2.4]])
    kernel = Epanechnikov(1.0)
    assert np.linalg.eigvalsh(kernel(X)).min() > 0
    model = KernelPCA(None, kernel=kernel, center=False).fit(X)
    assert_allclose(model.inverse_transform(model.transform(X), n_neighbors=2), X, atol=1e-10)


# --- Mika ---------------------------------------------------------------------------------------


def feature_distance(model, scores, x):
    """Return γ of f = Σ γ φ(x_i), and ``|f - φ(x)|² - |f|²``."""
    spectrum = model.spectrum_
    data = spectrum.points.data
    weights = np.ones(len(data)) if spectrum.weights is None else spectrum.weights
    gamma = scores @ (weights[:, None] * spectrum.projections / spectrum.eigenvalues).T
    if spectrum.centered:
        gamma = gamma + weights / weights.sum()
    return gamma, 1 - 2 * (gamma * spectrum.kernel(x, data)).sum(axis=1)


@every_transform
@pytest.mark.parametrize("weighted", [False, True])
def test_mika_finds_a_fixed_point_nearer_than_any_training_point(make, weighted, rng):
    X = rng.normal(size=(60, 2)) + np.repeat([[0, 0], [4, 4]], 30, axis=0)
    weights = rng.integers(1, 4, size=60) if weighted else None
    model = make(4, kernel=Gaussian(1.0), preimage="mika").fit(X, sample_weight=weights)
    scores = model.transform(X + 0.3 * rng.normal(size=X.shape))
    found = model.inverse_transform(scores)
    gamma, distance = feature_distance(model, scores, found)
    pull = gamma * Gaussian(1.0)(found, X)
    again = pull @ X / pull.sum(axis=1, keepdims=True)
    assert_allclose(again, found, atol=1e-5)
    others = np.array([feature_distance(model, scores, np.tile(x, (60, 1)))[1] for x in X])
    assert (distance <= others.min(axis=0) + 1e-9).all()


@every_transform
def test_mika_is_nearer_than_training_points_for_any_scores(make, rng):
    X = rng.normal(size=(25, 2))
    model = make(3, kernel=Gaussian(0.5), preimage="mika").fit(X)
    scores = model.transform(X)[rng.permutation(25)] * rng.uniform(-2, 2, size=(25, 3))
    with np.errstate(all="raise", under="ignore"):
        found = model.inverse_transform(scores)
    assert np.isfinite(found).all()
    _, distance = feature_distance(model, scores, found)
    others = np.array([feature_distance(model, scores, np.tile(x, (25, 1)))[1] for x in X])
    assert (distance <= others.min(axis=0) + 1e-6).all()


def test_mika_recovers_training_points_from_all_components(X):
    model = KernelPCA(None, kernel=Gaussian(0.8), preimage="mika").fit(X)
    assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-5)


@pytest.mark.parametrize("kernel", [Matern(1.0), Linear(), 2.0 * Gaussian(1.0)], ids=repr)
def test_mika_rejects_other_kernels(kernel, X):
    model = KernelECA(2, kernel=kernel, preimage="mika").fit(X)
    with raises(ValueError, "Gaussian", repr(kernel), "'kwok-tsang'", "'ridge'"):
        model.inverse_transform(np.ones((1, 2)))


def test_mika_without_a_fixed_point_returns_a_training_point(X):
    model = KernelECA(2, kernel=Gaussian(0.5), preimage="mika").fit(X)
    found = model.inverse_transform([[0.0, 0.0]])
    assert (np.abs(X - found).max(axis=1) == 0).any()


# --- ridge --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel", [Gaussian(1.5), Laplacian(2.0), Polynomial(2, 1.0), Cosine(), Sigmoid(0.1)], ids=repr
)
def test_ridge_approximates_training_points_for_any_kernel(kernel, rng):
    X = rng.uniform(0.5, 2, size=(80, 2))
    k = {"Cosine": 2, "Sigmoid": 3}.get(type(kernel).__name__, 5)
    model = KernelECA(k, kernel=kernel, preimage="ridge").fit(X)
    found = model.inverse_transform(model.transform(X))
    if not isinstance(kernel, Cosine):  # it does not depend on lengths
        assert np.sqrt(((found - X) ** 2).mean()) < 0.2 * X.std()
    mean = model.inverse_transform(1e6 * np.ones((1, model.n_components_)))
    assert_allclose(mean[0], X.mean(axis=0), atol=1e-8)  # far from all scores: the mean


def test_ridge_equals_kernel_ridge_of_scikit_learn(X):
    from sklearn.kernel_ridge import KernelRidge

    from mercer.bandwidth import median_distance

    model = KernelPCA(3, kernel=Gaussian(1.0), preimage="ridge").fit(X)
    Z = model.transform(X)
    gamma = 0.5 / median_distance(Z) ** 2
    ridge = KernelRidge(alpha=1e-3, kernel="rbf", gamma=gamma).fit(Z, X - X.mean(axis=0))
    new = 0.5 * Z[:5] + 0.1
    assert_allclose(model.inverse_transform(new), ridge.predict(new) + X.mean(axis=0), atol=1e-6)


# --- all methods --------------------------------------------------------------------------------

every_method = pytest.mark.parametrize("method", ["kwok-tsang", "mika", "ridge"])


@every_method
@every_transform
def test_weights_equal_copies(make, method, X, rng):
    weights = rng.integers(0, 4, size=len(X))
    new = rng.normal(size=(5, 2))
    settings = {"kernel": Gaussian(0.9), "preimage": method}
    weighted = make(4, **settings).fit(X, sample_weight=weights)
    copies = make(4, **settings).fit(np.repeat(X, weights, axis=0))
    expected = copies.inverse_transform(copies.transform(new))
    assert_allclose(weighted.inverse_transform(weighted.transform(new)), expected, atol=1e-6)


@every_method
@every_transform
def test_preimages_do_not_depend_on_row_order(make, method, X, rng):
    order = rng.permutation(len(X))
    new = rng.normal(size=(5, 2))
    one = make(4, kernel=Gaussian(0.9), preimage=method).fit(X)
    other = make(4, kernel=Gaussian(0.9), preimage=method).fit(X[order])
    expected = one.inverse_transform(one.transform(new))
    assert_allclose(other.inverse_transform(other.transform(new)), expected, atol=1e-6)


@every_method
def test_single_precision_agrees_with_double(method, X, rng):
    new = rng.normal(size=(5, 2))
    double = KernelECA(3, kernel=Gaussian(0.9), preimage=method).fit(X)
    single = KernelECA(3, kernel=Gaussian(0.9), preimage=method).fit(X.astype(np.float32))
    scores = single.transform(new.astype(np.float32))
    assert scores.dtype == np.float32
    found = single.inverse_transform(scores)
    assert found.dtype == np.float32
    assert_allclose(found, double.inverse_transform(double.transform(new)), atol=1e-2)


@every_method
@pytest.mark.parametrize("n", [1, 2, 3])
def test_fewer_points_than_neighbors(method, n, rng):
    X = rng.normal(size=(n, 2))
    model = KernelECA(n, kernel=Gaussian(1.0), preimage=method).fit(X)
    # the regularization of ridge is 1e-3
    atol = 1e-2 if method == "ridge" else 1e-5
    assert_allclose(model.inverse_transform(model.transform(X)), X, atol=atol)


@every_method
def test_rows_are_processed_in_chunks(method, X, monkeypatch, rng):
    import mercer.decomposition.preimages as module

    model = KernelECA(3, kernel=Gaussian(0.9), preimage=method).fit(X)
    scores = model.transform(rng.normal(size=(50, 2)))
    whole = model.inverse_transform(scores)
    monkeypatch.setattr(module, "_ENTRIES_PER_CHUNK", 100)
    assert_allclose(model.inverse_transform(scores), whole, atol=1e-7)


@every_method
@pytest.mark.parametrize("solver", ["lanczos", Fourier(), Nystrom(30)], ids=repr)
@pytest.mark.parametrize("center", [False, True])
def test_solvers_agree(method, solver, center, X, rng):
    new = 0.5 * rng.normal(size=(5, 2))
    settings = {"kernel": Gaussian(0.9), "center": center, "preimage": method}
    dense = KernelPCA(4, solver="dense", **settings).fit(X)
    other = KernelPCA(4, solver=solver, **settings).fit(X)
    expected = dense.inverse_transform(dense.transform(new))
    assert_allclose(other.inverse_transform(other.transform(new)), expected, atol=1e-4)


@every_method
@pytest.mark.parametrize("solver", [Fourier(box=([-6, -6], [6, 6])), Nystrom(30), "auto"], ids=repr)
def test_preimages_after_partial_fit(method, solver, rng):
    """Pre-images use the last batch only; they are close if it has the same distribution."""
    X = rng.normal(size=(400, 2))
    model = KernelPCA(6, kernel=Gaussian(1.0), solver=solver, preimage=method)
    for part in np.array_split(X, 2):
        model.partial_fit(part)
    new = 0.5 * rng.normal(size=(20, 2))
    found = model.inverse_transform(model.transform(new))
    assert np.sqrt(((found - new) ** 2).mean()) < 0.25


# --- invalid input ------------------------------------------------------------------------------


@every_transform
def test_invalid_scores_raise(make, X):
    model = make(2, kernel=Gaussian(1.0)).fit(X)
    with raises(ValueError, "Z", 3, 2):
        model.inverse_transform(np.ones((4, 3)))
    for value, name in ((np.nan, "NaN"), (np.inf, "infinity")):
        with raises(ValueError, "Z", name):
            model.inverse_transform([[value, 1.0]])
    with raises(ValueError, "2D"):
        model.inverse_transform([1.0, 2.0])
    with raises(ValueError, 0):
        model.inverse_transform(np.empty((0, 2)))
    with raises(ValueError, "'a'"):
        model.inverse_transform([["a", "b"]])


@every_transform
def test_inverse_transform_before_fit_raises(make):
    model = make(2)
    with raises(NotFittedError, type(model).__name__):
        model.inverse_transform(np.ones((1, 2)))


@every_transform
@pytest.mark.parametrize("method", ["kwok-tsang", "ridge"])
def test_precomputed_kernels_have_no_preimages(make, method, X):
    K = Gaussian(1.0)(X)
    model = make(2, kernel="precomputed", preimage=method).fit(K)
    with raises(ValueError, "Precomputed()", "vectors"):
        model.inverse_transform(model.transform(K))


def test_kernels_on_objects_have_no_preimages():
    model = KernelECA(1, kernel=Words()).fit(["abc", "bcd", "cde"])
    with raises(ValueError, "objects", "vectors"):
        model.inverse_transform([[1.0]])


@pytest.mark.parametrize("method", ["kwok", "", None, 3])
def test_unknown_methods_raise(method, X):
    model = KernelECA(2, kernel=Gaussian(1.0), preimage=method).fit(X)
    with raises(ValueError, f"preimage={method!r}", "'kwok-tsang'", "'mika'", "'ridge'"):
        model.inverse_transform(np.ones((1, 2)))


@pytest.mark.parametrize("count", [0, -3, 2.5, "ten", None])
def test_invalid_n_neighbors_raise(count, X):
    model = KernelECA(2, kernel=Gaussian(1.0)).fit(X)
    with raises((TypeError, ValueError), f"n_neighbors={count!r}", 1):
        model.inverse_transform(np.ones((1, 2)), n_neighbors=count)


def test_function_and_method_agree(X):
    model = KernelECA(2, kernel=Gaussian(1.0)).fit(X)
    scores = model.transform(X[:4])
    assert_allclose(preimages(model.spectrum_, scores), model.inverse_transform(scores))


def test_inverse_transform_in_a_pipeline(X):
    pipeline = make_pipeline(StandardScaler(), KernelPCA(None, kernel=Gaussian(1.0)))
    scores = pipeline.fit_transform(10 * X + 3)
    assert_allclose(pipeline.inverse_transform(scores), 10 * X + 3, atol=1e-5)


def test_preimages_do_not_warn(X):
    model = KernelPCA(5, kernel=Gaussian(0.7)).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.inverse_transform(model.transform(X))


# --- points at given distances --------------------------------------------------------------


def squared_to(x, neighbors):
    return ((neighbors - x) ** 2).sum(axis=-1)


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 6),
    extra=st.integers(1, 6),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
    shift=st.sampled_from([0.0, 10.0]),
)
def test_exact_distances_give_the_exact_point(seed, d, extra, scale, shift):
    rng = np.random.default_rng(seed)
    neighbors = scale * (rng.normal(size=(4, d + extra, d)) + shift)
    x = scale * (rng.normal(size=(4, d)) + shift)
    squared = squared_to(x[:, None], neighbors)
    assert_allclose(points_at_distances(neighbors, squared), x, atol=1e-5 * scale)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), rank=st.integers(0, 3))
def test_rank_deficient_neighbors_give_the_projection(seed, rank):
    """Neighbors in a subspace determine the projection of the point onto their span."""
    rng = np.random.default_rng(seed)
    basis, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    origin = rng.normal(size=5)
    neighbors = origin + rng.normal(size=(1, 8, rank)) @ basis[:rank]
    x = rng.normal(size=(1, 5))
    inside = origin + (x - origin) @ basis[:rank].T @ basis[:rank]
    found = points_at_distances(neighbors, squared_to(x[:, None], neighbors))
    assert_allclose(found, inside, atol=1e-6)


def test_points_equal_the_direct_formula(rng):
    """½ (Z Z')⁻¹ Z (c² - d²) + mean, with the inverse that is missing in the paper."""
    neighbors = rng.normal(size=(3, 9, 4))
    squared = rng.uniform(0.5, 3, size=(3, 9))
    for X, d2, found in zip(
        neighbors, squared, points_at_distances(neighbors, squared), strict=True
    ):
        Z = (X - X.mean(axis=0)).T
        c2 = (Z**2).sum(axis=0)
        expected = 0.5 * np.linalg.inv(Z @ Z.T) @ Z @ (c2 - d2) + X.mean(axis=0)
        assert_allclose(found, expected, atol=1e-10)


def test_points_minimize_the_squared_misfit(rng):
    """For inexact distances no other point has a smaller misfit of the centered equations."""
    X = rng.normal(size=(8, 3))
    d2 = rng.uniform(0.5, 2, size=8)

    def misfit(x):
        gap = squared_to(x, X) - d2
        return ((gap - gap.mean()) ** 2).sum()

    found = points_at_distances(X[None], d2[None])[0]
    for _ in range(50):
        assert misfit(found) <= misfit(found + 0.1 * rng.normal(size=3))


def test_one_neighbor_and_equal_neighbors_give_that_point():
    point = np.array([[[1.0, 2.0, 3.0]]])
    assert_allclose(points_at_distances(point, np.array([[4.0]])), point[0])
    copies = np.repeat(point, 5, axis=1)
    assert_allclose(points_at_distances(copies, np.full((1, 5), 4.0)), point[0])


def test_fewer_neighbors_than_columns(rng):
    X = rng.normal(size=(1, 4, 10))
    weights = rng.dirichlet(np.ones(4))
    x = weights @ X[0]
    found = points_at_distances(X, squared_to(x, X[0])[None])
    assert_allclose(found[0], x, atol=1e-10)


def test_common_error_of_all_distances_has_no_effect(rng):
    """Only differences of squared distances matter."""
    X = rng.normal(size=(1, 7, 3))
    d2 = squared_to(np.array([0.3, 0.1, -0.2]), X)
    assert_allclose(points_at_distances(X, d2 + 5.0), points_at_distances(X, d2), atol=1e-10)


@pytest.mark.parametrize("m", [0, 1, 3])
def test_shapes(m):
    assert points_at_distances(np.zeros((m, 4, 2)), np.zeros((m, 4))).shape == (m, 2)
