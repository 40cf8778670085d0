"""Diversity of a sample: scores, sampling errors, modes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2, ncx2

import mercer
from mercer.data.points import Points, Sample
from mercer.diversity.influence import _pair_moments, feature_gram, influence_moments
from mercer.diversity.sampling import (
    QuadraticLimit,
    SamplingError,
    _extrapolated,
    _variance_gain,
    bias_factor,
)
from mercer.information import vendi_score
from mercer.information.entropy import spectral_entropy
from mercer.information.samples import fitted_sample
from mercer.kernels import Cosine, Gaussian
from mercer.solvers import Nystrom
from tests.expectations import raises

ATOMS = np.array([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])


def atoms(n, seed=0):
    return np.eye(6)[np.random.default_rng(seed).choice(6, n, p=ATOMS)]


def test_scores_and_bounds_are_those_of_the_vendi_score():
    X = np.random.default_rng(0).normal(size=(120, 4))
    for kernel in ("cosine", Gaussian(1.0)):
        result = mercer.measure_diversity(X, kernel, orders=(0, 0.5, 1, 2, np.inf))
        expected = [vendi_score(X, kernel, q) for q in (0, 0.5, 1, 2, np.inf)]
        assert_allclose(result.scores, expected, rtol=1e-9)
        assert (result.lower <= result.scores).all()
        assert (result.scores <= result.upper).all()


def test_influence_of_proportions_is_that_of_a_multinomial():
    X = atoms(400)
    p = X.mean(axis=0)
    # delta method for the entropies of multinomial proportions
    shannon = np.sqrt(p @ np.log(p) ** 2 - (p @ np.log(p)) ** 2)
    quadratic = 2 * np.sqrt(p @ p**2 - (p @ p) ** 2) / (p @ p)
    largest = np.sqrt((1 - p.max()) / p.max())
    sample = Sample(Cosine(), Points(X))
    assert_allclose(
        influence_moments(sample, (1.0, 2.0, np.inf)).deviation,
        [shannon, quadratic, largest],
        rtol=1e-9,
    )


def test_influence_from_features_and_from_eigenvectors_agree():
    X = np.random.default_rng(0).normal(size=(300, 3)) + 0.5
    K = Cosine()(X)
    w = np.random.default_rng(1).exponential(size=300)
    orders = (1.0, 1.5, np.inf)
    for weights in (None, w):
        sample = Sample(Cosine(), Points(X), weights)
        features = influence_moments(sample, orders, feature_gram(sample)[0])
        eigenvectors = influence_moments(fitted_sample(K, "precomputed", weights), orders)
        for name in ("deviation", "kurtosis", "tied"):
            assert_allclose(getattr(features, name), getattr(eigenvectors, name), rtol=1e-6)


def test_landmarks_that_span_the_kernel_give_the_influence_of_eigenvectors():
    X = np.random.default_rng(0).normal(size=(400, 1))
    sample, orders = Sample(Gaussian(1.0), Points(X)), (1.0, 2.0, np.inf)
    factored, exact = feature_gram(sample)
    assert exact
    found = influence_moments(sample, orders, factored)
    expected = influence_moments(sample, orders)
    for name in ("deviation", "kurtosis", "tied"):
        assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-5)
    # those of the entropies are used again
    assert feature_gram(sample, factored)[0] is factored
    assert feature_gram(sample, Nystrom(3).gram(sample))[0] is not None
    # with a small bandwidth they do not, and K is decomposed
    assert feature_gram(Sample(Gaussian(0.001), Points(X))) == (None, False)


# fewer features than rows of a quarter, more, and more than rows of a half
@pytest.mark.parametrize(
    ("kernel", "n", "d"), [(Gaussian(1.5), 300, 2), (Cosine(), 90, 30), (Cosine(), 60, 40)]
)
def test_sampling_errors_from_features_equal_those_from_kernel_matrices(kernel, n, d):
    X = np.random.default_rng(0).normal(size=(n, d))
    orders = (2, np.inf) if d > 2 else (1, 2, np.inf)  # the bias has a known rate for features
    w = np.random.default_rng(1).integers(1, 4, size=n) if d > 2 else None
    options = {"orders": orders, "n_modes": 0, "sample_weight": w}
    features = mercer.measure_diversity(X, kernel, **options)
    dense = mercer.measure_diversity(kernel(X), "precomputed", **options)
    for name in ("corrected", "corrected_errors", "intervals"):
        assert_allclose(getattr(features, name), getattr(dense, name), rtol=1e-4)


def test_errors_of_corrected_scores_include_the_correction():
    rng = np.random.default_rng(0)
    halves = rng.normal(size=(400, 2))
    # quarters with the noise of their half and a bias that is half as variable
    quarters = np.repeat(0.5 * halves, 2, axis=1)
    # c = S + 1 (S - S_half) has the slope 1 + 0.5 in halves, and 1 + 0.25 in the sample
    assert_allclose(_variance_gain(halves, quarters, 1.0), 1.25**2)
    assert _variance_gain(halves, np.repeat(halves, 2, axis=1), 1.0) == 1
    assert _variance_gain(np.zeros((4, 2)), np.zeros((4, 4)), 1.0) == 1
    result = mercer.measure_diversity(atoms(50), orders=2, n_modes=0)
    # derivative of -log((v - 1/n) / (1 - 1/n)) by -log v
    ratio = result.corrected_errors / result.corrected / (result.standard_errors / result.scores)
    assert_allclose(ratio, 1 / (1 - result.scores / 50), rtol=1e-9)


def test_tied_eigenvalues_extend_the_interval():
    tied = np.eye(10)[np.random.default_rng(0).integers(10, size=200)]
    found = mercer.measure_diversity(tied, orders=np.inf, n_modes=0)
    assert found.intervals[0, 1] > 10
    separated = np.eye(3)[np.random.default_rng(0).choice(3, 400, p=[0.8, 0.1, 0.1])]
    sample = Sample(Cosine(), Points(separated))
    assert_allclose(influence_moments(sample, (np.inf,)).tied, separated.mean(axis=0).max())


def test_intervals_use_student_quantiles():
    error = SamplingError(0.1, 2.0, 0.1, [], degrees=10.0)
    low, high = error.interval(0.95)
    assert_allclose([low, high], [2 - 0.2228, 2 + 0.2228], atol=1e-4)


def test_standard_errors_match_the_spread_over_samples():
    found = [mercer.measure_diversity(atoms(300, seed), n_modes=0) for seed in range(40)]
    spread = np.std([one.scores for one in found], axis=0)
    stated = np.mean([one.standard_errors for one in found], axis=0)
    # a standard deviation of 40 draws has a relative error of 11 %
    assert_allclose(stated, spread, rtol=0.35)


def test_second_order_influence_is_a_mixed_derivative():
    rng = np.random.default_rng(0)

    def rows(n):
        X = rng.normal(size=(n, 4)) * [2, 1, 1, 0.7]
        return X / np.linalg.norm(X, axis=1, keepdims=True)

    X, Y, h = rows(3), rows(50), 1e-4
    S = Y.T @ Y / 50
    p, vectors = np.linalg.eigh(S)

    def mixed(x, y, order):
        A, B = h * (np.outer(x, x) - S), h * (np.outer(y, y) - S)
        values = [
            spectral_entropy(np.linalg.eigvalsh(S + s * A + t * B), order)
            for s, t in ((1, 1), (-1, -1), (1, -1), (-1, 1))
        ]
        return (values[0] + values[1] - values[2] - values[3]) / (4 * h**2)

    orders = (1.0, 1.5, 2.0, np.inf)
    found = _pair_moments(X @ vectors, p, orders, np.ones(3))
    for k, order in enumerate(orders[:3]):
        pairs = [mixed(X[i], X[j], order) ** 2 for i in range(3) for j in range(i)]
        assert_allclose(found[0, k], np.mean(pairs), rtol=1e-4)
        assert_allclose(found[1, k], np.mean([mixed(x, x, order) for x in X]), rtol=1e-4)
    assert (found[:, 3] == 0).all()


def test_errors_and_intervals_of_evenly_spread_points():
    """The influence function is constant; the error is of second order and its variance known."""
    m, n = 10, 200
    found = [
        mercer.measure_diversity(
            np.eye(m)[np.random.default_rng(seed).integers(m, size=n)], n_modes=0, orders=(1, 2)
        )
        for seed in range(40)
    ]
    # variance of -χ²/2n and -χ²/n with m - 1 degrees of freedom
    expected = m * np.sqrt(2 * (m - 1)) / n * np.array([0.5, 1.0])
    stated = np.mean([one.standard_errors for one in found], axis=0)
    assert_allclose(stated, expected, rtol=0.25)  # √2 times as large without the second order
    intervals = np.array([one.intervals for one in found])
    covered = (intervals[..., 0] <= m) & (m <= intervals[..., 1])
    assert (covered.mean(axis=0) >= 0.85).all()


def test_quadratic_limit_inverts_the_noncentral_chi_square_distribution():
    limit = QuadraticLimit(scale=0.1, degrees=7.0, statistic=8.0)
    for confidence in (0.8, 0.95):
        below, above = limit.distances(confidence)
        noncentrality = below / 0.1 + 8 - 7
        assert_allclose(ncx2.cdf(8, 7, noncentrality), 1 - confidence)
        assert_allclose(above, 0.1 * (chi2.ppf(0.5 + confidence / 2, 7) - 7))
    # an unusually small statistic: the limits are those of a constant influence function
    below = limit._replace(statistic=0.5).distances(0.95)[0]
    assert_allclose(below, 0.1 * (7 - chi2.ppf(0.05, 7)))
    # the normal approximation for many degrees of freedom
    exact, normal = (QuadraticLimit(1.0, v, 1020.0).distances(0.95) for v in (1000.0, 1000.1))
    assert_allclose(normal, exact, rtol=0.03)
    # b = 7 / 2n², and 2b per degree of freedom
    assert_allclose(QuadraticLimit.find(8 / 100**2, 7.0, -7.0, 100).variance, (1 + 3.5) / 100**2)
    assert_allclose(QuadraticLimit.find(5 / 100**2, 7.0, -7.0, 100).variance, 3.5 / 100**2)
    assert QuadraticLimit.find(20 / 100**2, 7.0, -7.0, 100) is None
    assert QuadraticLimit.find(1.0, 0.0, 0.0, 100) is None


def test_intervals_of_separated_proportions_are_of_first_order():
    result = mercer.measure_diversity(atoms(300), n_modes=0, orders=(1, 2))
    widths = np.diff(np.log(result.intervals)).ravel()
    assert_allclose(widths, 2 * 1.97 * result.corrected_errors / result.corrected, rtol=0.02)


def test_corrected_scores_have_less_bias():
    truth = np.exp(-(ATOMS @ np.log(ATOMS))), 1 / (ATOMS @ ATOMS)
    found = [mercer.measure_diversity(atoms(60, s), n_modes=0, orders=(1, 2)) for s in range(60)]
    plug_in = np.mean([one.scores for one in found], axis=0) - truth
    corrected = np.mean([one.corrected for one in found], axis=0) - truth
    assert (plug_in < -0.1).all()
    assert (np.abs(corrected) < 0.5 * np.abs(plug_in)).all()


def test_curve_ends_with_the_score_of_all_rows():
    result = mercer.measure_diversity(atoms(100))
    for curve, score in zip(result.curves, result.scores, strict=True):
        sizes = [size for size, _, _ in curve]
        assert sizes == sorted(sizes)
        assert curve[-1][:2] == (100, score)


@pytest.mark.parametrize("n", [1, 2, 7, 8])
def test_few_rows(n):
    result = mercer.measure_diversity(np.eye(8)[:n], n_modes=3)
    assert_allclose(result.scores, n, rtol=1e-9)
    assert len(result.modes) <= 3


def test_modes_of_separated_groups():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [60, 30, 10])
    X = np.eye(3)[labels] + 0.02 * rng.normal(size=(100, 3))
    result = mercer.measure_diversity(X, n_modes=3)
    p = np.array([0.6, 0.3, 0.1])
    assert_allclose([mode.share for mode in result.modes], p**2 / (p @ p), atol=0.02)
    assert_allclose([mode.size for mode in result.modes], p)
    assert (result.assignments == labels).all()
    for k, mode in enumerate(result.modes):
        assert (labels[mode.representatives] == k).all()
        assert mode.stability > 0.98
    assert list(result.modes_to_frame()["size"]) == [mode.size for mode in result.modes]


def test_rows_with_zero_weight_are_not_representatives():
    X = np.repeat(np.eye(2), 20, axis=0)
    w = np.r_[np.zeros(20), np.ones(20)]
    result = mercer.measure_diversity(X, sample_weight=w)
    assert_allclose(result.scores, 1)
    assert (result.modes[0].representatives >= 20).all()


def test_weights_equal_copies_in_scores_and_errors():
    X = np.random.default_rng(0).normal(size=(30, 3)) + 1
    counts = np.random.default_rng(1).integers(1, 4, size=30)
    copies = mercer.measure_diversity(np.repeat(X, counts, axis=0), n_modes=0)
    weighted = mercer.measure_diversity(X, sample_weight=counts, n_modes=0)
    assert_allclose(weighted.scores, copies.scores, rtol=1e-9)


def test_dask_arrays_have_the_same_scores():
    da = pytest.importorskip("dask.array")
    X = np.random.default_rng(0).normal(size=(300, 4))
    lazy = mercer.measure_diversity(da.from_array(X, chunks=(100, 4)), n_modes=2)
    local = mercer.measure_diversity(X, n_modes=2)
    assert_allclose(lazy.scores, local.scores, rtol=1e-9)
    assert_allclose([m.share for m in lazy.modes], [m.share for m in local.modes], rtol=1e-6)
    assert lazy.assignments is None


def test_precomputed_matrices():
    X = np.random.default_rng(0).normal(size=(40, 4))
    given = mercer.measure_diversity(Gaussian(1.0)(X), "precomputed")
    assert_allclose(given.scores, mercer.measure_diversity(X, Gaussian(1.0)).scores, rtol=1e-9)


def test_frame_and_display():
    result = mercer.measure_diversity(atoms(50))
    frame = result.to_frame()
    assert list(frame["order"]) == [1, 2, np.inf]
    assert_allclose(frame["score"], result.scores)
    assert "Diversity of 50 rows" in repr(result)
    assert "<table" in result._repr_html_()
    assert result.is_converged.shape == (3,)


def test_invalid_arguments_raise():
    with raises(ValueError, "-1"):
        mercer.measure_diversity(atoms(10), orders=(-1,))
    with raises(ValueError, "confidence=1"):
        mercer.measure_diversity(atoms(10), confidence=1)
    with raises(ValueError, "n_modes=-1"):
        mercer.measure_diversity(atoms(10), n_modes=-1)


def test_extrapolation_recovers_powers():
    sizes = (400.0, 200.0, 100.0)
    for exponent in (0.5, 0.75, 1.0):
        values = tuple(3 - 7 * n**-exponent for n in sizes)
        found = values[0] + bias_factor(sizes, values) * (values[0] - values[1])
        assert_allclose(found, 3, atol=1e-2)


def test_variance_of_the_influence_function_of_small_samples_is_extrapolated():
    """Two columns, order 1: the variance over 100 rows is a quarter too small on average."""
    kernel, plain, found = Gaussian(1.0), [], []
    for seed in range(20):
        X = np.random.default_rng(seed).normal(size=(100, 2))
        sample = Sample(kernel, Points(X))
        variances = influence_moments(sample, (1.0,)).deviation ** 2
        plain.append(variances[0])
        rng = np.random.default_rng(0)
        found.append(_extrapolated(variances, sample, (1.0,), None, rng)[0])
    X = np.random.default_rng(99).normal(size=(1500, 2))
    limit = influence_moments(Sample(kernel, Points(X)), (1.0,)).deviation[0] ** 2
    assert np.mean(plain) < 0.8 * limit
    assert abs(np.mean(found) - limit) < 0.6 * abs(np.mean(plain) - limit)
