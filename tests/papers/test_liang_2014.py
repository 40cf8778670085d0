"""Liang, Eigen-analysis of Kernel Operators for Nonlinear Dimension Reduction, thesis 2014.

Numbers come from the thesis as corrected by the project's list of errata. Each is computed twice:
by the closed form of the library, and by quadrature that is implemented in the tests. This file has
the polynomial operators.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import Polynomial
from mercer.population import Normal, PolynomialOperator
from mercer.population.measure import count_monomials
from tests.papers.liang_2014_measures import (
    CLOUDS,
    SQUARE,
    assert_close_up_to_sign,
    by_quadrature,
    features,
    nodes_of,
    polynomial,
    shifted,
)

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
