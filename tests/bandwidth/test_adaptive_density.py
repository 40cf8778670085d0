"""Densities with a bandwidth or a bandwidth matrix per point, compared with loops."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from mercer import ParzenDensity
from mercer.bandwidth.adaptive_density import (
    SamplePointDensity,
    abramson_bandwidths,
    adapt_bandwidths,
    adapt_shapes,
    local_shapes,
    random_folds,
)
from mercer.bandwidth.likelihood import Coordinates, sample_coordinates
from mercer.gram.kernel_sums import worth_boxes
from mercer.utils.resources import run_in_threads
from tests.expectations import raises


def points(n=40, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def search(adapt, X, weights):
    return adapt(X, weights, sample_coordinates(X, weights))


def density(shape, d=2):
    rng = np.random.default_rng(3)
    factor = np.tril(rng.normal(size=(d, d)), -1) + np.diag(rng.uniform(0.5, 2, d))
    inverses = rng.uniform(0.5, 3, 40)
    if shape:
        inverses = np.tril(rng.normal(size=(40, d, d)), -1) + inverses[:, None, None] * np.eye(d)
    weights = rng.dirichlet(np.ones(40))
    return SamplePointDensity(
        Coordinates(rng.normal(size=d), factor), points(d=d), weights, inverses
    )


def naive_log_density(model, x):
    total = 0.0
    for z, weight, inverse in zip(model.points, model.weights, model.inverses, strict=True):
        center = model.coordinates.factor @ z + model.coordinates.center
        step = model.coordinates.factor @ np.linalg.inv(
            np.atleast_2d(inverse * np.eye(len(x))) if np.ndim(inverse) == 0 else inverse
        )
        total += weight * multivariate_normal(center, step @ step.T).pdf(x)
    return np.log(total)


@pytest.mark.parametrize("shape", [False, True])
@pytest.mark.parametrize("d", [1, 3])
def test_log_density_is_that_of_the_mixture(shape, d):
    model = density(shape, d)
    X = points(6, d, seed=1)
    assert_allclose(model.log_density(X), [naive_log_density(model, x) for x in X], rtol=1e-9)


@pytest.mark.parametrize("shape", [False, True])
def test_mass_is_one(shape):
    model = density(shape)
    drawn = model.draw(4000, np.random.default_rng(0))
    low, high = drawn.min(axis=0) - 4, drawn.max(axis=0) + 4
    axes = [np.linspace(a, b, 500) for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    cell = np.prod([axis[1] - axis[0] for axis in axes])
    assert_allclose(np.exp(model.log_density(grid)).sum() * cell, 1.0, atol=1e-3)


@pytest.mark.parametrize("shape", [False, True])
def test_draws_have_the_moments_of_the_mixture(shape):
    model = density(shape)
    drawn = model.coordinates.scaled(model.draw(50_000, np.random.default_rng(0)))
    mean = model.weights @ model.points
    assert_allclose(drawn.mean(axis=0), mean, atol=4 * drawn.std() / np.sqrt(50_000))
    noise = [np.linalg.inv(i if np.ndim(i) else i * np.eye(2)) for i in model.inverses]
    second = sum(
        w * (np.outer(z, z) + b @ b.T)
        for w, z, b in zip(model.weights, model.points, noise, strict=True)
    )
    assert_allclose(drawn.T @ drawn / 50_000, second, rtol=0.05, atol=0.1 * second.max())


def test_far_points_have_finite_logarithms():
    assert_allclose(density(False).log_density(np.array([[1e6, 0.0]])) < -1e9, True)
    assert np.isfinite(density(True).log_density(np.array([[1e6, 0.0]]))).all()


def test_many_sums_agree_with_few_and_are_accurate_far_away():
    """Many rows skip negligible points; a row that is too far away is summed directly."""
    X = points(5000)
    inverses = np.random.default_rng(1).uniform(1, 8, len(X))
    coordinates = Coordinates(np.zeros(2), np.eye(2))
    model = SamplePointDensity(coordinates, X, np.full(len(X), 1 / len(X)), inverses)
    Z = points(2000, seed=2) * np.geomspace(1, 40, 2000)[:, None]
    Z[3] = 1e7
    assert worth_boxes(len(X), len(Z))
    few = np.concatenate([model.log_density(part) for part in np.split(Z, 4)])
    # far away the logarithms have the rounding error of squared distances
    assert_allclose(model.log_density(Z), few, atol=1e-6, rtol=1e-12)
    assert_allclose(model.log_density(Z, run_in_threads), few, atol=1e-6, rtol=1e-12)
    model = replace(model, points=X * 1e5)
    few = np.concatenate([model.log_density(part) for part in np.split(Z, 4)])
    assert_allclose(model.log_density(Z), few, rtol=1e-9)


def test_bandwidths_follow_abramson():
    Z, weights = points(), np.arange(1.0, 41.0)
    pilot = [
        np.log(
            sum(
                w * np.exp(-((z - y) ** 2).sum() / (2 * 0.4**2))
                for y, w in zip(Z, weights, strict=True)
            )
        )
        for z in Z
    ]
    expected = -0.5 * (np.array(pilot) - np.average(pilot, weights=weights))
    assert_allclose(abramson_bandwidths(Z, Z, weights, 0.4, 0.5), expected, rtol=1e-9)


def test_bandwidths_of_rows_far_from_the_reference_follow_the_distance():
    reference, weights = points(), np.ones(40)
    distances = np.array([1e2, 1e4, 1e6, 1e300])
    far = np.column_stack([distances, np.zeros(4)])
    with np.errstate(all="raise"):
        found = 0.4 * np.exp(abramson_bandwidths(far, reference, weights, 0.4, 0.5))
    assert_allclose(found[:3], distances[:3], rtol=0.05)
    assert 1e100 < found[3] <= 1e300


def test_shapes_are_the_scatter_of_neighbors():
    Z, weights = points(60), np.ones(60)
    inverses = local_shapes(Z, Z, weights, 0.25, 0.3)
    for j in (0, 17, 59):
        differences = np.delete(Z, j, axis=0) - Z[j]
        near = differences[np.argsort((differences**2).sum(axis=1))[:15]]
        S = near.T @ near / 15
        expected = 0.7 * S + 0.3 * np.trace(S) / 2 * np.eye(2)
        assert_allclose(np.linalg.inv(inverses[j].T @ inverses[j]), expected, rtol=1e-9)


def test_shapes_need_three_distinct_rows():
    X = points(3)
    with np.errstate(all="raise"):
        assert np.isfinite(ParzenDensity(adaptive="shape").fit(X).score_samples(X)).all()
        with raises(ValueError, "2 distinct rows", "at least 3"):
            ParzenDensity(adaptive="shape").fit(np.repeat(X[:2], 3, axis=0))


@pytest.mark.parametrize("adapt", [adapt_bandwidths, adapt_shapes])
def test_scores_are_cross_validated_and_move_with_the_units(adapt):
    X, weights = points(80), np.ones(80)
    A = np.array([[3.0, 0.0], [0.0, 0.01]])
    first, second = search(adapt, X, weights), search(adapt, X @ A + 5.0, weights)
    assert_allclose(second.bandwidth, first.bandwidth, rtol=1e-6)
    assert_allclose(second.score, first.score - np.log(0.03), rtol=1e-6)


def test_scale_of_weights_has_no_effect():
    X, weights = points(60), np.random.default_rng(0).uniform(0.5, 2, 60)
    for adapt in (adapt_bandwidths, adapt_shapes):
        assert_allclose(
            search(adapt, X, weights).score, search(adapt, X, 1e-9 * weights).score, rtol=1e-9
        )


def test_skewed_samples_get_bandwidths_that_follow_the_density():
    rng = np.random.default_rng(0)
    skewed = search(adapt_bandwidths, rng.lognormal(0, 1.5, size=(300, 1)), np.ones(300))
    assert skewed.exponent > 0


def test_correlations_are_used_only_if_they_help():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) @ np.array([[1.0, 0.99], [0.0, 0.14]])
    found = search(adapt_bandwidths, X, np.ones(200))
    assert abs(found.coordinates.factor[1, 0]) > 0
    assert len(sample_coordinates(np.c_[X, X[:, :1]], np.ones(200))) == 1  # singular


def test_constant_columns_have_no_density():
    with raises(ValueError, "Column 1", 7):
        sample_coordinates(np.c_[np.arange(5.0), np.full(5, 7.0)], np.ones(5))


def test_folds_have_equal_sizes_and_use_all_points():
    folds = random_folds(23, 5)
    assert sorted(np.bincount(folds).tolist()) == [4, 4, 5, 5, 5]
    assert set(random_folds(3, 10)) == {0, 1, 2}
