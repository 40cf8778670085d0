"""KernelNovelty: statistics, leave-one-out values, p-values, tables."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer import KernelNovelty, MercerMixture
from mercer.data.points import Sample, validate_points
from mercer.errors import ApproximationWarning
from mercer.kernels import Gaussian, NGram
from mercer.novelty import kernel_novelty
from mercer.novelty import neighbors as novelty_neighbors
from mercer.novelty.density_scores import NegativeLogDensity
from mercer.novelty.mahalanobis import Mahalanobis, column_scales, leave_one_out_scale_ratios
from mercer.novelty.neighbors import NeighborDistance, nth_smallest
from mercer.novelty.statistics import feature_gaussian
from mercer.utils.quantiles import Calibration

STATISTICS = ["neighbors", "mahalanobis", "density", "mixture", "spe", "t2", "combined"]


def rows(n=60, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * np.arange(1, d + 1)


def sample_of(X, kernel=None):
    return Sample.of(kernel or Gaussian(2.0), validate_points(X, "vectors"), None)


@pytest.mark.parametrize("kind", [NeighborDistance, NegativeLogDensity])
def test_leave_one_out_scores_equal_refits(kind):
    X = rows()
    _, found = kind.fit(sample_of(X))
    for i in (0, 17, 59):
        refit, _ = kind.fit(sample_of(np.delete(X, i, axis=0)))
        if kind is NeighborDistance:
            refit.mass = 10.0
        assert_allclose(found[i], refit(validate_points(X[[i]], "vectors"))[0])


def test_leave_one_out_feature_gaussian_equals_direct_computation():
    X = rows(30)
    model, found = feature_gaussian(sample_of(X))
    K = Gaussian(2.0)(X)
    for i in (0, 13):
        rest = np.delete(np.arange(30), i)
        center = np.eye(29) - 1 / 29
        Kc = center @ K[np.ix_(rest, rest)] @ center
        k = center @ (K[rest, i] - K[np.ix_(rest, rest)].mean(axis=1))
        own = 1 - 2 * K[rest, i].mean() + K[np.ix_(rest, rest)].mean()
        ridge = 1 / model.outside
        solved = np.linalg.solve(Kc + 29 * ridge * np.eye(29), k)
        assert_allclose(found[i], (own - k @ solved) / ridge, rtol=1e-6)


@pytest.mark.parametrize(("n", "d"), [(60, 4), (30, 50)])
def test_leave_one_out_mahalanobis_is_close_to_refits(n, d):
    """The shrinkage of all rows is used, and the change of scales to first order."""
    X = rows(n, d)
    model, found = Mahalanobis.fit(sample_of(X))
    weights = np.ones(n)
    for i in (0, 5, 20):
        rest = np.delete(X, i, axis=0)
        scales = column_scales(rest, weights[1:])
        Z, z = rest / scales, X[i] / scales
        s = model.model.shrinkage
        covariance = (1 - s) * np.cov(Z.T, bias=True) + model.model.floor * np.eye(d)
        expected = (z - Z.mean(axis=0)) @ np.linalg.solve(covariance, z - Z.mean(axis=0))
        assert_allclose(found[i], expected, rtol=0.02)


def test_mahalanobis_of_two_rows_is_finite():
    _, found = Mahalanobis.fit(sample_of(rows(2)))
    assert np.isfinite(found).all()


def test_neighbors_use_scales_without_the_row():
    X = rows(40)
    ones = np.ones(40)
    scales = column_scales(X, ones)
    kernel = Gaussian(3.0 * scales)
    ratios = leave_one_out_scale_ratios(X, ones, scales)
    _, found = NeighborDistance.fit(sample_of(X, kernel), None, ratios)
    for i in (0, 39):
        rest = np.delete(X, i, axis=0)
        bandwidths = 3.0 * column_scales(rest, ones[1:])
        squares = (((X[i] - rest) / bandwidths) ** 2).sum(axis=1)
        assert_allclose(found[i], np.sort(squares)[9])


def test_nth_smallest_counts_weights_and_skips_zero_weights():
    values = np.array([[4.0, 1.0, 3.0, 2.0]])
    assert nth_smallest(values, np.array([1.0, 0.0, 1.0, 1.0]), 2)[0] == 3
    assert nth_smallest(values, np.array([1.0, 3.0, 1.0, 1.0]), 3)[0] == 1
    assert nth_smallest(values, np.ones(4), 9)[0] == 4


def test_p_values_count_calibration_scores():
    rng = np.random.default_rng(0)
    scores, weights = rng.normal(size=50), rng.integers(1, 4, 50).astype(float)
    calibration = Calibration.of(scores, weights)
    new = np.array([-9.0, 0.3, 9.0, scores[7]])
    expected = [(1 + weights[scores >= s].sum()) / (1 + weights.sum()) for s in new]
    assert_allclose(calibration.p_values(new), expected)
    for level in (0.02, 0.1, 0.5):
        limit = calibration.limit(level)
        assert calibration.p_values(np.array([limit]))[0] > level
        assert calibration.p_values(np.array([np.nextafter(limit, np.inf)]))[0] <= level


@pytest.mark.parametrize("calibration", ["auto", "split"])
@pytest.mark.parametrize("statistic", STATISTICS)
def test_predict_decision_and_p_values_agree(statistic, calibration):
    X, new = rows(80), rows(200, seed=1)
    model = KernelNovelty(
        statistic=statistic, calibration=calibration, false_alarm_rate=0.1, random_state=0
    ).fit(X)
    p = model.p_values(new)
    assert_array_equal(model.predict(new), np.where(p <= 0.1, -1, 1))
    assert_allclose(model.decision_function(new), model.score_samples(new) - model.offset_)
    order = np.argsort(model.score_samples(new))
    assert (np.diff(p[order]) >= 0).all()
    if statistic != "t2":
        assert model.p_values([[30.0, 0.0, 0.0]])[0] == 1 / (model.n_calibration_ + 1)


@pytest.mark.parametrize(
    "statistic", ["auto", "mixture", pytest.param("spe", marks=pytest.mark.slow)]
)
def test_false_alarm_rate_on_new_rows(statistic):
    """The mean over 40 samples of 100 rows differs from 10 % by at most 4 standard errors."""
    rates = []
    for seed in range(40):
        X = np.random.default_rng(seed).normal(size=(400, 5))
        model = KernelNovelty(statistic=statistic, false_alarm_rate=0.1, random_state=0)
        rates.append((model.fit(X[:100]).predict(X[100:]) == -1).mean())
    error = np.sqrt(0.1 * 0.9 * (1 / 100 + 1 / 300) / 40)
    assert 0.1 - 1 / 101 - 4 * error <= np.mean(rates) <= 0.1 + 4 * error


def test_wide_data_keep_the_false_alarm_rate():
    rates = []
    for seed in range(30):
        X = np.random.default_rng(seed).normal(size=(300, 150))
        model = KernelNovelty(false_alarm_rate=0.1).fit(X[:100])
        assert model.statistic_ == "mahalanobis"
        rates.append((model.predict(X[100:]) == -1).mean())
    error = np.sqrt(0.1 * 0.9 * (1 / 100 + 1 / 200) / 30)
    assert abs(np.mean(rates) - 0.1) <= 4 * error + 1 / 101


def test_trimming_keeps_a_group_of_anomalies_abnormal():
    X = rows(200)
    X[:9] = [12.0, 0.0, 0.0] + 0.1 * X[:9]
    anomaly = [[12.1, 0.1, 0.0]]
    for statistic in ("mahalanobis", "spe"):
        robust = KernelNovelty(statistic=statistic, robust=True).fit(X)
        plain = KernelNovelty(statistic=statistic, robust=False).fit(X)
        assert robust.p_values(anomaly)[0] <= plain.p_values(anomaly)[0]
        assert robust.p_values(anomaly)[0] < 0.06


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.normal(40, 10, n)
    age[:6] = np.nan
    return pd.DataFrame(
        {"age": age, "city": rng.choice(["a", "b", "c"], n), "k": rng.integers(9, size=n)}
    )


@pytest.mark.parametrize("statistic", ["neighbors", "density"])
def test_contributions_and_scores_of_distant_rows_of_a_table_do_not_saturate(statistic):
    """Kernel values underflow 100 standard deviations away; their logarithms do not."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 100))
    frame = pd.DataFrame({"x": x, "y": y, "c": rng.choice(["a", "b"], 100)})
    model = KernelNovelty(statistic=statistic).fit(frame)
    found = model.explain(pd.DataFrame({"x": [100.0], "y": [5.0], "c": ["a"]}))
    assert np.isfinite(found).all(axis=None)
    assert found["x"][0] < 1e30
    assert found["x"][0] > found["y"][0] > found["c"][0]
    near, far = model.score_samples(
        pd.DataFrame({"x": [100.0, 1e3], "y": [0.0] * 2, "c": ["a"] * 2})
    )
    assert far < near


@pytest.mark.parametrize("statistic", ["neighbors", "density", "mixture", "spe"])
def test_table_with_labels_and_missing_values(statistic):
    frame = table()
    model = KernelNovelty(statistic=statistic, random_state=0).fit(frame)
    new = pd.DataFrame({"age": [150.0, 40.0], "city": ["a", "unseen"], "k": [4, 4]})
    explained = model.explain(new)
    assert list(explained.columns) == list(frame.columns)
    assert explained.iloc[0].idxmax() == "age"
    assert explained.iloc[1].idxmax() == "city"
    assert model.p_values(new)[0] <= 0.05


def test_numeric_frame_is_used_as_vectors():
    X = rows()
    frame = pd.DataFrame(X, columns=list("abc"))
    assert_allclose(
        KernelNovelty().fit(frame).score_samples(frame), KernelNovelty().fit(X).score_samples(X)
    )
    assert KernelNovelty().fit(frame).explain(frame.head(2)).shape == (2, 3)


def test_units_of_columns_do_not_matter_with_the_automatic_kernel():
    X = rows()
    for statistic in ("neighbors", "mahalanobis", "spe", "density"):
        one = KernelNovelty(statistic=statistic, random_state=0).fit(X)
        other = KernelNovelty(statistic=statistic, random_state=0).fit(X * [1.0, 1e3, 1e-3])
        assert_allclose(one.p_values(X[:9]), other.p_values(X[:9] * [1.0, 1e3, 1e-3]), atol=1 / 60)


def test_strings():
    words = ["abc" + "abc"[i % 3] * (i % 5) for i in range(40)]
    model = KernelNovelty(NGram(2, normalize=True), false_alarm_rate=0.1).fit(words)
    assert model.predict(["xyzxyz", "abcab"]).tolist() == [-1, 1]
    with pytest.raises(ValueError, match="columns"):
        model.explain(["abc"])


def test_subsample_of_many_rows_calibrates_on_the_others():
    X = rows(1500)
    model = KernelNovelty(max_samples=200, random_state=0).fit(X)
    assert model.n_calibration_ == 1500
    assert abs((model.predict(rows(1500, seed=1)) == -1).mean() - 0.05) < 0.025


def test_scores_do_not_depend_on_chunks(monkeypatch):
    model = KernelNovelty().fit(rows())
    new = rows(50, seed=1)
    expected = model.score_samples(new)
    monkeypatch.setattr(novelty_neighbors, "_CHUNK", 7)
    monkeypatch.setattr(novelty_neighbors, "_BLOCK", 200)
    assert_allclose(model.score_samples(new), expected)


def test_weights_equal_repeated_rows():
    X = rows(50)
    weights = np.random.default_rng(0).integers(0, 3, 50)
    for statistic in ("auto", "mahalanobis", "density"):
        one = KernelNovelty(statistic=statistic).fit(X, sample_weight=weights)
        other = KernelNovelty(statistic=statistic).fit(np.repeat(X, weights, axis=0))
        assert_allclose(one.p_values(X), other.p_values(X))
        assert_allclose(one.score_samples(X), other.score_samples(X))


def test_warns_if_no_row_can_be_abnormal():
    with pytest.warns(ApproximationWarning, match="99"):
        model = KernelNovelty(false_alarm_rate=0.01).fit(rows(50))
    assert (model.predict(rows(5) * 100) == 1).all()


@pytest.mark.parametrize(
    "params",
    [
        {"statistic": "typical"},
        {"false_alarm_rate": 0.0},
        {"calibration": "cross"},
        {"robust": "yes"},
        {"kernel": "precomputed"},
        {"max_samples": 1},
    ],
)
def test_invalid_parameters(params):
    with pytest.raises(
        ValueError,
        match=next(iter(params.values()))
        if isinstance(next(iter(params.values())), str)
        else next(iter(params)),
    ):
        KernelNovelty(**params).fit(rows())


def test_save_and_load(tmp_path):
    for statistic in STATISTICS:
        model = KernelNovelty(statistic=statistic, random_state=0).fit(rows())
        mercer.save(model, tmp_path / "model.mercer")
        loaded = mercer.load(tmp_path / "model.mercer")
        assert_allclose(loaded.p_values(rows(9, seed=1)), model.p_values(rows(9, seed=1)))


def test_weighted_p_values_equal_the_definition():
    rng = np.random.default_rng(0)
    scores, weights = rng.normal(size=30), rng.exponential(size=30)
    new, own = rng.normal(size=5), rng.exponential(size=5)
    expected = [
        (w + weights[scores >= s].sum()) / (w + weights.sum())
        for s, w in zip(new, own, strict=True)
    ]
    assert_allclose(Calibration.of(scores, weights).p_values(new, own), expected)


def shifted(rng, n, d=2):
    """Return training rows, rows of a shifted distribution, and the ratio of their densities."""
    shift = np.array([1.0, 0.0])

    def ratio(X):
        return np.exp(X @ shift - shift @ shift / 2)

    return rng.normal(size=(n, d)), rng.normal(size=(300, d)) + shift, ratio


@pytest.mark.parametrize("calibration", ["auto", "split"])
def test_weighted_p_values_keep_the_false_alarm_rate_under_covariate_shift(calibration):
    """Known density ratio: the promise of 10 % holds with weights, not without."""
    rates, plain = [], []
    for seed in range(40):
        X, new, ratio = shifted(np.random.default_rng(seed), 200)
        model = KernelNovelty(false_alarm_rate=0.1, calibration=calibration, random_state=0)
        plain.append((model.fit(X).p_values(new) <= 0.1).mean())
        model.fit(X, calibration_weight=7.0 * ratio(X))  # the factor cancels
        rates.append((model.p_values(new, weight=7.0 * ratio(new)) <= 0.1).mean())
    error = np.std(rates, ddof=1) / np.sqrt(40)
    assert np.mean(plain) > 0.15
    assert np.mean(rates) <= 0.1 + 3 * error
    # p is at least w(x) / (w(x) + Σ w_i), so rows with a large weight are never marked
    assert np.mean(rates) >= 0.03


def test_equal_calibration_weights_change_nothing():
    X, new = rows(80), rows(30, seed=1)
    plain = KernelNovelty().fit(X)
    weighted = KernelNovelty().fit(X, calibration_weight=np.full(80, 3.0))
    assert_allclose(weighted.p_values(new, weight=np.full(30, 3.0)), plain.p_values(new))
    assert weighted.n_calibration_ == pytest.approx(80)


def test_calibration_weights_of_repeated_rows():
    X, weights = rows(50), np.random.default_rng(0).integers(0, 3, 50)
    ratios, own = np.exp(X[:, 0] / 2), np.exp(X[:9, 1])
    one = KernelNovelty().fit(X, sample_weight=weights, calibration_weight=ratios)
    other = KernelNovelty().fit(
        np.repeat(X, weights, axis=0), calibration_weight=np.repeat(ratios, weights)
    )
    assert_allclose(one.p_values(X[:9], weight=own), other.p_values(X[:9], weight=own))
    assert_allclose(one.n_calibration_, other.n_calibration_)


def test_calibration_weights_are_checked():
    X = rows()
    weighted = KernelNovelty().fit(X, calibration_weight=np.ones(60))
    for call in (weighted.p_values, weighted.predict, weighted.decision_function):
        with pytest.raises(ValueError, match="calibration_weight"):
            call(X)
    with pytest.raises(ValueError, match="calibration_weight"):
        KernelNovelty().fit(X).p_values(X, weight=np.ones(60))
    with pytest.raises(ValueError, match=r"weight must not be negative.*-1"):
        weighted.p_values(X, weight=-np.ones(60))
    with pytest.raises(ValueError, match=r"\(3,\).*\(60,\)"):
        KernelNovelty().fit(X, calibration_weight=np.ones(3))
    with pytest.raises(ValueError, match="zero"):
        KernelNovelty().fit(X, calibration_weight=np.zeros(60))


def test_dask_fit_and_scores_equal_those_in_memory():
    da = pytest.importorskip("dask.array")
    X, new = rows(), rows(40, seed=1)
    weights, ratios = np.arange(60.0) % 3, np.exp(X[:, 0])
    chunked, lazy_new = da.from_array(X, chunks=(17, 3)), da.from_array(new, chunks=(10, 3))
    for options in (
        {},
        {"sample_weight": weights},
        {"sample_weight": weights, "calibration_weight": ratios},
    ):
        expected = KernelNovelty().fit(X, **options)
        model = KernelNovelty().fit(chunked, **options)
        own = {"weight": np.exp(new[:, 0])} if "calibration_weight" in options else {}
        lazy = model.p_values(lazy_new, **own)
        assert lazy.chunks == ((10,) * 4,)
        assert_allclose(lazy.compute(), expected.p_values(new, **own))
        assert_allclose(model.score_samples(lazy_new).compute(), expected.score_samples(new))
    assert_array_equal(
        KernelNovelty().fit(chunked).predict(lazy_new).compute(),
        KernelNovelty().fit(X).predict(new),
    )


def test_dask_fit_draws_random_rows(monkeypatch):
    da = pytest.importorskip("dask.array")
    monkeypatch.setattr(kernel_novelty, "_MAX_CALIBRATION_ROWS", 300)
    X = da.from_array(rows(4000), chunks=(500, 3))
    model = KernelNovelty(max_samples=100, random_state=0).fit(X)
    assert model.n_calibration_ == 400
    assert abs((model.predict(rows(2000, seed=1)) == -1).mean() - 0.05) < 0.04
    other = KernelNovelty(max_samples=100, random_state=1).fit(X)
    assert model.offset_ != other.offset_


def test_dask_fit_rejects_missing_values():
    da = pytest.importorskip("dask.array")
    X = rows()
    X[30, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        KernelNovelty().fit(da.from_array(X, chunks=(20, 3)))


def test_no_warnings_on_ordinary_data():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelNovelty().fit(rows(100)).predict(rows(10))


def test_several_components_of_a_mixture():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) + 8 * rng.integers(0, 2, (200, 1))
    model = KernelNovelty(statistic="mixture", n_components=2, robust=False).fit(X)
    mixture = MercerMixture(2, kernel=model.kernel_, random_state=0).fit(X)
    new = np.array([[0.0, 0.0], [8.0, 8.0], [4.0, 4.0], [30.0, 0.0]])
    assert_allclose(model.score_samples(new), mixture.score_samples(new))
    assert model.predict(new).tolist() == [1, 1, -1, -1]


def test_clean_training_rows_use_five_neighbors():
    X, new = rows(80), rows(5, seed=1)
    model = KernelNovelty(Gaussian(1.0), robust=False).fit(X)
    squares = ((new[:, None] - X[None]) ** 2).sum(axis=2)
    assert_allclose(-model.score_samples(new), np.sort(squares, axis=1)[:, 4])
