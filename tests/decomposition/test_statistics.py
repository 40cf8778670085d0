"""Hotelling statistics, reconstruction errors, their control limits and contributions."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer import KernelECA, KernelPCA
from mercer.data.points import Points
from mercer.decomposition.statistics import decays, typical_row
from mercer.errors import SaturationWarning
from mercer.kernels import Gaussian, Linear, On, table_kernel
from tests.expectations import raises


@pytest.fixture
def X(rng):
    return rng.normal(size=(200, 3)) * [3, 1, 0.5]


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kernel", [Gaussian(2.0), Linear()], ids=repr)
def test_reconstruction_error_is_the_distance_to_the_components(X, rng, kernel, center):
    """Compared with the (centered) kernel matrix of training and new points."""
    new = rng.normal(size=(5, 3))
    pca = KernelPCA(2, kernel=kernel, center=center).fit(X)
    K, cross, norms = kernel(X), kernel(new, X), kernel.diagonal(new)
    if center:
        mean = K.mean(axis=0)
        norms = norms - 2 * cross.mean(axis=1) + K.mean()
        cross = cross - cross.mean(axis=1, keepdims=True) - mean + K.mean()
        K = K - mean - mean[:, None] + K.mean()
    values, vectors = np.linalg.eigh(K)
    z = cross @ vectors[:, -2:] / np.sqrt(values[-2:])
    assert_allclose(pca.reconstruction_error(new), norms - (z**2).sum(axis=1), atol=1e-11)
    assert_allclose(pca.hotelling(new), (z**2 / (values[-2:] / len(X))).sum(axis=1), rtol=1e-8)


def test_linear_kernel_gives_classical_statistics(X):
    """Centered linear kernel: ordinary PCA, T² and SPE of process monitoring."""
    pca = KernelPCA(2, kernel="linear").fit(X)
    Z = X - X.mean(axis=0)
    _, singular, Vt = np.linalg.svd(Z, full_matrices=False)
    scores = Z @ Vt[:2].T
    assert_allclose(pca.reconstruction_error(X), ((Z - scores @ Vt[:2]) ** 2).sum(1), atol=1e-10)
    variances = singular[:2] ** 2 / len(X)
    assert_allclose(pca.hotelling(X), (scores**2 / variances).sum(axis=1), rtol=1e-9)


@pytest.mark.parametrize("estimator", [KernelPCA(3), KernelECA(3)], ids=repr)
def test_hotelling_averages_to_the_number_of_components(X, estimator):
    estimator.fit(X)
    assert_allclose(estimator.hotelling(X).mean(), 3, rtol=1e-10)


def test_control_limits_have_the_stated_exceedance_rate(rng):
    """Normal scores (linear kernel): both kinds of limits hold for new data."""
    train, fresh = rng.normal(size=(2000, 5)), rng.normal(size=(20000, 5))
    pca = KernelPCA(2, kernel="linear").fit(train)
    for level in (0.9, 0.99):
        limits = pca.control_limits(level)
        for name, measure in (
            ("hotelling", pca.hotelling),
            ("reconstruction_error", pca.reconstruction_error),
        ):
            for limit in limits[name].values():
                rate = (measure(fresh) > limit).mean()
                # sampling error of a quantile from 2000 rows, four standard deviations
                assert abs(rate - (1 - level)) < 4 * np.sqrt(level * (1 - level) / 2000)
    assert pca.control_limits_ == pca.control_limits(0.99)
    with raises(ValueError, "level=1"):
        pca.control_limits(1)


@pytest.mark.parametrize("n_components", [10, 60])
def test_limits_hold_on_new_rows_with_many_components(rng, n_components):
    """Training rows are closer to their own components than new rows are."""
    train, fresh = rng.normal(size=(300, 8)), rng.normal(size=(5000, 8))
    pca = KernelPCA(n_components).fit(train)
    rate = 0.05
    error = 4 * np.sqrt(rate * (1 - rate) / 300)  # sampling error of the quantile
    limits = pca.control_limits(1 - rate)["reconstruction_error"]
    for limit in limits.values():
        assert (pca.reconstruction_error(fresh) > limit).mean() <= rate + error
    if n_components == 60:
        in_sample = pca.control_limits(1 - rate, held_out=False)["reconstruction_error"]
        assert (pca.reconstruction_error(fresh) > in_sample["quantile"]).mean() > 0.15


def test_limits_are_conformal_quantiles_of_held_out_values(X):
    """The value of rank level (n + 1); the largest value if there are too few rows."""
    pca = KernelPCA(5).fit(X)
    inside, _, _ = pca._held_out_values()
    ordered = np.sort(inside)
    assert_allclose(pca.control_limits(200 / 201)["hotelling"]["quantile"], ordered[-1])
    assert_allclose(pca.control_limits(0.999)["hotelling"]["quantile"], ordered[-1])
    assert_allclose(pca.control_limits(150 / 201)["hotelling"]["quantile"], ordered[149])


def test_limits_of_hotelling_hold_on_average_with_many_components():
    """12 samples of 150 rows, 30 components: 5 % are promised; a refit uses 9/10 of the rows."""
    rates = []
    for seed in range(12):
        rows = np.random.default_rng(seed).normal(size=(1150, 6))
        pca = KernelPCA(30, kernel=Gaussian(3.0)).fit(rows[:150])
        limit = pca.control_limits(0.95)["hotelling"]["quantile"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rates.append((pca.hotelling(rows[150:]) > limit).mean())
    error = np.sqrt(0.05 * 0.95 / 150 / 12)
    assert abs(np.mean(rates) - 0.05) < 0.01 + 4 * error


def test_limits_are_those_of_the_last_fit(X):
    pca = KernelPCA(2).fit(X)
    before = pca.control_limits_
    assert pca.fit(2 * X[:150]).control_limits_ != before
    assert KernelPCA(2).fit(2 * X[:150]).control_limits_ == pca.control_limits_


def test_hotelling_of_a_decaying_kernel_warns_once(X):
    pca = KernelPCA(3, kernel=Gaussian(2.0)).fit(X)
    far = np.full((1, 3), 100.0)
    with pytest.warns(SaturationWarning, match="combined"):
        assert pca.hotelling(far)[0] < np.median(pca.hotelling(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pca.hotelling(far)
        KernelPCA(2, kernel="linear").fit(X).hotelling(far)
        KernelPCA(3, kernel=Gaussian(2.0)).fit(X).contributions(X[:2], "hotelling")
    assert pca.reconstruction_error(far)[0] > pca.reconstruction_error(X).max()


def test_kernels_that_decay():
    assert decays(2 * Gaussian(1.0))
    assert decays(Linear() * Gaussian(1.0))
    assert not decays(Linear() * 2)
    assert not decays(On(["x"], Linear()))


def test_contributions_are_largest_for_the_faulty_column(X):
    pca = KernelPCA(2, kernel=Gaussian(2.0)).fit(X)
    for column in range(3):
        row = np.median(X, axis=0)[None, :].copy()
        row[0, column] += 4.0
        found = pca.contributions(row)
        assert found.shape == (1, 3)
        assert found[0].argmax() == column
        others = np.delete(found[0], column)
        assert_allclose(others, 0, atol=1e-12)  # these columns are at their medians
    with raises(ValueError, "statistic='spe'"):
        pca.contributions(X, "spe")


def test_contributions_of_tables_are_largest_for_the_unusual_column():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=80),
            "count": rng.integers(3, 6, size=80),
            "c": np.array(["a", "b", "a", "a"])[np.arange(80) % 4],
            "day": pd.date_range("2026-01-01", periods=80),
        }
    )
    frame.loc[3, "x"] = np.nan
    kernel = table_kernel(frame, include=["day"])
    pca = KernelPCA(3, kernel=kernel).fit(frame)
    usual = {"x": frame["x"].median(), "count": 4, "c": "a", "day": pd.Timestamp("2026-02-09")}
    changes = {"x": 9.0, "count": 40, "c": "z", "day": pd.Timestamp("2031-01-01")}
    for place, (name, value) in enumerate(changes.items()):
        found = pca.contributions(pd.DataFrame([usual | {name: value}]))
        assert found.shape == (1, 4)
        assert found[0].argmax() == place
        assert_allclose(np.delete(found[0], place), 0, atol=1e-6)


def test_typical_rows_of_weighted_tables_equal_those_of_copies():
    frame = pd.DataFrame(
        {"x": [1.0, 2.0, 5.0], "c": ["a", "b", "a"], "d": pd.date_range("2026", periods=3)}
    )
    weights = np.array([1, 5, 2])
    copies = frame.iloc[np.repeat(np.arange(3), weights)]
    assert typical_row(Points(frame, "objects"), weights) == typical_row(
        Points(copies, "objects"), np.ones(8)
    )


def test_precomputed_kernels_have_no_reconstruction_error_for_new_points(X):
    K = Gaussian(1.0)(X)
    pca = KernelPCA(2, kernel="precomputed").fit(K)
    direct = KernelPCA(2, kernel=Gaussian(1.0)).fit(X)
    # nothing is stored of a matrix, so its limits are those of the training rows
    for name, limits in direct.control_limits(held_out=False).items():
        assert pca.control_limits_[name] == pytest.approx(limits, rel=1e-8)
    assert_allclose(pca.hotelling(K), direct.hotelling(X), rtol=1e-8)
    with raises(ValueError, "k(x, x)"):
        pca.reconstruction_error(K[:5])
    with raises(ValueError, "contributions"):
        pca.contributions(K[:5], "hotelling")
