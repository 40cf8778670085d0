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


def test_result_without_modes_has_one_panel():
    X = np.repeat(np.eye(3), [60, 30, 10], axis=0)
    display = DiversityDisplay.from_result(mercer.measure_diversity(X, n_modes=0))
    assert len(display.axes_) == 1
    assert [text.get_text() for text in display.axes_[0].get_legend().get_texts()] == [
        "order 1",
        "order 2",
        "order ∞",
    ]


def test_label_states_the_order_of_modes():
    # the first eigenvector has entries 1, -1 and 0, and its entropy term is 0
    X = np.repeat([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [35, 34, 31], axis=0)
    result = mercer.measure_diversity(X, mode_order="eigenvalue", orders=2)
    display = DiversityDisplay.from_result(result)
    assert "eigenvalue" in display.axes_[1].get_xlabel()
    by_term = DiversityDisplay.from_result(
        mercer.measure_diversity(X, mode_order="entropy", orders=2)
    )
    assert "entropy term" in by_term.axes_[1].get_xlabel()
