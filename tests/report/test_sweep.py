"""Bandwidth sweeps of the report, and invalid options."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import EntropyClustering
from mercer.report import analyze
from mercer.report.settings import sweep_widths
from mercer.tables import as_table, prepare
from tests.expectations import raises


class OneBandwidth(EntropyClustering):
    """The sweep succeeds at one bandwidth only."""

    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.path_ = self.path_[:1]
        return self


class Faulty(EntropyClustering):
    """An estimator with an internal error."""

    def fit(self, X, y=None, sample_weight=None):
        raise ValueError("internal error")


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(at, 1, size=(20, 2)) for at in (0, 8, 16)])
    return prepare(as_table(pd.DataFrame(X, columns=["x", "y"])))


def test_a_single_bandwidth_gives_no_sweep(model, monkeypatch):
    assert sweep_widths(model, 3) is not None
    monkeypatch.setattr("mercer.report.settings.EntropyClustering", OneBandwidth)
    assert sweep_widths(model, 3) is None


def test_errors_of_the_estimator_are_raised(model, monkeypatch):
    monkeypatch.setattr("mercer.report.settings.EntropyClustering", Faulty)
    with raises(ValueError, "internal error"):
        sweep_widths(model, 2)


def test_fewer_different_rows_than_clusters_give_no_sweep():
    X = np.repeat([[0.0, 0.0], [3.0, 3.0]], 20, axis=0)
    model = prepare(as_table(pd.DataFrame(X, columns=["x", "y"])))
    assert sweep_widths(model, 3) is None
    assert sweep_widths(model, 2) is not None


BAD_BANDWIDTHS = ["silvermann", "", -1.0, 0.0, np.nan, np.inf, -np.inf, [1.0] * 9, None, "1.0"]
BAD_COUNTS = [0, -1, 2.5, np.nan, "2", True, 10**6, [2]]


@given(
    st.sampled_from([6, 40]),
    st.booleans(),
    st.sampled_from(
        [("bandwidth", value) for value in BAD_BANDWIDTHS]
        + [("n_clusters", value) for value in BAD_COUNTS]
        + [("n_components", value) for value in [*BAD_COUNTS, 1]]
    ),
)
def test_invalid_options_of_the_report_raise(n, mixed, option):
    rng = np.random.default_rng(n)
    frame = pd.DataFrame({"x": rng.normal(size=n), "y": rng.normal(size=n)})
    if mixed:
        frame["c"] = rng.choice(list("ab"), size=n)
    with pytest.raises((ValueError, TypeError)):
        analyze(as_table(frame), **dict([option]))
