"""Sums of Gaussians over boxes of points, compared with direct sums in double precision."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from mercer.gram import kernel_sums as module
from mercer.gram.kernel_sums import gaussian_sums
from mercer.utils.resources import run_in_threads

ERROR = 1e-6  # documented relative error of the sums, absolute in the logarithm


def direct_log_sums(Z, points, offsets, inverses):
    """Sum over all pairs of points, from differences."""
    squares = np.array([((points - z) ** 2).sum(axis=1) for z in Z])
    return logsumexp(offsets - 0.5 * squares * inverses**2, axis=1)


def random_problem(rng):
    """Return rows, points, offsets and inverse bandwidths of random shape, spread and weights."""
    n, m, d = rng.integers(1, 700), rng.integers(1, 60), rng.integers(1, 11)
    centers = rng.normal(size=(rng.integers(1, 6), d)) * rng.choice([0.0, 1.0, 5.0])
    scales = rng.gamma(1.0, size=(len(centers), d)) + 1e-3

    def draw(count):
        group = rng.integers(len(centers), size=count)
        return centers[group] + scales[group] * rng.normal(size=(count, d))

    points, Z = draw(n), draw(m)
    if rng.random() < 0.3:
        points = points[rng.integers(n, size=n)]  # copies
    Z[rng.random(m) < 0.2] *= rng.choice([3.0, 10.0])  # tails
    bandwidth = points.std() * 10 ** rng.uniform(-2, 2) + 1e-3
    inverses = np.full(n, 1 / bandwidth)
    if rng.random() < 0.3:
        inverses *= rng.uniform(0.5, 2.0, n)
    weights = rng.gamma(rng.choice([0.2, 5.0]), size=n)
    weights[rng.random(n) < rng.choice([0.0, 0.5])] = 0
    weights[rng.integers(n)] = 1.0
    with np.errstate(divide="ignore"):
        return Z, points, np.log(weights), inverses


@pytest.mark.parametrize("seed", range(10))
def test_error_is_within_its_bound_on_random_problems(monkeypatch, seed):
    """Twenty problems per seed, with boxes and tiles of random size."""
    rng = np.random.default_rng(seed)
    summed = 0
    for _ in range(20):
        monkeypatch.setattr(module, "_POINTS_PER_BOX", int(rng.integers(2, 65)))
        monkeypatch.setattr(module, "_ROWS_PER_BOX", int(rng.integers(2, 33)))
        monkeypatch.setattr(module, "_BOXES_PER_CELL", int(rng.integers(1, 9)))
        monkeypatch.setattr(module, "_NEAREST", int(rng.integers(1, 5)))
        monkeypatch.setattr(module, "_SPACING", int(rng.integers(1, 17)))
        monkeypatch.setattr(module, "_TILE", int(2 ** rng.integers(6, 14)))
        Z, points, offsets, inverses = random_problem(rng)
        sums = gaussian_sums(points, offsets, inverses)
        if sums is None:
            continue
        near = sums.reaches(Z)
        expected = direct_log_sums(Z[near], points, offsets, inverses)
        assert_allclose(sums(Z[near]), expected, rtol=0, atol=ERROR)
        summed += near.sum()
    assert summed > 200


def test_tails_are_accurate_at_a_hundred_standard_deviations(rng):
    points = rng.normal(size=(3000, 10))
    Z = np.linspace(0, 100, 40)[:, None] * np.ones(10) / np.sqrt(10)
    offsets, inverses = np.zeros(3000), np.full(3000, 2.0)
    found = gaussian_sums(points, offsets, inverses)(Z)
    assert_allclose(found, direct_log_sums(Z, points, offsets, inverses), rtol=0, atol=ERROR)
    assert found[-1] < -15_000


def test_shift_follows_much_larger_terms_of_later_boxes(rng):
    """The bounds of boxes depend on weights, so the first box need not have the nearest points."""
    heavy, light = rng.normal(size=(64, 4)) + 12, rng.normal(size=(64, 4))
    points = np.concatenate([heavy, light])
    offsets = np.repeat([200.0, 0.0], 64)
    Z = np.concatenate([light[:5], heavy[:5], 0.5 * (light[:5] + heavy[:5])])
    expected = direct_log_sums(Z, points, offsets, np.ones(128))
    found = gaussian_sums(points, offsets, np.ones(128))(Z)
    assert_allclose(found, expected, rtol=0, atol=ERROR)


@pytest.mark.parametrize("level", ["boxes", "cells"])
def test_bounds_of_boxes_are_upper_bounds(rng, level):
    points, offsets, inverses = (
        rng.normal(size=(900, 3)),
        rng.normal(size=900),
        rng.uniform(1, 3, 900),
    )
    sums = gaussian_sums(points, offsets, inverses)
    boxes = getattr(sums, level)
    Y = (0.3 * rng.normal(size=(40, 3)) - sums.origin) @ sums.rotation
    left = np.column_stack([Y, -0.5 * (Y**2).sum(axis=1), np.ones(40), np.zeros(40)])
    within = boxes.bounds_within(*module._corners(Y, np.array([0, 40])))[0]
    assert len(boxes) > 1
    for box, (first, last) in enumerate(itertools.pairwise(boxes.starts)):
        logs = logsumexp(left @ sums.factors[first:last].T, axis=1)
        bounds = boxes.bounds(box, Y)
        assert (logs <= bounds + 1e-9).all()
        assert (bounds <= within[box] + 1e-9).all()


def test_bound_of_equal_points_is_their_sum():
    points = np.repeat([[0.0, 0.0], [3.0, 4.0]], 64, axis=0)
    sums = gaussian_sums(points, np.zeros(128), np.full(128, 0.5))
    corner = (-sums.origin @ sums.rotation)[None]
    bounds = [sums.boxes.bounds(box, corner)[0] for box in range(2)]
    assert_allclose(max(bounds), np.log(64), rtol=1e-12)
    assert_allclose(min(bounds), np.log(64) - 0.5 * (0.5 * 5) ** 2, rtol=1e-12)


def test_few_pairs_are_summed_where_groups_are_far_apart(rng, monkeypatch):
    """Groups 50 bandwidths apart: each row needs the points of its own group."""
    centers = 50 * rng.permutation(np.eye(10))
    group = np.repeat(np.arange(10), 640)
    points = centers[group] + 0.1 * rng.normal(size=(6400, 10))
    sums = gaussian_sums(points, np.zeros(6400), np.ones(6400))
    computed = []
    product = module.finite_product
    monkeypatch.setattr(
        module,
        "finite_product",
        lambda A, B: computed.append(len(A) * B.shape[1] if B.ndim > 1 else 0) or product(A, B),
    )
    sums(points + 0.01)
    assert sum(computed) < 0.35 * 6400**2


def test_result_does_not_depend_on_threads_or_the_order_of_rows(rng):
    points, Z = rng.normal(size=(2000, 5)), rng.normal(size=(500, 5))
    sums = gaussian_sums(points, np.zeros(2000), np.full(2000, 3.0))
    assert_allclose(sums(Z, run_in_threads), sums(Z), rtol=0, atol=ERROR)
    order = rng.permutation(500)
    assert_allclose(sums(Z[order]), sums(Z)[order], rtol=0, atol=ERROR)


def test_no_rows(rng):
    sums = gaussian_sums(rng.normal(size=(10, 4)), np.zeros(10), np.ones(10))
    assert sums(np.empty((0, 4))).shape == (0,)


@pytest.mark.parametrize("value", [1e150, 1e5, np.inf, np.nan])
def test_points_out_of_reach_are_refused(rng, value):
    points = rng.normal(size=(100, 4))
    sums = gaussian_sums(points, np.zeros(100), np.ones(100))
    Z = points[:3].copy()
    Z[1] = value
    assert sums.reaches(Z).tolist() == [True, False, True]
    points[7, 2] = value
    with np.errstate(invalid="ignore", over="ignore"):
        assert gaussian_sums(points, np.zeros(100), np.ones(100)) is None


def test_points_with_zero_weight_are_absent(rng):
    points, Z = rng.normal(size=(300, 4)), rng.normal(size=(20, 4))
    offsets = np.where(np.arange(300) < 200, 0.0, -np.inf)
    points[200:] = 1e200
    expected = gaussian_sums(points[:200], np.zeros(200), np.ones(200))(Z)
    found = gaussian_sums(points, offsets, np.ones(300))(Z)
    assert_allclose(found, expected, rtol=0, atol=ERROR)


def test_exponential_function_in_single_precision_has_the_stated_error():
    x = np.linspace(-80, 15, 1_000_001).astype(np.float32)
    relative = np.exp(x).astype(np.float64) / np.exp(x.astype(np.float64)) - 1
    assert np.abs(relative).max() <= 2.52 * 2.0**-23
