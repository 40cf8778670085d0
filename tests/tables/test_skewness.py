"""Logarithms are suggested for skewed columns of positive numbers."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import skew

from mercer.errors import ColumnWarning
from mercer.kernels import table_kernel
from mercer.kernels.tables import logarithm_helps, skewness
from mercer.report import analyze
from mercer.tables import as_table

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(scale=1.5, size=200)


def test_skewness_is_that_of_scipy():
    for numbers in (NORMAL, np.exp(NORMAL), 1e200 * np.exp(NORMAL)):
        assert skewness(numbers) == pytest.approx(skew(numbers / np.abs(numbers).max()))
    assert skewness(np.ones(5)) == 0.0


def test_logarithm_helps_log_normal_numbers():
    before, after = logarithm_helps(np.exp(NORMAL))
    assert before == pytest.approx(skew(np.exp(NORMAL)))
    assert after == pytest.approx(skew(NORMAL))


@pytest.mark.parametrize(
    "numbers",
    [
        NORMAL + 20,  # symmetric
        np.exp(NORMAL) - 1,  # some are negative
        np.exp(NORMAL[:19]),  # few
        np.r_[np.ones(195), np.full(5, 9.0)],  # few distinct values
        1 / np.arange(1.0, 1001.0) + 5,  # the logarithm is as skewed
    ],
)
def test_logarithm_does_not_help(numbers):
    assert logarithm_helps(numbers) is None


def test_table_kernel_names_skewed_columns():
    frame = pd.DataFrame({"price": np.exp(NORMAL), "age": NORMAL + 40, "color": ["a", "b"] * 100})
    with pytest.warns(ColumnWarning, match="price") as raised:
        table_kernel(frame)
    assert len(raised) == 1
    assert "age" not in str(raised[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ColumnWarning)
        table_kernel(frame.assign(price=np.log(frame["price"])))


def test_report_names_long_tails_in_place_of_the_warning():
    frame = pd.DataFrame({"price": np.exp(NORMAL[:60]), "color": ["a", "b"] * 30})
    with warnings.catch_warnings():
        warnings.simplefilter("error", ColumnWarning)
        analysis = analyze(as_table(frame), n_clusters=2)
    assert "price" in analysis.distributions.answer
    assert analysis.methods.raised == ()
