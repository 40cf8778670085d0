"""Gaussian operators of Liang 2014: one normal part and two."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import eval_hermite, factorial

from mercer.kernels import Gaussian
from mercer.population import GaussianOperator, KernelOperator, Mixture, Normal, separated_spectrum
from mercer.population.gaussian import centered_matrix, secular_eigenvalues
from tests.papers.liang_2014_measures import (
    BANDWIDTH,
    ONE,
    TWO,
    assert_close_up_to_sign,
    by_quadrature,
    gaussian,
    nodes_of,
)

# --- 4.3.2: Gaussian kernel, one normal part ------------------------------------------------------

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
    values, centered = values[::-1][:6], vectors[:, ::-1][:, :6] / root[:, None]
    s = np.sqrt(1 + 4 / BANDWIDTH**2)
    order = np.arange(7)
    plain = eval_hermite(order, np.sqrt(s / 2) * z[:, None]) * np.exp(-(s - 1) * z**2 / 4)[:, None]
    plain *= s**0.25 / np.sqrt(2.0**order * factorial(order))  # physicists' polynomials
    found = (0.75 / 4.0**order)[:, None] * ((plain * w[:, None]).T @ centered) / np.sqrt(values)
    true = np.zeros((7, 6))
    true[1, 0], true[3, 2], true[5, 4] = np.sqrt([0.1875, 0.1875 / 16, 0.1875 / 256])
    true[[0, 2, 4, 6], 1] = [-0.505331, 0.175799, 0.000785, 0.000011]
    true[[0, 2, 4, 6], 3] = [0.310842, 0.059297, -0.048293, -0.000143]
    true[[0, 2, 4, 6], 5] = [0.236816, 0.042043, 0.009773, -0.012511]
    for i in range(6):
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


# --- 4.3.3: two normal parts ----------------------------------------------------------------------

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


def test_centered_eigenfunctions_of_the_mixture_by_quadrature():
    """Coefficients c = λ E[φ φ~] / √λ~ of the printed functions, from eigenvectors on nodes."""
    X, w = nodes_of(TWO, 80)
    root = np.sqrt(w)
    K = root[:, None] * np.exp(-((X - X.T) ** 2) / 4.5) * root
    P = np.eye(len(w)) - np.outer(root, root)
    values, plain = (a[..., ::-1] for a in np.linalg.eigh(K))
    centered_values, centered = (a[..., ::-1] for a in np.linalg.eigh(P @ K @ P))
    plain = plain * np.sign(root @ plain)  # positive means
    plain[:, 2] *= -1  # but that of function 3
    found = values[:6, None] * (plain[:, :6].T @ centered[:, :4]) / np.sqrt(centered_values[:4])
    for i, (functions, true) in enumerate(
        [
            ([1, 2], [0.3317, -0.4820]),
            ([3, 2, 1], [0.3410, 0.0901, 0.1629]),
            ([4, 1, 2], [0.2459, -0.0028, -0.0013]),
            ([5, 1, 2, 4, 6], [-0.1390, 0.2403, 0.1074, 0.0008, -0.0005]),
        ]
    ):
        assert_close_up_to_sign(found[np.array(functions) - 1, i], true, atol=5.1e-5)


def test_errors_of_the_thesis_reproduce_its_centered_functions_of_the_mixture():
    """Its matrix has wrong means and (1 - μ)² on the diagonal; one printed sign is a slip."""
    means = [0.6437, 0.4735, -0.1032, 0.1547, 0.0559, 0.1491, -0.1342, 0.2013, 0.1209, 0.1707]
    values, means = np.array(PRODUCTS), np.array(means)
    M = centered_matrix(values, means)
    np.fill_diagonal(M, values * (1 - means) ** 2)
    found = np.sqrt(values)[:, None] * np.linalg.eigh(M)[1][:, ::-1]
    assert_close_up_to_sign(found[[0, 1], 0], [0.4494, -0.4043], atol=2e-4)
    # printed: .3330 -.0640 -.0150
    assert_close_up_to_sign(found[[2, 1, 0], 1], [0.3330, 0.0640, 0.0150], atol=2e-4)
    assert_close_up_to_sign(found[[3, 0, 1], 2], [0.2676, -0.0889, -0.0875], atol=2e-4)
    printed = [-0.1670, 0.0305, 0.0261, 0.0089, -0.0057]
    assert_close_up_to_sign(found[[4, 0, 1, 3, 5], 3], printed, atol=2e-4)


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
