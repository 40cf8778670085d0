"""Tables: what is read, what is analysed, what is left out and why."""

import bz2
import gzip
import io
import lzma

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from mercer import KernelECA
from mercer.datasets import make_machines
from mercer.kernels import Gaussian, table_kernel
from mercer.tables import EMBEDDED, Omission, as_table, modelling, read_rows, read_table
from mercer.tables.kinds import as_kind
from mercer.tables.modelling import TypedColumns

CSV = """\
height,weight,colour,empty,mostly,same,kind
1.0,2.0,red,,,7,a
1.5,2.5,blue,,1,7,a
2.0,,red,,,7,b
5.0,6.0,blue,,,7,b
5.5,inf,red,,,7,b
6.0,7.5,red,,3,7,
6.5,7.0,red,,,7,b
"""


def text(content, **options):
    raw = content if isinstance(content, bytes) else content.encode("utf-8")
    return read_table(io.BytesIO(raw), **options)


# --- embedded --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EMBEDDED)
def test_embedded_sets_are_read_whole(name):
    table = read_table(name)
    assert {o.reason for o in table.omissions} <= {"the same value in every row"}  # digits' margins
    assert table.rows_omitted == 0
    assert table.n == len(table.rows)
    assert table.label == (None if name == "diabetes" else "class")
    assert table.is_numeric == (name != "machines")


def test_a_mixed_set_has_all_kinds():
    columns, state = make_machines(200, random_state=3)
    table = as_table(pd.DataFrame(columns).assign(state=state), label="state")
    assert set(table.kinds.values()) >= {"number", "date", "category"}
    assert table.kinds["date"] == "date"
    assert table.kinds["coolant"] == "category"
    assert set(table.missing) <= {"temperature", "material", "note"}
    assert table.labels.tolist() == state.tolist()


def test_other_labels_of_embedded_sets():
    assert "class" in read_table("wine", label="alcohol").columns
    with pytest.raises(ValueError, match="wine has no column 'colour'; it has: alcohol"):
        read_table("wine", label="colour")


# --- columns and rows ------------------------------------------------------------------------


def test_omissions_have_reasons():
    table = text(CSV, label="kind", missing="drop")
    assert table.omissions == (
        Omission("empty", "no value in any row"),
        Omission("mostly", "missing in 5 of 7 rows"),
        Omission("same", "the same value in every row"),
    )
    assert table.rows.tolist() == [0, 1, 3, 5, 6]  # one lacks a weight, one has an infinite one
    assert table.frame["weight"].tolist() == [2, 2.5, 6, 7.5, 7]
    assert table.labels.tolist() == ["a", "a", "b", "no label", "b"]


def test_mixed_tables_keep_incomplete_rows():
    table = text(CSV, label="kind")
    assert table.n == 7
    assert table.missing == {"weight": 2}
    with pytest.raises(ValueError, match="use its frame"):
        _ = table.X


@pytest.mark.parametrize(("gaps", "kept"), [(2, 18), (5, 20)])
def test_numbers_lose_a_fifth_of_their_rows_at_most(gaps, kept):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 2)), columns=["a", "b"])
    frame.loc[: gaps - 1, "a"] = np.nan
    assert as_table(frame).n == kept
    assert as_table(frame, missing="drop").n == 20 - gaps
    assert as_table(frame, missing="keep").n == 20


def test_a_row_without_any_value_is_left_out_always():
    table = text("a,b\n1,x\n2,y\n,\n4,x\n5,y\n")
    assert table.rows.tolist() == [0, 1, 3, 4]


def test_a_column_that_no_longer_varies_is_left_out():
    table = text("a,b,c\n1,5,1\n2,5,2\n3,5,4\n4,5,5\n5,5,7\n6,7,\n", missing="drop")
    assert table.columns == ("a", "c")
    assert table.omissions == (Omission("b", "the same value in every complete row"),)


def test_labels_that_are_all_the_same_are_left_out():
    frame = pd.DataFrame(
        {"x": [1.0, 2.0, 4.0, 3.0], "kind": "a", "note": ["b b", "b b", "b b", None]}
    )
    assert set(as_table(frame).omissions) == {
        Omission("kind", "the same value in every row"),
        Omission("note", "the same value in every row"),
    }


def test_complex_numbers_are_refused():
    with pytest.raises(ValueError, match="Column 'z' holds complex numbers; give their parts"):
        as_table(pd.DataFrame({"z": [1j, 2.0, 3.0], "x": [1.0, 2.0, 5.0]}))


def test_gaps_are_handled_in_one_of_three_ways():
    frame = pd.DataFrame({"x": [1.0, 2.0, 5.0]})
    with pytest.raises(ValueError, match="missing='fill' must be 'auto', 'drop' or 'keep'"):
        as_table(frame, missing="fill")


def test_identifiers_are_left_out_unless_asked_for():
    rows = [f"{i},p{i:03},{i % 7}" for i in range(30)]
    content = "\n".join(["id,code,x", *rows])
    table = text(content)
    assert table.columns == ("x",)
    assert table.omissions == (
        Omission("id", "row numbers"),
        Omission("code", "a different label in every row, for example 'p000'"),
    )
    assert text(content, categorical=["code"]).columns == ("code", "x")


def test_numbers_that_name_categories():
    table = text("zip,x\n10115,1\n80331,2\n10115,3\n80331,5\n", categorical=["zip"])
    assert table.kinds == {"zip": "category", "x": "number"}
    assert table.frame["zip"].tolist() == ["10115", "80331", "10115", "80331"]


def test_ignored_columns_are_listed():
    table = text("a,b\n1,2\n2,3\n5,8\n", ignore=["b"])
    assert table.columns == ("a",)
    assert table.omissions == (Omission("b", "you left it out"),)


def test_unknown_columns_are_named_and_not_all_listed():
    wide = pd.DataFrame(np.arange(300.0).reshape(3, 100))
    with pytest.raises(ValueError, match=r"no column 'x'; it has: 0, 1, .* and 80 more"):
        as_table(wide, ignore=["x"])


def test_labels_that_are_numbers_stay_numbers():
    assert text("a,n\n1,10\n3,20\n8,30\n", label="n").labels.tolist() == [10, 20, 30]


def test_dates_are_found():
    table = text("when,x\n2024-01-01,1\n2024-03-05T10:00:00,2\n2024-02-01,4\n")
    assert table.kinds["when"] == "date"
    assert table.frame["when"].dt.month.tolist() == [1, 3, 2]


def test_labels_that_look_like_dates_are_labels():
    frame = pd.DataFrame({"code": ["2026-01", "2026-99", "2026-99", "2026-01"], "x": [1, 2, 5, 3]})
    assert as_table(frame).kinds["code"] == "category"
    with pytest.raises(ValueError, match=r"Column 'code' should hold dates: .*2026-99"):
        as_kind(frame["code"], "date")


# --- formats ---------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", ["\t", ";", ","])
def test_separators(separator):
    rows = [["a", "b"], ["1", "2"], ["3", "5"], ["8", "13"]]
    table = text("\n".join(separator.join(row) for row in rows))
    assert table.columns == ("a", "b")
    assert table.X.tolist() == [[1, 2], [3, 5], [8, 13]]


def test_decimal_commas():
    table = text("a;b\n1,5;2\n-2,25;3\n4;5\n")
    assert table.X[:, 0].tolist() == [1.5, -2.25, 4]
    assert table.notes == ("numbers have decimal commas",)
    table = text("name;empty;b\nx y;;1,5\ny x;;2\nx y;;4,5\n")  # not in the first column
    assert table.frame["b"].tolist() == [1.5, 2, 4.5]


def test_a_file_without_a_header_keeps_its_first_row():
    table = text("1.5,2\n3,5\n8,13\n")
    assert table.X.tolist() == [[1.5, 2], [3, 5], [8, 13]]
    assert "columns are numbered" in table.notes[0]
    assert text("0,1\n3,5\n8,13\n9,1\n").columns == ("0", "1")  # as data frames are written


def test_columns_of_the_same_name_are_numbered():
    table = text("a,b,a\n1,2,3\n3,5,9\n8,13,7\n")
    assert table.columns == ("a", "b", "a.1")
    assert table.notes == ("columns of the same name are numbered: a",)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks_tell_the_encoding(encoding):
    table = text("größe,b\n1,2\n3,5\n8,13\n".encode(encoding))
    assert table.columns == ("größe", "b")


def test_other_encodings_are_named():
    content = "a,b\n1,ä\n2,ö\n3,ä\n".encode("latin-1")
    with pytest.raises(ValueError, match=r"line 2 holds the byte 0xe4. Name its encoding"):
        text(content)
    assert text(content, encoding="latin-1").frame["b"].tolist() == ["ä", "ö", "ä"]
    with pytest.raises(ValueError, match="encoding='klingon' is not known"):
        text(content, encoding="klingon")


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_files(compress, tmp_path):
    path = tmp_path / "t.csv.any"
    path.write_bytes(compress(b"a,b\n1,2\n3,5\n8,13\n"))
    assert read_table(path).X.tolist() == [[1, 2], [3, 5], [8, 13]]
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(ValueError, match="damaged"):
        read_table(path)


def test_parquet_keeps_types(tmp_path):
    columns, _ = make_machines(50, random_state=0)
    frame = pd.DataFrame(columns)
    frame["grade"] = pd.Categorical(["low", "high"] * 25, ["low", "high"], ordered=True)
    frame.to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    assert table.kinds["date"] == "date"
    assert table.frame["grade"].dtype.ordered


def test_arrays(tmp_path):
    X = np.array([[1.0, 2], [3, 5], [8, 13]])
    np.save(tmp_path / "x.npy", X)
    np.savez(tmp_path / "x.npz", X=X, y=["a", "b", "a"], note=np.zeros(5))
    assert read_table(tmp_path / "x.npy").X.tolist() == X.tolist()
    table = read_table(tmp_path / "x.npz", label="y")
    assert table.columns == ("x1", "x2")
    assert table.labels.tolist() == ["a", "b", "a"]


def test_arrays_with_named_fields(tmp_path):
    fields = [("a", int), ("b", float), ("kind", "U1")]
    rows = np.array([(1, 2.5, "u"), (2, 3.5, "v"), (4, 1.0, "u")], dtype=fields)
    np.save(tmp_path / "x.npy", rows)
    table = read_table(tmp_path / "x.npy", label="kind")
    assert table.columns == ("a", "b")
    assert table.X.tolist() == [[1, 2.5], [2, 3.5], [4, 1.0]]
    assert table.labels.tolist() == ["u", "v", "u"]


def test_an_array_may_be_called_as_a_column_of_the_table(tmp_path):
    X = np.array([[1.0, 2], [3, 5], [8, 13]])
    np.savez(tmp_path / "x.npz", X=X, x1=[7.0, 9.0, 8.5])
    table = read_table(tmp_path / "x.npz")
    assert table.columns == ("x1", "x2", "x1.1")
    assert table.X.tolist() == [[1, 2, 7], [3, 5, 9], [8, 13, 8.5]]
    assert table.notes == ("columns of the same name are numbered",)


def test_parquet_without_its_package(tmp_path, monkeypatch):
    def absent(*_, **__):
        raise ImportError("pyarrow or fastparquet is required")

    pd.DataFrame({"x": [1.0, 2.0, 4.0]}).to_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(pd, "read_parquet", absent)
    with pytest.raises(ModuleNotFoundError, match=r"needs pyarrow.* pip install mercer\[io\]"):
        read_table(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    ("save", "message"),
    [
        (lambda path: np.save(path, np.array([{}, []], dtype=object)), "could run code"),
        (lambda path: np.save(path, np.zeros((2, 2, 2))), "3 axes; a table has two"),
        (lambda path: np.savez(path, a=np.eye(2), b=np.eye(3)), "one array with two axes"),
    ],
    ids=["objects", "cube", "two tables"],
)
def test_arrays_that_are_no_table(tmp_path, save, message):
    path = tmp_path / "t.npz"
    with path.open("wb") as file:
        save(file)
    with pytest.raises(ValueError, match=message):
        read_table(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n \n", "is empty"),
        (b"a,b\n", "leaves 0 columns and 0 rows of 0"),
        (b"a,b\n1,2\n1,2,3\n", "line 3 has 3 fields, the header has 2"),
        (b"a,b,c\n1,2,3\n4,5\n6,7,8\n", "line 3 has 2 fields, the header has 3"),
        (b'a,b\n"1,2\n3,4\n5,6\n', "cannot be read as a table"),
        (b"a\0b,c\n1,2\n", "holds zero bytes"),
        (b"\xef\xbb\xbf\n\n", "no header line that can be read"),
        (b"a\rb,c\n1,2\n", "no header line that can be read: new-line character"),
        (b"a,b\n1,2\r3\n5,6\n", "line 2: new-line character"),
        (b"PK\x03\x04broken", "cannot be read as arrays"),
        (b"PAR1broken", "cannot be read as Parquet"),
        (b"\x93NUMPYbroken", "cannot be read as arrays"),
        (b"\x28\xb5\x2f\xfdx", "compressed with zstd; expand it first"),
    ],
)
def test_what_is_no_table_is_refused_in_words(tmp_path, content, message):
    path = tmp_path / "bad"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_table(path)


def test_a_folder_is_no_table(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read_table(tmp_path)


def test_huge_fields_and_many_columns():
    long = "x" * 2_000_000
    assert text(f"a,b\n1,{long}\n2,y\n3,y\n4,{long}\n").frame["b"].str.len().max() == 2_000_000
    wide = np.random.default_rng(0).normal(size=(4, 5000))
    content = io.BytesIO()
    pd.DataFrame(wide).to_csv(content, index=False)
    assert pytest.approx(wide) == text(content.getvalue()).X


# --- models ----------------------------------------------------------------------------------


def test_numbers_are_standardised_and_mixed_tables_have_their_kernel():
    numbers, mixed = modelling(read_table("iris"), bandwidth=0.7), read_table("machines")
    assert numbers.kernel == Gaussian(0.7)
    assert numbers.data.std(axis=0) == pytest.approx(np.ones(4))
    assert modelling(mixed).kernel == table_kernel(mixed.frame)
    assert modelling(mixed, bandwidth=0.5).kernel == table_kernel(mixed.frame).widened(0.5)
    with pytest.raises(ValueError, match="is a rule for numbers"):
        modelling(mixed, bandwidth="silverman")


@pytest.mark.parametrize("name", ["iris", "machines"])
def test_a_model_takes_raw_rows_in_any_order_of_columns(name):
    table = read_table(name)
    model = modelling(table)
    pipeline = model.pipeline(KernelECA(3, kernel=model.kernel, solver="dense")).fit(table.frame)
    direct = KernelECA(3, kernel=model.kernel, solver="dense").fit_transform(model.data)
    raw = table.frame[table.frame.columns[::-1]].assign(more=1).astype(object)
    assert pipeline.transform(raw) == pytest.approx(direct, abs=1e-9)
    assert clone(pipeline).steps[0][1].kinds == table.kinds


def test_rows_that_do_not_fit_the_model():
    columns = TypedColumns({"a": "number", "b": "category"}).fit(None)
    with pytest.raises(ValueError, match="no column 'b', which the model was fitted with"):
        columns.transform(pd.DataFrame({"a": [1]}))
    with pytest.raises(ValueError, match="'a' should hold numbers; 'x' is none"):
        columns.transform(pd.DataFrame({"a": ["x"], "b": ["y"]}))
    with pytest.raises(TypeError, match="pass a data frame, not ndarray"):
        columns.transform(np.zeros((1, 2)))


# --- rows as they were read ------------------------------------------------------------------


def test_rows_as_written():
    content = b'id;n;when;"a;b"\n007;1,50;2024-01-31;NA\n011;2,0;;"x ""y"""\n'
    rows = read_rows(io.BytesIO(content), as_written=True)
    assert rows.frame.to_numpy().tolist() == [
        ["007", "1,50", "2024-01-31", "NA"],
        ["011", "2,0", "", 'x "y"'],
    ]
    typed = read_rows(io.BytesIO(content))
    assert typed.frame["n"].tolist() == [1.5, 2.0]
    assert typed.notes == ("numbers have decimal commas",)


def test_row_numbers_are_left_out_of_short_tables_too():
    """What a command writes has them, and another may read it."""
    assert text("row,x\n1,4\n2,1\n3,5\n").columns == ("x",)
    assert text("row,x\n1,4\n3,1\n2,5\n").columns == ("row", "x")


def test_lines_that_end_as_on_old_machines():
    assert text(b"a,b\r1,2\r3,5\r7,1\r").X.tolist() == [[1, 2], [3, 5], [7, 1]]


def test_compressed_pipes():
    assert text(gzip.compress(b"a,b\n1,2\n3,5\n7,1\n")).n == 3


def test_numbers_whose_squares_overflow_are_left_out(tmp_path):
    pytest.importorskip("dask", reason="parts need mercer[dask]")
    from mercer.tables.chunked import read_chunked_rows

    path = tmp_path / "part.csv"
    path.write_text("a,b\n1.7e308,2\n-1.7e308,1\n3,5\n1e308,4\n")
    for table in (read_table(path), read_chunked_rows(path).table()):
        assert table.kinds == {"b": "number"}
        assert [o.column for o in table.omissions] == ["a"]
        assert "1.7e+308, whose squares overflow" in table.omissions[0].reason
