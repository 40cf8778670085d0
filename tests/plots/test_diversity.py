"""Plot of a diversity result."""

import numpy as np

import mercer
from mercer.plots import DiversityDisplay


def test_panels_show_curves_and_modes():
    X = np.repeat(np.eye(3), [60, 30, 10], axis=0)
    result = mercer.measure_diversity(X)
    display = DiversityDisplay.from_result(result)
    assert len(display.axes_[1].patches) == len(result.modes) == 3
    assert len(display.axes_[0].get_legend().get_texts()) == len(result.orders)
