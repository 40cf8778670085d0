"""Figures of the report."""

import warnings

import numpy as np
import pytest

from mercer.report.densities import Curve
from mercer.report.figures import curve_figure


@pytest.mark.parametrize("days", [900.0, 930.0, 960.0, 2.5])
def test_date_axes_draw_without_warnings(days):
    x = 18_262 + np.linspace(0, days, 30)  # days after 1970, from 2020-01-01 on
    curve = Curve("visited", x, np.ones(30), (), 1.0, 0, is_date=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "<svg" in curve_figure("visited", curve)
