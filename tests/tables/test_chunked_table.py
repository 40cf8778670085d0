"""Tables in chunks select the same columns and rows as tables in memory."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer.tables import as_table
from mercer.tables.chunked_table import read_chunked_rows
from tests.expectations import raises

pytest.importorskip("dask.dataframe", reason="needs mercer[dask]")


@pytest.fixture
def frame(rng):
    found = pd.DataFrame(rng.normal(3.0, 2.0, size=(40, 2)), columns=["a", "b"])
    return found.assign(id=np.arange(40), mark=1.0)


def in_chunks(frame, folder, cuts, **options):
    for number, (first, last) in enumerate(zip([0, *cuts], [*cuts, len(frame)], strict=True)):
        frame[first:last].to_parquet(folder / f"{number}.parquet", index=False)
    return read_chunked_rows(folder).table(**options)


def assert_same_table(found, expected):
    assert found.columns == expected.columns
    assert set(found.omissions) == set(expected.omissions)
    assert (found.n, found.rows_omitted) == (expected.n, expected.rows_omitted)
    assert_allclose(found.mean, expected.X.mean(axis=0))
    assert_allclose(found.deviation, expected.X.std(axis=0))


@pytest.mark.parametrize("cuts", [(0, 15), (15, 15), (15, 40)], ids=["first", "middle", "last"])
def test_empty_partitions_change_nothing(frame, tmp_path, cuts):
    found = in_chunks(frame, tmp_path, cuts)
    assert_same_table(found, as_table(frame))
    assert {one.column: one.code for one in found.omissions} == {
        "id": "row_number",
        "mark": "constant",
    }


def test_column_that_is_constant_in_complete_rows_is_omitted(frame, tmp_path):
    """Its only other value is in a row that is dropped."""
    frame.loc[5, ["a", "mark"]] = [np.nan, 2.0]
    found = in_chunks(frame, tmp_path, (15, 20))
    assert_same_table(found, as_table(frame, missing="drop"))
    assert found.columns == ("a", "b")


def test_many_missing_values_are_an_error_unless_dropped(frame, tmp_path):
    frame.loc[:9, "a"] = np.nan
    with raises(ValueError, tmp_path.name, "10 of 40", "'a'", "--missing drop"):
        in_chunks(frame, tmp_path, (15, 20))
    assert_same_table(
        read_chunked_rows(tmp_path).table(missing="drop"), as_table(frame, missing="drop")
    )


def test_columns_that_are_not_numbers_are_rejected(frame, tmp_path):
    with raises(ValueError, tmp_path.name, "'color'", "--ignore"):
        in_chunks(frame.assign(color="red"), tmp_path, (15, 20))


def test_partitions_need_the_same_columns(tmp_path):
    (tmp_path / "1.csv").write_text("x,y\n1,2\n3,5\n", encoding="utf-8")
    (tmp_path / "2.csv").write_text("x,z\n1,2\n3,5\n", encoding="utf-8")
    with raises(ValueError, "'y'", "x, z"):
        read_chunked_rows(tmp_path).table()
