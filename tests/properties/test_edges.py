"""Numbers at the edge, for every estimator: right, or refused in words.

Never a RuntimeWarning (pytest makes them errors), never an error of numpy's or LAPACK's own, never
nan. A refusal is a ValueError or TypeError that says more than a few words.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from mercer import (
    KernelDenoiser,
    KernelECA,
    KernelPCA,
    MercerMixture,
    OrthogonalSeries,
    ParzenDensity,
    SeriesDensity,
)
from mercer.bandwidth import RULES
from mercer.domains import GaussianBase
from mercer.information import potential_gradient, renyi_entropy
from mercer.kernels import Cosine, Gaussian, Laplacian, Linear, Matern, Polynomial
from mercer.solvers import Fourier, Lanczos, Nystrom
from tests.properties.estimator_cases import CASES, answers, fit, targets
from tests.properties.strategies import ROUNDING, World, assert_agree, magnification
from tests.properties.test_laws_of_kernels import MEASURES

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

every = pytest.mark.parametrize("case", CASES, ids=repr)


def cloud(n=24, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def outcome(case, X, width=1.0, y=None):
    """The answers, or None if the sample was refused; anything else is an error."""
    y = targets(case, np.arange(X.shape[0], dtype=float)[:, None]) if y is None else y
    try:
        found = answers(fit(case.make(width), X, y), X[:5])
    except np.linalg.LinAlgError as error:
        raise AssertionError("LAPACK's own words") from error
    except (ValueError, TypeError) as refusal:
        if len(str(refusal).split()) < 8:
            raise
        return None
    for name, value in found.items():
        assert not np.isnan(value.astype(float)).any(), name
        if name != "log density":  # a density may be 0
            assert np.isfinite(value.astype(float)).all(), name
    return found


# --- size and place ------------------------------------------------------------------------------

EXACT = [case for case in CASES if "scaling" not in case.exempt]


@pytest.mark.parametrize("exponent", [-498, -332, 332, 498])
@pytest.mark.parametrize("case", EXACT, ids=repr)
def test_scales_from_1e_minus_150_to_1e150(case, exponent):
    """A power of two: data and bandwidth are the same numbers but for their exponents."""
    unit = 2.0**exponent
    X = cloud()
    y = targets(case, X)
    expected = answers(fit(case.make(1.0), X, y), X[:5])
    model = fit(case.make(unit), unit * X, y)
    found = answers(model, unit * X[:5])
    if case.window or hasattr(model, "normalization_"):
        found["log density"] = found["log density"] + 3 * exponent * np.log(2)
    if isinstance(model, KernelDenoiser):
        found["output"] = found["output"] / unit
    assert_agree(found, expected, case, magnification(case, World(X, X, 1.0), y))


@every
@pytest.mark.parametrize("scale", [1e-150, 1e-50, 1e50, 1e150])
def test_scales_with_the_rules_own_bandwidth(case, scale):
    outcome(case, scale * cloud(), "auto" if case.name not in NO_RULE else scale)


NO_RULE = {"KernelECA-sum", "EntropyClustering-sweep"}  # their widths are multiples of a number


# dot products and networks with random first weights do
DOES_NOT_KNOW_THE_ORIGIN = [
    case
    for case in CASES
    if not case.name.endswith(("linear", "polynomial", "cosine", "MaximumEntropyProjection"))
]


@pytest.mark.parametrize("case", DOES_NOT_KNOW_THE_ORIGIN, ids=repr)
def test_a_common_offset_of_1e8_does_not_cancel(case):
    shifted = cloud() + 1e8
    X = shifted - 1e8  # exactly what is left of the cloud
    y = targets(case, X)
    expected = answers(fit(case.make(1.0), X, y), X[:5])
    model = fit(case.make(1.0), shifted, y)
    found = answers(model, shifted[:5])
    if isinstance(model, KernelDenoiser):
        found["output"] = found["output"] - 1e8
    # numbers near 1e8 are multiples of 1.5e-8: a place that is one of them can be no better
    places = isinstance(model, KernelDenoiser | OrthogonalSeries)
    rounding = 1e-7 if places else 100 * ROUNDING
    assert_agree(found, expected, case, magnification(case, World(X, X, 1.0), y), rounding)


@every
@pytest.mark.parametrize("width", [5e-324, 1e-310, 1e-160, 1e160, 1e300])
def test_bandwidths_from_subnormal_to_huge(case, width):
    outcome(case, cloud(), width)
    outcome(case, width * cloud(), width)


@every
@pytest.mark.parametrize("far", [1e6, 1e150])
def test_one_far_outlier(case, far):
    outcome(case, np.concatenate([cloud(), np.full((1, 3), far)]))


@pytest.mark.parametrize("far", [1e3, 1e8, 1e150])
def test_an_outlier_beyond_reach_is_alone(far):
    """K is a block and a 1: all that was there is still there, n has grown by one."""
    X = cloud()
    one = KernelECA(2, kernel=Gaussian(1.0)).fit(X)
    other = KernelECA(2, kernel=Gaussian(1.0)).fit(np.concatenate([X, np.full((1, 3), far)]))
    assert_allclose(other.eigenvalues_, one.eigenvalues_, rtol=1e-12)
    assert_allclose(other.entropy_terms_, one.entropy_terms_ * (24 / 25) ** 2, rtol=1e-10)
    assert_allclose(other.transform(X), one.transform(X), atol=1e-11)


# --- shapes --------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows(case, n):
    outcome(case, cloud(n))


@every
def test_ten_thousand_columns(case):
    if case.name == "MercerMixture-domain":
        pytest.skip("its base measure holds a covariance of 10⁸ numbers")
    outcome(case, cloud(12, 10_000), 100.0)


@every
def test_many_copies_of_few_points(case):
    outcome(case, np.repeat(cloud(4), 60, axis=0))


@every
def test_rows_that_are_all_equal(case):
    outcome(case, np.ones((10, 3)))


@every
def test_collinear_rows_and_constant_columns(case):
    outcome(case, np.outer(cloud()[:, 0], [1.0, 2.0, 3.0]))
    outcome(case, np.column_stack([cloud(d=2), np.ones(24)]))


def test_a_million_copies():
    """Plane waves see a million rows as they see ten thousand: by their sums."""
    ten = cloud(10, 1)
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


@pytest.mark.parametrize("solver", [Lanczos(stored=False), Nystrom(50)], ids=["lanczos", "nystrom"])
def test_ten_thousand_copies(solver):
    five = cloud(5, 4)
    few = KernelECA(2, kernel=Gaussian(1.0), solver="dense").fit(five)
    many = KernelECA(2, kernel=Gaussian(1.0), solver=solver).fit(np.repeat(five, 2000, axis=0))
    assert_allclose(many.eigenvalues_, 2000 * few.eigenvalues_, rtol=1e-9)
    assert_allclose(many.entropy_terms_, few.entropy_terms_, rtol=1e-7)
    assert_allclose(np.abs(many.transform(five)), np.abs(few.transform(five)), atol=1e-8)


# --- information and bandwidth -------------------------------------------------------------------

SAMPLES = {
    "1e-300": (1e-300 * cloud(), 1e-300),
    "1e-150": (1e-150 * cloud(), 1e-150),
    "1e150": (1e150 * cloud(), 1e150),
    "1e300": (1e300 * cloud(), 1e300),
    "subnormal bandwidth": (cloud(), 5e-324),
    "huge bandwidth": (cloud(), 1e300),
    "outlier": (np.concatenate([cloud(), np.full((1, 3), 1e300)]), 1.0),
    "copies": (np.repeat(cloud(3), 100, axis=0), 1.0),
    "equal rows": (np.ones((9, 3)), 1.0),
    "one column": (cloud(d=1), 1.0),
    "10,000 columns": (cloud(12, 10_000), 100.0),
    "two rows": (cloud(2), 1.0),
    "one row": (cloud(1), 1.0),
    "offset": (cloud() + 1e8, 1.0),
    "truths": (cloud() > 0, 1.0),
}


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        (name, kernel)
        for name in MEASURES
        for kernel in (Gaussian, Laplacian, Matern)
        if kernel is Gaussian or "integral" not in name  # a window convolved with itself
    ],
)
def test_information_at_the_edge(sample, name, kernel):
    X, width = SAMPLES[sample]
    assert np.isfinite(MEASURES[name](X, kernel(width), None))


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("rule", RULES)
def test_bandwidth_rules_at_the_edge(sample, rule):
    X = np.asarray(SAMPLES[sample][0], dtype=float)
    if sample in ("equal rows", "one row"):
        with pytest.raises(ValueError, match="No bandwidth can be chosen from"):
            RULES[rule](X)
    else:
        assert 0 < RULES[rule](X) < np.inf


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_gradient_of_v_at_the_edge(sample):
    """It is per length, so it may be beyond all numbers, but never nan."""
    X, width = SAMPLES[sample]
    for normalize in (False, True):
        potential, gradient = potential_gradient(X, Gaussian(width), normalize=normalize)
        assert potential >= 0
        assert not np.isnan(gradient).any()


def test_the_gradient_of_v_is_blind_to_an_offset():
    shifted = cloud() + 1e8
    _, expected = potential_gradient(shifted - 1e8, Gaussian(1.0))
    _, found = potential_gradient(shifted, Gaussian(1.0))
    assert_allclose(found, expected, atol=1e-9)


def test_a_base_measure_says_which_extents_it_can_square():
    with pytest.raises(ValueError, match=r"extend over .*Divide X by its scale"):
        MercerMixture(kernel=Gaussian(1e200), domain=GaussianBase()).fit(1e200 * cloud())


# --- forms of an array ---------------------------------------------------------------------------


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


FORMS = {
    "big-endian": lambda X: X.astype(">f8"),
    "columns first": np.asfortranarray,
    "every other": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": read_only,
    "extended precision": lambda X: X.astype(np.longdouble),
    "objects": lambda X: X.astype(object),
    "lists": lambda X: X.tolist(),
}


@every
@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_an_array_does_not_matter(case, form):
    X = cloud()
    y = targets(case, X)
    expected = answers(fit(case.make(1.0), X, y), X[:5])
    model = fit(case.make(1.0), FORMS[form](X), y)
    found = answers(model, FORMS[form](X[:5]))
    assert_agree(found, expected, case, magnification(case, World(X, X, 1.0), y))


@every
def test_memory_maps(case, tmp_path):
    X = cloud()
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    y = targets(case, X)
    expected = answers(fit(case.make(1.0), X, y), X[:5])
    found = answers(fit(case.make(1.0), mapped, y), mapped[:5])
    assert_agree(found, expected, case, magnification(case, World(X, X, 1.0), y))


@every
@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, bool, np.float16])
def test_integers_and_booleans_are_numbers(case, dtype):
    X = np.round(2 * cloud(d=2) + 8).astype(dtype)
    X = X if dtype is not bool else cloud(d=2) > 0
    y = targets(case, np.arange(24.0)[:, None])
    whole, real = outcome(case, X, 2.0, y), outcome(case, X.astype(float), 2.0, y)
    assert (whole is None) == (real is None)
    if whole is not None:
        for name, value in real.items():
            assert_allclose(whole[name], value, atol=1e-6, rtol=1e-6, err_msg=name)


@every
def test_sparse_matrices_are_refused_in_words(case):
    X = cloud()
    for form in (sparse.csr_matrix(X), sparse.csr_array(X)):
        with pytest.raises(TypeError, match="dense data is required"):
            fit(case.make(1.0), form, targets(case, X))


@every
def test_complex_numbers_are_refused_in_words(case):
    X = cloud()
    with pytest.raises(ValueError, match="Complex data not supported"):
        fit(case.make(1.0), X + 1j, targets(case, X))


@every
def test_fits_do_not_write_to_their_input(case):
    X = cloud()
    y, kept = targets(case, X), X.copy()
    answers(fit(case.make(1.0), X, y), X)
    assert (kept == X).all()


# --- what overflowed once ------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Polynomial(3), Polynomial(2, constant=1.0)], ids=repr)
def test_kernel_values_beyond_numbers_are_refused(kernel):
    with pytest.raises(
        ValueError, match=r"overflows: inner products reach .*Divide X by its scale"
    ):
        kernel(1e90 * cloud())
    with pytest.raises(ValueError, match=r"the largest float32"):
        kernel((1e12 * cloud()).astype(np.float32))


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
@pytest.mark.parametrize("estimator", [KernelPCA, KernelECA])
@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e20, 1e30])
def test_large_and_small_kernel_values(estimator, solver, scale):
    """Within reach of squares they only scale; beyond, they are refused."""
    X = cloud(40, 5) + 1.0
    one = estimator(2, kernel=Polynomial(3), solver=solver).fit(X)
    model = estimator(2, kernel=Polynomial(3), solver=solver)
    if abs(np.log10(scale)) * 6 > 150:
        with pytest.raises(ValueError, match=r"trace of K is .*Scale the data"):
            model.fit(scale * X)
    else:
        assert_allclose(model.fit(scale * X).eigenvalues_ / scale**6, one.eigenvalues_, rtol=1e-8)


def test_polynomials_of_pixels_in_single_precision():
    """(784 · 255²)³ is 1e23: its square is no float32, and need not be one."""
    X = np.random.default_rng(0).integers(0, 256, (60, 784)).astype(np.float32)
    single = KernelPCA(2, kernel=Polynomial(3)).fit(X)
    double = KernelPCA(2, kernel=Polynomial(3)).fit(X.astype(np.float64))
    assert_allclose(single.eigenvalues_, double.eigenvalues_, rtol=1e-3)


@pytest.mark.parametrize("kernel", [Gaussian, Laplacian, Matern])
@pytest.mark.parametrize("scale", [1e-200, 1e-100, 1e100, 1e200])
def test_densities_that_no_number_can_hold(kernel, scale):
    X = cloud(30, 2)
    for model in (
        ParzenDensity(kernel=kernel(scale)),
        SeriesDensity(kernel=kernel(scale), terms=3),
    ):
        logs = model.fit(scale * X).score_samples(scale * X)
        unit = type(model)(**(model.get_params(deep=False) | {"kernel": kernel(1.0)})).fit(X)
        assert_allclose(logs + 2 * np.log(scale), unit.score_samples(X), rtol=1e-8, atol=1e-8)
        with np.errstate(over="ignore", under="ignore"):
            assert_allclose(model.pdf(scale * X), np.exp(logs))


def test_cosines_and_products_of_zero_rows():
    X = np.zeros((6, 2))
    X[:3] = cloud(3, 2)
    assert np.isfinite(KernelPCA(1, kernel=Cosine()).fit(X).transform(X)).all()
    assert np.isfinite(KernelPCA(1, kernel=Linear()).fit(X).transform(X)).all()
