"""Tables in chunks: what the same table in memory is."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer.tables import as_table
from mercer.tables.chunked import read_chunked_rows

pytest.importorskip("dask.dataframe", reason="needs mercer[dask]")


@pytest.fixture
def frame(rng):
    found = pd.DataFrame(rng.normal(3.0, 2.0, size=(40, 2)), columns=["a", "b"])
    return found.assign(id=np.arange(40), mark=1.0)


def in_chunks(frame, folder, cuts):
    for number, (first, last) in enumerate(zip([0, *cuts], [*cuts, len(frame)], strict=True)):
        frame[first:last].to_parquet(folder / f"{number}.parquet", index=False)
    return read_chunked_rows(folder).table()


def assert_same_table(found, expected):
    assert found.columns == expected.columns
    assert set(found.omissions) == set(expected.omissions)
    assert (found.n, found.rows_omitted) == (expected.n, expected.rows_omitted)
    assert_allclose(found.mean, expected.X.mean(axis=0))
    assert_allclose(found.deviation, expected.X.std(axis=0))


@pytest.mark.parametrize("cuts", [(0, 15), (15, 15), (15, 40)], ids=["first", "middle", "last"])
def test_parts_without_rows_change_nothing(frame, tmp_path, cuts):
    found = in_chunks(frame, tmp_path, cuts)
    assert_same_table(found, as_table(frame))
    assert {one.column for one in found.omissions} == {"id", "mark"}


def test_a_column_that_no_longer_varies_is_left_out(frame, tmp_path):
    """It differs in a row that is left out only."""
    frame.loc[5, ["a", "mark"]] = [np.nan, 2.0]
    found = in_chunks(frame, tmp_path, (15, 20))
    assert_same_table(found, as_table(frame, missing="drop"))
    assert found.columns == ("a", "b")


def test_parts_have_the_same_columns(tmp_path):
    (tmp_path / "1.csv").write_text("x,y\n1,2\n3,5\n", encoding="utf-8")
    (tmp_path / "2.csv").write_text("x,z\n1,2\n3,5\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"A part has no column 'y'; it has: x, z\."):
        read_chunked_rows(tmp_path).table()
