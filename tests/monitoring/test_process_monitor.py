"""ProcessMonitor: charts, limits, missing values, time, streams and updates."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import mercer
from mercer import ProcessMonitor
from mercer.datasets import make_process
from mercer.datasets.process import PROCESS_FAULTS, simulate_reactors
from mercer.errors import ApproximationWarning, IdentifiabilityWarning
from mercer.kernels import Gaussian
from mercer.monitoring.control_charts import correlation_time, cusum, ewma
from tests.expectations import raises


@pytest.fixture(scope="module")
def normal():
    return make_process(1200, random_state=0)


@pytest.fixture(scope="module")
def fitted(normal):
    return ProcessMonitor(n_lags=1).fit(normal)


@pytest.fixture(scope="module")
def linear(normal):
    return ProcessMonitor(n_lags=1, kernel="linear").fit(normal)


def test_frame_has_charts_limits_and_alarms(fitted):
    new = make_process(200, fault="leak", fault_start=100, random_state=1)
    frame = fitted.monitor(new)
    assert frame.index.equals(new.index)
    for name, limit in (("statistic", "limit"), ("ewma", "ewma_limit"), ("cusum", "cusum_limit")):
        assert (frame[limit] == fitted.limits_[name]).all()
        assert_array_equal(frame[f"{name}_alarm"], frame[name] > frame[limit])
    assert_array_equal(frame["alarm"], frame["ewma_alarm"])
    calibration = fitted.calibration_
    scores = calibration.score(frame["statistic"].to_numpy())
    assert_allclose(frame["ewma"], ewma(scores, 0.1))
    assert_allclose(frame["cusum"], cusum(scores, calibration.allowance))
    assert_allclose(fitted.score_samples(new), -frame["statistic"])
    assert frame["alarm"].iloc[120:].mean() > 0.9
    assert ProcessMonitor.detection_delay(frame, 100) < 20
    delay = ProcessMonitor.detection_delay(frame, new.index[100])
    assert delay == pd.Timedelta(minutes=ProcessMonitor.detection_delay(frame, 100))
    assert ProcessMonitor.detection_delay(frame.iloc[:50].assign(alarm=False), 3) is None
    with raises(ValueError, 200, 199):
        ProcessMonitor.detection_delay(frame, 200)


def test_linear_statistic_is_a_mahalanobis_distance_of_lagged_rows(normal, linear):
    X = (normal.to_numpy() - linear.mean_) / linear.scale_
    Z = np.hstack([X[1:], X[:-1]])
    centered = Z - Z.mean(axis=0)
    from sklearn.covariance import ledoit_wolf

    covariance, _ = ledoit_wolf(centered, assume_centered=True)
    expected = np.einsum("ij,jk,ik->i", centered, np.linalg.inv(covariance), centered)
    assert_allclose(linear.monitor(normal)["statistic"].iloc[1:], expected, rtol=1e-6)


@pytest.mark.parametrize("fault", ["coolant-temperature", "leak"])
def test_contributions_name_the_disturbed_variable(fitted, linear, fault):
    new = make_process(160, fault=fault, fault_start=100, random_state=2)
    for monitor in (fitted, linear):
        found = monitor.contributions(new)
        assert found.shape == new.shape
        assert found.index.equals(new.index)
        assert found.iloc[110:].mean().idxmax() == PROCESS_FAULTS[fault]


def test_contribution_is_the_decrease_of_the_statistic_without_the_variable(fitted, linear):
    new = make_process(30, random_state=3)
    for monitor in (fitted, linear):
        without = new.copy()
        without["coolant_flow"] = np.nan
        statistic = monitor.monitor(new)["statistic"]
        decrease = statistic - monitor.monitor(without)["statistic"]
        found = monitor.contributions(new)["coolant_flow"]
        assert_allclose(found, decrease, rtol=1e-6, atol=1e-8)


def test_missing_values_are_allowed_everywhere(normal):
    rng = np.random.default_rng(0)
    holes = normal.mask(rng.random(normal.shape) < 0.05)
    monitor = ProcessMonitor(n_lags=1).fit(holes)
    new = make_process(300, random_state=4)
    gone = new.mask(rng.random(new.shape) < 0.05)
    gone.iloc[50] = np.nan
    frame = monitor.monitor(gone)
    assert np.isnan(frame["statistic"].iloc[50])
    assert frame["ewma"].iloc[50] == frame["ewma"].iloc[49]
    assert frame["statistic"].drop(frame.index[50]).notna().all()
    assert frame["alarm"].mean() < 0.1
    assert monitor.contributions(gone).iloc[50].isna().all()


def test_stream_of_batches_equals_one_call(fitted):
    new = make_process(150, random_state=5).mask(np.random.default_rng(1).random((150, 10)) < 0.02)
    new = pd.concat([new.iloc[:60], new.iloc[95:]])  # a pause begins a segment
    whole = fitted.monitor(new)
    stream = fitted.stream()
    parts = [stream.update(new.iloc[a:b]) for a, b in ((0, 1), (1, 60), (60, 61), (61, 115))]
    pd.testing.assert_frame_equal(pd.concat(parts), whole, rtol=1e-9)
    with raises(ValueError, "time order"):
        stream.update(new.iloc[:3])


def test_rows_after_a_pause_have_no_lags(fitted):
    new = make_process(100, random_state=6)
    paused = pd.concat([new.iloc[:40], new.iloc[70:]])
    found = fitted.monitor(paused)["statistic"]
    assert_allclose(found.iloc[40:], fitted.monitor(new.iloc[70:])["statistic"])


def test_time_column_equals_an_index(normal):
    table = normal.reset_index()
    table["time"] = table["time"].astype(str)
    by_column = ProcessMonitor(n_lags=1, time="time", kernel="linear").fit(table)
    by_index = ProcessMonitor(n_lags=1, kernel="linear").fit(normal)
    first, second = by_column.monitor(table), by_index.monitor(normal)
    assert_allclose(first["ewma"], second["ewma"])
    assert first.index.equals(second.index)
    array = ProcessMonitor(n_lags=1, kernel="linear").fit(normal.to_numpy())
    assert_allclose(array.monitor(normal.to_numpy())["ewma"], second["ewma"])
    with raises(ValueError, "absent"):
        ProcessMonitor(time="absent").fit(table)
    with raises(ValueError, "time"):
        ProcessMonitor().fit(table)
    with raises(ValueError, "time order"):
        by_index.monitor(normal.iloc[::-1])


def test_columns_are_matched_by_name(fitted):
    new = make_process(40, random_state=7)
    shuffled = new[new.columns[::-1]].assign(other=1.0)
    assert_allclose(fitted.monitor(shuffled)["ewma"], fitted.monitor(new)["ewma"])
    with raises(ValueError, "feed_flow"):
        fitted.monitor(new.drop(columns="feed_flow"))
    with raises(ValueError, 3, 10):
        fitted.monitor(np.zeros((5, 3)))


def test_false_alarms_of_independent_rows_keep_the_promise():
    rates = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        mixing = rng.normal(size=(4, 4))
        monitor = ProcessMonitor(n_lags=0, kernel="linear", false_alarm_rate=0.05)
        monitor.fit(rng.normal(size=(400, 4)) @ mixing)
        frame = monitor.monitor(rng.normal(size=(1000, 4)) @ mixing)
        rates.append([frame[f"{name}_alarm"].mean() for name in ("statistic", "ewma", "cusum")])
    error = np.std(rates, axis=0, ddof=1) / np.sqrt(len(rates))
    assert (np.mean(rates, axis=0) < 0.05 + 4 * error).all()
    assert (np.mean(rates, axis=0) > 0.05 - 4 * error).all()


def test_false_alarms_of_an_autocorrelated_plant_keep_the_promise():
    runs = simulate_reactors(1500, 8, np.random.default_rng(3))
    rates = []
    for run in runs:
        monitor = ProcessMonitor(n_lags=2, kernel="linear", false_alarm_rate=0.05).fit(run[:1000])
        frame = monitor.monitor(run[1000:])
        rates.append([frame[f"{name}_alarm"].mean() for name in ("statistic", "ewma")])
    error = np.std(rates, axis=0, ddof=1) / np.sqrt(len(rates))
    assert (np.mean(rates, axis=0) < 0.05 + 3 * error).all()


def test_slow_columns_widen_the_limits():
    """The squared distance of slow columns has at least half of their correlation time."""
    rng = np.random.default_rng(0)
    slow = np.cumsum(rng.normal(size=800)) * 0.1
    slow -= np.convolve(slow, np.ones(200) / 200, "same")
    X = np.column_stack([slow, rng.normal(size=(800, 6))])
    monitor = ProcessMonitor(n_lags=0, kernel="linear").fit(X)
    fast = ProcessMonitor(n_lags=0, kernel="linear").fit(X[:, 1:])
    assert monitor.correlation_time_ >= 0.49 * correlation_time(X[:, 0])
    assert monitor.correlation_time_ > 2 * fast.correlation_time_
    assert monitor.limits_["ewma"] > fast.limits_["ewma"]


def test_few_independent_observations_give_a_warning():
    slow = np.cumsum(np.random.default_rng(1).normal(size=(150, 3)), axis=0)
    with pytest.warns(ApproximationWarning, match="150 rows.*independent observations"):
        ProcessMonitor(n_lags=0, kernel="linear").fit(slow)


def test_average_run_length_sets_the_limits(normal):
    short, long = (
        ProcessMonitor(n_lags=0, kernel="linear", average_run_length=length).fit(normal).limits_
        for length in (20, 500)
    )
    assert all(short[name] < long[name] for name in short)
    rng = np.random.default_rng(0)
    monitor = ProcessMonitor(n_lags=0, kernel="linear", average_run_length=50)
    monitor.fit(rng.normal(size=(2000, 3)))
    lengths = []
    for _ in range(60):
        alarms = monitor.monitor(rng.normal(size=(400, 3)))["ewma_alarm"].to_numpy()
        lengths.append(alarms.argmax() + 1 if alarms.any() else 400)
    # runs are about exponential: the standard error of 60 runs is 13 %
    assert_allclose(np.mean(lengths), 50, rtol=0.5)


def test_partial_fit_equals_a_fit_of_the_latest_rows(normal):
    later = make_process(200, random_state=8, start="2026-01-01 20:00")
    monitor = ProcessMonitor(n_lags=1, kernel="linear", window=900).fit(normal)
    monitor.partial_fit(later)
    expected = ProcessMonitor(n_lags=1, kernel="linear")
    expected.fit(pd.concat([normal, later]).iloc[-900:])
    for name, limit in expected.limits_.items():
        assert_allclose(monitor.limits_[name], limit)
    new = make_process(50, random_state=9)
    assert_allclose(monitor.monitor(new)["ewma"], expected.monitor(new)["ewma"])
    first = ProcessMonitor(n_lags=1, kernel="linear").partial_fit(normal)
    assert first.limits_ == ProcessMonitor(n_lags=1, kernel="linear").fit(normal).limits_


def test_partial_fit_follows_slow_drift():
    rng = np.random.default_rng(0)
    drift = np.linspace(0, 4, 2000)[:, None] * np.array([1.0, -1.0, 0.5])
    X = rng.normal(size=(2000, 3)) + drift
    frozen = ProcessMonitor(n_lags=0, kernel="linear").fit(X[:500])
    adaptive = ProcessMonitor(n_lags=0, kernel="linear", window=300).fit(X[:500])
    for begin in range(500, 1900, 100):
        adaptive.partial_fit(X[begin : begin + 100])
    assert frozen.monitor(X[1900:])["alarm"].mean() > 0.9
    assert adaptive.monitor(X[1900:])["alarm"].mean() < 0.3


def test_fit_is_atomic(normal, fitted):
    monitor = clone(fitted).fit(normal)
    before = dict(vars(monitor))
    for bad, value in ((np.zeros((10, 3)), 10), (np.full((100, 2), 3.0), "constant")):
        with raises(ValueError, value):
            monitor.fit(bad)
        assert vars(monitor).keys() == before.keys()
        assert all(vars(monitor)[name] is value for name, value in before.items())
    with raises(ValueError, 3, 10):
        monitor.partial_fit(np.zeros((10, 3)))
    assert vars(monitor)["limits_"] is before["limits_"]


def test_constant_columns_are_ignored_with_a_warning(normal):
    table = normal.assign(setpoint=350.0)
    with pytest.warns(IdentifiabilityWarning, match="setpoint"):
        monitor = ProcessMonitor(n_lags=0, kernel="linear").fit(table)
    expected = ProcessMonitor(n_lags=0, kernel="linear").fit(normal)
    assert_allclose(monitor.monitor(table)["ewma"], expected.monitor(normal)["ewma"])
    assert (monitor.contributions(table)["setpoint"] == 0).all()


def test_few_rows_for_the_columns_give_a_warning():
    X = np.random.default_rng(0).normal(size=(60, 20))
    with pytest.warns(IdentifiabilityWarning, match="60|59"):
        ProcessMonitor(n_lags=1, kernel="linear").fit(X)
    assert ProcessMonitor(kernel="linear").fit(X[:, :5]).n_lags_ == 0


def test_params_clone_and_persistence(fitted, tmp_path):
    assert clone(fitted).get_params() == fitted.get_params()
    assert clone(fitted).set_params(smoothing=0.3).smoothing == 0.3
    mercer.save(fitted, tmp_path / "monitor.mercer")
    loaded = mercer.load(tmp_path / "monitor.mercer")
    new = make_process(40, random_state=10)
    pd.testing.assert_frame_equal(loaded.monitor(new), fitted.monitor(new))
    assert_allclose(loaded.contributions(new), fitted.contributions(new))


def test_other_kernels(normal):
    monitor = ProcessMonitor(n_lags=0, kernel=Gaussian("auto")).fit(normal)
    new = make_process(150, fault="leak", fault_start=100, random_state=11)
    frame = monitor.monitor(new)
    assert frame["alarm"].iloc[110:].mean() > frame["alarm"].iloc[:100].mean()


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_lags", -1),
        ("n_lags", "two"),
        ("false_alarm_rate", 0.0),
        ("false_alarm_rate", 0.7),
        ("average_run_length", 1),
        ("chart", "shewhart"),
        ("smoothing", 0.0),
        ("allowance", -1.0),
        ("window", 3),
    ],
)
def test_invalid_parameters(normal, parameter, value):
    with raises(ValueError, parameter, value):
        ProcessMonitor(**{parameter: value}).fit(normal)


def test_invalid_rows(fitted):
    with raises(ValueError, 20, 50):
        ProcessMonitor().fit(np.random.default_rng(0).normal(size=(20, 2)))
    X = np.random.default_rng(0).normal(size=(100, 2))
    with raises(ValueError, "x1", 1):
        ProcessMonitor().fit(np.where(np.arange(100)[:, None] > 0, X * [1, np.nan], X))
    with raises(ValueError, "infinity"):
        ProcessMonitor().fit(np.where(X > 2, np.inf, X))
    with raises(ValueError, "time", "data frame"):
        ProcessMonitor(time="t").fit(X)
    missing_time = pd.DataFrame(X, index=[pd.NaT, *pd.date_range("2026", periods=99)])
    with raises(ValueError, "row 0"):
        ProcessMonitor().fit(missing_time)


def test_simulated_plant_is_reproducible_and_has_faults():
    first, second = make_process(60, random_state=1), make_process(60, random_state=1)
    pd.testing.assert_frame_equal(first, second)
    assert np.isfinite(first.to_numpy()).all()
    for fault in PROCESS_FAULTS:
        changed = make_process(60, fault=fault, fault_start=30, random_state=1)
        assert_allclose(changed.iloc[:30], first.iloc[:30])
        assert not np.allclose(changed.iloc[30:], first.iloc[30:])
    with raises(ValueError, "fire"):
        make_process(60, fault="fire")


@pytest.mark.parametrize("unit", [2.0**-300, 2.0**20, 2.0**300])
def test_units_of_the_columns_do_not_matter(normal, fitted, unit):
    units = np.where(np.arange(normal.shape[1]) % 2, unit, 1.0)
    new = make_process(50, random_state=1)
    scaled = ProcessMonitor(n_lags=1).fit(normal * units)
    assert_allclose(scaled.score_samples(new * units), fitted.score_samples(new), rtol=1e-6)


def test_changes_of_the_training_rows_and_the_error_state_have_no_effect(normal, fitted):
    X, new = normal.to_numpy().copy(), make_process(50, random_state=1).to_numpy()
    with np.errstate(all="raise"):
        model = ProcessMonitor(n_lags=1).fit(X)
        X[:] = 0.0
        assert_allclose(model.score_samples(new), fitted.score_samples(new), rtol=1e-10)
