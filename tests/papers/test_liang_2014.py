"""Liang, Eigen-analysis of Kernel Operators for Nonlinear Dimension Reduction, thesis 2014.

Numbers come from the thesis as corrected by the project's list of errata. Each is computed twice:
by the closed form of the library, and by quadrature that is implemented here.
"""

from math import comb

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from numpy.testing import assert_allclose
from scipy.special import eval_hermite, factorial

from mercer import KernelLDA, KernelPCA
from mercer.kernels import Gaussian, Polynomial
from mercer.population import (
    Empirical,
    GaussianOperator,
    KernelOperator,
    Mixture,
    Normal,
    PolynomialDiscriminant,
    PolynomialOperator,
    Uniform,
    separated_spectrum,
)
from mercer.population.centering import centered_matrix, secular_eigenvalues
from mercer.population.monomials import count_monomials

SQUARE = Uniform([0, 0], [1, 1])
CLOUDS = Mixture([0.5, 0.5], [Normal([-3, 1]), Normal([2, -1])])  # 3.2.2
ONE = Normal(2, 1)  # 4.3.2
TWO = Mixture([0.6, 0.4], [Normal(2, 1), Normal(-2, 1)])  # 4.3.3
BANDWIDTH = 1.5
CLASSES = [Normal([2, -2]), Normal([-1, 2])]  # (5.4), class 0 and class 1


def shifted(m, k=2.0):
    """Return the measure of (4.6) for any k."""
    return Normal([m, 0], [1, k])


# --- quadrature ----------------------------------------------------------------------------------


def normal_nodes(mean, variances, n):
    nodes, weights = hermegauss(n)
    axes = [np.atleast_1d(mu + np.sqrt(v) * nodes) for mu, v in zip(mean, variances, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(axes))
    w = np.ones(1)
    for _ in axes:
        w = np.outer(w, weights / weights.sum()).ravel()
    return grid, w


def mixture_nodes(measure, n):
    parts = [normal_nodes(p.mean, np.diag(p.cov), n) for p in measure.parts]
    points = np.vstack([x for x, _ in parts])
    return points, np.concatenate([s * w for s, (_, w) in zip(measure.weights, parts, strict=True)])


def nodes_of(measure, n):
    if isinstance(measure, Mixture):
        return mixture_nodes(measure, n)
    if isinstance(measure, Normal):
        return normal_nodes(measure.mean, np.diag(measure.cov), n)
    x, w = np.polynomial.legendre.leggauss(n)
    grid = np.stack(np.meshgrid((1 + x) / 2, (1 + x) / 2, indexing="ij"), -1).reshape(-1, 2)
    return grid, np.outer(w, w).ravel() / 4


def by_quadrature(function, measure, count, center=False, n=60):
    """Return the leading eigenvalues of √w K √w; centering projects √w out."""
    X, w = nodes_of(measure, n)
    root = np.sqrt(w)
    A = root[:, None] * function(X[:, None, :], X[None, :, :]) * root
    if center:
        P = np.eye(len(w)) - np.outer(root, root)
        A = P @ A @ P
    return np.linalg.eigvalsh(A)[::-1][:count]


def polynomial(degree, constant=0.0):
    return lambda x, y: (constant + (x * y).sum(-1)) ** degree


def gaussian(bandwidth):
    return lambda x, y: np.exp(-((x - y) ** 2).sum(-1) / (2 * bandwidth**2))


def assert_close_up_to_sign(found, printed, atol):
    found, printed = np.asarray(found), np.asarray(printed)
    sign = np.sign((found * printed).sum(-1, keepdims=True))
    assert_allclose(sign * found, printed, atol=atol)


# --- chapter 3: uncentered polynomial operators ---------------------------------------------------

R2, R3 = np.sqrt(2), np.sqrt(3)

POLYNOMIAL_SPECTRA = [
    (SQUARE, 2, 0, False, [0.520586552934, 4 / 45, 0.012746780399]),
    (SQUARE, 2, 0, True, [0.1764929905, 0.0888888889, 0.0096181206]),
    (CLOUDS, 2, 0, False, [110.5927500645, 17.4150032981, 2.4922466374]),
    (CLOUDS, 2, 0, True, [38.3065672535, 17.3093993784, 2.1340333682]),
    (CLOUDS, 3, 0, False, [1862.6152043698, 343.7484257952, 59.2658710114, 9.8704988236]),
    (CLOUDS, 3, 0, True, [1725.3092940286, 338.6660144126, 58.9485348875, 9.8261566712]),
    (
        CLOUDS,
        2,
        1,
        False,
        [114.1006076783, 18.8574879662, 12.8212034338, 2.8717117715, 1.5791351675, 0.2698539826],
    ),
    (CLOUDS, 2, 1, True, [42.9702726276, 17.9053232431, 11.2995166967, 2.5551977566, 1.5196896759]),
]


@pytest.mark.parametrize(("measure", "degree", "constant", "center", "true"), POLYNOMIAL_SPECTRA)
def test_polynomial_spectra_equal_published_ones(measure, degree, constant, center, true):
    operator = PolynomialOperator(degree, measure, constant=constant, center=center)
    assert len(operator.eigenvalues) == len(true)  # centered with a constant: one fewer
    # ten decimals are given: the error is at most half a unit of the last one
    assert_allclose(operator.eigenvalues, true, rtol=1e-9, atol=5.1e-11)
    kernel = polynomial(degree, constant)
    found = by_quadrature(kernel, measure, len(true), center, n=8)  # exact for these degrees
    assert_allclose(found, true, rtol=1e-9, atol=5.1e-11)


def test_moment_matrices_equal_published_ones():
    M = PolynomialOperator(2, SQUARE).moment_matrix
    assert_allclose(M, [[1 / 5, R2 / 8, 1 / 9], [R2 / 8, 2 / 9, R2 / 8], [1 / 9, R2 / 8, 1 / 5]])
    M = PolynomialOperator(2, CLOUDS).moment_matrix
    assert_allclose(M, [[90.5, -25 * R2, 15], [-25 * R2, 30, -10 * R2], [15, -10 * R2, 10]])
    M = PolynomialOperator(3, CLOUDS).moment_matrix  # the thesis calls it M_3^2; it is M_2^3
    true = [
        [1431.5, -350 * R3, 181 * R3, -100],
        [-350 * R3, 543, -300, 75 * R3],
        [181 * R3, -300, 225, -65 * R3],
        [-100, 75 * R3, -65 * R3, 76],
    ]
    assert_allclose(M, true)
    M = PolynomialOperator(2, CLOUDS, constant=1).moment_matrix
    true = [
        [90.5, -25 * R2, -11 * R2, 15, 2.5 * R2, 7.5],
        [-25 * R2, 30, 5, -10 * R2, -2, -2.5 * R2],
        [-11 * R2, 5, 15, -R2, -5, -0.5 * R2],
        [15, -10 * R2, -R2, 10, 0, 2],
        [2.5 * R2, -2, -5, 0, 4, 0],
        [7.5, -2.5 * R2, -0.5 * R2, 2, 0, 1],
    ]
    assert_allclose(M, true, atol=1e-13)


NUMERATORS = [
    (
        PolynomialOperator(2, SQUARE),
        [[0.541995, 0.908277, 0.541995], [0.707107, 0, -0.707107], [0.454138, -1.083990, 0.454138]],
        6e-7,
    ),
    (
        PolynomialOperator(2, CLOUDS),
        [[0.886, -0.597, 0.191], [-0.459, -1.050, 0.487], [0.064, 0.735, 0.852]],
        6e-4,
    ),
    (
        PolynomialOperator(3, CLOUDS),
        [
            # the thesis has -.791, a rounding error
            [0.847733, -0.790426, 0.437388, -0.096543],
            [-0.518, -1.073, 0.862, -0.317],
            [-0.112, -1.079, -0.929, 0.559],
            [-0.026, 0.245, 1.097, 0.761],
        ],
        6e-4,
    ),
    (
        PolynomialOperator(2, CLOUDS, constant=1, n_components=3),
        [
            [0.873, -0.583, -0.231, 0.185, 0.061, 0.075],
            [0.328, 0.956, -0.640, -0.459, 0.197, -0.030],
            [-0.347, -0.463, -1.100, 0.153, 0.532, -0.050],
        ],
        6e-4,
    ),
]


@pytest.mark.parametrize(("operator", "printed", "digits"), NUMERATORS)
def test_eigenfunctions_in_the_scaling_of_the_thesis(operator, printed, digits):
    assert_close_up_to_sign(operator.numerators, printed, atol=digits)
    # its functions are numerators / λ, of norm λ^(-1/2); the library's have norm 1
    X = np.array([[0.3, 0.7], [-1.0, 2.0]])
    thesis = PolynomialOperator.eigenfunctions(operator, X) / np.sqrt(operator.eigenvalues)
    expected = (X[:, None, :] ** operator.exponents).prod(-1) @ operator.numerators.T
    assert_allclose(thesis, expected / operator.eigenvalues)


def test_variables_of_the_mixture_are_not_independent():
    """The thesis assumes that they are; they are independent within each part only."""
    cov = CLOUDS.moment((1, 1)) - CLOUDS.moment((1, 0)) * CLOUDS.moment((0, 1))
    assert_allclose(cov, -2.5)
    X, w = nodes_of(CLOUDS, 8)
    assert_allclose(w @ X.prod(axis=1) - (w @ X).prod(), -2.5)


def features(X, degree):
    """Monomials of the highest degree and their multinomial coefficients, x1^d first."""
    powers = np.arange(degree + 1)
    monomials = X[:, :1] ** (degree - powers) * X[:, 1:] ** powers
    return monomials, np.array([comb(degree, k) for k in powers])


def test_cubic_numerators_by_quadrature():
    """Eigenvectors of the moment matrix of explicit features; the thesis has -.791."""
    X, w = nodes_of(CLOUDS, 8)
    monomials, binomials = features(X, 3)
    root = np.sqrt(binomials)
    M = (monomials * root).T @ (w[:, None] * monomials * root)
    first = np.linalg.eigh(M)[1][:, -1] * root
    assert_close_up_to_sign(first, [0.8477, -0.7904, 0.4374, -0.0965], atol=6e-5)


@pytest.mark.parametrize("constant", [0.0, 1.0])
@pytest.mark.parametrize(("p", "degree"), [(1, 3), (2, 2), (2, 3), (3, 2), (4, 2)])
def test_number_of_eigenvalues_is_the_rank_of_the_gram_matrix(p, degree, constant):
    rng = np.random.default_rng(p)
    X = rng.normal(size=(80, p))
    rank = np.linalg.matrix_rank(Polynomial(degree, constant)(X), tol=1e-8)
    assert rank == count_monomials(p + (constant > 0), degree)
    assert rank == PolynomialOperator(degree, Normal(np.zeros(p)), constant=constant).n_components


def test_number_of_monomials_of_digit_images():
    assert count_monomials(256, 2) == 32896


def test_ratio_of_embeddings_attains_its_bound():
    """Section 3.2.4: |φ2| ≤ c12 / (2 √(c1 c2)) |φ1|."""
    angle = np.linspace(0, 2 * np.pi, 100_001)
    x, y = np.cos(angle), np.sin(angle)
    ratio = np.abs(0.5 * x * y) / (0.1 * x**2 + 0.02 * y**2)
    assert_allclose(ratio.max(), 0.5 / (2 * np.sqrt(0.1 * 0.02)), rtol=1e-7)
    assert_allclose(ratio.max(), 5.5901699437, rtol=1e-7)


# --- 4.1 and the appendices: centered polynomial operators ----------------------------------------


@pytest.mark.parametrize("sigma", [1.0, 0.7])
@pytest.mark.parametrize("k", [0.5, 1.0, 2.0, 3.0])
def test_spectrum_of_centered_data(k, sigma):
    """Section 4.1.2 and appendix A."""
    measure = Normal([0, 0], [sigma**2, k * sigma**2])
    centered = PolynomialOperator(2, measure, center=True)
    assert_allclose(centered.moment_matrix, np.diag([2, 2 * k, 2 * k**2]) * sigma**4, atol=1e-14)
    plain = PolynomialOperator(2, measure)
    root = np.sqrt(9 * (1 + k**2) ** 2 - 32 * k**2)
    true = np.array([(3 * (1 + k**2) + root) / 2, 2 * k, (3 * (1 + k**2) - root) / 2])
    assert_allclose(plain.eigenvalues, true * sigma**4, rtol=1e-12)  # k = 1: (4, 2, 2)
    # C0 / C2 of the first function; x2² dominates if k > 1
    C0, _, C2 = plain.numerators[0]
    assert_allclose(C0 / C2, 2 * k / (root + 3 * k**2 - 3), rtol=1e-10)
    quadrature = by_quadrature(polynomial(2), measure, 3, n=8)
    assert_allclose(plain.eigenvalues, quadrature, rtol=1e-10)


@pytest.mark.parametrize("k", [1.5, 2.0, 3.0])
def test_corrected_inequality_of_appendix_a(k):
    root = np.sqrt(9 * (1 + k**2) ** 2 - 32 * k**2)
    assert root + 3 * k**2 - 3 > 2 * k
    assert not root - 3 * k**2 + 3 > 2 * k  # as printed


def test_second_eigenfunction_of_appendix_a():
    """√2 x1 x2 / λ in the scaling of the thesis, which has 2 x1 x2; x1 x2 / (√k σ²) of norm 1."""
    operator = PolynomialOperator(2, Normal([0, 0], [1, 3]))
    assert_close_up_to_sign(operator.numerators[1], [0, R2, 0], atol=1e-12)
    assert_close_up_to_sign(operator.coefficients[1], [0, 1 / np.sqrt(3), 0], atol=1e-12)


@pytest.mark.parametrize("k", [0.5, 1.5, 2.0])
@pytest.mark.parametrize("m", [0.0, 0.5, 1.0, 3.0])
def test_moment_matrix_of_uncentered_data(m, k):
    """Sections 4.1.3 and 4.1.4."""
    plain = PolynomialOperator(2, shifted(m, k)).moment_matrix
    corner = m**4 + 6 * m**2 + 3
    true = [
        [corner, 0, k * (m**2 + 1)],
        [0, 2 * k * (m**2 + 1), 0],
        [k * (m**2 + 1), 0, 3 * k**2],
    ]
    assert_allclose(plain, true, atol=1e-12)
    delta = (3 * k**2 + corner) ** 2 - 8 * (k**2 * m**4 + 8 * k**2 * m**2 + 4 * k**2)
    pair = (3 * k**2 + corner + np.array([1, -1]) * np.sqrt(delta)) / 2
    expected = np.sort([*pair, 2 * k * (m**2 + 1)])[::-1]
    assert_allclose(PolynomialOperator(2, shifted(m, k)).eigenvalues, expected, rtol=1e-10)
    centered = PolynomialOperator(2, shifted(m, k), center=True).moment_matrix
    true = np.diag([2 * (2 * m**2 + 1), 2 * k * (m**2 + 1), 2 * k**2])
    assert_allclose(centered, true, atol=1e-11)


def test_first_eigenvalue_far_from_the_origin_is_m_to_the_fourth():
    """The thesis has half of it."""
    assert_allclose(PolynomialOperator(2, shifted(50)).eigenvalues[0] / 50**4, 1.0024, atol=5e-5)
    found = by_quadrature(polynomial(2), shifted(50), 1, n=8)[0]
    assert_allclose(found / 50**4, 1.0024, atol=5e-5)


def test_leading_monomials_tie_at_m_1_and_k_2():
    """The thesis has x₂² for m ≤ 1; at m = 1 the first two eigenvalues are equal."""
    found = by_quadrature(polynomial(2), shifted(1.0, 2.0), 3, center=True, n=8)
    assert_allclose(found, [8, 8, 6])


def leading_monomial(m, k):
    operator = PolynomialOperator(2, shifted(m, k), center=True)
    return operator.exponents[np.abs(operator.numerators[0]).argmax()].tolist()


def test_leading_monomial_changes_at_the_derived_limits():
    """At k = m² + 1 and k = (2m² + 1)/(m² + 1): for k = 1.5 at m = 0.7071 and 1."""
    for m, form in [(0.70, [0, 2]), (0.715, [1, 1]), (0.999, [1, 1]), (1.001, [2, 0])]:
        assert leading_monomial(m, 1.5) == form
    for m in np.linspace(0.05, 2, 14):
        for k in (0.7, 1.3, 1.9, 2.5, 4.1):
            if k > m**2 + 1:
                form = [0, 2]
            elif k < (2 * m**2 + 1) / (m**2 + 1):
                form = [2, 0]
            else:
                form = [1, 1]
            assert leading_monomial(m, k) == form
    tie = PolynomialOperator(2, shifted(1.0, 2.0), center=True).eigenvalues
    assert_allclose(tie, [8, 8, 6])  # two monomials are tied at m = 1


def test_moment_matrix_with_center_on_the_diagonal():
    """Section 4.1.5."""
    m, k = 1.3, 2.0
    M = PolynomialOperator(2, Normal([m, m], [1, k])).moment_matrix
    a, c = m**4 + 6 * m**2 + 3, m**4 + 6 * k * m**2 + 3 * k**2
    b, u, v = (m**2 + 1) * (m**2 + k), R2 * (m**4 + 3 * m**2), R2 * (m**4 + 3 * k * m**2)
    assert_allclose(M, [[a, u, b], [u, 2 * b, v], [b, v, c]])


APPENDIX_B = [
    (0.0, [12.4244289009, 4, 2.5755710991], (0.208, 0.978)),
    (0.5, [12.7622210513, 5, 3.8002789487], (0.292, 0.957)),
    (1.0, [15.1231056256, 8, 6.8768943744], (0.615, 0.788)),
    (1.1147, [16.4847532828, 8.97022436, 7.514528894], (0.707, 0.707)),
    (2.0, [45.9458667457, 20, 9.0541332543], (0.959, 0.283)),
    (5.0, [781.5139066062, 104, 8.4860933938], (0.998, 0.067)),
]


@pytest.mark.parametrize(("m", "eigenvalues", "leading"), APPENDIX_B)
def test_spectra_of_appendix_b(m, eigenvalues, leading):
    operator = PolynomialOperator(2, shifted(m))
    assert_allclose(operator.eigenvalues, eigenvalues, rtol=1e-9)
    assert_allclose(by_quadrature(polynomial(2), shifted(m), 3, n=8), eigenvalues, rtol=1e-9)
    C0, C2 = leading
    printed = [[C0, 0, C2], [0, R2, 0], [C2, 0, -C0]]
    order = np.abs(operator.numerators[:, 1]).argmax()
    assert order == 1
    assert_close_up_to_sign(operator.numerators, printed, atol=6e-4)


@pytest.mark.parametrize("k", [1.5, 2.0, 4.0])
def test_contours_are_circular_at_the_derived_mean(k):
    m = np.sqrt(-3 + np.sqrt(6 + 3 * k**2))
    C0, _, C2 = PolynomialOperator(2, shifted(m, k)).numerators[0]
    assert_allclose(C0, C2, rtol=1e-10)
    if k == 2:
        assert_allclose(m, 1.114737945492, rtol=1e-12)
        assert_allclose(m, np.sqrt(3 * (R2 - 1)), rtol=1e-14)


# --- 4.3.2: Gaussian kernel, one normal part -----------------------------------------------------

MEANS = {0: 0.9839948356, 2: 0.1739473552, 4: 0.0376607071, 6: 0.0085948412}
CENTERED = [
    0.1875,
    0.068518138596,
    0.01171875,
    0.003647909700,
    0.000732421875,
    0.000213370390,
]


def test_eigenvalues_and_means_of_one_normal_part():
    operator = GaussianOperator(BANDWIDTH, ONE)
    assert_allclose(operator.eigenvalues, 0.75 / 4.0 ** np.arange(50), rtol=1e-12)
    found = by_quadrature(gaussian(BANDWIDTH), ONE, 8)
    assert_allclose(operator.eigenvalues[:8], found, rtol=1e-9)
    assert_allclose(operator.means[1::2], 0, atol=1e-15)
    for order, true in MEANS.items():  # the thesis: .984, -.1305, .0212
        assert_allclose(operator.means[order], true, atol=5.1e-11)
    assert_allclose((operator.means**2).sum(), 1, rtol=1e-14)
    X, w = nodes_of(ONE, 120)
    assert_allclose(w @ operator.eigenfunctions(X), operator.means, atol=1e-12)


def test_means_of_the_thesis_use_the_wrong_hermite_polynomials():
    """With the probabilists' polynomials the functions are not orthonormal."""
    s = np.sqrt(1 + 4 / BANDWIDTH**2)
    X, w = nodes_of(ONE, 120)
    z = X[:, 0] - 2
    y = np.sqrt(s / 2) * z
    wrong = np.column_stack([np.ones_like(y), y, y**2 - 1, y**4 - 6 * y**2 + 3])
    wrong *= s**0.25 * np.exp(-(s - 1) * z**2 / 4)[:, None] / np.sqrt([1, 2, 8, 384])
    assert_allclose((w @ wrong)[[0, 2, 3]], [0.983995, -0.130461, 0.021184], atol=6e-7)
    assert_allclose((w @ wrong**2)[:3], [1, 0.25, 0.094], atol=5e-4)


def test_centered_spectrum_of_one_normal_part():
    """The thesis has .0615, .0085 and .0028 for the second, fourth and fifth."""
    operator = GaussianOperator(BANDWIDTH, ONE, center=True)
    assert_allclose(operator.eigenvalues[:6], CENTERED, atol=5.1e-13)
    assert_allclose(by_quadrature(gaussian(BANDWIDTH), ONE, 6, center=True), CENTERED, atol=1e-12)
    assert_allclose(KernelOperator(Gaussian(BANDWIDTH), ONE, center=True).eigenvalues[:6], CENTERED)
    plain = GaussianOperator(BANDWIDTH, ONE)
    assert_allclose(secular_eigenvalues(plain.eigenvalues, plain.means)[:6], CENTERED, rtol=1e-9)
    trace = 1 - np.sqrt(BANDWIDTH**2 / (BANDWIDTH**2 + 2))
    assert_allclose(trace, 0.272393124891, atol=5e-13)
    assert_allclose(operator.eigenvalues.sum(), trace, rtol=1e-12)
    assert_allclose(plain.entropy_terms.sum(), 0.727606875109, atol=5e-13)  # E K(X, Y)


def test_centered_matrix_of_five_terms():
    plain = GaussianOperator(BANDWIDTH, ONE, n_components=5)
    A = centered_matrix(plain.eigenvalues, plain.means)
    assert_allclose(A[0, [2, 4]], [-0.032093, -0.001737], atol=5.1e-7)  # printed: .0241, .00097
    assert_allclose(np.diag(A), plain.eigenvalues * (1 - plain.means**2), atol=1e-16)
    assert_allclose(np.diag(A)[:3], [0.0238, 0.1875, 0.0455], atol=6e-5)
    values = np.linalg.eigvalsh(A)[::-1]
    true = [0.1875, 0.0685180953, 0.01171875, 0.0036475228, 0.0000322]
    assert_allclose(values, true, atol=5.1e-8)
    assert_allclose(values[:4], true[:4], atol=5.1e-11)
    assert_allclose(secular_eigenvalues(plain.eigenvalues, plain.means), values, atol=1e-15)


def test_second_centered_eigenfunction():
    """It is -.505331 (φ1 - μ1) + .175799 (φ3 - μ3) + .000785 (φ5 - μ5) + …."""
    plain = GaussianOperator(BANDWIDTH, ONE)
    values, vectors = np.linalg.eigh(centered_matrix(plain.eigenvalues, plain.means))
    numerators = np.sqrt(plain.eigenvalues) * vectors[:, -2]
    assert_close_up_to_sign(numerators[[0, 2, 4]], [-0.505331, 0.175799, 0.000785], atol=5.1e-7)
    X = np.linspace(-1, 5, 7)
    expected = (plain.eigenfunctions(X) - plain.means) @ numerators / np.sqrt(values[-2])
    found = GaussianOperator(BANDWIDTH, ONE, center=True).eigenfunctions(X)[:, 1]
    assert_close_up_to_sign(found, expected, atol=1e-12)


def test_centered_eigenfunctions_by_quadrature():
    """Coefficients c of (4.9), from eigenvectors on nodes: c = λ E[φ φ~] / √λ~.

    The centered kernel is Σ λ (φ - μ)(φ - μ), so φ~ is Σ λ E[φ φ~] (φ - μ) / λ~.
    """
    X, w = nodes_of(ONE, 80)
    root, z = np.sqrt(w), X[:, 0] - 2
    P = np.eye(len(w)) - np.outer(root, root)
    A = P @ (root[:, None] * np.exp(-((z[:, None] - z) ** 2) / 4.5) * root) @ P
    values, vectors = np.linalg.eigh(A)
    values, centered = values[::-1][:5], vectors[:, ::-1][:, :5] / root[:, None]
    s = np.sqrt(1 + 4 / BANDWIDTH**2)
    order = np.arange(7)
    plain = eval_hermite(order, np.sqrt(s / 2) * z[:, None]) * np.exp(-(s - 1) * z**2 / 4)[:, None]
    plain *= s**0.25 / np.sqrt(2.0**order * factorial(order))  # physicists' polynomials
    found = (0.75 / 4.0**order)[:, None] * ((plain * w[:, None]).T @ centered) / np.sqrt(values)
    true = np.zeros((7, 5))
    true[1, 0], true[3, 2], true[5, 4] = np.sqrt([0.1875, 0.1875 / 16, 0.1875 / 256])
    true[[0, 2, 4, 6], 1] = [-0.505331, 0.175799, 0.000785, 0.000011]
    true[[0, 2, 4, 6], 3] = [0.310842, 0.059297, -0.048293, -0.000143]
    for i in range(5):
        assert_close_up_to_sign(found[:, i], true[:, i], atol=6e-7)


COSINES = [
    (0.1, 0.819514, 6e-7),  # the axis of the figure is probably w²: .96 is the value at w² = .1
    (np.sqrt(0.1), 0.9599, 6e-5),
    (0.5, 0.986914393, 6e-10),
    (1.0, 0.999222689, 6e-10),
    (1.5, 0.999938959, 6e-10),
    (3.0, 0.999999852, 6e-10),
]


@pytest.mark.parametrize(("bandwidth", "true", "digits"), COSINES)
def test_cosine_between_mean_function_and_first_eigenfunction(bandwidth, true, digits):
    """Figure 4.7: E K(x, Y) = Σ λ μ φ."""
    operator = GaussianOperator(bandwidth, ONE, n_components=400)
    weights = operator.eigenvalues * operator.means
    assert_allclose(weights[0] / np.linalg.norm(weights), true, atol=digits)
    precision = (np.sqrt(1 + 4 / bandwidth**2) - 1) / 2 + 1 / (bandwidth**2 + 1) + 1
    norm = ((bandwidth**2 + 1) / (bandwidth**2 + 3)) ** 0.25
    assert_allclose((1 + 4 / bandwidth**2) ** 0.125 / norm / np.sqrt(precision), true, atol=digits)


# --- 4.3.3: two normal parts ---------------------------------------------------------------------

MIXED = [0.4708894779, 0.3035028126, 0.1268904615, 0.0604572515, 0.0235789845, 0.0093350077]
MIXED += [0.0034276282]
MIXED_CENTERED = [
    0.3303904177,
    0.1342629830,
    0.0604584360,
    0.0282157082,
    0.0093398488,
    0.0038416572,
]
PRODUCTS = [
    0.45,
    0.3,
    0.1125,
    0.075,
    0.028125,
    0.01875,
    0.00703125,
    0.0046875,
    0.0017578,
    0.0011719,
]


def test_spectra_of_two_normal_parts():
    """Centered, the thesis has .1833, .1383, .0579, .0253."""
    plain = GaussianOperator(BANDWIDTH, TWO)
    assert_allclose(plain.eigenvalues[:7], MIXED, atol=5.1e-11)
    assert plain.error_bound < 1e-10
    assert_allclose(by_quadrature(gaussian(BANDWIDTH), TWO, 7, n=80), MIXED, atol=5.1e-11)
    centered = GaussianOperator(BANDWIDTH, TWO, center=True)
    assert_allclose(centered.eigenvalues[:6], MIXED_CENTERED, atol=5.1e-11)
    found = by_quadrature(gaussian(BANDWIDTH), TWO, 6, center=True, n=80)
    assert_allclose(found, MIXED_CENTERED, atol=5.1e-11)
    assert_allclose(1 - plain.entropy_terms.sum(), 0.568477378356, atol=5e-13)
    by_secular = secular_eigenvalues(plain.eigenvalues, plain.means)[:6]
    assert_allclose(by_secular, MIXED_CENTERED, atol=1e-10)


def test_separated_approximation_has_the_published_errors():
    found = separated_spectrum(Gaussian(BANDWIDTH), TWO)
    assert_allclose(found.eigenvalues, PRODUCTS, atol=5.1e-8)
    assert found.parts.tolist() == [0, 1] * 5
    printed = [-0.04, -0.01, -0.11, 0.24, 0.19, 1.01, 1.05]
    assert_allclose(found.relative_errors[:7], printed, atol=6e-3)
    exact = GaussianOperator(BANDWIDTH, TWO, n_components=6)
    X, w = nodes_of(TWO, 80)
    ours = found.eigenfunctions(X)[:, :6]
    cosines = np.abs(w @ (exact.eigenfunctions(X) * ours)) / np.sqrt(w @ ours**2)
    assert_allclose(cosines, [0.984, 0.913, 0.813, 0.466, 0.362, 0.124], atol=6e-4)


@pytest.mark.parametrize(
    ("distance", "worst"), [(4, 0.24), (5, 0.071), (6, 0.015), (8, 1.4e-4), (10, 1.9e-7)]
)
def test_separated_approximation_improves_with_distance(distance, worst):
    parts = [Normal(distance / 2, 1), Normal(-distance / 2, 1)]
    found = separated_spectrum(Gaussian(BANDWIDTH), Mixture([0.6, 0.4], parts))
    assert_allclose(np.abs(found.relative_errors[:4]).max(), worst, rtol=0.04)


COMPONENT_MEANS = [0.6437, 0.4735, -0.2063, 0.3095, 0.6788, 0.9312, -1.3265, 1.9898, 2.7158, 4.0548]


def component_means():
    """Means under the mixture of the parts' functions, normalized under their own part."""
    each = [GaussianOperator(BANDWIDTH, part, n_components=5) for part in TWO.parts]
    X, w = nodes_of(TWO, 120)
    return np.ravel([w @ operator.eigenfunctions(X) for operator in each], order="F")


def test_means_of_component_functions_equal_published_ones():
    found = component_means()
    assert_allclose(np.abs(found), np.abs(COMPONENT_MEANS), atol=5.1e-5)
    # odd functions have opposite signs on the two sides
    assert_allclose(np.sign(found[2] * found[3]), np.sign(-0.2063 * 0.3095))


def test_component_functions_do_not_give_the_centered_spectrum():
    """They overlap: both scalings give wrong values, and means of unit functions exceed 1."""
    values, means = np.array(PRODUCTS), component_means()
    first = np.linalg.eigvalsh(centered_matrix(values, means))[::-1][:3]
    assert_allclose(first, [0.368, 0.213, 0.109], atol=6e-4)
    means = means / np.sqrt(np.tile(TWO.weights, 5))
    second = np.linalg.eigvalsh(centered_matrix(values, means))[::-1][:3]
    assert_allclose(second, [0.372, 0.176, 0.108], atol=6e-4)
    assert_allclose((means**2).sum(), 70.7, atol=0.06)


def test_errors_of_the_thesis_reproduce_its_centered_spectrum():
    """It has (1 - μ)² on the diagonal, and means of the wrong polynomials."""
    means = [0.6437, 0.4735, -0.1032, 0.1547, 0.0559, 0.1491, -0.1342, 0.2013, 0.1209, 0.1707]
    values, means = np.array(PRODUCTS), np.array(means)
    M = centered_matrix(values, means)
    np.fill_diagonal(M, values * (1 - means) ** 2)
    wrong = np.linalg.eigvalsh(M)[::-1]
    assert_allclose(wrong[:4], [0.1833, 0.1383, 0.0579, 0.0253], atol=2e-4)
    assert_allclose(wrong[-1], -0.052, atol=6e-4)


# --- chapter 5: discriminants --------------------------------------------------------------------

B2 = [[9, -12, 0], [-12, 16, 0], [0, 0, 0]]
W2 = [[12, -12, 0], [-12, 30, -12], [0, -12, 18]]
B3 = [
    [324, -756, 810, -504],
    [-756, 1764, -1890, 1176],
    [810, -1890, 2025, -1260],
    [-504, 1176, -1260, 784],
]
W3 = [
    [181.5, -270, 157.5, 0],
    [-270, 670.5, -594, 157.5],
    [157.5, -594, 792, -324],
    [0, 157.5, -324, 303],
]
DISCRIMINANTS = [
    (1, [[9, -12], [-12, 16]], np.eye(2), 25, [-0.6, 0.8], [-0.6, 0.8]),
    (
        2,
        B2,
        W2,
        0.85,
        [0.1626978434, -0.1084652289, -0.0723101526],
        [0.1626978434, -0.2169304578, -0.0723101526],
    ),
    (
        3,
        B3,
        W3,
        4.388659202423,
        [0.0413672093, -0.0070771026, -0.0052490330, -0.0460453965],
        # the thesis has -.0142 and -.0104: the binomial coefficient 3 is replaced by 2
        [0.0413672093, -0.0212313079, -0.0157470991, -0.0460453965],
    ),
]


def test_moments_of_the_classes_equal_published_ones():
    first = [-1, 2, -4, 10, -26, 76]
    second = [2, 5, 14, 43, 142, 499]
    zero, one = CLASSES
    powers = range(1, 7)
    assert_allclose([one.moment((k, 0)) for k in powers], first)
    assert_allclose([one.moment((0, k)) for k in powers], second)
    assert_allclose([zero.moment((k, 0)) for k in powers], second)
    assert_allclose([zero.moment((0, k)) for k in powers], (-1.0) ** np.arange(1, 7) * second)


@pytest.mark.parametrize(("degree", "B", "W", "ratio", "C", "f"), DISCRIMINANTS)
def test_discriminants_equal_published_ones(degree, B, W, ratio, C, f):
    found = PolynomialDiscriminant(degree, CLASSES, [0.5, 0.5])
    assert_allclose(found.between, B, atol=1e-10)
    assert_allclose(found.within, W, atol=1e-10)
    assert_allclose(found.ratio, ratio, rtol=1e-12)
    assert_close_up_to_sign(found.thesis_coefficients, C, atol=5.1e-11)
    assert_close_up_to_sign(found.coefficients, f, atol=5.1e-11)
    # the variances between and within classes of f, by quadrature
    values = [nodes_of(measure, 8) for measure in CLASSES]
    means = [w @ found(X) for X, w in values]
    variances = [w @ (found(X) - m) ** 2 for (X, w), m in zip(values, means, strict=True)]
    assert_allclose((means[1] - means[0]) ** 2 / np.mean(variances), ratio, rtol=1e-10)
    assert_allclose(np.mean(variances), 1, rtol=1e-10)  # C'W*C = 1
    assert means[1] > means[0]


def test_cubic_discriminant_by_quadrature():
    """Coefficients W⁻¹(m₁ - m₀) on raw monomials, scaled to variance 1 within classes."""
    parts = []
    for measure in CLASSES:
        X, w = nodes_of(measure, 8)
        monomials, _ = features(X, 3)
        mean = w @ monomials
        parts.append((mean, (monomials - mean).T @ (w[:, None] * (monomials - mean))))
    within = np.mean([cov for _, cov in parts], axis=0)
    a = np.linalg.solve(within, parts[1][0] - parts[0][0])
    a /= np.sqrt(a @ within @ a)
    assert_close_up_to_sign(a, [0.0414, -0.0212, -0.0157, -0.0460], atol=6e-5)


def test_vector_d_of_the_cubic_equals_the_published_one():
    found = PolynomialDiscriminant(3, CLASSES, [0.5, 0.5])
    values, vectors = np.linalg.eigh(found.within)
    root = vectors * np.sqrt(values) @ vectors.T
    true = [0.437593, -0.492441, 0.399391, -0.637574]
    assert_close_up_to_sign(root @ found.thesis_coefficients, true, atol=6e-7)


def test_cosines_with_functions_without_binomial_coefficients():
    for degree, cosine in [(2, 0.944), (3, 0.966)]:
        f = PolynomialDiscriminant(degree, CLASSES, [0.5, 0.5])
        a, C = f.coefficients, f.thesis_coefficients
        assert_allclose(a @ C / np.linalg.norm(a) / np.linalg.norm(C), cosine, atol=6e-4)


def test_quadratic_discriminant_is_even():
    f = PolynomialDiscriminant(2, CLASSES, [0.5, 0.5])
    X = np.random.default_rng(0).normal(size=(20, 2))
    assert_allclose(f(-X), f(X))
    a, b, c = f.coefficients
    axis = np.degrees(np.arctan2(b, a - c) / 2) % 90  # of the quadratic form
    assert_allclose(axis, 158.6 - 90, atol=0.06)


# --- samples (part A.3) --------------------------------------------------------------------------

ERRORS = [
    (PolynomialOperator(2, SQUARE), 400, [0.0330, 0.0056, 0.00125]),
    (PolynomialOperator(2, CLOUDS), 400, [7.92, 1.64, 0.442]),
    (PolynomialOperator(3, CLOUDS), 400, [223, 49.1, 12.5, 4.0]),
    (GaussianOperator(BANDWIDTH, ONE, n_components=4), 1000, [0.0072, 0.0049, 0.0023, 0.0010]),
    (
        GaussianOperator(BANDWIDTH, ONE, n_components=4, center=True),
        1000,
        [0.0049, 0.0034, 0.0010, 0.0006],
    ),
    (GaussianOperator(BANDWIDTH, TWO, n_components=3), 1000, [0.0108, 0.0101, 0.0034]),
    (
        GaussianOperator(BANDWIDTH, TWO, n_components=4, center=True),
        1000,
        [0.0058, 0.0039, 0.0022, 0.0014],
    ),
]


@pytest.mark.parametrize(("operator", "n", "printed"), ERRORS)
def test_standard_errors_equal_published_ones(operator, n, printed):
    # half a unit of the last published digit is at most 1 %, for .0006 at most 1 in 12
    assert_allclose(operator.standard_errors(n), printed, rtol=0.012, atol=6e-5)


SAMPLES = [
    (operator, n, seed)
    for seed, (operator, _, _) in enumerate(ERRORS)
    for n in (400, 4000)
    if n == 4000 or operator.kernel != Polynomial(3)  # heavy tails need n = 4000
]


@pytest.mark.slow
@pytest.mark.parametrize(("operator", "n", "seed"), SAMPLES)
def test_gram_eigenvalues_are_near_the_population_ones(operator, n, seed):
    k = operator.n_components
    X = operator.measure.sample(n, random_state=100 * seed + n)
    solver = "dense" if n < 2000 else "auto"
    pca = KernelPCA(k, kernel=operator.kernel, center=operator.center, solver=solver).fit(X)
    error = np.abs(pca.eigenvalues_ / n - operator.eigenvalues)
    # standard errors are of first order; the second-order bias of small eigenvalues is at most λ1/n
    allowed = 5 * operator.standard_errors(n) + operator.eigenvalues[0] / n
    assert (error < allowed).all()


LIMITS = [(1, 400, 0.995), (2, 400, 0.90), (3, 400, 0.95)]  # below the 0.1 % quantiles
LIMITS += [(1, 1500, 0.999), (2, 1500, 0.97), (3, 1500, 0.985)]


@pytest.mark.slow
@pytest.mark.parametrize(("degree", "n", "limit"), LIMITS)
@pytest.mark.parametrize("regularization", [1e-6, 1e-3])
def test_kernel_discriminants_are_near_the_population_ones(degree, n, limit, regularization):
    mixture = Mixture([0.5, 0.5], CLASSES)
    truth = PolynomialDiscriminant(degree, CLASSES, [0.5, 0.5])
    nodes, weights = mixture_nodes(mixture, 8)
    f = truth(nodes)
    for seed in range(3 if n == 400 else 1):
        rng = np.random.default_rng(1000 * degree + seed)
        y = rng.integers(0, 2, n)
        X = np.where(y[:, None] == 1, [-1.0, 2.0], [2.0, -2.0]) + rng.normal(size=(n, 2))
        model = KernelLDA(kernel=Polynomial(degree), regularization=regularization).fit(X, y)
        found = model.transform(nodes)[:, 0]
        covariance = np.cov(found, f, aweights=weights, bias=True)
        assert covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]) >= limit
        # λ of the thesis is δ'W⁻¹δ, and the variance within classes is 1
        ratio = model.eigenvalues_[0] / np.prod(model.priors_)
        assert_allclose(ratio, truth.ratio, rtol=10 / np.sqrt(n))
        assert_allclose(np.sqrt(covariance[0, 0] / covariance[1, 1]), 1, atol=6 / np.sqrt(n))


def test_discriminant_of_empirical_measures_equals_kernel_lda():
    # population discriminant with sample moments, as in Figure 5.5
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(60, 2)) + measure.mean for measure in CLASSES]
    truth = PolynomialDiscriminant(3, [Empirical(part) for part in X], [0.5, 0.5])
    model = KernelLDA(kernel=Polynomial(3), regularization=0).fit(
        np.vstack(X), np.repeat([0, 1], 60)
    )
    points = rng.normal(size=(40, 2))
    found, expected = model.transform(points)[:, 0], truth(points)
    assert_allclose(found - found.mean(), expected - expected.mean(), rtol=1e-7, atol=1e-8)
    assert_allclose(4 * model.eigenvalues_[0], truth.ratio, rtol=1e-8)
