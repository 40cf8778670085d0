"""Properties of every operator under every measure, for all methods."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.optimize import brentq

from mercer.errors import ApproximationWarning, MemoryBudgetError
from mercer.kernels import (
    Epanechnikov,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
)
from mercer.population import (
    Empirical,
    GaussianOperator,
    KernelOperator,
    Mixture,
    Normal,
    PolynomialOperator,
    Product,
    Uniform,
)
from mercer.population.comparison import operator_of
from mercer.population.gaussian import (
    centered_matrix,
    damped_hermite,
    largest_products,
    secular_eigenvalues,
)
from mercer.population.operator import orient
from tests.expectations import raises, warns

CORRELATED = Normal([1.0, -0.5], [[1.0, 0.6], [0.6, 2.0]])
MIXTURE = Mixture([0.6, 0.4], [Normal(2, 1), Normal(-2, 1)])
POINTS = np.random.default_rng(0).normal(size=(60, 2)) + 0.4

# (kernel, measure): every method, on measures with a grid that is fine enough for a check
CASES = [
    (Polynomial(2), CORRELATED),
    (Polynomial(3, 0.5), Normal(0.3, 1.4)),
    (Polynomial(2, 1.0), Uniform([0, -1], [1, 1])),
    (Polynomial(2), Empirical(POINTS, weights=np.arange(1, 61))),
    (Linear(), Product([stats.gamma(2.0), Normal(0, 1)])),
    (Gaussian(1.5), Normal(2, 1)),
    (Gaussian(0.4), Normal(0, 2)),
    (Gaussian(1.2), CORRELATED),
    (Gaussian(np.array([0.8, 2.0])), CORRELATED),
    (Gaussian(1.0), Normal([0.0, 1.0], [[1.0, 1.0], [1.0, 1.0]])),  # singular
    (Gaussian(0.7), Uniform([0, 0], [1, 2])),
    (Gaussian(1.5), MIXTURE),
    (Gaussian(1.0), Product([MIXTURE, stats.beta(2, 3)])),
    (Gaussian(1.0), Empirical(POINTS)),
    (Matern(1.0, nu=2.5), Normal(0, 1)),
    (Polynomial(2, 1.0, scale=0.5), Normal(1, 1)),
]
every_case = pytest.mark.parametrize(("kernel", "measure"), CASES, ids=repr)
centered = pytest.mark.parametrize("center", [False, True])


def operator_and_nodes(kernel, measure, center, k=6):
    with warnings.catch_warnings():  # Matérn kernels have a kink in a derivative
        warnings.simplefilter("ignore", ApproximationWarning)
        operator = operator_of(kernel, measure, center=center, n_components=k)
    # other nodes than those of the operator
    rule = check_rule(measure)
    return operator, rule.points, rule.weights


def check_rule(measure):
    return measure.grid(300 if measure.grid_size(300) < 1000 else 45)


def centered_kernel(kernel, Y, X, w):
    """k(y, x) - E k(y, ·) - E k(·, x) + E k."""
    K, inner = kernel(Y, X), kernel(X, X)
    return K - (K @ w)[:, None] - (w @ inner)[None, :] + w @ inner @ w


@centered
@every_case
def test_eigenfunctions_satisfy_the_eigenvalue_equation(kernel, measure, center):
    """E k(x, X) φ(X) = λ φ(x), by quadrature on other nodes."""
    operator, X, w = operator_and_nodes(kernel, measure, center)
    Y = measure.sample(7, random_state=1)
    K = centered_kernel(kernel, Y, X, w) if center else kernel(Y, X)
    left = K @ (w[:, None] * operator.eigenfunctions(X))
    right = operator.eigenvalues * operator.eigenfunctions(Y)
    slack = 2e-4 if isinstance(kernel, Matern) else 1e-8
    assert_allclose(left, right, atol=slack * operator.eigenvalues[0] * np.abs(right).max())


@centered
@every_case
def test_functions_are_orthonormal_and_means_are_means(kernel, measure, center):
    operator, X, w = operator_and_nodes(kernel, measure, center)
    values = operator.eigenfunctions(X)
    slack = 1e-3 if isinstance(kernel, Matern) else 1e-8
    assert values.shape == (len(X), operator.n_components)
    assert_allclose(values.T @ (w[:, None] * values), np.eye(operator.n_components), atol=slack)
    assert_allclose(w @ values, operator.means, atol=slack)
    assert (operator.means >= 0).all()
    assert (np.diff(operator.eigenvalues) <= 0).all()
    assert (operator.eigenvalues > 0).all()


@every_case
def test_traces_and_mean_embedding(kernel, measure):
    """Σ λ = E k(X, X), Σ λ μ² = E k(X, Y), and centering removes exactly that."""
    rule = check_rule(measure)
    operators = []
    count = 30 if isinstance(kernel, Matern) else 250
    for center in (False, True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ApproximationWarning)
            operators.append(operator_of(kernel, measure, center=center, n_components=count))
    plain, after = operators
    trace = rule.weights @ kernel.diagonal(rule.points)
    potential = rule.weights @ kernel(rule.points) @ rule.weights
    slack = 1e-3 if isinstance(kernel, Matern) else 1e-7
    assert_allclose(plain.eigenvalues.sum(), trace, rtol=slack)
    assert_allclose(plain.entropy_terms.sum(), potential, rtol=slack)
    assert_allclose([plain.trace, after.trace], [trace, trace - potential], rtol=slack)
    assert_allclose(after.eigenvalues.sum(), trace - potential, rtol=slack)


@pytest.mark.parametrize(
    "operator",
    [
        PolynomialOperator(3, CORRELATED),
        PolynomialOperator(2, Uniform([0, 0], [1, 1]), constant=2.0),
        GaussianOperator(1.5, Normal(2, 1)),
        GaussianOperator(1.3, CORRELATED, n_components=400),
        GaussianOperator(1.5, MIXTURE),
    ],
    ids=repr,
)
def test_mercer_expansion_equals_the_kernel(operator):
    """Σ λ φ(x) φ(y) = k(x, y)."""
    X = operator.measure.sample(6, random_state=0)
    F = operator.eigenfunctions(X)
    assert_allclose(F * operator.eigenvalues @ F.T, operator.kernel(X), atol=1e-7, rtol=1e-7)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize(
    ("kernel", "measure"), [c for c in CASES if not isinstance(c[0], Matern)], ids=repr
)
def test_routes_agree(kernel, measure, center):
    """Closed forms and plain quadrature: values, means, and functions with their signs."""
    exact = operator_of(kernel, measure, center=center, n_components=5)
    found = KernelOperator(kernel, measure, center=center, n_components=5, tolerance=1e-5)
    k = min(exact.n_components, found.n_components)
    assert k == min(5, exact.n_components)
    top = exact.eigenvalues[0]
    error = np.abs(found.eigenvalues[:k] - exact.eigenvalues[:k])
    assert (error <= found.errors[:k] + 1e-12 * top).all()
    apart = exact.eigenvalues[:k] > 1e-3 * top  # a function is known to error / eigenvalue
    X = measure.sample(9, random_state=2)
    ours, theirs = exact.eigenfunctions(X)[:, :k], found.eigenfunctions(X)[:, :k]
    assert_allclose(theirs[:, apart], ours[:, apart], atol=0.01 * np.abs(ours).max())
    assert_allclose(found.means[:k][apart], exact.means[:k][apart], atol=1e-3)


# --- invariances ---------------------------------------------------------------------------------


def rotation(d, seed=3):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]


@centered
@pytest.mark.parametrize("kernel", [Gaussian(1.1), Polynomial(3)], ids=repr)
def test_operators_are_invariant_under_rotation(kernel, center):
    Q = rotation(3)
    cov = np.diag([0.5, 1.0, 2.0])
    before = operator_of(kernel, Normal([1, 0, 0.5], cov), center=center, n_components=9)
    turned = Normal(Q @ [1, 0, 0.5], Q @ cov @ Q.T)
    after = operator_of(kernel, turned, center=center, n_components=9)
    assert_allclose(after.eigenvalues, before.eigenvalues, rtol=1e-9)
    X = before.measure.sample(5, random_state=0)
    ours, theirs = before.eigenfunctions(X), after.eigenfunctions(X @ Q.T)
    assert_allclose(np.abs(theirs), np.abs(ours), atol=1e-7 * np.abs(ours).max())


@centered
def test_scaling_bandwidth_and_measure_together_has_no_effect(center):
    small = GaussianOperator(0.5, Normal(1, 0.3), center=center)
    large = GaussianOperator(5.0, Normal(10, 30), center=center)
    assert_allclose(large.eigenvalues, small.eigenvalues, rtol=1e-10)
    X = np.linspace(-1, 3, 9)[:, None]
    assert_allclose(large.eigenfunctions(10 * X), small.eigenfunctions(X), atol=1e-8)


def test_scaling_the_measure_scales_polynomial_eigenvalues():
    before = PolynomialOperator(3, CORRELATED)
    wide = Normal(2 * CORRELATED.mean, 4 * CORRELATED.cov)
    assert_allclose(PolynomialOperator(3, wide).eigenvalues, 2.0**6 * before.eigenvalues)


def test_one_bandwidth_per_axis_is_a_change_of_units():
    widths = np.array([0.5, 2.0])
    found = GaussianOperator(widths, CORRELATED)
    unit = Normal(CORRELATED.mean / widths, CORRELATED.cov / np.outer(widths, widths))
    assert_allclose(found.eigenvalues, GaussianOperator(1.0, unit).eigenvalues, rtol=1e-12)


def test_the_constant_is_one_more_coordinate():
    ones = Empirical(np.full((1, 1), np.sqrt(0.7)))
    augmented = PolynomialOperator(2, Product([CORRELATED, ones]))
    found = PolynomialOperator(2, CORRELATED, constant=0.7)
    assert_allclose(found.eigenvalues, augmented.eigenvalues, rtol=1e-11)


def test_empirical_operators_are_gram_matrices():
    w = np.random.default_rng(1).integers(0, 4, len(POINTS))
    copies = np.repeat(POINTS, w, axis=0)
    for kernel in (Polynomial(2), Gaussian(0.8), Laplacian(1.0)):
        for center in (False, True):
            K = kernel(copies)
            if center:
                K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
            expected = np.linalg.eigvalsh(K)[::-1][:3] / len(copies)
            measure = Empirical(POINTS, weights=w)
            found = operator_of(kernel, measure, center=center, n_components=3)
            assert_allclose(found.eigenvalues, expected, rtol=1e-10)


# --- closed forms --------------------------------------------------------------------------------


def test_hermite_functions_of_high_order_do_not_overflow():
    operator = GaussianOperator(0.3, Normal(0, 1), n_components=200)
    x = np.linspace(-40, 40, 4001)
    with np.errstate(all="raise", under="ignore"):
        values = operator.eigenfunctions(x)
    assert np.isfinite(values).all()
    weights = operator.measure.pdf(x) * (x[1] - x[0])
    assert_allclose(values.T @ (weights[:, None] * values), np.eye(200), atol=1e-9)


def test_damped_hermite_functions_equal_the_polynomials():
    y = np.linspace(-3, 3, 7)
    found = damped_hermite(y, np.zeros(7), 5)
    H = np.column_stack([np.polynomial.hermite.hermval(y, np.eye(5)[i]) for i in range(5)])
    assert_allclose(found, H / np.sqrt([1, 2, 8, 48, 384]), rtol=1e-12, atol=1e-14)


def test_largest_products_equal_a_full_search():
    rng = np.random.default_rng(0)
    rows = [np.sort(rng.random(m))[::-1] for m in (6, 5, 7)]
    values, indices = largest_products(rows, 40)
    everything = np.sort(np.einsum("i,j,k->ijk", *rows).ravel())[::-1]
    assert_allclose(values, everything[:40])
    assert len({tuple(i) for i in indices}) == 40
    assert len(largest_products(rows, 10**6)[0]) == 6 * 5 * 7


def test_spectrum_in_many_dimensions_has_the_multiplicities_of_polynomials():
    """Under N(0, I) in d dimensions λ_n has multiplicity C(n+d-1, n)."""
    operator = GaussianOperator(2.0, Normal(np.zeros(5)), n_components=21)
    _, counts = np.unique(operator.eigenvalues.round(14), return_counts=True)
    assert counts[::-1].tolist() == [1, 5, 15]


@pytest.mark.parametrize("p", [3, 10, 20])
def test_quadratic_spectrum_of_many_normal_variables_has_a_closed_form(p):
    """Eigenvalue 2 for x_i, x_i x_j and contrasts of x_i²; two functions of |x|² and 1."""
    operator = PolynomialOperator(2, Normal(np.zeros(p)), constant=1)
    middle, distance = (p + 3) / 2, np.sqrt((p + 3) ** 2 - 8) / 2  # trace p + 3, determinant 2
    multiplicity = p + p * (p - 1) // 2 + p - 1
    expected = [middle + distance, *[2.0] * multiplicity, middle - distance]
    assert_allclose(operator.eigenvalues, expected, rtol=1e-10)


@pytest.mark.parametrize("p", [4, 8])
def test_cubic_spectrum_in_moderate_dimension_equals_that_of_a_grid_of_atoms(p):
    """A uniform measure on few atoms: the eigenvalues of K/n."""
    X = np.random.default_rng(p).normal(size=(40, p))
    operator = PolynomialOperator(3, Empirical(X), constant=1)
    K = (1 + X @ X.T) ** 3 / 40
    found = operator.eigenvalues
    assert_allclose(found, np.linalg.eigvalsh(K)[::-1][: len(found)], rtol=1e-8, atol=1e-9)


def test_numerators_have_the_sign_of_positive_means():
    measure = Mixture([0.5, 0.5], [Normal([-3, 1]), Normal([2, -1])])  # 3.2.2 of Liang
    operator = PolynomialOperator(3, measure)
    assert (operator.means >= 0).all()
    assert operator.means[0] > 1e-3
    monomials = np.array([measure.moment(tuple(j)) for j in operator.exponents])
    assert_allclose(
        operator.numerators @ monomials, operator.means * np.sqrt(operator.eigenvalues), atol=1e-9
    )
    assert operator.numerators[0, 0] < 0  # the thesis prints .848


@pytest.mark.parametrize(
    "operator",
    [
        GaussianOperator(1.5, Normal(2, 1)),
        GaussianOperator(0.2, Normal(0, 1), n_components=300),
        GaussianOperator(1.0, Normal(np.zeros(3)), n_components=300),  # multiple eigenvalues
        GaussianOperator(1.3, CORRELATED, n_components=200),
        GaussianOperator(1.5, MIXTURE),
        PolynomialOperator(3, CORRELATED),
    ],
    ids=repr,
)
def test_secular_equation_and_matrix_agree(operator):
    M = centered_matrix(operator.eigenvalues, operator.means)
    expected = np.linalg.eigvalsh(M)[::-1]
    found = secular_eigenvalues(operator.eigenvalues, operator.means)
    assert_allclose(found, expected, atol=1e-12 * operator.eigenvalues[0])
    # interlacing: each centered eigenvalue lies between two uncentered ones
    assert (found <= operator.eigenvalues * (1 + 1e-12)).all()
    assert (found[:-1] >= operator.eigenvalues[1:] * (1 - 1e-12)).all()


def test_centering_does_not_change_pairs_without_a_mean():
    assert secular_eigenvalues(np.array([1.0, 3.0, 2.0]), np.zeros(3)).tolist() == [3, 2, 1]
    plain, centered = (PolynomialOperator(1, Normal([0, 0], 2.0), center=c) for c in (False, True))
    assert_allclose(centered.eigenvalues, plain.eigenvalues)


def test_centered_error_bound_holds():
    """With d = 4 and a small bandwidth the matrix is truncated; the bound covers the rest."""
    operator = GaussianOperator(0.5, Normal(np.zeros(4)), center=True, n_components=5)
    one = GaussianOperator(0.5, Normal(0), n_components=60)
    means, values = one.means[::2], one.eigenvalues[::2]
    grid = [np.einsum("i,j,k,l->ijkl", *[v[:8]] * 4).ravel() for v in (values, means)]
    largest = np.argsort(-grid[0])[:3000]
    longer = secular_eigenvalues(grid[0][largest], grid[1][largest])
    without_mean = one.eigenvalues[1] * one.eigenvalues[0] ** 3  # fourfold
    expected = np.sort(np.r_[longer[:5], [without_mean] * 4])[::-1][:5]
    assert operator.error_bound > 0
    assert np.abs(operator.eigenvalues - expected).max() <= operator.error_bound


def test_centered_error_bound_covers_the_functions_that_a_factor_omits():
    """A bandwidth of 0.001 needs more than the 1000 functions that are computed."""
    operator = GaussianOperator(0.001, Normal(0), center=True, n_components=60)
    s = np.sqrt(1 + 4e6)
    q, orders = np.arange(1, 20000), np.arange(0, 40000, 2)
    step = 2e6 / (1 + 2e6 + s)
    values = np.sqrt(2 / (1 + 2e6 + s)) * step**orders
    ratios = np.sqrt((2 * q - 1) / (2 * q)) * (s - 1) / (s + 1)
    means = s**0.25 * np.sqrt(2 / (s + 1)) * np.cumprod(np.r_[1.0, ratios])
    assert_allclose((means**2).sum(), 1, rtol=1e-6)
    longer = secular_eigenvalues(values[:2000], means[:2000])[:30]
    expected = np.sort(np.r_[longer, values[:30] * step])[::-1][:60]
    assert operator.error_bound >= values[500]
    assert np.abs(operator.eigenvalues - expected).max() <= operator.error_bound
    assert_allclose(operator.trace, 1 - 1 / np.sqrt(1 + 2e6), rtol=1e-12)


def test_signs_follow_the_mean_and_then_the_largest_probe():
    probes = np.array([[1.0, 0.1], [-2.0, 0.3]])
    for means, flips in [([-0.5, 0.0], [-1, 1]), ([0.0, -1e-14], [-1, 1])]:
        found, signs = orient(np.array(means), probes)
        assert signs.tolist() == flips
        assert (found >= 0).all()
    assert orient(np.array([0.0, -1e-14]), probes, exact=True)[1].tolist() == [-1, -1]


@pytest.mark.parametrize(
    "measure",
    [Normal(2, 1), Uniform(1, 4), stats.gamma(2.0)],
    ids=lambda measure: type(measure).__name__,
)
def test_first_centered_function_increases(measure):
    """Functions with mean zero are positive in the upper half."""
    operator = GaussianOperator(1.5, measure, center=True)
    low, high = operator.eigenfunctions([[1.0], [3.0]])[:, 0]
    assert low < high
    assert high > 0


# --- quadrature ----------------------------------------------------------------------------------


def test_laplacian_kernel_on_an_interval():
    """Known eigenvalues: λ = 2b/(1 + (bω)²) with (b²ω² - 1) sin ωL = 2bω cos ωL."""
    b = 0.8

    def equation(omega):
        return (b**2 * omega**2 - 1) * np.sin(omega) - 2 * b * omega * np.cos(omega)

    grid = np.linspace(1e-3, 30, 3000)
    change = np.flatnonzero(np.diff(np.sign(equation(grid))))
    roots = np.array([brentq(equation, grid[i], grid[i + 1]) for i in change])
    true = (2 * b / (1 + (b * roots) ** 2))[:6]
    with warns(ApproximationWarning, "Laplacian", "1.0e-10"):
        operator = KernelOperator(Laplacian(b), Uniform(0, 1), n_components=6, max_nodes=600)
    error = np.abs(operator.eigenvalues - true)
    assert (error <= operator.errors).all()  # the reported error is an upper bound
    assert operator.error_bound < 1e-4 * true[0]


def test_epanechnikov_kernel_inside_its_bandwidth():
    """The kernel is f(x)'J f(y) with f = (1, x, x²); its eigenvalues are those of J E ff'."""
    b = 4.0
    operator = KernelOperator(Epanechnikov(b), Uniform(-1, 1), n_components=10)
    J = np.array([[1, 0, -1 / b**2], [0, 2 / b**2, 0], [-1 / b**2, 0, 0]])
    E = np.array([[1, 0, 1 / 3], [0, 1 / 3, 0], [1 / 3, 0, 1 / 5]])
    true = np.sort(np.linalg.eigvals(J @ E).real)[::-1]
    assert operator.n_components == 2
    assert_allclose(operator.eigenvalues, true[true > 0], rtol=1e-10)


def test_errors_of_quasi_random_nodes():
    measure = Normal(np.zeros(6), 0.8)
    exact = GaussianOperator(1.3, measure, n_components=8)
    with warns(ApproximationWarning, "quasi-random"):
        found = KernelOperator(Gaussian(1.3), measure, n_components=8, max_nodes=1024)
    error = np.abs(found.eigenvalues - exact.eigenvalues)
    assert error.max() <= 2 * found.error_bound
    assert found.error_bound < 0.05 * exact.eigenvalues[0]


def test_uniform_measures_in_many_dimensions_need_no_grid():
    operator = GaussianOperator(0.9, Uniform(np.zeros(8), np.ones(8)), n_components=20)
    side = GaussianOperator(0.9, Uniform(0, 1), n_components=5)
    assert_allclose(operator.eigenvalues[0], side.eigenvalues[0] ** 8, rtol=1e-9)
    second = side.eigenvalues[0] ** 7 * side.eigenvalues[1]
    assert_allclose(operator.eigenvalues[1:9], second, rtol=1e-9)
    assert operator.error_bound < 1e-9


def test_independent_normal_parts_are_one_normal_distribution():
    """Products are solved part by part, and a part may have a closed form."""
    parts = GaussianOperator(0.7, Product([Normal(1, 2.0), Normal(0, 0.5)]), n_components=12)
    whole = GaussianOperator(0.7, Normal([1, 0], [[2.0, 0.0], [0.0, 0.5]]), n_components=12)
    assert parts.method == whole.method == "closed form"
    assert_allclose(parts.eigenvalues, whole.eigenvalues, rtol=1e-12)
    assert_allclose(parts.eigenfunctions(POINTS), whole.eigenfunctions(POINTS), atol=1e-10)


@pytest.mark.filterwarnings("ignore::mercer.errors.ApproximationWarning")
def test_better_of_grid_and_scattered_nodes_is_used():
    measure = Normal([0.0, 0.0], 1.0)
    exact = GaussianOperator(0.8, measure, n_components=3)
    found = KernelOperator(Gaussian(0.8), measure, n_components=3, max_nodes=200)
    assert "Gauss rules" in found.method
    assert found.error_bound > 1e-3 * found.eigenvalues[0]  # large enough to try scattered nodes
    assert np.abs(found.eigenvalues - exact.eigenvalues).max() <= found.error_bound


@pytest.mark.filterwarnings("ignore::mercer.errors.ApproximationWarning")
def test_largest_grid_is_limited(monkeypatch):
    """The finest grid within the limit is used, with an error bound."""
    monkeypatch.setattr("mercer.population.kernel._MAX_GRID_NODES", 150)
    exact = GaussianOperator(0.4, Normal(0, 1), n_components=5)
    found = KernelOperator(Gaussian(0.4), Normal(0, 1), n_components=5, max_nodes=1000)
    assert 64 < found.rule.size <= 150
    assert "Gauss rules" in found.method
    assert np.abs(found.eigenvalues - exact.eigenvalues).max() <= found.error_bound
    assert (
        found.error_bound > 1e-10 * found.eigenvalues[0]
    )  # a finer grid would be used without the limit


def test_nodes_are_refined_for_small_bandwidths():
    operator = KernelOperator(Gaussian(0.05), Normal(0, 1), n_components=10)
    exact = GaussianOperator(0.05, Normal(0, 1), n_components=10)
    assert_allclose(operator.eigenvalues, exact.eigenvalues, rtol=1e-8)


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "values"),
    [
        (lambda: PolynomialOperator(0, Normal(0)), ["degree=0"]),
        (lambda: PolynomialOperator(1.5, Normal(0)), ["degree=1.5"]),
        (lambda: PolynomialOperator(2, Normal(0), constant=-1), ["constant=-1"]),
        (lambda: PolynomialOperator(2, Normal(0), constant=np.nan), ["constant=nan"]),
        (lambda: PolynomialOperator(1, stats.cauchy()), ["cauchy"]),
        (lambda: PolynomialOperator(2, Normal(0), n_components=0), ["n_components=0"]),
        (lambda: PolynomialOperator(1, Empirical([[2.0]]), center=True), ["Empirical"]),
        (lambda: PolynomialOperator(40, Normal(0, 1e12)), [80, "overflow"]),
        (lambda: GaussianOperator(0.0, Normal(0)), ["bandwidth=0.0"]),
        (lambda: GaussianOperator([1.0, 2.0], Normal(0)), [2, 1]),
        (lambda: GaussianOperator("auto", Normal(0)), ["'auto'"]),
        (lambda: GaussianOperator(1.0, Normal(0, 0), center=True), ["Normal"]),
        (lambda: GaussianOperator(1.0, Normal(0), n_components=2.5), ["n_components=2.5"]),
        (
            lambda: KernelOperator(Gaussian(1.0), Empirical([[1.0]]), center=True),
            ["Gaussian", "Empirical"],
        ),
        (lambda: KernelOperator(Precomputed(), Normal(0)), ["Precomputed()", "gram"]),
        (lambda: KernelOperator("gaussian", Normal(0)), ["'auto'"]),
        (lambda: KernelOperator(Gaussian(1.0), Normal(0), tolerance=0), ["tolerance=0"]),
        (lambda: GaussianOperator(1.0, Normal(0)).eigenfunctions([[1.0, 2.0]]), ["2 columns", 1]),
        (lambda: GaussianOperator(1.0, Normal(0)).eigenfunctions([[np.nan]]), ["NaN"]),
    ],
)
def test_errors_name_the_invalid_values(make, values):
    with raises((TypeError, ValueError), *values):
        make()


def test_errors_name_the_number_of_monomials():
    with raises(MemoryBudgetError, 32896, "KernelOperator"):
        PolynomialOperator(2, Normal(np.zeros(256)))
    with raises(MemoryBudgetError, 5000):
        KernelOperator(Gaussian(1.0), Empirical(np.arange(5000.0)[:, None]))


def test_gram_matrix_replaces_too_many_monomials():
    X = np.random.default_rng(0).normal(size=(30, 120))
    found = operator_of(Polynomial(3), Empirical(X), center=False, n_components=4)
    assert isinstance(found, KernelOperator)
    assert_allclose(found.eigenvalues, np.linalg.eigvalsh((X @ X.T) ** 3)[::-1][:4] / 30)


def test_a_point_mass_has_one_eigenvalue():
    operator = GaussianOperator(1.0, Normal([1.0, 2.0], 0.0))
    assert_allclose(operator.eigenvalues, [1])
    assert_allclose(operator.eigenfunctions([[1.0, 2.0]]), [[1]])


def test_degree_may_be_an_integral_float():
    found = operator_of(Polynomial(2.0), CORRELATED, center=False, n_components=3)
    assert_allclose(found.eigenvalues, PolynomialOperator(2, CORRELATED).eigenvalues)
    with raises((TypeError, ValueError), "degree=1.5"):
        operator_of(Polynomial(1.5), CORRELATED, center=False, n_components=3)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize(
    "measure",
    [
        CORRELATED,
        Uniform([0, 0], [1, 2]),
        Product([Normal(0), Empirical([[0.0], [1.0], [3.0]])]),
        Mixture([0.5, 0.5], [Normal([0, 0]), Normal([3, 3])]),
    ],
    ids=repr,
)
def test_operators_can_be_pickled(measure, center):
    X = measure.sample(5, random_state=0)
    for operator in (
        GaussianOperator(1.5, measure, center=center, n_components=4),
        PolynomialOperator(2, measure, center=center),
    ):
        restored = pickle.loads(pickle.dumps(operator))
        assert_allclose(restored.eigenfunctions(X), operator.eigenfunctions(X))
        assert_allclose(restored.eigenvalues, operator.eigenvalues)


@pytest.mark.parametrize(
    "compute",
    [
        lambda: Normal(0, 1).expectation(lambda X: (X[:, 0] > 0.1234).astype(float)),
        lambda: KernelOperator(Laplacian(1.0), Uniform(0, 1), n_components=3, max_nodes=150),
        lambda: GaussianOperator(0.02, Mixture([0.5, 0.5], [Uniform(0, 1), Normal(2)])),
    ],
)
def test_warnings_point_at_the_caller(compute):
    """Warnings name the line that called mercer, at any depth of the call stack."""
    with pytest.warns(ApproximationWarning) as caught:
        compute()
    assert {warning.filename for warning in caught} == {__file__}
