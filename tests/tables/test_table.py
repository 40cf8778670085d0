"""Selection of columns and rows, and the reasons of omissions."""

import io

import numpy as np
import pandas as pd
import pytest

from mercer import KernelECA
from mercer.datasets import make_machines
from mercer.kernels import table_kernel
from mercer.tables import EMBEDDED, Omission, as_table, prepare, read_table
from mercer.tables.columns import as_column_type
from mercer.tables.table import labels_of
from tests.expectations import names_values, raises
from tests.tables.examples import CSV


def read_text(content, **options):
    return read_table(io.BytesIO(content.encode("utf-8")), **options)


def codes(table):
    return {omission.column: omission.code for omission in table.omissions}


# --- embedded data sets ------------------------------------------------------------------------


@pytest.mark.parametrize("name", EMBEDDED)
def test_embedded_data_sets_keep_all_rows_and_columns_that_vary(name):
    table = read_table(name)
    assert set(codes(table).values()) <= {"constant"}  # margins of the digits
    assert table.rows_omitted == 0
    assert table.n == len(table.rows)
    assert table.label == (None if name == "diabetes" else "class")
    assert table.is_numeric == (name != "machines")


def test_column_types_of_a_mixed_data_set():
    columns, state = make_machines(200, random_state=3)
    table = as_table(pd.DataFrame(columns).assign(state=state), label="state")
    assert set(table.column_types.values()) >= {"number", "date", "category"}
    assert table.column_types["date"] == "date"
    assert table.column_types["coolant"] == "category"
    assert set(table.missing) <= {"temperature", "material", "note"}
    assert table.labels.tolist() == state.tolist()


def test_label_of_an_embedded_data_set_can_be_changed():
    assert "class" in read_table("wine", label="alcohol").columns
    with raises(ValueError, "wine", "'color'", "alcohol"):
        read_table("wine", label="color")


# --- rows with missing values ------------------------------------------------------------------


def test_dropped_rows_and_omitted_columns_are_recorded():
    table = read_text(CSV, label="kind", missing="drop")
    assert codes(table) == {"empty": "empty", "mostly": "missing", "same": "constant"}
    reasons = {omission.column: omission.reason for omission in table.omissions}
    assert names_values(reasons["mostly"], 5, 7) == []
    assert table.rows.tolist() == [0, 1, 3, 5, 6]  # one weight is missing, one is infinite
    assert table.frame["weight"].tolist() == [2, 2.5, 6, 7.5, 7]
    assert table.labels[table.has_label].tolist() == ["a", "a", "b", "b"]
    assert table.has_label.tolist() == [True, True, True, False, True]


def test_mixed_tables_keep_incomplete_rows():
    table = read_text(CSV, label="kind")
    assert table.n == 7
    assert table.missing == {"weight": 2}
    with raises(ValueError, "table"):
        _ = table.X


@pytest.mark.parametrize(("missing", "selected"), [(2, 18), (5, 20)])
def test_auto_drops_at_most_a_fifth_of_the_rows(missing, selected):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 2)), columns=["a", "b"])
    frame.loc[: missing - 1, "a"] = np.nan
    assert as_table(frame).n == selected
    assert as_table(frame, missing="drop").n == 20 - missing
    assert as_table(frame, missing="keep").n == 20


def test_rows_without_any_value_are_always_dropped():
    table = read_text("a,b\n1,x\n2,y\n,\n4,x\n5,y\n")
    assert table.rows.tolist() == [0, 1, 3, 4]


def test_column_that_is_constant_in_complete_rows_is_omitted():
    table = read_text("a,b,c\n1,5,1\n2,5,2\n3,5,4\n4,5,5\n5,5,7\n6,7,\n", missing="drop")
    assert table.columns == ("a", "c")
    assert codes(table) == {"b": "constant"}


def test_invalid_option_for_missing_values_is_rejected():
    frame = pd.DataFrame({"x": [1.0, 2.0, 5.0]})
    with raises(ValueError, "missing", "'fill'", "'auto'", "'drop'", "'keep'"):
        as_table(frame, missing="fill")


# --- columns -----------------------------------------------------------------------------------


def test_constant_labels_are_omitted():
    frame = pd.DataFrame(
        {"x": [1.0, 2.0, 4.0, 3.0], "kind": "a", "note": ["b b", "b b", "b b", None]}
    )
    assert codes(as_table(frame)) == {"kind": "constant", "note": "constant"}


def test_complex_numbers_are_rejected():
    with raises(ValueError, "'z'"):
        as_table(pd.DataFrame({"z": [1j, 2.0, 3.0], "x": [1.0, 2.0, 5.0]}))


def test_identifiers_are_omitted_unless_declared_categorical():
    rows = [f"{i},p{i:03},{i % 7}" for i in range(30)]
    content = "\n".join(["id,code,x", *rows])
    table = read_text(content)
    assert table.columns == ("x",)
    assert codes(table) == {"id": "row_number", "code": "all_distinct"}
    assert "p000" in table.omissions[1].reason
    assert read_text(content, categorical=["code"]).columns == ("code", "x")


def test_row_numbers_of_short_tables_are_omitted():
    """Output of the commands has a column of row numbers, and may be read again."""
    assert read_text("row,x\n1,4\n2,1\n3,5\n").columns == ("x",)
    assert read_text("row,x\n1,4\n3,1\n2,5\n").columns == ("row", "x")


def test_numbers_can_be_declared_categorical():
    table = read_text("zip,x\n10115,1\n80331,2\n10115,3\n80331,5\n", categorical=["zip"])
    assert table.column_types == {"zip": "category", "x": "number"}
    assert table.frame["zip"].tolist() == ["10115", "80331", "10115", "80331"]


def test_ignored_columns_are_recorded():
    table = read_text("a,b\n1,2\n2,3\n5,8\n", ignore=["b"])
    assert table.columns == ("a",)
    assert codes(table) == {"b": "ignored"}


def test_omissions_have_a_default_code():
    assert Omission("a", "any reason").code == "other"


def test_unknown_column_is_named_with_the_first_columns():
    wide = pd.DataFrame(np.arange(300.0).reshape(3, 100))
    with raises(ValueError, "'x'", "0, 1,", "80 more"):
        as_table(wide, ignore=["x"])


@pytest.mark.parametrize("names", [["a", "a", "b"], [1, "1", "b"]], ids=["equal", "number"])
def test_duplicate_column_names_are_rejected(names):
    frame = pd.DataFrame([[1.0, 2.0, 3.0], [2.0, 1.0, 5.0], [4.0, 4.0, 1.0]], columns=names)
    with raises(ValueError, "cars", names[0]):
        as_table(frame, name="cars")


def test_columns_of_numbers_are_not_selected_one_by_one(monkeypatch):
    """A table of 100,000 columns took minutes."""
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(5, 200))).rename(columns=str)
    wide.iloc[0, 3] = np.nan
    select, selected = pd.DataFrame.__getitem__, []

    def count(frame, key):
        selected.append(isinstance(key, str))
        return select(frame, key)

    monkeypatch.setattr(pd.DataFrame, "__getitem__", count)
    table = as_table(wide)
    prepare(table).pipeline(KernelECA(2)).fit(table.frame)
    assert selected
    assert not any(selected)


def test_arrays_are_rejected():
    with raises(TypeError, "ndarray"):
        as_table(np.eye(3))


def test_dates_are_detected():
    table = read_text("when,x\n2024-01-01,1\n2024-03-05T10:00:00,2\n2024-02-01,4\n")
    assert table.column_types["when"] == "date"
    assert table.frame["when"].dt.month.tolist() == [1, 3, 2]


def test_labels_that_resemble_dates_are_categories():
    frame = pd.DataFrame({"code": ["2026-01", "2026-99", "2026-99", "2026-01"], "x": [1, 2, 5, 3]})
    assert as_table(frame).column_types["code"] == "category"
    with raises(ValueError, "'code'", "2026-99"):
        as_column_type(frame["code"], "date")


def test_numbers_whose_squares_overflow_are_omitted(tmp_path):
    pytest.importorskip("dask", reason="chunked tables need mercer[dask]")
    from mercer.tables.chunked_table import read_chunked_rows

    path = tmp_path / "part.csv"
    path.write_text("a,b\n1.7e308,2\n-1.7e308,1\n3,5\n1e308,4\n")
    for table in (read_table(path), read_chunked_rows(path).table()):
        assert table.column_types == {"b": "number"}
        assert codes(table) == {"a": "too_large"}
        assert "1.7e+308" in table.omissions[0].reason


def test_integers_beyond_the_range_of_floats_are_missing():
    cells = ["1", "2", "1" + "0" * 400, "7", "9", "4"]
    table = read_text("x\n" + "\n".join(cells), missing="keep")
    assert table.frame["x"].dropna().tolist() == [1, 2, 7, 9, 4]
    frame = pd.DataFrame({"x": pd.Series([1, 2, 10**400], dtype=object)})
    with raises(ValueError, "'x'"):
        table_kernel(frame)


# --- labels ------------------------------------------------------------------------------------


def test_numeric_labels_stay_numbers():
    table = read_text("a,n\n1,10\n3,20\n8,30\n", label="n")
    assert table.labels.tolist() == [10, 20, 30]
    assert table.has_label.all()


def test_labels_of_text_files_are_as_distinct_as_their_cells():
    """Labels were parsed as numbers first."""
    assert read_text("a,n\n1,01\n3,1\n8,001\n", label="n").labels.tolist() == ["01", "1", "001"]
    assert read_text("a,n\n1,1.1\n3,1.10\n8,2\n", label="n").labels.tolist() == ["1.1", "1.10", "2"]
    table = read_text("a,n\n1,9007199254740993\n3,9007199254740992\n8,\n", label="n")
    assert table.labels[table.has_label].tolist() == ["9007199254740993", "9007199254740992"]
    table = read_text("a,n\n1,1.0\n3,2.0\n8,\n", label="n")  # as pandas writes integers
    assert table.labels[table.has_label].tolist() == ["1", "2"]


def test_only_empty_cells_are_missing_labels():
    table = read_text("a,n\n1,NA\n3,None\n8,\n9,nan\n", label="n")
    assert table.has_label.tolist() == [True, True, False, True]
    assert table.labels[table.has_label].tolist() == ["NA", "None", "nan"]
    assert read_text("a,n\n1,NA\n3,2\n8,\n9,5\n4,4\n", missing="keep").missing == {"n": 2}


def test_categories_of_text_files_are_as_written():
    table = read_text("zip,a\n01,1\n1,3\n001,8\nNA,9\n,2\n", categorical=["zip"])
    assert table.frame["zip"].tolist()[:4] == ["01", "1", "001", "NA"]
    assert table.missing == {"zip": 1}
    assert table.categorical == ("zip",)


@pytest.mark.parametrize("spelling", [str, str.lower, str.upper])
def test_booleans_have_one_spelling(spelling):
    rows = "".join(f"{spelling(value)},{i}\n" for i, value in enumerate(["True", "False"] * 2))
    for options in ({}, {"categorical": ["b"]}):
        assert read_text("b,x\n" + rows, **options).frame["b"].tolist() == ["True", "False"] * 2


@pytest.mark.parametrize("dtype", [float, object, "Int64"])
def test_integer_labels_with_a_missing_value_are_written_as_integers(dtype):
    """As "1", not "1.0"."""
    labels = pd.Series([1, 2, None, 2]).astype(dtype)
    table = as_table(pd.DataFrame({"x": [1.0, 2.0, 5.0, 3.0], "n": labels}), label="n")
    assert table.labels[table.has_label].tolist() == ["1", "2", "2"]
    assert table.has_label.tolist() == [True, True, False, True]


def test_class_named_like_the_placeholder_is_a_class():
    """Only missing values count as missing."""
    labels = ["no label", "a", None, "(no label)"]
    table = as_table(pd.DataFrame({"x": [1.0, 2.0, 5.0, 3.0], "n": labels}), label="n")
    assert table.has_label.tolist() == [True, True, False, True]
    assert table.labels[table.has_label].tolist() == ["no label", "a", "(no label)"]
    assert len(set(table.labels)) == 4


def test_labels_of_bytes_are_not_decoded():
    assert labels_of(pd.Series([b"\xff", None], dtype=object)).tolist()[0] == "b'\\xff'"


def test_infinite_numbers_are_missing_and_named():
    frame = pd.DataFrame({"a": [1.0, np.inf, 2, 3], "b": [1, 2, 3, 5], "c": ["x", "inf", "y", "x"]})
    table = as_table(frame, missing="keep")
    assert table.missing == {"a": 1}
    assert [note for note in table.notes if "a (1)" in note and "b" not in note.split("a (1)")[1]]
    assert as_table(frame[["b", "c"]]).notes == ()
