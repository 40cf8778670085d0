"""Entropies of Gram matrices: routes, bounds, weights, orders."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.errors import ApproximationWarning
from mercer.information import MatrixEntropies, matrix_renyi_entropy, vendi_score
from mercer.information.entropy import growth_bounds, perturbation_bounds, spectral_entropy
from mercer.information.samples import fitted_sample
from mercer.information.trace_quadrature import TraceSum, deflate, lower_tail, moment_bounds
from mercer.kernels import Cosine, Gaussian, Laplacian, Matern
from mercer.solvers import Nystrom
from mercer.utils import resources
from tests.expectations import raises

ORDERS = (0, 0.5, 1, 1.5, 2, 3, 7.5, np.inf)


def dense_entropy(X, kernel, order, weights=None, zero=1e-13):
    """Return the entropy from all eigenvalues, in double precision."""
    w = np.ones(len(X)) if weights is None else weights
    root = np.sqrt(w / w.sum())
    p = np.linalg.eigvalsh(root[:, None] * kernel(np.asarray(X, np.float64)) * root)
    # order 0 counts what is above rounding error
    p = p[p > (zero if order == 0 else 0)]
    if order == 0:
        return np.log(len(p))
    if order == 1:
        return -(p * np.log(p)).sum()
    return -np.log(p.max()) if order == np.inf else np.log((p**order).sum()) / (1 - order)


def random_problem(seed, largest=300):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, largest)), int(rng.choice([1, 2, 5, 30]))
    X = rng.normal(size=(n, d)) * rng.exponential(size=d)
    if rng.random() < 0.3:
        X += 5 * rng.integers(0, 3, size=(n, 1))
    if rng.random() < 0.2:
        X[: n // 2] = X[0]
    width = float(rng.choice([0.1, 0.5, 1.0, 3.0])) * np.sqrt(d)
    kernel = [Gaussian(width), Laplacian(width), Matern(width, 1.5), Cosine()][rng.integers(4)]
    weights = None if rng.random() < 0.5 else rng.exponential(size=n)
    dtype = np.float32 if rng.random() < 0.2 else np.float64
    return X.astype(dtype), kernel, float(rng.choice(ORDERS)), weights


def check_bounds(seed, solver, largest=300, tol=0.01):
    X, kernel, order, weights = random_problem(seed, largest)
    solver = solver if isinstance(kernel, Gaussian) or solver != "fourier" else "auto"
    found = matrix_renyi_entropy(
        X, kernel, order, bounds=True, sample_weight=weights, solver=solver, tol=tol
    )
    assert found.lower <= found.value <= found.upper
    if order == 0:  # the rank is known up to eigenvalues of the size of rounding errors
        low, high = (dense_entropy(X, kernel, 0, weights, zero=z) for z in (1e-13, 1e-18))
        assert found.lower <= high + 1e-12, (seed, solver, kernel)
        assert found.upper >= low - 1e-12, (seed, solver, kernel)
        return found
    exact = dense_entropy(X, kernel, order, weights)
    slack = 1e-8 if order >= 1 else 1e-6
    if 0 < order < 1:
        # n eigenvalues of the dense matrix have rounding errors of about 10 eps each
        slack += len(X) * (10 * np.finfo(float).eps) ** order / (1 - order)
    assert found.lower - slack <= exact <= found.upper + slack, (seed, solver, kernel, order)
    return found


@pytest.mark.parametrize("solver", ["auto", "lanczos", "nystrom"])
def test_bounds_contain_the_dense_value(solver):
    for seed in range(40):
        check_bounds(seed, solver)


@pytest.mark.slow
def test_bounds_contain_the_dense_value_on_100_problems():
    for seed in range(100):
        check_bounds(
            1000 + seed, ["auto", "lanczos", "nystrom"][seed % 3], 3000 if seed % 25 == 0 else 600
        )


def test_quadrature_converges_to_the_tolerance():
    X = np.random.default_rng(0).normal(size=(800, 40))
    for order, most in ((1, 0.05), (1.5, 0.03), (3, 0.03)):
        found = vendi_score(X, Gaussian(6.0), order, bounds=True, solver="lanczos", tol=most)
        assert found.converged
        assert found.upper / found.lower - 1 <= most
        exact = np.exp(dense_entropy(X, Gaussian(6.0), order))
        assert found.lower <= exact <= found.upper


def test_orders_share_an_iteration_and_agree_with_separate_calls():
    X = np.random.default_rng(0).normal(size=(700, 40))
    kernel = Gaussian(6.0)
    entropies = MatrixEntropies(fitted_sample(X, kernel, None), solver="lanczos")
    for order in (1, 0.5, np.inf, 3):
        found = entropies.of_order(order)
        exact = dense_entropy(X, kernel, order)
        assert found.lower <= exact <= found.upper


def test_deflation_ends_when_few_vectors_suffice():
    p = np.r_[0.5, np.linspace(0.5, 1.5, 400) / 800]
    products = []

    def product(V):
        products.append(V.shape[1])
        return p[:, None] * V

    def enough(found):
        return TraceSum(product, 401, p @ p, 1.0, deflation=found).needs_few_vectors

    found = deflate(product, 401, np.random.default_rng(0), enough)
    assert_allclose(found.values, [0.5])
    assert not found.complete
    assert len(products) < 10
    assert deflate(product, 401, np.random.default_rng(0)).complete


@pytest.mark.parametrize("order", [1.0, 1.5, 3.0])
def test_bounds_hold_while_vectors_and_steps_grow(order):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        p = np.sort(rng.dirichlet(np.full(300, rng.choice([0.1, 0.5, 3.0]))))[::-1]
        products = []

        def product(V, p=p, products=products):
            products.append(V.shape[1])
            return p[:, None] * V

        terms = TraceSum(product, 300, float(p @ p), order, tol=1e-3, random_state=seed)
        exact = float(terms._f(p).sum())
        counts = []
        while not terms.exhausted and len(counts) < 12:
            terms.tighten()
            counts.append(sum(len(block.masses) for block in terms._blocks))
            assert terms.bounds.lower <= exact * (1 + 1e-9), (seed, counts)
            assert exact * (1 - 1e-9) <= terms.bounds.upper, (seed, counts)
        allowed = {min(terms.planned_vectors * 2**i, 160) for i in range(9)}
        assert set(counts) <= allowed
        assert counts == sorted(counts)


def test_vectors_grow_only_as_much_as_needed():
    p = np.r_[0.4, np.linspace(0.2, 1.8, 500) * 0.6 / 500]

    def count(tol):
        terms = TraceSum(lambda V: p[:, None] * V, 501, p @ p, 1.0, tol=tol)
        for _ in range(20):
            if terms.bounds.upper - terms.bounds.lower <= tol or terms.exhausted:
                break
            terms.tighten()
        assert terms.bounds.upper - terms.bounds.lower <= tol
        return sum(len(block.masses) for block in terms._blocks)

    counts = [count(tol) for tol in (0.1, 0.03, 0.02, 0.014)]
    assert counts[0] == 8
    assert counts == sorted(counts)
    assert counts[-1] < 160


@pytest.mark.parametrize("order", [1, np.inf])
def test_blas_has_one_thread_between_products_in_own_threads(order, monkeypatch):
    limits = []
    multiply = MatrixEntropies._product

    def product(self, V):
        limits.append(resources._limiter is not None)
        return multiply(self, V)

    monkeypatch.setattr(MatrixEntropies, "_product", product)
    X = np.random.default_rng(0).normal(size=(300, 40))
    MatrixEntropies(fitted_sample(X, Gaussian(6.0), None), solver="lanczos").of_order(order)
    assert limits
    assert all(limits)
    assert resources._limiter is None


def test_result_names_route_and_kind_of_bounds():
    X = np.random.default_rng(0).normal(size=(900, 30))
    exact = vendi_score(X, "cosine", bounds=True)
    assert "features" in exact.route
    assert exact.deterministic
    assert exact.probability == 1
    drawn = vendi_score(X, Gaussian(3.0), bounds=True, solver="lanczos", probability=0.99)
    assert "quadrature" in drawn.route
    assert not drawn.deterministic
    assert drawn.probability == 0.99


def test_wide_bounds_without_bounds_warn():
    X = np.random.default_rng(0).normal(size=(900, 30))
    with pytest.warns(ApproximationWarning, match="solver='dense'"):
        vendi_score(X, Gaussian(1.0), solver=Nystrom(5))


def test_single_precision_features_agree_with_double():
    X = np.random.default_rng(0).normal(size=(4100, 12))
    features = X / np.linalg.norm(X, axis=1, keepdims=True)
    p = np.linalg.eigvalsh(features.T @ features) / len(X)
    for order in ORDERS:
        found = vendi_score(X.astype(np.float32), "cosine", order, bounds=True)
        assert_allclose(found.value, vendi_score(X, "cosine", order), rtol=1e-5)
        assert found.lower <= np.exp(spectral_entropy(p, order)) <= found.upper


@pytest.mark.parametrize("order", [0.5, 1, 2, np.inf])
def test_fourier_features_bound_the_dense_value(order):
    X = np.random.default_rng(0).normal(size=(400, 1))
    found = matrix_renyi_entropy(X, Gaussian(0.5), order, bounds=True, solver="fourier")
    exact = dense_entropy(X, Gaussian(0.5), order)
    assert found.lower - 1e-8 <= exact <= found.upper + 1e-8


@pytest.mark.parametrize("kernel", [Cosine(), Gaussian(2.0)], ids=repr)
def test_dask_arrays_equal_arrays_in_memory(kernel):
    da = pytest.importorskip("dask.array")
    X = np.random.default_rng(0).normal(size=(700, 5))
    weights = np.random.default_rng(1).exponential(size=700)
    lazy = da.from_array(X, chunks=(200, 5))
    for order in (0.5, 1, np.inf):
        for w in (None, weights):
            v = None if w is None else da.from_array(w, chunks=200)
            found = vendi_score(lazy, kernel, order, bounds=True, sample_weight=v)
            exact = np.exp(dense_entropy(X, kernel, order, w))
            assert found.lower * (1 - 1e-6) <= exact <= found.upper * (1 + 1e-6)


def test_invalid_options_raise():
    X = np.eye(3)
    with raises(ValueError, "tol=0"):
        vendi_score(X, "cosine", tol=0)
    with raises(ValueError, "probability=1"):
        vendi_score(X, "cosine", probability=1)


# --- bounds of numbers ----------------------------------------------------------------------------


@pytest.mark.parametrize("order", [0.5, 1, 1.5])
def test_moments_bound_the_sum(order):
    rng = np.random.default_rng(0)
    for _ in range(200):
        p = rng.dirichlet(np.full(int(rng.integers(1, 30)), rng.choice([0.05, 1, 50])))
        total = -(p[p > 0] * np.log(p[p > 0])).sum() if order == 1 else (p**order).sum()
        low, high = moment_bounds(len(p), p.sum(), (p**2).sum(), order)
        assert low - 1e-12 <= total <= high + 1e-12


@pytest.mark.parametrize("order", ORDERS)
def test_perturbed_and_grown_proportions_are_within_their_bounds(order):
    rng = np.random.default_rng(1)
    for _ in range(200):
        p = rng.dirichlet(np.full(int(rng.integers(1, 30)), rng.choice([0.2, 1, 50])))
        size = float(rng.choice([1e-12, 1e-6, 1e-3]))
        errors = rng.normal(size=len(p))
        errors *= size / np.linalg.norm(errors)
        low, high = perturbation_bounds(p + errors, order, size, len(p))
        assert low - 1e-12 <= spectral_entropy(p, order) <= high + 1e-12
        known = p * rng.random(len(p))
        low, high = growth_bounds(known, order, 1 - known.sum(), len(p))
        assert low - 1e-9 <= spectral_entropy(p, order) <= high + 1e-9


def test_lower_tail_of_a_chi_square_mean():
    from scipy.stats import chi2

    for count in (4, 16, 64):
        bound = lower_tail(count, 1e-4)
        assert 0 < bound < 1
        # a matrix of rank one is the worst case
        assert chi2.cdf(bound * count, count) <= 1e-4


@pytest.mark.parametrize("spread", [0.0, 1e-3, 1.0])
def test_order_infinity_bounds_with_clustered_leading_eigenvalues(spread):
    # ten clusters of nearly equal weight; the sum of squares alone does not bound the largest
    rng = np.random.default_rng(0)
    weights = 1 + spread * rng.random(10)
    labels = rng.permutation(np.repeat(np.arange(10), 60))
    X = 10 * np.eye(10)[labels] + 0.1 * rng.normal(size=(600, 10))
    w = weights[labels]
    found = matrix_renyi_entropy(
        X, Gaussian(1.0), np.inf, bounds=True, sample_weight=w, solver="lanczos"
    )
    assert found.lower - 1e-9 <= dense_entropy(X, Gaussian(1.0), np.inf, w) <= found.upper + 1e-9


def test_order_infinity_is_deterministic_if_the_first_eigenvalue_dominates():
    X = np.random.default_rng(0).normal(size=(500, 20))
    found = matrix_renyi_entropy(X, Gaussian(10.0), np.inf, bounds=True, solver="lanczos")
    assert found.deterministic
    assert found.upper - found.lower < 1e-6


@pytest.mark.parametrize("rank", [1, 3, 20])
@pytest.mark.parametrize("order", [0.5, 1.0, 1.5])
def test_quadrature_of_few_distinct_points(rank, order):
    """All eigenpairs of a matrix of low rank converge, and nothing is left for the quadrature."""
    rng = np.random.default_rng(rank)
    X = rng.normal(size=(rank, 5))[np.r_[np.arange(rank), rng.integers(rank, size=400)]]
    found = matrix_renyi_entropy(X, Gaussian(0.7), order, bounds=True, solver="lanczos", tol=1e-4)
    counts = np.unique(X, axis=0, return_counts=True)
    exact = dense_entropy(counts[0], Gaussian(0.7), order, counts[1].astype(float))
    assert found.lower - 1e-8 <= exact <= found.upper + 1e-8


@pytest.mark.parametrize("width", [0.5, 4.0])
def test_order_infinity_bounds_of_a_flat_spectrum(width):
    """Many eigenvalues are close to the largest, so Gaussian vectors bound the others."""
    X = np.random.default_rng(0).normal(size=(400, 10 if width > 1 else 40))
    if width > 1:
        X *= 6
    found = matrix_renyi_entropy(X, Gaussian(width), np.inf, bounds=True, solver="lanczos")
    assert found.lower - 1e-9 <= dense_entropy(X, Gaussian(width), np.inf) <= found.upper + 1e-9
    assert found.upper - found.lower < 0.01
    assert not found.deterministic


def test_order_zero_is_bounded_without_eigenvalues():
    X = np.random.default_rng(0).normal(size=(50, 5))
    found = matrix_renyi_entropy(X, Gaussian(1.0), 0, bounds=True, solver="lanczos")
    assert_allclose([found.lower, found.upper], [dense_entropy(X, Gaussian(1.0), 2), np.log(50)])
