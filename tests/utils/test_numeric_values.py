"""Errors for values that are not finite numbers name the column."""

import numpy as np
import pytest

from mercer import KernelECA, KernelPCA
from mercer.utils.frames import explain_values
from tests.expectations import raises


def frame(**columns):
    pd = pytest.importorskip("pandas")
    numbers = np.random.default_rng(0).normal(size=(20, 2))
    return pd.DataFrame({"height": numbers[:, 0], "weight": numbers[:, 1]} | columns)


@pytest.mark.parametrize("method", ["fit", "transform"])
def test_missing_values_name_the_column_and_the_kernel_of_tables(method):
    table = frame()
    model = KernelPCA(2).fit(table)
    table.loc[[3, 5], "weight"] = np.nan
    with raises(ValueError, "NaN", "'weight'", "2 missing values", "row 3", "kernel='table'"):
        getattr(model, method)(table)


def test_texts_name_the_column_and_the_kernel_of_tables():
    with raises(ValueError, "'city'", "'Ghent'", "row 0", "kernel='table'"):
        KernelPCA(2).fit(frame(city=["Ghent"] * 20))


@pytest.mark.parametrize("kind", ["datetime64[s]", "timedelta64[s]"])
def test_dates_name_the_column_and_the_kernel_of_tables(kind):
    when = np.arange(20).astype(kind)
    for table in (frame(when=when), frame(when=when)[["when"]]):
        with raises(ValueError, "'when'", "kernel='table'"):
            KernelPCA(2).fit(table)
    with raises(ValueError, "Column 0"):
        KernelPCA(2).fit(when[:, None])


def test_arrays_and_lists_name_the_number_of_the_column():
    X = np.ones((5, 3))
    X[2, 1] = np.nan
    with raises(ValueError, "NaN", "column 1", "row 2"):
        KernelECA(1).fit(X)
    with raises(ValueError, "NaN", "column 1", "row 2"):
        KernelECA(1).fit(X.tolist())
    X[2, 1] = np.inf
    with raises(ValueError, "infinity", "column 1", "row 2"):
        KernelECA(1).fit(X)
    with raises(ValueError, "column 1", "'b'", "row 1"):
        KernelECA(1).fit([[1, 2], [3, "b"]])
    with raises(ValueError, "column 0", "'b'", "row 1"):
        KernelECA(1).fit(np.array([["1", "2"], ["b", "3"]]))


def test_polars_frames_name_the_column():
    pl = pytest.importorskip("polars")
    with raises(ValueError, "'city'", "kernel='table'"):
        KernelPCA(1).fit(pl.DataFrame({"a": [1.0, 2.0], "city": ["x", "y"]}))


def test_other_causes_are_not_explained():
    assert explain_values(np.ones((2, 2))) is None
    assert explain_values(np.ones(3)) is None
    assert explain_values([[1.0], [1.0, 2.0]]) is None
    assert explain_values(np.array([[{}, 1.0]], dtype=object)) is None
    with raises(ValueError, "1D"):
        KernelPCA(1).fit(np.ones(3))


@pytest.mark.parametrize("kernel", ["gaussian", "table", "auto"])
def test_repeated_names_and_lazy_frames_are_named(kernel):
    table = frame()
    table.columns = ["height", "height"]
    with raises(ValueError, "'height'"):
        KernelPCA(1, kernel=kernel).fit(table)
    pl = pytest.importorskip("polars")
    with raises(TypeError, "LazyFrame", "collect"):
        KernelPCA(1, kernel=kernel).fit(pl.DataFrame({"a": [1.0, 2.0]}).lazy())
