"""Kernels: their formulas, their algebra, their parameters, and the contract that catches defects.

Naive versions are double loops over points, written from the formulas in the documentation.
"""

from __future__ import annotations

import pickle
from math import exp, gamma, inf, pi, prod, sqrt, tanh

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.spatial.distance import cdist
from scipy.special import kv
from scipy.stats import gamma as gamma_law
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Matern as SklearnMatern
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import pairwise
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import get_tags

from mercer import KernelECA, KernelPCA
from mercer.bandwidth import fit_kernel
from mercer.datasets import make_rings
from mercer.kernels import (
    Cosine,
    Epanechnikov,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    On,
    Polynomial,
    Precomputed,
    Product,
    Scaled,
    Sigmoid,
    Sum,
    as_kernel,
    check_kernel,
)
from mercer.preimages import input_distances, length_scales
from tests.expectations import raises

BANDWIDTHS = (0.7, 1.3, 2.0, 0.4)


def points(n=17, d=4, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d))
    X.setflags(write=False)
    return X


def naive(formula, X, Y):
    return np.array([[formula(list(x), list(y)) for y in Y] for x in X])


def scaled_distance(x, y, b):
    b = b if isinstance(b, tuple) else (b,) * len(x)
    return sqrt(sum(((p - q) / s) ** 2 for p, q, s in zip(x, y, b, strict=True)))


def dot(x, y):
    return sum(p * q for p, q in zip(x, y, strict=True))


def matern(r, nu):
    if nu == inf:
        return exp(-r * r / 2)
    t = sqrt(2 * nu) * r
    return 1.0 if t == 0 else 2 ** (1 - nu) / gamma(nu) * t**nu * float(kv(nu, t))


def laplacian(x, y, b):
    b = b if isinstance(b, tuple) else (b,) * len(x)
    return exp(-sum(abs(p - q) / s for p, q, s in zip(x, y, b, strict=True)))


def array_of(b):
    return np.array(b) if isinstance(b, tuple) else b


FORMULAS = [
    *[
        (Gaussian(array_of(b)), lambda x, y, b=b: exp(-(scaled_distance(x, y, b) ** 2) / 2))
        for b in (0.5, 1.0, 3.0, BANDWIDTHS)
    ],
    *[
        (Laplacian(array_of(b)), lambda x, y, b=b: laplacian(x, y, b))
        for b in (0.5, 2.0, BANDWIDTHS)
    ],
    *[
        (Matern(array_of(b), nu), lambda x, y, b=b, nu=nu: matern(scaled_distance(x, y, b), nu))
        for b in (1.3, BANDWIDTHS)
        for nu in (0.5, 0.8, 1.5, 2.5, 3.7, 6.0, inf)
    ],
    *[
        (
            Epanechnikov(array_of(b)),
            lambda x, y, b=b: max(0.0, 1 - scaled_distance(x, y, b) ** 2),
        )
        for b in (0.5, 2.5, (2.0, 3.0, 4.0, 1.5))
    ],
    (Linear(), dot),
    (Linear(0.3, 2.0), lambda x, y: 2.0 + 0.3 * dot(x, y)),
    (Linear(-1.0), lambda x, y: -dot(x, y)),
    (Polynomial(), lambda x, y: dot(x, y) ** 2),
    (Polynomial(3, 1.5, 0.4), lambda x, y: (1.5 + 0.4 * dot(x, y)) ** 3),
    (Polynomial(1, 0.0, 2.0), lambda x, y: 2 * dot(x, y)),
    (Sigmoid(), lambda x, y: tanh(dot(x, y))),
    (Sigmoid(0.2, -0.5), lambda x, y: tanh(0.2 * dot(x, y) - 0.5)),
    (Cosine(), lambda x, y: dot(x, y) / sqrt(dot(x, x) * dot(y, y))),
]
IDS = [repr(kernel) for kernel, _ in FORMULAS]


# --- the contract and the formulas -------------------------------------------------------------


@pytest.mark.parametrize("kernel", [kernel for kernel, _ in FORMULAS], ids=IDS)
def test_check_kernel_passes_for_every_kernel(kernel):
    check_kernel(kernel)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.0) + Linear() + Cosine(),
        Gaussian(1.0) * Polynomial(2, 1.0),
        2.5 * Laplacian(1.0) * Matern(2.0),
        -1.0 * Gaussian(1.0),
        0.5 * Linear(1.0, 1.0),
        3.0 * Cosine(),
    ],
    ids=repr,
)
def test_check_kernel_passes_for_combinations(kernel):
    check_kernel(kernel)


@pytest.mark.parametrize(("kernel", "formula"), FORMULAS, ids=IDS)
def test_kernel_equals_its_formula(kernel, formula):
    X, Y = points(), points(9, seed=1)
    # Values are at most ~(|x|²)³ ~ 1e3 and come from a few dozen roundings of eps = 2e-16, on
    # distances of a few bandwidths (squares ~100): 1e-12 relative leaves a factor of ten.
    assert_allclose(kernel(X, Y), naive(formula, X, Y), rtol=1e-12, atol=1e-13)
    # Near 0 √h amplifies rounding, so the diagonal of K is asked for exactly where k(x, x) = 1.
    assert_allclose(kernel(X), naive(formula, X, X), rtol=1e-12, atol=1e-13)
    assert_allclose(
        kernel.diagonal(X), [formula(list(x), list(x)) for x in X], rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize("nu", [0.3, 1.0, 3.7, 4.5, 5.0, 10.0, 30.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_matern_of_any_smoothness_is_finite_near_and_far(nu, dtype):
    X = np.array([[0.0], [0.0], [1e-12], [1e-5], [0.1], [1.0], [10.0], [30.0]], dtype)
    K = Matern(1.0, nu)(X)
    assert np.isfinite(K).all()
    eps = np.finfo(dtype).eps
    assert_allclose(K[:2, :2], np.ones((2, 2)), rtol=0, atol=16 * eps)  # Bessel functions
    assert (np.diff(K[0]) <= 1e-6).all()  # falls with distance (float32 Bessel functions round)
    for far in (1e4, 1e9, 1e15):
        assert Matern(1.0, nu)(X[:1], np.array([[far]], dtype))[0, 0] == 0


@pytest.mark.parametrize("nu", [0.8, 3.3, 30.5, 99.9, 100.1, 170.3, 300.0, 700.0, 2000.5, 1e6])
def test_matern_is_a_mean_of_gaussians(nu):
    """``k(r) = E exp(-ν r² / 2G)`` for G with the distribution Gamma(ν), for every ν."""
    r = np.array([0.0, 1e-8, 1e-3, 0.03, 0.3, 1.0, 2.0, 5.0])
    cells = 20_000
    u = gamma_law.isf((np.arange(cells) + 0.5) / cells, nu)
    naive = np.exp(-nu * r[:, None] ** 2 / (2 * u)).mean(axis=1)
    K = Matern(1.0, nu)(np.zeros((1, 1)), r[:, None])[0]
    assert_allclose(K, naive, rtol=3e-4, atol=1e-6)  # the mean is one over quantiles
    assert K[0] == 1
    logs = Matern(1.0, nu).log_tiles(np.zeros((1, 1)), r[:, None])(slice(None), slice(None), None)
    assert_allclose(logs[0], np.log(K), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("nu", [99.9, 100.1, 170.3, 300.0, 700.0, 2000.5])
def test_matern_of_large_smoothness_equals_its_series(nu):
    """``Σ_j (t²/4)^j / j! / (1 - ν)_j`` with ``t = √(2ν) r``, all terms that matter."""
    r = np.array([0.001, 0.003, 0.01, 0.1, 0.3, 0.6, 1.0, 2.0])
    term, total = np.ones(8), np.ones(8)
    for j in range(1, 60):
        term = term * (nu * r**2 / 2) / (j * (j - nu))
        total = total + term
    assert_allclose(Matern(1.0, nu)(np.zeros((1, 1)), r[:, None])[0], total, rtol=1e-12)


def test_large_smoothness_approaches_the_gaussian():
    X = points()
    # k differs from its limit by O(1/ν): the next term of the expansion is r⁴/(16 ν) exp(-r²/2)
    # or less, whose largest value over r is below 0.14·(1/ν)·4.
    assert_allclose(Matern(2.0, 100.0)(X), Gaussian(2.0)(X), atol=6e-3)


# --- agreement with scikit-learn ---------------------------------------------------------------


@pytest.mark.parametrize("bandwidth", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_agrees_with_scikit_learn(bandwidth, dtype):
    X, Y = points().astype(dtype), points(9, seed=1).astype(dtype)
    g = 1 / (2 * bandwidth**2)
    pairs = [
        (Gaussian(bandwidth), pairwise.rbf_kernel(X, Y, gamma=g)),
        (Laplacian(bandwidth), pairwise.laplacian_kernel(X, Y, gamma=1 / bandwidth)),
        (
            Polynomial(3, 0.5, 1 / bandwidth),
            pairwise.polynomial_kernel(X, Y, degree=3, gamma=1 / bandwidth, coef0=0.5),
        ),
        (
            Sigmoid(0.1 * bandwidth, 0.2),
            pairwise.sigmoid_kernel(X, Y, gamma=0.1 * bandwidth, coef0=0.2),
        ),
        (Linear(), pairwise.linear_kernel(X, Y)),
        (Cosine(), pairwise.cosine_similarity(X, Y)),
        *[
            (Matern(bandwidth, nu), SklearnMatern(bandwidth, nu=nu)(X, Y))
            for nu in (0.5, 1.5, 2.5, inf)
        ],
    ]
    # ~100 roundings of exponents up to ~(8 / 0.3)²/2 ~ 350 at the smallest bandwidth.
    eps = float(np.finfo(dtype).eps)
    for kernel, expected in pairs:
        found = kernel(X, Y)
        assert found.dtype == dtype
        limit = 100 * eps * max(1.0, float(np.abs(expected).max()))
        assert_allclose(found, expected, rtol=0, atol=limit, err_msg=repr(kernel))


def test_general_matern_and_per_dimension_length_scales_agree_with_scikit_learn():
    X, Y = points(), points(9, seed=1)
    for nu in (0.7, 1.5, 3.2):
        expected = SklearnMatern(BANDWIDTHS, nu=nu)(X, Y)
        assert_allclose(Matern(np.array(BANDWIDTHS), nu)(X, Y), expected, rtol=1e-11, atol=1e-13)


def test_a_row_of_zeros_has_cosine_zero_with_everything():
    X = np.vstack([np.zeros(3), points(4, 3)])
    K = Cosine()(X)
    assert_array_equal(K[0], 0)
    assert_array_equal(Cosine().diagonal(X)[0], 0)
    assert_allclose(K, pairwise.cosine_similarity(X), atol=1e-15)


# --- normalizers -------------------------------------------------------------------------------

DENSITIES = [
    lambda b: Gaussian(b),
    lambda b: Laplacian(b),
    lambda b: Epanechnikov(b),
    *[lambda b, nu=nu: Matern(b, nu) for nu in (0.5, 1.5, 2.5, 3.2, inf)],
]


@pytest.mark.parametrize("make_kernel", DENSITIES)
@pytest.mark.parametrize("bandwidth", [0.4, 1.7])
def test_normalizer_is_the_integral_in_one_dimension(make_kernel, bandwidth):
    kernel = make_kernel(bandwidth)
    reach = bandwidth if isinstance(kernel, Epanechnikov) else inf
    half, _ = quad(lambda t: float(kernel([[0.0]], [[t]])[0, 0]), 0, reach, epsabs=1e-11)
    assert_allclose(kernel.normalizer(1), 2 * half, rtol=1e-8)  # quad's default epsrel: 1.5e-8


@pytest.mark.parametrize("make_kernel", [w for w in DENSITIES if not isinstance(w(1.0), Laplacian)])
def test_normalizer_is_the_integral_in_two_dimensions(make_kernel):
    bandwidths = np.array([0.6, 1.9])
    kernel = make_kernel(bandwidths)
    angle = np.arange(16) * 2 * pi / 16 + 0.1
    circle = np.column_stack([np.cos(angle), np.sin(angle)]) * bandwidths

    def ring(r):  # polar coordinates in units of the bandwidths
        return r * float(kernel([[0.0, 0.0]], r * circle).mean())

    total, _ = quad(ring, 0, 1 if isinstance(kernel, Epanechnikov) else inf, epsabs=1e-11)
    assert_allclose(kernel.normalizer(2), 2 * pi * prod(bandwidths) * total, rtol=1e-8)


def test_normalizer_of_the_laplacian_in_two_dimensions():
    bandwidths = np.array([0.6, 1.9])
    nodes, weights = np.polynomial.legendre.leggauss(120)
    t = 20 * (nodes + 1)  # one quadrant, to 40 bandwidths: the omitted tail is exp(-40)
    grid = np.column_stack([np.repeat(t, 120), np.tile(t, 120)]) * bandwidths
    values = Laplacian(bandwidths)([[0.0, 0.0]], grid)[0]
    total = 4 * 400 * prod(bandwidths) * (values @ np.outer(weights, weights).ravel())
    assert_allclose(Laplacian(bandwidths).normalizer(2), total, rtol=1e-12)


def test_normalizers_in_closed_form():
    b = np.array([0.5, 2.0, 3.0])
    volume = b.prod()
    ball = 4 / 3 * pi
    assert_allclose(Gaussian(b).normalizer(3), (2 * pi) ** 1.5 * volume, rtol=1e-14)
    assert_allclose(Laplacian(b).normalizer(3), 8 * volume, rtol=1e-14)
    assert_allclose(Epanechnikov(b).normalizer(3), 2 * volume * ball / 5, rtol=1e-14)
    assert_allclose(Matern(b, 0.5).normalizer(3), 8 * pi * volume, rtol=1e-13)  # exp(-r)
    assert_allclose(Matern(b, inf).normalizer(3), Gaussian(b).normalizer(3), rtol=1e-14)
    both = Gaussian(1.0) + 2.5 * Laplacian(1.0)
    assert_allclose(both.normalizer(2), 2 * pi + 2.5 * 4, rtol=1e-14)


@pytest.mark.parametrize("make_kernel", DENSITIES)
def test_log_normalizer_is_finite_where_the_normalizer_overflows(make_kernel):
    kernel = make_kernel(1000.0)
    assert np.isfinite(kernel.log_normalizer(500))
    assert kernel.normalizer(500) == inf
    half = make_kernel(1000.0).log_normalizer(500) - make_kernel(500.0).log_normalizer(500)
    assert_allclose(half, 500 * np.log(2), rtol=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [
        Linear(),
        Polynomial(),
        Sigmoid(),
        Cosine(),
        Precomputed(),
        Gaussian(1.0) + Linear(),
        -1.0 * Gaussian(1.0),
        2.0 * Linear(),
    ],
    ids=repr,
)
def test_non_densities_have_no_normalizer(kernel):
    assert not kernel.is_density
    for ask in (kernel.log_normalizer, kernel.normalizer):
        with raises(ValueError, "Gaussian", "Laplacian"):
            ask(2)


def test_is_density():
    for make_kernel in DENSITIES:
        assert make_kernel(1.0).is_density
    assert (Gaussian(1.0) + Laplacian(2.0)).is_density
    assert (3.0 * Gaussian(1.0)).is_density


def test_only_the_gaussian_has_a_self_convolution():
    assert Gaussian(3.0).self_convolution().bandwidth == pytest.approx(3 * sqrt(2), rel=1e-15)
    bandwidths = Gaussian(np.array([1.0, 2.0])).self_convolution().bandwidth
    assert_allclose(bandwidths, sqrt(2) * np.array([1.0, 2.0]), rtol=1e-15)
    with raises(ValueError, "Laplacian", "Gaussian"):
        Laplacian(1.0).self_convolution()


# --- algebra on random trees -------------------------------------------------------------------

number = st.floats(0.25, 4.0)
small = st.floats(0.0, 1.0)


def leaf(kernel, formula, psd=True):
    return kernel, formula, psd


leaves = st.one_of(
    number.map(lambda b: leaf(Gaussian(b), lambda X, Y: np.exp(-(cdist(X, Y) ** 2) / (2 * b * b)))),
    st.lists(number, min_size=3, max_size=3).map(
        lambda b: leaf(
            Gaussian(np.array(b)), lambda X, Y: np.exp(-(cdist(X / b, Y / np.array(b)) ** 2) / 2)
        )
    ),
    number.map(lambda b: leaf(Laplacian(b), lambda X, Y: np.exp(-cdist(X, Y, "cityblock") / b))),
    number.map(
        lambda b: leaf(
            Matern(b),
            lambda X, Y: (1 + sqrt(3) * cdist(X, Y) / b) * np.exp(-sqrt(3) * cdist(X, Y) / b),
        )
    ),
    number.map(
        lambda b: leaf(
            Epanechnikov(b), lambda X, Y: np.maximum(0, 1 - cdist(X, Y) ** 2 / b**2), False
        )
    ),
    st.tuples(small, small).map(
        lambda c: leaf(Linear(c[0], c[1]), lambda X, Y: c[1] + c[0] * (X @ Y.T))
    ),
    st.tuples(st.integers(1, 3), small).map(
        lambda c: leaf(Polynomial(c[0], c[1]), lambda X, Y: (c[1] + X @ Y.T) ** c[0])
    ),
    small.map(lambda s: leaf(Sigmoid(s), lambda X, Y: np.tanh(s * (X @ Y.T)), False)),
    st.just(leaf(Cosine(), lambda X, Y: 1 - cdist(X, Y, "cosine"))),
)


def joined(children):
    pairs = st.tuples(children, children)
    factors = st.tuples(st.one_of(number, number.map(lambda c: -c)), children, st.booleans())
    return st.one_of(
        pairs.map(
            lambda p: (
                p[0][0] + p[1][0],
                lambda X, Y: p[0][1](X, Y) + p[1][1](X, Y),
                p[0][2] and p[1][2],
            )
        ),
        pairs.map(
            lambda p: (
                p[0][0] * p[1][0],
                lambda X, Y: p[0][1](X, Y) * p[1][1](X, Y),
                p[0][2] and p[1][2],
            )
        ),
        factors.map(
            lambda f: (
                f[0] * f[1][0] if f[2] else f[1][0] * f[0],
                lambda X, Y: f[0] * f[1][1](X, Y),
                f[0] > 0 and f[1][2],
            )
        ),
    )


trees = st.recursive(leaves, joined, max_leaves=6)
LEFT, RIGHT = points(12, 3), points(7, 3, seed=1)


def close(found, expected):
    # Up to six factors of size (|x|²)³ ~ 1e3, each with ~100 roundings; 1 - ‖x-y‖²/b² loses a
    # factor (|x|/b)² ~ 600 and differences of a sum are measured against its largest part.
    assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * max(1.0, np.abs(expected).max()))


@settings(max_examples=100, deadline=None)
@given(trees)
def test_kernel_algebra_is_matrix_algebra(tree):
    kernel, on_arrays, psd = tree
    expected = on_arrays(LEFT, RIGHT)
    found = kernel(LEFT, RIGHT)
    close(found, expected)
    close(kernel(LEFT), on_arrays(LEFT, LEFT))
    close(kernel.diagonal(LEFT), on_arrays(LEFT, LEFT).diagonal())
    # (1 - cos) from cdist leaves rounding on the diagonal, which `close` allows for
    rows, columns = slice(3, 9), slice(2, 5)
    out = np.full((6, 3), np.nan)
    assert kernel.tiles(LEFT, RIGHT)(rows, columns, out) is out
    close(out, expected[rows, columns])
    close(kernel.tiles(LEFT)(rows, rows, None), on_arrays(LEFT, LEFT)[rows, rows])
    assert kernel.is_psd == psd or not kernel.is_psd
    if psd:
        assert kernel.is_psd


@settings(max_examples=60, deadline=None)
@given(trees)
def test_trees_with_is_psd_are_positive_semidefinite(tree):
    kernel, _, _ = tree
    if not kernel.is_psd:
        return
    values = np.linalg.eigvalsh(kernel(LEFT))
    # Entrywise rounding e of K moves an eigenvalue by at most n·e.
    assert values[0] >= -1e-12 * len(LEFT) * max(values[-1], np.abs(kernel(LEFT)).max())


@settings(max_examples=60, deadline=None)
@given(trees)
def test_parameters_survive_clone_pickle_and_set_params(tree):
    kernel, _, _ = tree
    K = kernel(LEFT, RIGHT)
    before = repr(kernel)
    copies = [
        clone(kernel),
        pickle.loads(pickle.dumps(kernel)),
        clone(kernel).set_params(**kernel.get_params()),
    ]
    for copy in copies:
        assert copy == kernel
        assert hash(copy) == hash(kernel)
        assert_array_equal(copy(LEFT, RIGHT), K)
    changed = clone(kernel)
    scalars = {
        name: value * 1.5
        for name, value in kernel.get_params().items()
        if name.rpartition("__")[2] in ("bandwidth", "scale", "factor")
    }
    changed.set_params(**scalars)
    found = changed.get_params()
    for name, value in scalars.items():
        assert_array_equal(found[name], value)
    assert repr(kernel) == before, "a clone shares its parts with the original"
    assert_array_equal(kernel(LEFT, RIGHT), K)


def test_combinations_flatten_and_name_their_terms():
    kernel = Gaussian(1.0) + Laplacian(2.0) + 3.0 * Polynomial(2) * Linear()
    assert isinstance(kernel, Sum)
    assert len(kernel.terms) == 3
    assert isinstance(kernel.terms[2], Product)
    params = kernel.get_params()
    assert params["0__bandwidth"] == 1.0
    assert params["1__bandwidth"] == 2.0
    assert params["2__0__factor"] == 3.0
    assert params["2__0__kernel__degree"] == 2
    assert params["2__1__constant"] == 0.0
    kernel.set_params(**{"0__bandwidth": 5.0, "2__0__kernel__degree": 3})
    assert kernel.terms[0].bandwidth == 5.0
    assert kernel == Gaussian(5.0) + Laplacian(2.0) + 3.0 * Polynomial(3) * Linear()


def test_numpy_scalars_multiply_from_either_side():
    X = points()
    for factor in (np.float64(2.0), np.int64(2), 2):
        for kernel in (factor * Gaussian(1.0), Gaussian(1.0) * factor):
            assert isinstance(kernel, Scaled)
            assert_array_equal(kernel(X), 2 * Gaussian(1.0)(X))


def test_errors_for_unknown_parameters_list_the_known_ones():
    with raises(ValueError, "'gamma'", "bandwidth"):
        Gaussian(1.0).set_params(gamma=2.0)
    with raises(ValueError, "'2__bandwidth'", "0__bandwidth"):
        (Gaussian(1.0) + Laplacian(1.0)).set_params(**{"2__bandwidth": 2.0})


def test_nested_parameters_are_set_after_the_part_that_holds_them():
    # as in scikit-learn, whatever the order in which a grid search names them
    kernel = (2.0 * Gaussian(1.0)).set_params(kernel__bandwidth=3.0, kernel=Laplacian(1.0))
    assert kernel == 2.0 * Laplacian(3.0)


def test_kernels_that_differ_are_not_equal():
    assert Gaussian(1.0) != Laplacian(1.0)
    assert Gaussian(1.0) != Gaussian(2.0)
    assert Gaussian(np.array([1.0, 2.0])) != Gaussian(np.array([1.0 + 1e-10, 2.0]))
    many = np.ones(2000)
    other = many.copy()
    other[1000] = 2.0
    assert Gaussian(many) != Gaussian(other)


def test_kernels_on_different_data_cannot_be_combined():
    class OnObjects(Kernel):
        compares = "objects"

    with raises(ValueError, "objects", "vectors"):
        KernelPCA(kernel=Gaussian(1.0) + OnObjects()).fit(points())
    with raises(ValueError, "gram", "Precomputed()"):
        KernelPCA(kernel=Precomputed() + Precomputed()).fit(np.eye(4))


def test_multiples_of_a_precomputed_kernel_raise():
    K = Gaussian(1.0)(points())
    plain = KernelPCA(kernel="precomputed").fit(K).eigenvalues_
    try:
        scaled = KernelPCA(kernel=2.0 * Precomputed()).fit(K).eigenvalues_
    except ValueError:
        return  # raises, like a sum of precomputed kernels
    assert_allclose(scaled, 2 * plain, rtol=1e-10)


def test_as_kernel():
    for name, kind in [
        ("gaussian", Gaussian),
        ("rbf", Gaussian),
        ("laplacian", Laplacian),
        ("polynomial", Polynomial),
        ("linear", Linear),
        ("sigmoid", Sigmoid),
        ("cosine", Cosine),
        ("precomputed", Precomputed),
    ]:
        assert type(as_kernel(name)) is kind
    kernel = Gaussian(2.0)
    assert as_kernel(kernel) is kernel
    for wrong in ("gauss", 3, None, Gaussian, ["gaussian"]):
        with raises(ValueError, repr(wrong), "'gaussian'", "'rbf'", "'precomputed'"):
            as_kernel(wrong)


# --- the contract catches defects --------------------------------------------------------------


class _Plain(Gaussian):
    """A Gaussian defined by its formula, a base class of defective kernels."""

    def tiles(self, X, Y=None):
        return Kernel.tiles(self, X, Y)

    def matrix(self, X, Y):
        return np.exp(-(cdist(X, Y) ** 2) / (2 * self.bandwidth**2)).astype(X.dtype)


class _Asymmetric(_Plain):
    def matrix(self, X, Y):
        return super().matrix(X, Y) + 1e-6 * X[:, :1]


class _WrongDiagonal(_Plain):
    def diagonal(self, X):
        return np.full(len(X), 1 + 1e-6, X.dtype)


class _FalsePsd(Epanechnikov):
    is_psd = True


class _Mutating(_Plain):
    def matrix(self, X, Y):
        X += 1.0
        return super().matrix(X, Y)


class _LosesSingle(_Plain):
    def matrix(self, X, Y):
        return super().matrix(X, Y).astype(np.float64)


class _WrongTile(_Plain):
    def tiles(self, X, Y=None):
        inner = super().tiles(X, Y)

        def tile(rows, columns, out):
            offset = 0 if rows == slice(None) else 1e-6
            block = inner(rows, columns, out)
            block += offset
            return block

        return tile


class _WrongFeatures(Linear):
    def features(self, X):
        return 1.001 * super().features(X)


class _Forgetful(_Plain):
    def get_params(self, deep=True):
        return {"bandwidth": 1.0}


class _NotFinite(_Plain):
    def matrix(self, X, Y):
        K = super().matrix(X, Y)
        K[K < 0.01] = np.nan
        return K


class _Cropped(_Plain):
    def __call__(self, X, Y=None):
        return super().__call__(X, Y)[:-1]


class _CroppedCross(_Plain):
    def __call__(self, X, Y=None):
        K = super().__call__(X, Y)
        return K if Y is None else K[:, :-1]


class _OtherWithItself(_Plain):
    def __call__(self, X, Y=None):
        K = super().__call__(X, Y)
        return K if Y is None else 2 * K


class _NotTheTranspose(_Plain):
    def matrix(self, X, Y):
        return super().matrix(X, Y) * (1 if len(X) >= len(Y) else 2)


class _Elsewhere(_Plain):
    def tiles(self, X, Y=None):
        inner = super().tiles(X, Y)
        return lambda rows, columns, out: inner(rows, columns, None)


class _SharesTiles(_Plain):
    """Returns the same array for every tile of the same points."""

    def tiles(self, X, Y=None):
        K = super().tiles(X, Y)(slice(None), slice(None), None)

        def tile(rows, columns, out):
            if out is None:
                return K[rows, columns]
            out[...] = K[rows, columns]
            return out

        return tile


class _ReadOnlyTiles(_Plain):
    def tiles(self, X, Y=None):
        inner = super().tiles(X, Y)

        def tile(rows, columns, out):
            block = inner(rows, columns, out)
            block.flags.writeable = out is not None
            return block

        return tile


def test_check_kernel_accepts_a_kernel_defined_by_matrix():
    check_kernel(_Plain(0.7))


class _Cached(Kernel):
    """Computes its Gram matrix once and returns the stored array."""

    def __init__(self):
        self._stored = {}

    def matrix(self, X, Y):
        key = X.tobytes(), Y.tobytes()
        if key not in self._stored:
            self._stored[key] = Gaussian(1.0)(X, Y)
        return self._stored[key]


class _Constant(Kernel):
    """Returns a read-only broadcast array."""

    def matrix(self, X, Y):
        return np.broadcast_to(X.dtype.type(0.5), (len(X), len(Y)))


@pytest.mark.parametrize("inner", [_Cached, _Constant])
@pytest.mark.parametrize(
    "combine",
    [
        lambda k: 2.0 * k,
        lambda k: k + k,
        lambda k: k * k,
        lambda k: k + Gaussian(2.0),
        lambda k: k * Gaussian(2.0),
    ],
)
def test_algebra_does_not_change_arrays_that_a_kernel_stores(inner, combine):
    X, kernel = points(), inner()
    expected = combine(Gaussian(1.0) if inner is _Cached else _Constant())(X).copy()
    for _ in range(3):
        assert_allclose(combine(kernel)(X), expected, rtol=1e-14)


def test_logarithms_and_missing_values_do_not_change_stored_arrays():
    X, kernel = points(), _Cached()
    expected = kernel(X).copy()
    kernel.log_tiles(X, X)(slice(None), slice(None), None)
    assert_array_equal(kernel(X), expected)
    table = np.array([[0.0], [1.0], [np.nan]])
    on = fit_kernel(On(0, kernel), table)
    first = on(table)
    assert_array_equal(on(table), first)


def test_sum_of_a_list_of_kernels():
    assert sum([Gaussian(1.0), Linear()]) == Gaussian(1.0) + Linear()
    with raises(TypeError):
        1.0 + Gaussian(1.0)


def test_nested_multiples_are_read_in_linear_time():
    """Each kernel is asked once for the data that it compares, not 2^depth times."""
    reads = 0

    class Counting(Kernel):
        @property
        def compares(self):
            nonlocal reads
            reads += 1
            return "vectors"

    kernel = Counting()
    for _ in range(12):
        kernel = 0.5 * kernel
    assert kernel.compares == "vectors"
    assert reads == 1


class _Cauchy(Kernel):
    def matrix(self, X, Y):
        return 1 / (1 + cdist(X, Y) ** 2)


def test_log_tiles_of_kernels_without_a_formula_for_logarithms(rng):
    """Also those that give nothing but a formula, and where they are 0."""
    X, Y = rng.normal(size=(4, 2)), rng.normal(size=(3, 2))
    for kernel in (_Cauchy(), 3.0 * _Cauchy()):
        found = kernel.log_tiles(X, Y)(slice(None), slice(None), None)
        assert_allclose(found, np.log(kernel(X, Y)), rtol=1e-14, atol=1e-15)
    nothing = (0.0 * Gaussian(1.0)).log_tiles(X, Y)(slice(None), slice(None), None)
    assert_array_equal(nothing, -np.inf)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_check_kernel_tolerances_are_relative(factor):
    check_kernel(factor * (Linear() + Polynomial(3, constant=1.0)))
    check_kernel(factor * Linear())


@pytest.mark.parametrize(
    ("defect", "values"),
    [
        (_Asymmetric(0.7), ["symmetric"]),
        (_WrongDiagonal(0.7), ["diagonal"]),
        (_FalsePsd(2.0), ["is_psd", "eigenvalue -"]),
        (_Mutating(0.7), ["input"]),
        (_LosesSingle(0.7), ["float32", "float64"]),
        (_WrongTile(0.7), ["tile"]),
        (_WrongFeatures(), ["features"]),
        (_Forgetful(0.7), ["clone"]),
        (_NotFinite(0.7), ["finite"]),
        (_Cropped(0.7), ["(22, 23)", 23]),
        (_CroppedCross(0.7), ["(23, 10)"]),
        (_OtherWithItself(0.7), ["(X, X)"]),
        (_NotTheTranspose(0.7), ["transpose"]),
        (_Elsewhere(0.7), ["tile"]),
        (_SharesTiles(0.7), ["memory"]),
        (_ReadOnlyTiles(0.7), ["read-only"]),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Kernel) else "",
)
def test_check_kernel_detects_defects(defect, values):
    with raises(AssertionError, *values):
        check_kernel(defect)


# --- numbers at the edge -----------------------------------------------------------------------

RADIAL = [Gaussian, Matern, Epanechnikov, Laplacian]


@pytest.mark.parametrize("kind", RADIAL)
@pytest.mark.parametrize("d", [1, 3, 10])
@pytest.mark.parametrize(
    "bandwidth", [2.0, 1.7]
)  # 1.7 is not a power of two: division by it rounds
def test_a_common_offset_cancels_exactly(kind, d, bandwidth):
    # multiples of 2^-10 are exact when added to 1e8, so only the kernel's own arithmetic rounds
    X = np.round(points(20, d) * 2**10) / 2**10
    kernel = kind(bandwidth)
    expected = kernel(X)
    assert_allclose(kernel(X + 1e8), expected, rtol=0, atol=1e-12)
    assert_allclose(kernel(X + 1e8, X[:5] + 1e8), expected[:, :5], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", RADIAL)
@pytest.mark.parametrize(("dtype", "limit"), [(np.float64, 1e-10), (np.float32, 2e-4)])
@pytest.mark.parametrize("d", [1, 5])
def test_one_outlier_does_not_reduce_accuracy(kind, dtype, limit, d):
    X = points(20, d).astype(dtype)
    far = np.vstack([X, np.full((1, d), 1e8, dtype)])
    # `limit` is the error of ‖x - y‖²/2 that maths.distances accepts; |dk/dh| ≤ 2
    assert_allclose(kind(1.7)(far)[:20, :20], kind(1.7)(X), rtol=0, atol=4 * limit)


@pytest.mark.parametrize("kind", RADIAL)
def test_two_distant_clusters_do_not_cancel(kind):
    near = np.round(points(10, 5) * 2**10) / 2**10
    X = np.vstack([near, near + 1e8])
    K, block = kind(2.0)(X), kind(2.0)(near)
    expected = np.block([[block, np.zeros((10, 10))], [np.zeros((10, 10)), block]])
    assert_allclose(K, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", RADIAL)
@pytest.mark.parametrize("scale", [1e-100, 1e100])
@pytest.mark.parametrize("d", [2, 5])
def test_scaling_data_and_bandwidth_has_no_effect(kind, scale, d):
    X = points(20, d)
    # scaling by a power of ten rounds each coordinate once: exponents of ~10 move by ~10 eps
    assert_allclose(kind(1.5 * scale)(X * scale), kind(1.5)(X), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kind", RADIAL)
@pytest.mark.parametrize("d", [1, 5])
def test_distant_points_have_kernel_zero(kind, d):
    X = np.zeros((2, d))
    X[1] = 1e200  # its square overflows, its kernel value is 0
    assert_array_equal(kind(1.0)(X), np.eye(2))


def test_cosine_does_not_overflow():
    X = points()
    assert_allclose(Cosine()(1e200 * X, 1e-200 * X), Cosine()(X), rtol=0, atol=1e-15)


def test_single_and_double_precision_mix():
    X, Y = points(), points(9, seed=1)
    for kernel in (Gaussian(1.0), Laplacian(1.0), Linear(), Gaussian(1.0) + Linear()):
        mixed = kernel(X.astype(np.float32), Y)
        assert mixed.dtype == np.float64
        # one coordinate in float32 is off by 6e-8 of its size; k by about twice that times |x|
        assert_allclose(mixed, kernel(X, Y), rtol=0, atol=1e-5)


def test_lists_and_integers_are_accepted():
    expected = Gaussian(2.0)(np.array([[0.0, 1.0], [3.0, 4.0]]))
    assert_array_equal(Gaussian(2.0)([[0, 1], [3, 4]]), expected)
    with raises(ValueError, "2-D", "1-D", "reshape"):
        Gaussian(2.0)(np.arange(3.0))


@pytest.mark.parametrize(
    "kernel", [Gaussian(2.0), Linear(), Cosine(), 2.0 * Gaussian(2.0) + Linear()]
)
def test_diagonals_and_features_take_lists_and_integers(kernel):
    points = [[0, 1], [3, 4]]
    assert_allclose(kernel.diagonal(points), kernel(points).diagonal(), rtol=1e-15)
    features = kernel.features(points)
    if features is not None:
        assert_allclose(features @ features.T, kernel(points), rtol=1e-15)


@pytest.mark.parametrize("degree", [0, -1, 1.5])
def test_degree_must_be_a_positive_integer(degree):
    with raises(ValueError, f"degree={degree}", 1):
        Polynomial(degree)(points())


@pytest.mark.parametrize("nu", [0, -0.5, float("nan")])
def test_smoothness_must_be_positive(nu):
    with raises(ValueError, f"nu={nu}", 0):
        Matern(1.0, nu)(points())
    with raises(ValueError, f"nu={nu}", 0):
        Matern(1.0, nu).log_normalizer(2)


# --- in scikit-learn ---------------------------------------------------------------------------


def test_a_grid_search_reaches_the_bandwidth_from_the_default_name():
    X, y = make_rings(random_state=0)
    steps = [("pca", KernelPCA(n_components=4)), ("classify", LogisticRegression())]
    bandwidths = [0.05, 3.0, 500.0]
    folds = KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(Pipeline(steps), {"pca__kernel__bandwidth": bandwidths}, cv=folds)
    search.fit(X, y)
    assert search.estimator.named_steps["pca"].kernel == "gaussian"  # what was given stays
    best = search.best_params_["pca__kernel__bandwidth"]
    assert search.best_estimator_.named_steps["pca"].kernel_ == Gaussian(best)
    assert best == 3.0  # rings: the others see single points, or one heap
    for bandwidth, score in zip(bandwidths, search.cv_results_["mean_test_score"], strict=True):
        by_hand = make_pipeline(KernelPCA(4, kernel=Gaussian(bandwidth)), LogisticRegression())
        predicted = cross_val_predict(by_hand, X, y, cv=folds)
        assert score == pytest.approx((predicted == y).mean(), abs=1e-12)


def test_a_grid_search_reaches_into_combinations():
    X, y = make_rings(random_state=0)
    kernel = Gaussian(1.0) + 0.1 * Linear()
    pipe = make_pipeline(KernelPCA(4, kernel=kernel), LogisticRegression())
    grid = {"kernelpca__kernel__0__bandwidth": [0.05, 3.0], "kernelpca__kernel__1__factor": [0.2]}
    search = GridSearchCV(pipe, grid, cv=3).fit(X, y)
    found = search.best_estimator_[0].kernel_
    assert (
        found == Gaussian(search.best_params_["kernelpca__kernel__0__bandwidth"]) + 0.2 * Linear()
    )
    assert kernel == Gaussian(1.0) + 0.1 * Linear()


@pytest.mark.parametrize("estimator", [KernelPCA, KernelECA])
def test_set_params_from_a_name(estimator):
    model = estimator(kernel="laplacian").set_params(kernel__bandwidth=2.0)
    assert model.kernel == Laplacian(2.0)
    model.set_params(kernel__degree=3, kernel="polynomial")
    assert model.kernel == Polynomial(3)
    with raises(ValueError, "'bandwidth'", "degree"):
        model.set_params(kernel__bandwidth=1.0)


@pytest.mark.parametrize("estimator", [KernelPCA, KernelECA])
def test_precomputed_sets_the_pairwise_tag(estimator):
    for kernel, expected in [
        ("precomputed", True),
        (Precomputed(), True),
        ("gaussian", False),
        (Gaussian(1.0), False),
    ]:
        assert get_tags(estimator(kernel=kernel)).input_tags.pairwise is expected


def test_cross_validation_slices_a_precomputed_kernel_both_ways():
    X, y = make_rings(random_state=0)
    K = Gaussian(3.0)(X)
    folds = KFold(3, shuffle=True, random_state=0)
    given = make_pipeline(KernelPCA(4, kernel="precomputed"), LogisticRegression())
    made = make_pipeline(KernelPCA(4, kernel=Gaussian(3.0)), LogisticRegression())
    found = cross_val_predict(given, K, y, cv=folds, method="decision_function")
    expected = cross_val_predict(made, X, y, cv=folds, method="decision_function")
    # logistic regression stops at a gradient of 1e-4: features equal to 1e-12 may end that apart
    assert_allclose(found, expected, rtol=0, atol=1e-3)


class _Remembering(Gaussian):
    """Returns the same array each time."""

    stored = np.ones(3)

    def diagonal(self, X):
        return self.stored


def test_combined_diagonals_do_not_change_those_of_the_terms():
    total = (_Remembering(1.0) + Gaussian(1.0)).diagonal(np.zeros((3, 1)))
    assert_array_equal(total, 2.0)
    assert_array_equal(_Remembering.stored, 1.0)


def test_a_precomputed_matrix_that_is_not_symmetric_has_no_diagonal():
    K = Gaussian(1.0)(points(5))
    assert_array_equal(Precomputed().diagonal(K), 1.0)
    K[0, 1] *= 1.01
    for wrong in (K, K[:3], K[0]):
        with raises(ValueError, "precomputed", "k(x, x)"):
            Precomputed().diagonal(wrong)


def test_length_scales():
    assert_array_equal(length_scales(Linear(), 3), np.ones(3))
    assert_array_equal(length_scales(2.0 * Gaussian([1.0, 3.0]), 2), [1.0, 3.0])


@pytest.mark.parametrize("factor", [0.0, -1.0])
def test_multiples_with_non_positive_factors_have_no_density_or_features(factor):
    kernel = factor * Gaussian(1.0)
    with raises(ValueError, repr(kernel), "preimage='ridge'"):
        input_distances(kernel, np.ones(1), np.ones(1), np.ones(1))
    with raises(ValueError, repr(kernel)):
        kernel.log_normalizer(2)
    assert not kernel.is_density
    assert kernel.is_psd is (factor == 0)
    assert (factor * Linear()).features(np.ones((2, 1))) is None


@pytest.mark.parametrize("kernel", [Polynomial(3), Polynomial(3, scale=-1.0), Linear(1e200)])
def test_overflow_of_dot_products_raises(kernel):
    short, long = np.ones((3, 2)), np.array([[0.0, 1.0], [1e120, 0.0]])
    for pair in ((short, long), (long, short), (long, long), (long,)):
        with raises(ValueError, repr(kernel), "float64"):
            kernel(*pair)
    assert np.isfinite(kernel(short, np.ones((2, 2)))).all()


@pytest.mark.parametrize("other", [3, "gaussian", None])
def test_addition_rejects_non_kernels(other):
    with raises(TypeError):
        Gaussian(1.0) + other


def test_multiplication_rejects_none():
    with raises(TypeError):
        Gaussian(1.0) * None


def test_precomputed_selects_columns():
    K = Gaussian(1.0)(points(5))
    assert_array_equal(Precomputed()(K), K)
    assert_array_equal(Precomputed()(K[:2], [4, 0]), K[:2][:, [4, 0]])


def test_constant_kernels_are_positive_semidefinite():
    assert Linear(scale=0.0, constant=1.0).is_psd
    assert Polynomial(2, constant=0.0, scale=0.0).is_psd
    assert not Linear(scale=-1.0).is_psd
    assert not Polynomial(2, constant=-1.0).is_psd
