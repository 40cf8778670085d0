"""Charts and contributions of a process monitor."""

import numpy as np
import pytest

from mercer import ProcessMonitor
from mercer.datasets import make_process
from mercer.plots import MonitoringDisplay
from tests.expectations import raises


@pytest.fixture(scope="module")
def monitor():
    return ProcessMonitor(n_lags=0, kernel="linear").fit(make_process(800, random_state=0))


def test_panels_show_charts_limits_alarms_and_contributions(monitor):
    new = make_process(100, fault="leak", random_state=1)
    display = MonitoringDisplay.from_estimator(monitor, new, charts=("statistic", "cusum"))
    frame = monitor.monitor(new)
    assert len(display.axes_) == 3
    line, alarms, limit = display.axes_[1].lines
    np.testing.assert_allclose(line.get_ydata(), frame["cusum"])
    np.testing.assert_allclose(alarms.get_ydata(), frame["cusum"][frame["cusum_alarm"]])
    assert set(limit.get_ydata()) == {monitor.limits_["cusum"]}
    assert len(display.axes_[2].patches) == 10
    display.figure_.draw_without_rendering()
    legend = display.axes_[0].get_legend().get_window_extent()
    assert legend.y0 >= display.axes_[0].get_window_extent().y1  # it covers no rows
    assert display.axes_[2].get_yticklabels()[-1].get_text() == "outlet_flow"


def test_frames_of_arrays_and_long_frames_are_drawn(monitor):
    new = np.tile(make_process(300, random_state=2).to_numpy(), (10, 1))
    frame = monitor.monitor(new)
    display = MonitoringDisplay.from_frame(frame, charts=["statistic"], log=False)
    drawn = display.axes_[0].lines[0].get_ydata()
    assert len(drawn) <= 2000
    assert drawn.max() == frame["statistic"].max()
    assert display.axes_[0].get_xlabel() == "row"
    with raises(ValueError, "shewhart"):
        MonitoringDisplay.from_frame(frame, charts=["shewhart"])
    with raises(ValueError, 1, 2):
        MonitoringDisplay(frame).plot(display.axes_)
