"""Offsets, and values near the limits of floating point, for all estimators."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import (
    KernelDenoiser,
    KernelECA,
    KernelPCA,
    MercerMixture,
    OrthogonalSeries,
    ParzenDensity,
    SeriesDensity,
)
from mercer.domains import GaussianBase
from mercer.information import potential_gradient, renyi_entropy
from mercer.kernels import Cosine, Gaussian, Laplacian, Linear, Matern, Polynomial
from mercer.solvers import Fourier, Lanczos, Nystrom
from tests.expectations import raises
from tests.properties.bandwidth_cases import ALL_RULES, TOLERANCES
from tests.properties.estimator_cases import CASES, fit, results, targets
from tests.properties.strategies import (
    ROUNDING,
    Sample,
    assert_same_results,
    condition_number,
    normal_sample,
)
from tests.properties.test_kernels import MEASURES

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

# --- offset --------------------------------------------------------------------------------------

# dot products and networks with random initial weights are not translation invariant
TRANSLATION_INVARIANT = [
    case
    for case in CASES
    if not case.name.endswith(("linear", "polynomial", "cosine", "MaximumEntropyProjection"))
]


@pytest.mark.parametrize("case", TRANSLATION_INVARIANT, ids=repr)
def test_common_offset_of_1e8(case):
    shifted = normal_sample() + 1e8
    X = shifted - 1e8  # the rounded sample
    y = targets(case, X)
    expected = results(fit(case.make(1.0), X, y), X[:5])
    model = fit(case.make(1.0), shifted, y)
    found = results(model, shifted[:5])
    if isinstance(model, KernelDenoiser):
        found["output"] = found["output"] - 1e8
    # numbers near 1e8 are multiples of 1.5e-8, which limits the accuracy of coordinates
    coordinates = isinstance(model, KernelDenoiser | OrthogonalSeries)
    rounding = 1e-7 if coordinates else 100 * ROUNDING
    assert_same_results(
        found, expected, case, condition_number(case, Sample(X, X, 1.0), y), rounding
    )


# --- copies --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_million_copies():
    """A million rows equal ten rows with the same weights, with the Fourier solver."""
    ten = normal_sample(10, 1)
    X = np.repeat(ten, 100_000, axis=0)
    few = KernelECA(2, kernel=Gaussian(0.5), solver="dense").fit(ten)
    many = KernelECA(2, kernel=Gaussian(0.5), solver=Fourier()).fit(X)
    assert_allclose(many.eigenvalues_ / 1e6, few.eigenvalues_ / 10, atol=1e-9)
    assert_allclose(many.information_potential_, few.information_potential_, rtol=1e-9)
    assert_allclose(np.abs(many.transform(ten)), np.abs(few.transform(ten)), atol=1e-7)
    density = ParzenDensity(kernel=Gaussian(0.5))
    assert_allclose(
        density.fit(X).score_samples(ten), density.fit(ten).score_samples(ten), atol=1e-6
    )
    assert_allclose(renyi_entropy(X, Gaussian(0.5)), renyi_entropy(ten, Gaussian(0.5)), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("solver", [Lanczos(stored=False), Nystrom(50)], ids=["lanczos", "nystrom"])
def test_ten_thousand_copies(solver):
    five = normal_sample(5, 4)
    few = KernelECA(2, kernel=Gaussian(1.0), solver="dense").fit(five)
    many = KernelECA(2, kernel=Gaussian(1.0), solver=solver).fit(np.repeat(five, 2000, axis=0))
    assert_allclose(many.eigenvalues_, 2000 * few.eigenvalues_, rtol=1e-9)
    assert_allclose(many.entropy_terms_, few.entropy_terms_, rtol=1e-7)
    assert_allclose(np.abs(many.transform(five)), np.abs(few.transform(five)), atol=1e-8)


# --- information and bandwidth -------------------------------------------------------------------


def with_outlier(distance):
    return np.concatenate([normal_sample(), np.full((1, 3), distance)])


SAMPLES = {
    "1e-300": (1e-300 * normal_sample(), 1e-300),
    "1e-150": (1e-150 * normal_sample(), 1e-150),
    "1e150": (1e150 * normal_sample(), 1e150),
    "1e300": (1e300 * normal_sample(), 1e300),
    "subnormal bandwidth": (normal_sample(), 5e-324),
    "huge bandwidth": (normal_sample(), 1e300),
    "outlier": (with_outlier(1e300), 1.0),
    "copies": (np.repeat(normal_sample(3), 100, axis=0), 1.0),
    "equal rows": (np.ones((9, 3)), 1.0),
    "one column": (normal_sample(d=1), 1.0),
    "10,000 columns": (normal_sample(12, 10_000), 100.0),
    "two rows": (normal_sample(2), 1.0),
    "one row": (normal_sample(1), 1.0),
    "offset": (normal_sample() + 1e8, 1.0),
    "booleans": (normal_sample() > 0, 1.0),
}
#: Samples of ordinary size with the same kernel values for a bandwidth of 1, exactly or up to
#: rounding error: K is the identity matrix, all values are 1, or those of the outlier are 0.
LIMITS = {
    "subnormal bandwidth": 1e6 * normal_sample(),
    "huge bandwidth": 1e-20 * normal_sample(),
    "outlier": with_outlier(1e6),
    "offset": (normal_sample() + 1e8) - 1e8,
}


#: Criteria that are not finite, and an equation without solution.
WITHOUT_BANDWIDTH = {
    ("10,000 columns", "least-squares-cv"),
    ("10,000 columns", "biased-cv"),
    ("10,000 columns", "smoothed-cv"),
    ("two rows", "improved-sheather-jones"),
}


def in_units_of_the_bandwidth(sample):
    X, bandwidth = SAMPLES[sample]
    return LIMITS[sample] if sample in LIMITS else X / bandwidth


def measure_by_formula(name, K, log_normalizer):
    """Evaluate an information measure by its formula for a kernel matrix with ``k(x, x) = 1``."""
    if name.startswith("entropy"):
        return log_normalizer - np.log(K.mean())
    if name in ("potential", "variance"):
        return K.mean() if name == "potential" else 1 - K.mean()
    p = np.linalg.eigvalsh(K).clip(1e-300) / len(K)
    if name == "matrix entropy":
        return np.log((p**1.5).sum()) / (1 - 1.5)
    return np.exp(-(p * np.log(p)).sum())


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize(
    ("name", "kernel"),
    [(name, kernel) for name in MEASURES for kernel in (Gaussian, Laplacian)],
)
def test_information_of_extreme_samples_equals_its_formula(sample, name, kernel):
    X, bandwidth = SAMPLES[sample]
    found = MEASURES[name](X, kernel(bandwidth), None)
    unit, own = kernel(1.0), kernel(bandwidth)
    if "integral" in name:
        unit, own = (k.self_convolution(X.shape[1]) for k in (unit, own))
    K = unit(in_units_of_the_bandwidth(sample))
    expected = measure_by_formula(name, K, own.log_normalizer(X.shape[1]))
    assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("rule", ALL_RULES)
@pytest.mark.filterwarnings("ignore::mercer.errors.ApproximationWarning")
def test_bandwidth_rules_of_extreme_samples_scale_with_the_data(sample, rule):
    X = np.asarray(SAMPLES[sample][0], dtype=float)
    if sample in ("equal rows", "one row"):
        with raises(ValueError, "bandwidth"):
            ALL_RULES[rule](X)
        return
    if (sample, rule) in WITHOUT_BANDWIDTH:
        with raises(ValueError, "leave-one-out"):
            ALL_RULES[rule](X)
        return
    unit = 2.0 ** np.round(np.log2(np.abs(X).max()))  # scaling by a power of two is exact
    found, scaled = ALL_RULES[rule](X), ALL_RULES[rule](X / unit)
    assert 0 < scaled < np.inf
    assert_allclose(found / unit, scaled, rtol=TOLERANCES[rule])


@pytest.mark.parametrize("sample", SAMPLES)
def test_gradient_of_the_information_potential_scales_with_the_data(sample):
    """A derivative by length may overflow to infinity or underflow to 0, but is never NaN."""
    X, bandwidth = SAMPLES[sample]
    kernel, Z = Gaussian(bandwidth), in_units_of_the_bandwidth(sample)
    V, slope = potential_gradient(Z, Gaussian(1.0))
    for normalize in (False, True):
        potential, gradient = potential_gradient(X, kernel, normalize=normalize)
        volume = kernel.log_normalizer(X.shape[1]) if normalize else 0.0
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            expected = np.sign(slope) * np.exp(np.log(np.abs(slope)) - np.log(bandwidth) - volume)
            assert_allclose(potential, np.exp(np.log(V) - volume), rtol=1e-9)
        assert_allclose(gradient, expected, rtol=1e-6, atol=1e-300)


def test_gradient_of_the_information_potential_ignores_an_offset():
    shifted = normal_sample() + 1e8
    _, expected = potential_gradient(shifted - 1e8, Gaussian(1.0))
    _, found = potential_gradient(shifted, Gaussian(1.0))
    assert_allclose(found, expected, atol=1e-9)


def test_gaussian_base_rejects_data_whose_squares_overflow():
    with raises(ValueError, "GaussianBase"):
        MercerMixture(kernel=Gaussian(1e200), domain=GaussianBase()).fit(1e200 * normal_sample())


# --- overflow ------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Polynomial(3), Polynomial(2, constant=1.0)], ids=repr)
def test_overflow_of_kernel_values_is_rejected(kernel):
    with raises(ValueError, kernel):
        kernel(1e90 * normal_sample())
    with raises(ValueError, kernel, "float32"):
        kernel((1e12 * normal_sample()).astype(np.float32))


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
@pytest.mark.parametrize("estimator", [KernelPCA, KernelECA])
@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e20, 1e30])
def test_large_and_small_kernel_values(estimator, solver, scale):
    """Eigenvalues scale as long as their squares do not overflow; otherwise an error is raised."""
    X = normal_sample(40, 5) + 1.0
    one = estimator(2, kernel=Polynomial(3), solver=solver).fit(X)
    model = estimator(2, kernel=Polynomial(3), solver=solver)
    if abs(np.log10(scale)) * 6 > 150:
        with raises(ValueError, "trace"):
            model.fit(scale * X)
    else:
        assert_allclose(model.fit(scale * X).eigenvalues_ / scale**6, one.eigenvalues_, rtol=1e-8)


def test_polynomials_of_pixels_in_single_precision():
    """(784 · 255²)³ is 1e23, whose square overflows in float32."""
    X = np.random.default_rng(0).integers(0, 256, (60, 784)).astype(np.float32)
    single = KernelPCA(2, kernel=Polynomial(3)).fit(X)
    double = KernelPCA(2, kernel=Polynomial(3)).fit(X.astype(np.float64))
    assert_allclose(single.eigenvalues_, double.eigenvalues_, rtol=1e-3)


@pytest.mark.parametrize("kernel", [Gaussian, Laplacian, Matern])
@pytest.mark.parametrize("scale", [1e-200, 1e-100, 1e100, 1e200])
def test_densities_that_overflow_have_finite_logarithms(kernel, scale):
    X = normal_sample(30, 2)
    for model in (
        ParzenDensity(kernel=kernel(scale)),
        SeriesDensity(kernel=kernel(scale), terms=3),
    ):
        logs = model.fit(scale * X).score_samples(scale * X)
        unit = type(model)(**(model.get_params(deep=False) | {"kernel": kernel(1.0)})).fit(X)
        assert_allclose(logs + 2 * np.log(scale), unit.score_samples(X), rtol=1e-8, atol=1e-8)
        with np.errstate(over="ignore", under="ignore"):
            assert_allclose(model.pdf(scale * X), np.exp(logs))


def test_dot_product_kernels_of_zero_rows_equal_linear_pca():
    X = np.zeros((6, 2))
    X[:3] = normal_sample(3, 2)
    directions = X.copy()
    directions[:3] /= np.linalg.norm(X[:3], axis=1, keepdims=True)
    for kernel, rows in ((Cosine(), directions), (Linear(), X)):
        U, singular, _ = np.linalg.svd(rows - rows.mean(axis=0))
        scores = KernelPCA(1, kernel=kernel).fit(X).transform(X)[:, 0]
        assert_allclose(np.abs(scores), np.abs(U[:, 0] * singular[0]), atol=1e-12)
