"""Extreme data and bandwidths, for all estimators: the result is known, or an error is expected.

Every case has an oracle: the same data rescaled by a power of two, a limit that is reached exactly
in floating point, or an equivalent sample. ``ERRORS`` lists which estimator raises which error, so
an estimator that rejects an input without need fails. RuntimeWarnings are errors in all tests.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelDenoiser, KernelECA, KernelPCA, RobustKernelPCA
from mercer.errors import RankError
from mercer.kernels import Gaussian
from tests.properties.estimator_cases import CASES, fit, results, shift_log_density, targets
from tests.properties.strategies import (
    Sample,
    assert_same_results,
    condition_number,
    normal_sample,
)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

every = pytest.mark.parametrize("case", CASES, ids=repr)

SUBNORMAL = 2.0**-1074
NOT_STATIONARY = {"KernelPCA-linear", "KernelPCA-polynomial", "KernelPCA-cosine"}
#: Estimators whose results depend on the rows themselves, not only through one kernel.
USES_ROWS = {
    "OrthogonalSeries",
    "OrthogonalSeries-legendre",
    "MaximumEntropyProjection",
    "MercerMixture-domain",
    "StackedDensity",
}
NAMES = {case.name for case in CASES}
TWO_COMPONENTS = {
    *(name for name in NAMES if name.startswith(("KernelPCA", "KernelECA", "KernelDenoiser"))),
    "RobustKernelPCA",
    "SeriesDensity",
    "SeriesDensity-eigenvalue",
} - {"KernelPCA-linear", "KernelPCA-cosine"}
CENTERED = {
    *(name for name in NAMES if name.startswith("KernelPCA")),
    "KernelLDA",
    "RobustKernelPCA",
} - {"KernelPCA-uncentered"}
CLUSTERING = {name for name in NAMES if name.startswith("EntropyClustering")}
SPECTRAL = {name for name in NAMES if name.startswith("SpectralClustering")}
CLASSIFIERS = {case.name for case in CASES if case.y == "classification"}
SERIES = {"OrthogonalSeries", "OrthogonalSeries-legendre"}


def errors(*groups):
    """Return a dict from the name of a case to the expected error and the names in its message."""
    return {name: (error, words) for error, names, *words in groups for name in names}


ONE_POSITIVE_EIGENVALUE = [
    (RankError, (TWO_COMPONENTS | {"KernelLDA"}) - NOT_STATIONARY),
    (ValueError, CLUSTERING, "n_clusters"),
]
ERRORS = {
    "scaled by 2^-498": errors(
        (RankError, {"KernelPCA-polynomial"}), (ValueError, {"KernelPCA-linear"}, "trace")
    ),
    "scaled by 2^498": errors((ValueError, {"KernelPCA-linear", "KernelPCA-polynomial"})),
    "unit 2^-1074": errors(
        (ValueError, SPECTRAL, "range"),
        (RankError, {"KernelPCA-linear", "KernelPCA-polynomial"}),
        (ValueError, {"EntropyClustering-sweep"}, "bandwidths"),
        (ValueError, {"MercerMixture-domain"}, "GaussianBase"),
    ),
    "unit 2^-532": errors(
        (ValueError, SPECTRAL, "range"),
        (RankError, {"KernelPCA-polynomial"}),
        (ValueError, {"KernelPCA-linear"}, "trace"),
        (ValueError, {"MercerMixture-domain"}, "GaussianBase"),
    ),
    "unit 2^996": errors(
        (ValueError, SPECTRAL, "range"),
        (ValueError, {"KernelPCA-linear"}, "Linear"),
        (ValueError, {"KernelPCA-polynomial"}, "Polynomial"),
        (ValueError, {"MercerMixture-domain"}, "GaussianBase"),
    ),
    "subnormal bandwidth": errors(
        (ValueError, {"EntropyClustering-sweep"}, "bandwidths"),
        (ValueError, {"SpectralClustering"}, "degree", "bandwidth"),
    ),
    "small bandwidth": errors((ValueError, {"SpectralClustering"}, "degree", "bandwidth")),
    "infinite bandwidth": errors(*ONE_POSITIVE_EIGENVALUE),
    "outlier at 1e6": errors((RankError, {"KernelPCA-polynomial"})),
    "outlier at 1e150": errors((ValueError, {"KernelPCA-linear", "KernelPCA-polynomial"})),
    "1 row": errors(
        (ValueError, TWO_COMPONENTS | {"MercerMixture-two"}, "n_components", 1),
        (ValueError, CLUSTERING | SPECTRAL, "n_clusters", 1),
        (RankError, {"KernelPCA-linear", "KernelPCA-cosine"}),
        (ValueError, CLASSIFIERS, "y"),
        (ValueError, SERIES, 1),
        (ValueError, {"MercerMixture-domain"}, "GaussianBase"),
        (ValueError, {"KernelNovelty", "JointMixtureDensity"}, 1),
        (ValueError, {"StackedDensity"}, 1, 3),
    ),
    "2 rows": errors(
        (ValueError, {"StackedDensity"}, 2, 3),
        (RankError, (CENTERED & TWO_COMPONENTS), "n_components", 1),
        (ValueError, {"KernelLDA"}),
    ),
    "10,000 columns": errors((ValueError, SERIES, 10_000)),
    "equal rows": errors(
        *ONE_POSITIVE_EIGENVALUE,
        (ValueError, SPECTRAL, "n_clusters", 1),
        (RankError, {"KernelPCA-linear", "KernelPCA-polynomial", "KernelPCA-cosine"}),
        (ValueError, SERIES, "constant"),
        (ValueError, {"MercerMixture-domain"}, "GaussianBase"),
        (ValueError, {"StackedDensity"}, "1 distinct", 3),
    ),
    "constant column": errors(
        (ValueError, SERIES, "constant"), (ValueError, {"MercerMixture-domain"}, "GaussianBase")
    ),
}


def row_targets(case, n):
    """Return targets that depend on the index of the row."""
    return targets(case, np.arange(n, dtype=float)[:, None])


def outcome(edge, case, X, bandwidth=1.0, y=None, new=None):
    """Return finite results; None after the expected error."""
    y = row_targets(case, len(X)) if y is None else y
    new = X[:5] if new is None else new
    model = case.make(bandwidth)
    if case.name in ERRORS.get(edge, {}):
        error, words = ERRORS[edge][case.name]
        with pytest.raises(error) as caught:
            fit(model, X, y)
        message = str(caught.value)
        assert all(str(word) in message for word in words), message
        assert not isinstance(caught.value, np.linalg.LinAlgError)
        return None
    found = results(fit(model, X, y), new)
    for name, value in found.items():
        assert not np.isnan(value.astype(float)).any(), name
        if "log density" not in name:  # a density may be 0
            assert np.isfinite(value.astype(float)).all(), name
    return found


def is_scalable(case):
    return "scaling" not in case.exempt


def rescale(case, found, unit, d=3):
    """Convert the results for data in another unit, in place."""
    if case.is_density or case.name == "MercerMixture-domain":
        shift_log_density(found, d * np.log(unit))
    if "output" in found:
        found["output"] = found["output"] / unit


# --- scale ---------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("exponent", [-498, 498])
def test_scaled_data_with_automatic_bandwidth(case, exponent):
    unit, X = 2.0**exponent, normal_sample()
    # the bandwidths of these are multiples of a number, which cannot be "auto"
    fixed = case.name in {"KernelECA-sum", "EntropyClustering-sweep"}
    found = outcome(f"scaled by 2^{exponent}", case, unit * X, unit if fixed else "auto")
    if found is None:
        return
    if case.name == "KernelPCA-linear":
        assert_allclose(found["eigenvalues"] / unit**2, variances(X)[:1], rtol=1e-12)
    elif is_scalable(case):
        bandwidth = 1.0 if fixed else "auto"
        y = row_targets(case, len(X))
        expected = results(fit(case.make(bandwidth), X, y), X[:5])
        rescale(case, found, unit)
        condition = condition_number(case, Sample(X, X, bandwidth), y)
        assert_same_results(found, expected, case, condition)


def variances(X):
    """Eigenvalues of the centered linear kernel."""
    return np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2


@every
@pytest.mark.parametrize("exponent", [-1074, -532, 996])
def test_scaled_data_and_bandwidth(case, exponent):
    """Scaling by a power of two is exact, except for subnormal numbers, which are rounded here."""
    unit = 2.0**exponent
    X = (unit * normal_sample()) / unit
    found = outcome(f"unit 2^{exponent}", case, unit * X, unit)
    if found is None or not is_scalable(case):
        return
    if unit == SUBNORMAL and case.name in SERIES:
        return  # their standard deviations are rounded to multiples of the smallest number
    y = row_targets(case, len(X))
    expected = results(fit(case.make(1.0), X, y), X[:5])
    rescale(case, found, unit)
    if unit == SUBNORMAL and "output" in found:  # rounded to multiples of the smallest number
        # the ridge solution is a sum of 24 products, each of which is rounded
        tolerance = len(X) / 2 if case.name == "KernelDenoiser-ridge" else 1.0
        assert_allclose(found.pop("output"), expected.pop("output"), rtol=0, atol=tolerance)
    assert_same_results(found, expected, case, condition_number(case, Sample(X, X, 1.0), y))


# --- bandwidth -----------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("bandwidth", [SUBNORMAL, 1e-160])
def test_vanishing_bandwidth(case, bandwidth):
    """K is the identity matrix, exactly, from a bandwidth of 1e-6 on."""
    edge = "subnormal bandwidth" if bandwidth == SUBNORMAL else "small bandwidth"
    compare_limits(edge, case, bandwidth, 1e-6)


@every
def test_infinite_bandwidth(case):
    """All values of K are 1, exactly, from a bandwidth of 1e20 on."""
    compare_limits("infinite bandwidth", case, 1e300, 1e20)


def compare_limits(edge, case, bandwidth, limit):
    X = normal_sample()
    found = outcome(edge, case, X, bandwidth)
    if found is None:
        return
    expected = results(fit(case.make(limit), X, row_targets(case, len(X))), X[:5])
    if case.name == "KernelPCA-lanczos":  # all eigenvalues are equal, so vectors are arbitrary
        found, expected = ({"eigenvalues": both["eigenvalues"]} for both in (found, expected))
    # distances in bandwidths, not kernel values; weights of members without any held-out density
    if case.name in {"KernelNovelty", "StackedDensity"}:
        assert all(np.isfinite(values).all() for values in found.values())
        return
    if case.is_density and case.name not in USES_ROWS:
        shift_log_density(found, 3 * (np.log(bandwidth) - np.log(limit)))
    assert_same_results(found, expected, case)


# --- outliers ------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("far", [1e6, 1e150])
def test_one_distant_outlier(case, far):
    """Kernel values at a distance of 1e4 are 0 already."""
    edge = "outlier at 1e6" if far == 1e6 else "outlier at 1e150"
    X, near = (np.vstack([normal_sample(), np.full(3, distance)]) for distance in (far, 1e4))
    found = outcome(edge, case, X)
    if found is None:
        return
    y = row_targets(case, len(X))
    if case.name == "KernelPCA-linear":
        assert_allclose(found["eigenvalues"], variances(X)[:1], rtol=1e-12)
    elif case.name not in USES_ROWS | {"KernelDenoiser-ridge"}:
        expected = results(fit(case.make(1.0), near, y), near[:5])
        assert_same_results(found, expected, case)
    elif is_scalable(case):
        unit = 2.0 ** np.round(np.log2(far))
        expected = results(fit(case.make(1 / unit), X / unit, y), X[:5] / unit)
        rescale(case, expected, 1 / unit)
        assert_same_results(found, expected, case)


@pytest.mark.parametrize("far", [1e3, 1e8, 1e150])
def test_distant_outlier_adds_a_block_to_the_kernel_matrix(far):
    X = normal_sample()
    one = KernelECA(2, kernel=Gaussian(1.0)).fit(X)
    other = KernelECA(2, kernel=Gaussian(1.0)).fit(np.concatenate([X, np.full((1, 3), far)]))
    assert_allclose(other.eigenvalues_, one.eigenvalues_, rtol=1e-12)
    assert_allclose(other.entropy_terms_, one.entropy_terms_ * (24 / 25) ** 2, rtol=1e-10)
    assert_allclose(other.transform(X), one.transform(X), atol=1e-11)


# --- shapes --------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows(case, n):
    """Doubled rows give the same results; where they do not, the order of rows is irrelevant."""
    X, y = normal_sample(n), row_targets(case, n)
    found = outcome("1 row" if n == 1 else f"{n} rows", case, X, y=y)
    if found is None:
        return
    doubling = "doubling" not in case.exempt
    order = np.tile(np.arange(n), 2) if doubling else np.arange(n)[::-1]
    model = case.make(1.0).set_params(**(case.doubled_params if doubling else {}))
    expected = results(fit(model, X[order], None if y is None else y[order]), X[:5])
    if (
        doubling
        and "eigenvalues" in found
        and isinstance(model, KernelPCA | KernelECA | RobustKernelPCA)
    ):
        expected["eigenvalues"] = expected["eigenvalues"] / 2
    assert_same_results(found, expected, case, condition_number(case, Sample(X, X, 1.0), y))


ROTATION = np.linalg.qr(normal_sample(3, 3, seed=1))[0]


def compare_rotated(case, found, X, rotation, bandwidth=1.0):
    """Compare with rotated data; the rotation may reduce the number of columns."""
    if case.name in USES_ROWS:
        return
    if "laplacian" in case.name:  # of the L1 distance: invariant under permutations of columns
        compare_reversed_columns(case, found, X, bandwidth)
        return
    rotated, y = X @ rotation, row_targets(case, len(X))
    model = fit(case.make(bandwidth), rotated, y)
    expected = results(model, rotated[:5])
    if case.is_density:
        volumes = [model.kernel_.log_normalizer(columns) for columns in rotation.shape]
        shift_log_density(expected, volumes[1] - volumes[0])
    if isinstance(model, KernelDenoiser):
        expected["output"] = expected["output"] @ rotation.T
    condition = condition_number(case, Sample(rotated, rotated, bandwidth), y)
    assert_same_results(found, expected, case, condition)


def compare_reversed_columns(case, found, X, bandwidth):
    y = row_targets(case, len(X))
    expected = results(fit(case.make(bandwidth), X[:, ::-1], y), X[:5, ::-1])
    condition = condition_number(case, Sample(X, X, bandwidth), y)
    assert_same_results(found, expected, case, condition)


@every
def test_ten_thousand_columns(case):
    """12 points of a 10,000-dimensional space lie in a 12-dimensional subspace."""
    if case.name == "MercerMixture-domain":
        pytest.skip("its base measure holds a covariance matrix of 10⁸ values")
    X = normal_sample(12, 10_000)
    bandwidth = 1e4 if "laplacian" in case.name else 200.0  # close to the typical distance
    found = outcome("10,000 columns", case, X, bandwidth)
    # no clusters: row order decides; the volume of an adaptive kernel depends on the dimension
    exempt = (*SPECTRAL, "ParzenDensity-adaptive")
    if found is not None and case.name not in exempt:
        compare_rotated(case, found, X, np.linalg.qr(X.T)[0], bandwidth)


@every
def test_collinear_rows(case):
    X = np.outer(normal_sample()[:, 0], [1.0, 2.0, 3.0])
    compare_rotated(case, outcome("collinear", case, X), X, ROTATION)


@every
def test_constant_columns(case):
    X = np.column_stack([normal_sample(d=2), np.ones(24)])
    found = outcome("constant column", case, X)
    if found is not None:
        compare_rotated(case, found, X, ROTATION)


@every
def test_many_copies_of_few_points(case):
    """60 copies of a row equal a weight of 60."""
    few, y = normal_sample(4), row_targets(case, 4)
    X = np.repeat(few, 60, axis=0)
    found = outcome("copies", case, X, y=None if y is None else np.repeat(y, 60))
    expected = results(fit(case.make(1.0), few, y, np.full(4, 60.0)), X[:5])
    assert_same_results(found, expected, case, condition_number(case, Sample(few, few, 1.0), y))


@every
def test_equal_rows(case):
    """10 equal rows equal two rows with the number of copies as weights."""
    X = np.ones((10, 3))
    found = outcome("equal rows", case, X)
    if found is None:
        return
    y, weights = row_targets(case, 10), np.array([5.0, 5.0])
    if case.y == "classification":
        y, weights = np.unique(y, return_counts=True)
    if case.y == "regression":
        weights = np.ones(10)
    expected = results(fit(case.make(1.0), X[: len(weights)], y, weights), X[:5])
    assert_same_results(found, expected, case)
