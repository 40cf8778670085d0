"""Bandwidth sweeps of the report, and invalid requests."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import EntropyClustering
from mercer.errors import InvalidParameterError
from mercer.kernels import Categorical, Gaussian, Laplacian, Linear, Matern, On, Precomputed
from mercer.report import analyze
from mercer.report.settings import sweep_widths
from mercer.tables import as_table
from tests.expectations import raises


class OneBandwidth(EntropyClustering):
    """The sweep succeeds at one bandwidth only."""

    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.path_ = self.path_[:1]
        return self


def test_a_single_bandwidth_gives_no_sweep(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(at, 1, size=(20, 2)) for at in (0, 8, 16)])
    monkeypatch.setattr("mercer.report.settings.EntropyClustering", OneBandwidth)
    assert sweep_widths(X, Gaussian("auto"), 3) is None


@pytest.mark.parametrize("n", [2, 20])
def test_equal_rows_give_no_sweep(n):
    assert sweep_widths(np.ones((n, 2)), Gaussian("auto"), 1) is None


def test_fewer_different_rows_than_clusters_give_no_sweep():
    X = np.repeat([[0.0, 0.0], [3.0, 3.0]], 20, axis=0)
    assert sweep_widths(X, Gaussian("auto"), 3) is None
    assert sweep_widths(X, Gaussian("auto"), 2) is not None


@pytest.mark.parametrize("n", [6, 60])
@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_missing_and_infinite_values_raise(n, value, name):
    X = np.random.default_rng(0).normal(size=(n, 2))
    X[0, 0] = value
    with raises(ValueError, name):
        sweep_widths(X, Gaussian("auto"), 2)


@pytest.mark.parametrize("n", [6, 60])
@pytest.mark.parametrize("bandwidth", ["silvermann", -1.0])
def test_unknown_rules_and_negative_bandwidths_raise(n, bandwidth):
    X = np.random.default_rng(0).normal(size=(n, 2))
    with raises(ValueError, "bandwidth", bandwidth):
        sweep_widths(X, Gaussian(bandwidth), 2)


class Faulty(EntropyClustering):
    """An estimator with an internal error."""

    def fit(self, X, y=None, sample_weight=None):
        raise ValueError("internal error")


def test_errors_of_the_estimator_are_raised(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 2))
    monkeypatch.setattr("mercer.report.settings.EntropyClustering", Faulty)
    with raises(ValueError, "internal error"):
        sweep_widths(X, Gaussian("auto"), 2)


# --- invalid requests are errors, not findings ------------------------------------------------

BAD_BANDWIDTHS = ["silvermann", "", -1.0, 0.0, np.nan, np.inf, -np.inf, [1.0] * 9, None, "1.0"]
BAD_COUNTS = [0, -1, 2.5, np.nan, "2", True, 10**6, [2]]


@st.composite
def samples(draw):
    """Draw valid rows: different ones, few, equal ones, copies, more than are sampled."""
    n = draw(st.sampled_from([1, 2, 6, 12, 40, 1200]))
    d = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n, d)) * draw(st.sampled_from([1e-3, 1.0, 1e3]))
    if draw(st.booleans()):
        X[:] = X[rng.integers(0, draw(st.integers(1, 2)), size=n) % n]
    return X


@st.composite
def invalid_kernels(draw):
    bandwidth = draw(st.sampled_from(BAD_BANDWIDTHS))
    return draw(
        st.sampled_from(
            [
                Gaussian(bandwidth),
                Laplacian(bandwidth),
                Gaussian(1.0) + Gaussian(bandwidth),
                2.0 * Gaussian(bandwidth),
                Matern(1.0, nu=-1.0),
                "gausian",
                3,
                None,
            ]
        )
    )


@st.composite
def invalid_data(draw):
    """Draw rows with invalid values, or what is not a table of numbers."""
    X = draw(samples())
    value = draw(st.sampled_from([np.nan, np.inf, -np.inf]))
    row, column = draw(st.integers(0, len(X) - 1)), draw(st.integers(0, X.shape[1] - 1))
    kind = draw(st.sampled_from(["cell", "all", "empty", "1-D", "3-D", "text", "complex"]))
    match kind:
        case "cell":
            X[row, column] = value
        case "all":
            X[:] = value
        case "empty":
            X = X[:0]
        case "1-D":
            X = X[:, 0]
        case "3-D":
            X = X[None]
        case "text":
            X = X.astype(object)
            X[row, column] = "text"
        case "complex":
            X = X * 1j
    return X


def outcomes(X, kernel):
    """Return the exceptions of an estimator and of a sweep."""

    def error_of(function, *arguments, **options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                function(*arguments, **options)
            except Exception as error:
                return error
        return None

    return (
        error_of(EntropyClustering(1, kernel=kernel).fit, X),
        error_of(sweep_widths, X, kernel, 1),
    )


def assert_same_errors(X, kernel):
    expected, *others = outcomes(X, kernel)
    assert isinstance(expected, ValueError | TypeError)
    for error in others:
        assert type(error) is type(expected), (error, expected)


@given(invalid_data(), st.sampled_from([Gaussian("auto"), Gaussian(1.0), "gaussian", Linear()]))
def test_invalid_data_raise_what_estimators_raise(X, kernel):
    assert_same_errors(X, kernel)


@given(samples(), invalid_kernels())
def test_invalid_kernels_raise_what_estimators_raise(X, kernel):
    assert_same_errors(X, kernel)


@given(samples(), st.sampled_from(BAD_COUNTS))
def test_invalid_numbers_of_clusters_raise(X, count):
    if count != 10**6:  # there is no sweep if rows are fewer than clusters
        with pytest.raises(InvalidParameterError):
            sweep_widths(X, Gaussian(1.0), count)


@st.composite
def invalid_frames(draw):
    """Draw data frames and kernels of which one does not fit the other."""
    n = draw(st.sampled_from([6, 12, 1200]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    frame = pd.DataFrame({"x": rng.normal(size=n), "c": rng.choice(list("abc"), size=n)})
    kernel = On("x", Gaussian(1.0)) * On("c", Categorical())
    kind = draw(st.sampled_from(["infinite", "text", "unhashable", "column", "kernel"]))
    row = draw(st.integers(0, n - 1))
    if kind == "infinite":
        frame.loc[row, "x"] = np.inf
    elif kind == "text":
        frame["x"] = frame["x"].astype(object)
        frame.loc[row, "x"] = "text"
    elif kind == "unhashable":
        frame["c"] = frame["c"].astype(object)
        frame.at[row, "c"] = ["a"]
    elif kind == "column":
        frame = frame.rename(columns={"x": "y"})
    else:
        kernel = On("x", Gaussian(draw(st.sampled_from(BAD_BANDWIDTHS)))) * On("c", Categorical())
    return frame, kernel


@given(invalid_frames())
def test_invalid_data_frames_raise_what_estimators_raise(found):
    assert_same_errors(*found)


@pytest.mark.parametrize("X", [["a", "b"] * 6, np.eye(12)])
def test_other_data_raise(X):
    kernel = Categorical() if isinstance(X, list) else Precomputed()
    with raises(TypeError, type(X).__name__):
        sweep_widths(X, kernel, 2)


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


def test_a_numeric_data_frame_is_swept_like_its_array():
    X = np.random.default_rng(0).normal(size=(60, 2))
    X[30:] += 8
    frame = pd.DataFrame(X, columns=["x", "y"])
    swept = sweep_widths(frame, Gaussian("auto"), 2)
    assert swept.kind == "bandwidth"
    assert (swept.widths == sweep_widths(X, Gaussian("auto"), 2).widths).all()
