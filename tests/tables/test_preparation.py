"""Kernels and pipelines for tables."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from mercer import KernelECA
from mercer.kernels import Gaussian, table_kernel
from mercer.tables import prepare, read_table
from mercer.tables.preparation import TypedColumns
from tests.expectations import raises


def test_numbers_are_standardized():
    prepared = prepare(read_table("iris"), bandwidth=0.7)
    assert prepared.kernel == Gaussian(0.7)
    assert prepared.data.std(axis=0) == pytest.approx(np.ones(4))


def test_mixed_tables_use_the_table_kernel():
    mixed = read_table("machines")
    assert prepare(mixed).kernel == table_kernel(mixed.frame)
    assert prepare(mixed, bandwidth=0.5).kernel == table_kernel(mixed.frame).scale_bandwidths(0.5)
    with raises(ValueError, "'silverman'", "machines"):
        prepare(mixed, bandwidth="silverman")


@pytest.mark.parametrize("name", ["iris", "machines"])
def test_pipeline_takes_raw_rows_with_columns_in_any_order(name):
    table = read_table(name)
    prepared = prepare(table)
    eca = KernelECA(3, kernel=prepared.kernel, solver="dense")
    pipeline = prepared.pipeline(clone(eca)).fit(table.frame)
    direct = eca.fit_transform(prepared.data)
    raw = table.frame[table.frame.columns[::-1]].assign(more=1).astype(object)
    assert pipeline.transform(raw) == pytest.approx(direct, abs=1e-9)
    assert clone(pipeline).steps[0][1].column_types == table.column_types


def test_rows_that_do_not_match_the_model_are_rejected():
    columns = TypedColumns({"a": "number", "b": "category"}).fit(None)
    with raises(ValueError, "'b'"):
        columns.transform(pd.DataFrame({"a": [1]}))
    with raises(ValueError, "'a'", "'x'"):
        columns.transform(pd.DataFrame({"a": ["x"], "b": ["y"]}))
    with raises(TypeError, "ndarray"):
        columns.transform(np.zeros((1, 2)))


def test_dates_and_numbers_are_not_confused():
    columns = TypedColumns({"a": "number", "b": "date"}).fit(None)
    dates = pd.to_datetime(["2024-01-31", "2024-02-29"])
    with raises(ValueError, "'a'", "2024-01-31"):
        columns.transform(pd.DataFrame({"a": dates, "b": dates}))
    with raises(ValueError, "'b'", "17"):
        columns.transform(pd.DataFrame({"a": [1, 2], "b": [17, 18]}))
    text = pd.DataFrame({"a": ["1", "2.5"], "b": ["2024-01-31", None]})
    found = columns.transform(text)
    assert found["a"].tolist() == [1, 2.5]
    assert found["b"].tolist()[0] == dates[0]


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_pipeline_takes_frames_of_other_libraries(library):
    pytest.importorskip(library)
    table = read_table("machines")
    prepared = prepare(table)
    pipeline = prepared.pipeline(KernelECA(3, kernel=prepared.kernel)).fit(table.frame)
    import pyarrow as pa

    other = pa.Table.from_pandas(table.frame)
    if library == "polars":
        import polars as pl

        other = pl.from_arrow(other)
    assert pipeline.transform(other) == pytest.approx(pipeline.transform(table.frame), abs=1e-9)
