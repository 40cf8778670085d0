"""Fourier features compared with the kernel matrix: values are within the stated error."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

from mercer import KernelECA, KernelPCA, config_context
from mercer.data.points import Points
from mercer.eigen.plan import Request, plan
from mercer.errors import MemoryBudgetError
from mercer.gram import BlockedGram, FourierGram, Sample
from mercer.gram.fourier import FourierExpansion
from mercer.kernels import Gaussian, Laplacian, Linear, Matern
from mercer.solvers import Fourier
from tests.expectations import raises
from tests.gram.naive import weighted_gram

ROUNDING = 1e-13  # of sums of a few hundred kernel values of at most 1


def entry_errors(kernel, X, tolerance, columns=4):
    """Return the errors of a few columns of K (products with unit vectors) and their bound."""
    gram = Fourier(tolerance).gram(Sample(kernel, Points(X)))
    at = np.unique(np.linspace(0, len(X) - 1, columns).astype(int))
    found = gram @ np.eye(len(X))[:, at]
    exact = kernel(np.asarray(X, dtype=float))[:, at]
    return np.abs(found - exact).max(), gram.grid.entry_error


# --- kernel values -----------------------------------------------------------------------------


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8, 1e-10, 1e-12])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_every_kernel_value_is_within_the_stated_error(d, tolerance):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(60, d))
    for log_sigma in rng.uniform(
        *((-1.5, 1.5) if d == 1 else (-0.7, 1) if d == 2 else (0.3, 1)), 2
    ):
        error, bound = entry_errors(Gaussian(10**log_sigma), X, tolerance)
        assert error <= bound + ROUNDING


@pytest.mark.parametrize("tolerance", [1e-4, 1e-10])
@pytest.mark.parametrize(
    "name", ["span", "huge", "clusters", "copies", "one point", "offset", "constant column", "line"]
)
def test_error_bound_holds_for_degenerate_data(name, tolerance):
    rng = np.random.default_rng(5)
    X, sigma = {
        "span": (np.r_[rng.uniform(0, 4000, 30), rng.uniform(0, 3, 30)][:, None], 1.0),
        "huge": (rng.normal(size=(60, 2)), 1000.0),
        "clusters": (
            np.repeat([[0, 0], [5, 0], [0, 9]], 20, 0) + rng.normal(size=(60, 2)) / 99,
            0.5,
        ),
        "copies": (np.repeat(rng.normal(size=(6, 2)), 10, axis=0), 0.7),
        "one point": (np.full((5, 2), 3.7), 1.0),
        "offset": (rng.normal(size=(60, 2)) + 1e6, 0.7),
        "constant column": (np.column_stack([rng.normal(size=60), np.full(60, 7.0)]), 0.5),
        "line": (np.outer(rng.normal(size=60), [1, 2]), 0.8),
    }[name]
    error, bound = entry_errors(Gaussian(sigma), X, tolerance)
    # an offset of 1e6 costs 1e6 eps / σ of a coordinate's accuracy, in both computations
    assert error <= bound + (1e-9 if name == "offset" else ROUNDING)


@pytest.mark.parametrize(
    ("nu", "d", "tolerance"),
    [
        (0.5, 1, 1e-2),
        (1.5, 1, 1e-4),
        (1.5, 2, 1e-3),
        (2.5, 1, 1e-6),
        (2.5, 2, 1e-4),
        (2.5, 3, 1e-3),
        (3.7, 1, 1e-6),
        (np.inf, 1, 1e-10),
        (np.inf, 2, 1e-10),
    ],
)
def test_matern_kernels_are_within_the_stated_error(nu, d, tolerance):
    X = np.random.default_rng(2).normal(size=(60, d))
    error, bound = entry_errors(Matern(4.0 if d == 3 else 1.0, nu=nu), X, tolerance)
    assert error <= bound + ROUNDING


def test_bandwidths_per_column_are_within_the_stated_error():
    X = np.random.default_rng(3).normal(size=(60, 2)) * [1, 100]
    error, bound = entry_errors(Gaussian(np.array([0.4, 70.0])), X, 1e-10)
    assert error <= bound + ROUNDING


@pytest.mark.parametrize("tolerance", [1e-4, 1e-10])
@pytest.mark.parametrize(("d", "span"), [(1, 10), (2, 10), (1, 1000)])
def test_single_precision_is_within_the_stated_error(d, span, tolerance):
    """The stated error is that of float32 points: a tolerance of 1e-6 at best."""
    X = np.random.default_rng(4).uniform(0, span, size=(60, d)).astype(np.float32)
    error, bound = entry_errors(Gaussian(1.0), X, tolerance)
    assert bound < 1e-2
    assert error <= bound


# --- the operator ------------------------------------------------------------------------------


@pytest.fixture(params=[None, "weighted"])
def weights(request):
    return None if request.param is None else np.random.default_rng(8).uniform(0.2, 3, size=80)


@pytest.fixture(params=[False, True], ids=["plain", "centered"])
def center(request):
    return request.param


@pytest.mark.parametrize(("d", "sigma"), [(1, 0.3), (2, 2.0), (3, 4.0)])
def test_operator_equals_the_matrix(d, sigma, weights, center):
    """Products, small side, diagonal, trace, potential, projections and norms, at 1e-10."""
    rng = np.random.default_rng(d)
    X, new = rng.normal(size=(80, d)) + 2, rng.normal(size=(30, d)) * 1.5 + 2
    kernel = Gaussian(sigma)
    gram = Fourier(1e-10).gram(Sample(kernel, Points(X), weights))
    gram = gram.centered() if center else gram
    A = weighted_gram(kernel, X, weights, center)
    bound = gram.error_bound  # on ‖A - ΦΦ*‖
    assert 0 < bound < 1e-6
    V = rng.normal(size=(80, 3))
    assert_allclose(gram @ V, A @ V, atol=bound * np.linalg.norm(V, axis=0).max())
    assert_allclose(gram @ V[:, 0], A @ V[:, 0], atol=bound * np.linalg.norm(V[:, 0]))
    entry = 4 * gram.grid.entry_error * gram.start.max() ** 2  # four terms if centered
    assert_allclose(gram.diagonal(), A.diagonal(), atol=entry)
    assert_allclose(gram.trace, A.trace(), atol=bound)
    root = gram.start
    assert_allclose(gram.potential, root @ A @ root / gram.total**2, atol=gram.grid.entry_error)

    problem = gram.problem()
    if problem.size > 3000:  # 3-D: products only
        B = np.linalg.qr(rng.normal(size=(problem.size, 3)))[0]
        features = gram.expansion(np.ones(3), B)(Points(X)) * root[:, None]
        assert_allclose(B.T @ problem.product(B), features.T @ features, atol=bound)
        return
    values, vectors = np.linalg.eigh(problem.dense())
    exact, e = np.linalg.eigh(A)
    short = min(len(values), 80)
    assert_allclose(values[-short:], exact[-short:], atol=bound)
    assert np.abs(values[:-short]).max(initial=0) <= bound
    assert_allclose(problem.product(vectors), vectors * values, atol=1e-12 * values[-1])

    k = 3
    expansion = gram.expansion(values[-k:], vectors[:, -k:])
    signs = np.sign(np.sum(expansion.at_training(values[-k:]) * e[:, -k:], axis=0))
    # Davis-Kahan: vectors turn by at most 2 error / gap; scores are √λ times an entry
    slack = 4 * bound / np.diff(exact[-k - 1 :]).min() * np.sqrt(exact[-1]) / root.min()
    scores = e[:, -k:] * np.sqrt(exact[-k:]) / root[:, None]
    assert slack < 1e-5
    assert_allclose(expansion.at_training(values[-k:]) * signs, scores, atol=slack)
    assert_allclose(expansion(Points(X)) * signs, scores, atol=slack)
    norms = A.diagonal() / root**2
    assert_allclose(expansion.squared_norms(Points(X)), norms, atol=4 * gram.grid.entry_error)
    assert_allclose(expansion.training_squared_norms(), norms, atol=4 * gram.grid.entry_error)

    cross = kernel(new, X)
    masses = root**2 / gram.total
    norms = np.ones(len(new))
    if center:
        mean = cross @ masses
        norms = 1 - 2 * mean + masses @ kernel(X) @ masses
        cross = cross - mean[:, None] - (kernel(X) @ masses - masses @ kernel(X) @ masses)
    expected = cross @ (root[:, None] * e[:, -k:]) / np.sqrt(exact[-k:])
    assert_allclose(expansion(Points(new)) * signs, expected, atol=slack)
    assert_allclose(expansion.squared_norms(Points(new)), norms, atol=4 * gram.grid.entry_error)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-7, 1e-12])
@pytest.mark.parametrize("sigma", [0.05, 0.6, 30.0])
def test_eigenvalues_are_within_the_error_bound(sigma, tolerance):
    X = np.random.default_rng(9).normal(size=(80, 1))
    gram = Fourier(tolerance).gram(Sample(Gaussian(sigma), Points(X)))
    values = np.sort(np.linalg.eigvalsh(gram.problem().dense()))[::-1]
    exact = np.sort(np.linalg.eigvalsh(Gaussian(sigma)(X)))[::-1]
    size = max(len(values), len(exact))
    values, exact = (np.pad(v, (0, size - len(v))) for v in (values, exact))
    # padded with zeros: both matrices are positive semi-definite up to rounding error
    assert_allclose(np.sort(values), np.sort(exact), atol=gram.error_bound + 1e-12)


@pytest.mark.parametrize("n", [1, 2])
def test_one_and_two_points(n):
    X = np.array([[0.0, 3.0], [1.0, 3.0]])[:n]
    eca = KernelECA(1, kernel=Gaussian(1.0), solver="fourier").fit(X)
    # K = [[1, c], [c, 1]] has (1, 1)/√2 with 1 + c, or K = [[1]]
    largest = 1.0 if n == 1 else 1 + np.exp(-0.5)
    assert_allclose(eca.eigenvalues_, [largest], atol=1e-9)
    assert_allclose(eca.transform(X)[:, 0], np.sqrt(largest / n), atol=1e-9)


# --- far from the data -------------------------------------------------------------------------


@pytest.mark.parametrize("tolerance", [1e-5, 1e-10])
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("center", [False, True])
def test_no_periodic_copies_along_a_line(d, tolerance, center):
    rng = np.random.default_rng(10)
    X = rng.uniform(-2, 2, size=(60, d)) + 5
    kernel = Gaussian(0.5)
    fitted = {
        solver: KernelPCA(2, kernel=kernel, center=center, solver=solver).fit(X)
        for solver in (Fourier(tolerance), "dense")
    }
    found, dense = fitted.values()
    grid = found.spectrum_.expansion.grid
    period = grid.period * grid.widths
    steps = np.linspace(-3.5, 3.5, 1501)
    line = X.mean(axis=0) + np.outer(steps, period * np.eye(d)[0])
    z, expected = found.transform(line), dense.transform(line)
    signs = np.sign(np.sum(found.transform(X) * dense.transform(X), axis=0))
    # one kernel value's error, summed with coefficients e/√λ of length 1/√λ, and the
    # turn of the eigenvectors (2 error/gap each way)
    values = np.linalg.eigvalsh(weighted_gram(kernel, X, center=center))[::-1]
    gap = -np.diff(values[:3]).max()
    slack = grid.entry_error * 60 * (4 / gap + 1) * np.sqrt(values[0] / values[1])
    assert slack < 0.1
    assert_allclose(z * signs, expected, atol=slack)
    far = np.abs(line[:, 0] - 5) > 2 + (grid.reach + 1e-9) * 0.5
    assert far.sum() > 1000
    if center:  # the projection of minus the mean: one constant
        assert np.ptp(z[far], axis=0).max() == 0
    else:
        assert np.all(z[far] == 0)
    enormous = np.full((3, d), [[1e12], [-1e300], [1e300]])
    assert_allclose(found.transform(enormous), z[far][:3], atol=0)
    assert_allclose(
        found.spectrum_.squared_norms(line), dense.spectrum_.squared_norms(line), atol=slack
    )


# --- errors ------------------------------------------------------------------------------------


def test_memory_error_of_a_distant_outlier_names_the_values():
    X = np.r_[np.random.default_rng(11).normal(size=(50, 2)), [[1e7, 1e7]]]
    values = ("2e+07", "1 GB", "bandwidth", "tolerance", "outliers", "budget", "solver")
    with config_context(memory="1GB"), raises(MemoryBudgetError, *values):
        KernelECA(2, kernel=Gaussian(0.5), solver="fourier").fit(X)


@pytest.mark.parametrize("outlier", [1e7, 1e150, 1e300])
def test_plan_avoids_grids_that_outliers_make_too_large(outlier, monkeypatch):
    module = sys.modules["mercer.eigen.plan"]
    monkeypatch.setattr(module, "_FOURIER_FROM", 100)
    monkeypatch.setattr(module, "SMALL", 100)
    rng = np.random.default_rng(12)
    near = rng.normal(size=(650, 1))
    kernel = Gaussian(0.5)
    request = Request("entropy", 2)
    assert isinstance(plan(Sample(kernel, Points(near)), request).operator, Fourier)
    X = np.r_[near, [[outlier]]]
    assert not isinstance(plan(Sample(kernel, Points(X)), request).operator, Fourier)
    found, dense = (KernelECA(2, kernel=kernel, solver=s).fit(X) for s in ("auto", "dense"))
    assert not isinstance(found.spectrum_.expansion, FourierExpansion)
    assert_allclose(found.entropy_terms_, dense.entropy_terms_, rtol=1e-9)
    assert_allclose(found.transform(X), dense.transform(X), atol=1e-8)


@pytest.mark.parametrize(
    ("kernel", "d", "values"),
    [
        (Laplacian(1.0), 2, ["Gaussian", "Matern", "Laplacian"]),
        (Linear(), 2, ["Gaussian", "Matern", "Linear"]),
        (Gaussian(1.0) + Gaussian(2.0), 2, ["Gaussian", "Matern"]),
        (Gaussian(1.0), 4, [3, 4]),
    ],
)
def test_unsupported_kernels_and_dimensions_raise(kernel, d, values):
    X = np.random.default_rng(0).normal(size=(30, d))
    with raises(ValueError, *values):
        Fourier().gram(Sample(kernel, Points(X)))


def test_objects_raise():
    with raises(ValueError, "numeric"):
        Fourier().gram(Sample(Gaussian(1.0), Points(["a", "b"], "objects")))


def test_unsupported_kernels_are_not_memory_errors():
    with raises(ValueError, "Laplacian") as caught:
        Fourier().gram(Sample(Laplacian(1.0), Points(np.zeros((3, 1)))))
    assert not isinstance(caught.value, MemoryError)


@pytest.mark.parametrize("tolerance", [0, 1e-13, 0.2, np.nan])
def test_tolerances_out_of_range_raise(tolerance):
    with raises(ValueError, "tolerance=", "1e-12", "1e-1"):
        Fourier(tolerance).gram(Sample(Gaussian(1.0), Points(np.zeros((3, 1)))))


def test_points_outside_the_box_raise():
    X = np.array([[0.0, 1.0], [0.5, 7.0]])
    with raises(ValueError, "Column 1", 7, "[0, 6]", "Fourier(box="):
        Fourier(box=(0.0, [1.0, 6.0])).gram(Sample(Gaussian(1.0), Points(X)))


def test_larger_boxes_do_not_change_products():
    X = np.random.default_rng(13).normal(size=(60, 2))
    wide = Fourier(box=([-9, -8], 10.0)).gram(Sample(Gaussian(0.8), Points(X)))
    assert_allclose(wide @ np.ones(60), Gaussian(0.8)(X).sum(axis=1), atol=wide.error_bound)


def test_fallback_of_the_grid_is_an_exact_operator():
    sample = Sample(Gaussian(1e-3), Points(np.random.default_rng(0).normal(size=(700, 3))))
    assert isinstance(plan(sample, Request("entropy", 2), 1e6).gram(sample), BlockedGram)


@pytest.mark.parametrize("center", [False, True])
def test_operators_for_means_only_do_not_multiply(center):
    """Their sums cover half the frequencies that products need."""
    X = Points(np.random.default_rng(0).normal(size=(30, 1)))
    grid = Fourier().gram(Sample(Gaussian(1.0), X)).grid
    gram = FourierGram(Gaussian(1.0), X, None, grid, only_mean=True)
    gram = gram.centered() if center else gram
    with pytest.raises(AssertionError):
        gram.small_product(np.ones((len(gram.small_start), 1)))


# --- spectral densities --------------------------------------------------------------------------

KERNELS = [Gaussian(1.0), Matern(1.0, nu=0.5), Matern(1.0, nu=1.5), Matern(1.0, nu=2.5)]
KERNELS += [Matern(1.0, nu=4.2), Matern(1.0, nu=np.inf)]


def sphere_area(d, r):
    """Return the surface area of a sphere of radius r in d dimensions."""
    return {1: 2.0, 2: 2 * np.pi * r, 3: 4 * np.pi * r**2}[d]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_spectral_density_has_mass_one_and_a_tail_of_the_tolerance(kernel, d):
    spectral = kernel.spectral_density(d)

    def mass(low, high):
        return quad(lambda r: sphere_area(d, r) * spectral.density(r * r), low, high, limit=500)[0]

    assert_allclose(mass(0, 3) + mass(3, np.inf), 1, rtol=1e-6)
    for tolerance in (1e-1, 1e-2, 1e-4):
        # the errors of both integrals sum to at most 1e-8
        assert_allclose(mass(spectral.cutoff(tolerance), np.inf), tolerance, rtol=1e-3, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kernel_is_the_fourier_transform_of_its_spectral_density(kernel):
    spectral = kernel.spectral_density(1)
    for x in (0.3, 1.0, 2.5):
        value = 2 * quad(lambda w: spectral.density(w * w), 0, np.inf, weight="cos", wvar=x)[0]
        assert_allclose(value, kernel([[0.0]], [[x]])[0, 0], atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("tolerance", [1e-2, 1e-6, 1e-10])
def test_kernel_is_at_most_the_tolerance_beyond_its_reach(kernel, tolerance):
    reach = kernel.spectral_density(1).reach(tolerance)
    at = kernel([[0.0]], [[reach], [reach / 1.11]])[0]
    assert at[0] <= tolerance * (1 + 1e-9)
    assert at[1] > tolerance  # the reach of a Matérn kernel is found in steps of a tenth


@pytest.mark.parametrize(
    "box",
    [(0.0, [1.0, np.inf]), ([-np.inf, 0.0], 1.0), ([0.0, np.nan], 1.0), ([0.0, 2.0], 1.0)],
    ids=["infinite high", "infinite low", "nan", "low above high"],
)
def test_invalid_boxes_raise(box):
    with raises(ValueError, f"box={box!r}"):
        Fourier(box=box).gram(Sample(Gaussian(1.0), Points(np.full((3, 2), 0.5))))
