"""Effects of degree, centering and outliers, on data where the thesis gives the result."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelECA, KernelPCA
from mercer.kernels import Gaussian, Laplacian, Polynomial
from mercer.population import (
    Empirical,
    GaussianOperator,
    Mixture,
    Normal,
    Uniform,
    bounding_weights,
    centering_effect,
    compare,
    degree_effect,
    separated_spectrum,
)
from tests.expectations import raises

ONE = Normal(2, 1)
TWO = Mixture([0.6, 0.4], [Normal(2, 1), Normal(-2, 1)])
SIDES = [Normal([-3, 1]), Normal([2, -1])]


def two_sides(n=400, seed=0):
    X = np.vstack([side.sample(n // 2, seed + i) for i, side in enumerate(SIDES)])
    return X, np.repeat([0, 1], n // 2)


def wheel(n=400, seed=0):
    rng = np.random.default_rng(seed)
    angle, label = rng.uniform(0, 2 * np.pi, n), np.repeat([0, 1], n // 2)
    radius = np.where(label, 3 + 0.2 * rng.normal(size=n), 0.4 * rng.normal(size=n))
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), label


# --- compare -------------------------------------------------------------------------------------


@pytest.mark.parametrize("center", [False, True])
def test_kernel_pca_agrees_with_its_population(center):
    pca = KernelPCA(3, kernel=Gaussian(1.5), center=center).fit(TWO.sample(1500, random_state=1))
    found = compare(pca, TWO)
    assert (np.abs(found.z_scores) < 5).all()
    assert (found.correlations > 0.98).all()
    assert found.ranks.tolist() == [1, 2, 3]
    exact = GaussianOperator(1.5, TWO, center=center, n_components=3)
    assert_allclose(found.population_eigenvalues, exact.eigenvalues)
    assert len(str(found).splitlines()) == 1 + len(found.ranks) + 1
    assert found.to_dict()["n"] == 1500


def test_components_by_entropy_are_matched_by_correlation():
    """Under N(2, 1) the second eigenfunction has mean zero: entropy selects first and third."""
    eca = KernelECA(2, kernel=Gaussian(1.5)).fit(ONE.sample(3000, random_state=0))
    found = compare(eca, ONE)
    assert found.ranks.tolist() == [1, 3]
    assert (np.abs(found.z_scores) < 5).all()


def test_wrong_measures_are_detected():
    pca = KernelPCA(3, kernel=Polynomial(2), center=False).fit(two_sides()[0])
    found = compare(pca, Uniform([0, 0], [1, 1]))
    assert np.abs(found.z_scores).max() > 10
    assert f"{np.count_nonzero(np.abs(found.z_scores) > 3)} of {len(found.ranks)}" in str(found)


def test_a_sample_is_its_own_population():
    X = two_sides(80)[0]
    found = compare(KernelPCA(2, kernel=Laplacian(2.0)).fit(X), Empirical(X))
    assert_allclose(found.sample_eigenvalues, found.population_eigenvalues, rtol=1e-9)
    assert_allclose(found.correlations, 1, rtol=1e-9)


def test_effective_number_of_weighted_points():
    X = ONE.sample(300, random_state=0)
    weights = np.repeat([1.0, 3.0], 150)
    pca = KernelPCA(1, kernel=Gaussian(1.5)).fit(X, sample_weight=weights)
    assert_allclose(compare(pca, ONE).n, 600**2 / (150 + 9 * 150))


def test_compare_rejects_invalid_arguments():
    with raises(TypeError, "KernelPCA"):
        compare(KernelPCA(), ONE)
    pca = KernelPCA(1, kernel=Gaussian(1.0)).fit(two_sides(40)[0])
    with raises(ValueError, 2, 1):
        compare(pca, ONE)


def test_standard_errors_are_those_of_repeated_samples():
    operator = GaussianOperator(1.5, ONE, n_components=2)
    n = 300
    found = []
    for seed in range(150):
        K = Gaussian(1.5)(ONE.sample(n, random_state=seed))
        found.append(np.linalg.eigvalsh(K)[::-1][:2] / n)
    # a standard deviation from 150 runs is known to 6 %; allow four times that
    assert_allclose(np.std(found, axis=0), operator.standard_errors(n), rtol=0.24)


# --- degree --------------------------------------------------------------------------------------


def test_odd_degrees_separate_opposite_sides():
    effect = degree_effect(*two_sides())
    separated = {row.degree: row.separation > 0.5 for row in effect.rows}
    assert separated == {1: True, 2: False, 3: True, 4: False, 5: True, 6: False}
    assert effect.mirror_overlap > 0.5
    assert "Degree 1 " in effect.conclusion
    assert " odd " in effect.conclusion


def test_even_degrees_separate_a_wheel():
    effect = degree_effect(*wheel(), degrees=(1, 2, 3, 4))
    assert [row.separation > 0.5 for row in effect.rows] == [False, True, False, True]
    assert "Degree 2 " in effect.conclusion
    assert " even " in effect.conclusion


def test_outliers_dominate_high_degrees():
    X = np.random.default_rng(0).standard_t(4, size=(500, 2))
    effect = degree_effect(X, degrees=(1, 2, 4, 6))
    fractions = [row.extreme_fraction for row in effect.rows]
    assert (np.diff(fractions) > 0).all()
    assert (np.diff([row.relative_error for row in effect.rows]) > 0).all()
    assert fractions[-1] > 0.5
    assert "bounding_weights" in effect.conclusion
    table = str(effect)
    assert "separation" not in table  # no classes were given
    assert len(effect.to_dict()["rows"]) == 4


def test_extreme_fraction_is_that_of_the_points_farthest_out():
    """The 1 % farthest from the origin (centered: from the mean), not the largest scores."""
    X = np.random.default_rng(0).uniform([-0.8, -1.0], [1.0, 0.9], size=(300, 2))
    for center, origin in ((False, 0.0), (True, X.mean(axis=0))):
        effect = degree_effect(X, degrees=(3,), center=center)
        features = np.column_stack(
            [np.sqrt(c) * X[:, 0] ** a * X[:, 1] ** (3 - a) for a, c in enumerate((1, 3, 3, 1))]
        )
        features -= center * features.mean(axis=0)
        scores = features @ np.linalg.svd(features)[2][0]
        farthest = np.argsort(-np.linalg.norm(X - origin, axis=1))[:3]
        expected = (scores[farthest] ** 2).sum() / (scores**2).sum()
        assert_allclose(effect.rows[0].extreme_fraction, expected, rtol=1e-9)
        largest = np.sort(scores**2)[-3:].sum() / (scores**2).sum()
        assert expected < 0.99 * largest  # the two definitions differ for this sample


def test_degree_effect_does_not_depend_on_units():
    X, y = two_sides()
    first, second = degree_effect(X, y, degrees=(3, 7)), degree_effect(1e30 * X, y, degrees=(3, 7))
    for a, b in zip(first.rows, second.rows, strict=True):
        assert_allclose(list(vars(a).values()), list(vars(b).values()), rtol=1e-6)


def test_degree_effect_with_a_constant_depends_on_units():
    """Far from the origin the highest degree dominates, near it the constant."""
    X = two_sides()[0]
    near, far = (degree_effect(s * X, degrees=(2,), constant=1.0).rows[0] for s in (1e-3, 1e3))
    assert_allclose(near.explained, 1, atol=1e-4)
    assert_allclose(far.explained, degree_effect(X, degrees=(2,)).rows[0].explained, rtol=1e-4)


def test_random_classes_are_not_separated():
    X = two_sides()[0]
    effect = degree_effect(X, np.random.default_rng(0).integers(2, size=len(X)))
    assert "Degree" not in effect.conclusion
    assert " odd " not in effect.conclusion
    assert " even " not in effect.conclusion


def test_mirror_overlap_of_equal_rows():
    assert degree_effect(np.ones((5, 2)), degrees=(1,)).mirror_overlap == 0
    assert degree_effect(np.zeros((5, 2)), degrees=(1,), constant=1.0).mirror_overlap == 1


def test_wide_data_use_the_gram_matrix():
    X = np.random.default_rng(0).normal(size=(60, 80))
    effect = degree_effect(X, degrees=(2,), center=True)
    K = (X @ X.T) ** 2
    K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    values = np.linalg.eigvalsh(K)[::-1]
    assert_allclose(effect.rows[0].explained, values[:2].sum() / values.sum(), rtol=1e-9)


@pytest.mark.parametrize(
    ("call", "values"),
    [
        (lambda: degree_effect(np.ones((5, 2)), degrees=()), ["degrees"]),
        (lambda: degree_effect(np.ones((5, 2)), degrees=(0,)), ["degree=0"]),
        (lambda: degree_effect(two_sides(20)[0], np.zeros(20)), ["y"]),
        (lambda: degree_effect(two_sides(20)[0], np.zeros(3)), ["y", "(3,)", "(20,)"]),
        (lambda: centering_effect(two_sides(20)[0], n_components=0), ["n_components=0"]),
        (lambda: bounding_weights(np.ones((3, 1)), "linear", quantile=1.0), ["quantile=1.0"]),
        (lambda: bounding_weights(np.zeros((3, 1)), "linear"), ["k(x, x)", 0.75]),
    ],
)
def test_errors_name_the_invalid_values(call, values):
    with raises(ValueError, *values):
        call()


# --- centering ------------------------------------------------------------------------------------


def test_centering_one_normal_part_shifts_the_spectrum():
    effect = centering_effect(ONE.sample(800, random_state=0), Gaussian(1.5))
    assert effect.constancy > 0.97  # .984 in the population
    assert_allclose(effect.removed, 0.7276, atol=0.03)  # E K(X, Y)
    assert effect.matches[0].argmax() == 1
    assert effect.matches.shape == (5, 6)
    assert f"{100 * effect.removed:.0f} %" in effect.conclusion


def test_centering_hides_groups():
    far = Mixture([0.5, 0.5], [Normal(-6, 1), Normal(6, 1)])
    effect = centering_effect(far.sample(300, random_state=0), Gaussian(1.5))
    assert effect.sign_free == 2
    assert "clustering" in effect.conclusion
    assert len(str(effect).splitlines()) == 1 + len(effect.eigenvalues) + 1
    assert isinstance(effect.to_dict()["matches"], list)


def test_centering_changes_the_leading_monomial():
    """4.1: N((m, 0), diag(1, k)) with m = 2, k = 2.5: x1² before, x1 x2 after."""
    X = Normal([2.0, 0.0], [1.0, 2.5]).sample(20_000, random_state=0)
    effect = centering_effect(X, Polynomial(2))
    assert effect.leading == ("x1²", "x1 x2")
    assert all(monomial in effect.conclusion for monomial in effect.leading)


def test_eigenvalues_sum_to_the_trace():
    X = two_sides(100)[0]
    effect = centering_effect(X, Polynomial(2), n_components=3)
    K = Polynomial(2)(X)
    assert_allclose(effect.eigenvalues.sum(), np.trace(K) / 100)
    assert_allclose(effect.centered_eigenvalues.sum(), (1 - effect.removed) * np.trace(K) / 100)


# --- outliers ------------------------------------------------------------------------------------


def leading_function(X, weights, probes):
    pca = KernelPCA(1, kernel=Polynomial(5), center=False, solver="dense")
    return pca.fit(X, sample_weight=weights).transform(probes)[:, 0]


@pytest.mark.parametrize("fraction", [0.01, 0.05, 0.1])
def test_bounding_weights_recover_the_component_of_clean_data(fraction):
    rng = np.random.default_rng(0)
    clean = rng.normal(size=(300, 2)) * [2.0, 0.5]
    bad = rng.normal(size=(int(300 * fraction), 2)) * 0.3 + [0, 15]
    X = np.vstack([clean, bad])
    truth = leading_function(clean, None, clean)
    plain = leading_function(X, None, clean)
    robust = leading_function(X, bounding_weights(X, Polynomial(5)), clean)

    def correlation(scores):
        return abs(scores @ truth) / np.linalg.norm(scores) / np.linalg.norm(truth)

    assert correlation(plain) < 0.5
    assert correlation(robust) > 0.9


def test_bounded_kernels_need_no_weights():
    assert_allclose(bounding_weights(two_sides(20)[0], Gaussian(1.0)), 1)


def test_separated_spectrum_needs_a_mixture():
    with raises(TypeError, "Mixture"):
        separated_spectrum(Gaussian(1.0), ONE)


def test_separated_functions_have_unit_norm_when_apart():
    far = Mixture([0.7, 0.3], [Normal(-8, 1), Normal(8, 1)])
    found = separated_spectrum(Gaussian(1.5), far, n_components=4)
    rule = far.quadrature(60)
    values = found.eigenfunctions(rule.points)
    assert_allclose(values.T @ (rule.weights[:, None] * values), np.eye(4), atol=1e-6)
    assert np.abs(found.relative_errors).max() < 1e-6
    assert found.to_dict()["parts"] == found.parts.tolist()


def test_effects_do_not_depend_on_row_order():
    """More than 2000 rows are subsampled by their values."""
    rng = np.random.default_rng(0)
    X = rng.normal(loc=(2.0, 0.0), size=(3000, 2))
    X[: len(X) // 2] *= -1
    order = rng.permutation(len(X))
    one, other = (centering_effect(data, Gaussian(1.0), n_components=2) for data in (X, X[order]))
    assert_allclose(one.eigenvalues, other.eigenvalues, rtol=1e-10)
    assert_allclose(one.removed, other.removed, rtol=1e-10)
    one, other = (degree_effect(data, degrees=(1,)) for data in (X, X[order]))
    assert_allclose(one.mirror_overlap, other.mirror_overlap, rtol=1e-10)
