"""Warnings are issued only where results suffer."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits

from mercer import EntropyClustering, KernelECA, KernelPCA
from mercer.errors import ApproximationWarning, IdentifiabilityWarning
from mercer.kernels import Gaussian
from mercer.report.distributions import Curve, curve_figure


def categories(run):
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        run()
    return {one.category for one in raised}


def test_pixels_that_vary_little_do_not_cause_a_warning():
    X = load_digits().data[:300]
    deviations = X.std(axis=0)
    assert deviations.max() > 100 * deviations[deviations > 0].min()
    assert categories(lambda: KernelPCA(2).fit(X)) == set()


@pytest.mark.parametrize(
    ("large", "columns", "warned"), [(1, 2, True), (9, 10, True), (10, 30, True), (25, 30, False)]
)
def test_columns_in_other_units_cause_a_warning(large, columns, warned, rng):
    """Among many columns, up to a third may vary little; among few columns, none."""
    X = rng.normal(size=(60, columns))
    X[:, :large] *= 1000
    found = categories(lambda: KernelPCA(2).fit(X))
    assert (ApproximationWarning in found) == warned


@pytest.fixture
def modes(rng):
    """Points of three modes in 800 dimensions."""
    centers = 3 * rng.normal(size=(3, 800)) / np.sqrt(800)
    labels = np.arange(1200) % 3
    return centers[labels] + rng.normal(size=(1200, 800)) / np.sqrt(800), labels


def test_components_of_many_weakly_similar_points_do_not_cause_a_warning(modes):
    X, labels = modes
    kernel = Gaussian(0.42)
    similarities = kernel(X) - np.eye(len(X))
    assert (similarities.max(axis=1) < 0.01).mean() > 0.5  # most points are isolated
    clustering = EntropyClustering(3, kernel=kernel)
    assert IdentifiabilityWarning not in categories(lambda: clustering.fit(X))
    assert all(len(set(clustering.labels_[labels == one])) == 1 for one in range(3))


def test_components_of_isolated_points_cause_a_warning(modes):
    X, _ = modes
    found = categories(lambda: KernelECA(3, kernel=Gaussian(0.1)).fit(X))
    assert IdentifiabilityWarning in found


@pytest.mark.parametrize("days", [0.05, 0.11, 1.9, 2.5, 2.9, 61, 75, 90, 92, 400, 800, 1000, 9000])
def test_matplotlib_finds_ticks_for_dates(days):
    x = np.linspace(20_000.3, 20_000.3 + days, 50)
    curve = Curve("when", x, np.ones(50), (), 0, True)
    assert categories(lambda: curve_figure("when", curve)) == set()
