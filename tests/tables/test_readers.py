"""Reading files as tables: formats, separators, encodings, and files that are not tables."""

import bz2
import csv
import gzip
import io
import lzma
import sys

import numpy as np
import pandas as pd
import pytest

from mercer.datasets import make_machines
from mercer.tables import read_rows, read_table
from mercer.tables.readers import read_frame
from tests.expectations import raises


def read_text(content, **options):
    raw = content if isinstance(content, bytes) else content.encode("utf-8")
    return read_table(io.BytesIO(raw), **options)


# --- separators ------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", ["\t", ";", ","])
def test_separator_is_detected(separator):
    rows = [["a", "b"], ["1", "2"], ["3", "5"], ["8", "13"]]
    table = read_text("\n".join(separator.join(row) for row in rows))
    assert table.columns == ("a", "b")
    assert table.X.tolist() == [[1, 2], [3, 5], [8, 13]]


@pytest.mark.parametrize(
    "content",
    ['{"a": {"0": 1}}', '[{"a": 1}, {"a": 2}]', "\n[[1, 2], [3, 4]]", '{"a": 1}\n{"a": 2}'],
)
def test_json_is_an_error_that_does_not_repeat_the_file(content):
    with raises(ValueError, "JSON", "CSV") as caught:
        read_text(content + 1000 * " ")
    assert len(str(caught.value)) < 200


NAMES = {
    '"Length, cm";"Width, cm"\n1;2\n3;4\n': ["Length, cm", "Width, cm"],
    '"a, b, c";d\n1;2\n3;4\n': ["a, b, c", "d"],
    '"a; b; c",d\n1,2\n3,4\n': ["a; b; c", "d"],
    '"a\n(cm, mm)";b\n1;2\n3;4\n': ["a\n(cm, mm)", "b"],
    '"a ""x, y""";b\n1;2\n3;4\n': ['a "x, y"', "b"],
    '"x, y, z"\tb\n1\t2\n3\t4\n': ["x, y, z", "b"],
    'size;price\n5" pipe;3\n6" pipe;4\n': ["size", "price"],
    "id\tnote\n1\tred, blue, green\n2\tone, two, three\n": ["id", "note"],
    'id\tnote\n1\t"red","blue"\n2\t"one","two"\n': ["id", "note"],
    'id,note\n1,"red; blue; green"\n2,"one; two"\n': ["id", "note"],
    "a;b;c\n1,5;2,25;3,5\n4,5;;6,5\n": ["a", "b", "c"],
    "note\nthe red fox\na blue whale\n": ["note"],
    "\n \na,b\n1,2\n3,4\n": ["a", "b"],
    '"a"x\tb\n1\t2\n3\t4\n': ["ax", "b"],
    "a, cm;b, cm\n1;2\n3;4\n": ["a, cm", "b, cm"],
    "a|b\n1,5|2,5\n3,5|4\n": ["a", "b"],
    "x\n1,5\n2,5\n": ["x"],
}


@pytest.mark.parametrize("content", NAMES)
def test_separators_in_quotes_do_not_count(content):
    frame, _ = read_frame(io.BytesIO(content.encode()))
    assert list(frame.columns) == NAMES[content]


def test_separator_detection_does_not_split_all_lines():
    from mercer.tables.text_files import _find_separator

    class Text(str):
        def splitlines(self, keepends=False):
            raise AssertionError("splits all lines")

    assert _find_separator(Text("a;b\n" + "1;2\n" * 1000)) == ";"


def test_reading_does_not_change_the_field_limit_of_csv():
    """The limit is a global variable of the module csv."""
    limit = csv.field_size_limit(1000)
    try:
        read_text("a,b\n1,2\n3,5\n8,\n9,1\n")
        with raises(ValueError, "line 3"):
            read_text("a,b\n1,2\n1,2,3\n")
        assert csv.field_size_limit() == 1000
    finally:
        csv.field_size_limit(limit)


def test_large_fields_and_many_columns_are_read():
    long = "x" * 2_000_000
    frame = read_text(f"a,b\n1,{long}\n2,y\n3,y\n4,{long}\n").frame
    assert frame["b"].str.len().max() == 2_000_000
    wide = np.random.default_rng(0).normal(size=(4, 5000))
    content = io.BytesIO()
    pd.DataFrame(wide).to_csv(content, index=False)
    assert pytest.approx(wide) == read_text(content.getvalue()).X


# --- text ------------------------------------------------------------------------------------


def test_decimal_commas_are_read():
    table = read_text("a;b\n1,5;2\n-2,25;3\n4;5\n")
    assert table.X[:, 0].tolist() == [1.5, -2.25, 4]
    assert len(table.notes) == 1
    table = read_text("name;empty;b\nx y;;1,5\ny x;;2\nx y;;4,5\n")  # not in the first column
    assert table.frame["b"].tolist() == [1.5, 2, 4.5]


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_decimal_commas_are_found_in_any_cell(separator):
    """Only the first cell was considered, and never in files with tabs."""
    rows = [["x", "y"], ["3", "1"], ["2,5", "4"], ["-1", "7"], ["", "2"], ["1,5e3", "0"]]
    table = read_text("\n".join(separator.join(row) for row in rows))
    assert table.frame["x"].tolist() == [3, 2.5, -1, 1500]
    assert len(table.notes) == 1


@pytest.mark.parametrize(
    ("content", "expected", "notes"),
    [
        ("x;y\n3;1\n1.234,5;4\n7;1\n", [3, 1234.5, 7], 1),
        ("x;y\n1.234;1,5\n2.000.000;4\n7;1\n", [1234, 2000000, 7], 2),
        ("x;y\n1.5;1,5\n2.25;4\n7;1\n", [1.5, 2.25, 7], 1),  # not thousands
        ("x;y\n1,234;1\n2,5;4\n7;1\n", [1.234, 2.5, 7], 1),
        ("x;y\n1,234;2,345.5\n2,500;4\n7;1\n", [1234, 2500, 7], 1),
        ('x,y\n"1,234",1\n"22,500",4\n7,1\n', [1234, 22500, 7], 1),
        ('x,y\n"1,5",1\n"2,25",4\n7,1\n', [1.5, 2.25, 7], 1),
        ("x\ty\n1 234,5\t1\n2\t4\n7\t1\n", [1234.5, 2, 7], 1),
    ],
)
def test_thousands_separators(content, expected, notes):
    table = read_text(content)
    assert table.frame["x"].tolist() == expected
    assert len(table.notes) == notes


def test_quoted_lists_are_not_numbers():
    frame, _ = read_frame(io.BytesIO(b'x,list\n1.5,"1,2"\n2.5,"3,4"\n'))
    assert frame["list"].tolist() == ["1,2", "3,4"]


def test_file_without_header_keeps_its_first_row():
    table = read_text("1.5,2\n3,5\n8,13\n")
    assert table.X.tolist() == [[1.5, 2], [3, 5], [8, 13]]
    assert table.columns == ("x1", "x2")
    assert len(table.notes) == 1


def test_header_of_consecutive_integers_is_a_header():
    """Pandas writes such headers."""
    assert read_text("0,1\n3,5\n8,13\n9,1\n").columns == ("0", "1")


def test_columns_of_the_same_name_are_numbered():
    table = read_text("a,b,a\n1,2,3\n3,5,9\n8,13,7\n")
    assert table.columns == ("a", "b", "a.1")
    assert len(table.notes) == 1
    assert "a" in table.notes[0]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_mark_determines_the_encoding(encoding):
    table = read_text("größe,b\n1,2\n3,5\n8,13\n".encode(encoding))
    assert table.columns == ("größe", "b")


def test_wrong_encoding_is_an_error_with_line_and_byte():
    content = "a,b\n1,ä\n2,ö\n3,ä\n".encode("latin-1")
    with raises(ValueError, "line 2", "0xe4", "utf-8", "latin-1"):
        read_text(content)
    assert read_text(content, encoding="latin-1").frame["b"].tolist() == ["ä", "ö", "ä"]
    with raises(ValueError, "klingon"):
        read_text(content, encoding="klingon")


def test_carriage_returns_end_lines():
    assert read_text(b"a,b\r1,2\r3,5\r7,1\r").X.tolist() == [[1, 2], [3, 5], [7, 1]]


def test_cells_can_be_read_as_written():
    content = b'id;n;when;"a;b"\n007;1,50;2024-01-31;NA\n011;2,0;;"x ""y"""\n'
    rows = read_rows(io.BytesIO(content), as_written=True)
    assert rows.frame.to_numpy().tolist() == [
        ["007", "1,50", "2024-01-31", "NA"],
        ["011", "2,0", "", 'x "y"'],
    ]
    typed = read_rows(io.BytesIO(content))
    assert typed.frame["n"].tolist() == [1.5, 2.0]
    assert len(typed.notes) == 1


def test_identifiers_with_leading_zeros_are_text():
    table = read_text("zip,x\n01067,1\n80331,2\n01067,4\n80331,5\n")
    assert table.column_types == {"zip": "category", "x": "number"}
    assert table.frame["zip"].tolist() == ["01067", "80331", "01067", "80331"]
    table = read_text("x,y\n0.5,00.5\n0,1\n-0.25,2\n")
    assert set(table.column_types.values()) == {"number"}


def test_large_integers_with_missing_values_are_exact():
    frame, _ = read_frame(io.BytesIO(b"id,x\n9007199254740993,1\n9007199254740992,2\n,3\n"))
    assert frame["id"].dropna().tolist() == [2**53 + 1, 2**53]


def test_parquet_keeps_large_integers_with_missing_values(tmp_path):
    ids = pd.array([2**53 + 1, 2**53, None, 2**53], dtype="Int64")
    pd.DataFrame({"id": ids, "x": [1.0, 2.0, 5.0, 3.0]}).to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet", label="id")
    assert table.labels[table.has_label].tolist() == ["9007199254740993", *["9007199254740992"] * 2]


def test_mixed_utc_offsets_are_dates():
    table = read_text("when,x\n2024-03-30T12:00+01:00,1\n2024-03-31T12:00+02:00,2\n2024-04-01,5\n")
    assert table.column_types["when"] == "date"
    assert table.frame["when"].dt.hour.tolist() == [11, 10, 0]


# --- compressed and binary files ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("compress", "method"),
    [(gzip.compress, "gzip"), (bz2.compress, "bz2"), (lzma.compress, "xz")],
    ids=["gzip", "bz2", "xz"],
)
def test_compressed_files_are_read(compress, method, tmp_path):
    path = tmp_path / "t.csv.any"
    path.write_bytes(compress(b"a,b\n1,2\n3,5\n8,13\n"))
    assert read_table(path).X.tolist() == [[1, 2], [3, 5], [8, 13]]
    path.write_bytes(path.read_bytes()[:-6])
    with raises(ValueError, path, method):
        read_table(path)


def test_compressed_pipes_are_read():
    assert read_text(gzip.compress(b"a,b\n1,2\n3,5\n7,1\n")).n == 3


def test_parquet_keeps_types(tmp_path):
    columns, _ = make_machines(50, random_state=0)
    frame = pd.DataFrame(columns)
    frame["grade"] = pd.Categorical(["low", "high"] * 25, ["low", "high"], ordered=True)
    frame.to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    assert table.column_types["date"] == "date"
    assert table.frame["grade"].dtype.ordered


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    pd.DataFrame({"x": [1.0, 2.0, 4.0]}).to_parquet(tmp_path / "t.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with raises(ModuleNotFoundError, "pyarrow", "mercer[io]"):
        read_table(tmp_path / "t.parquet")


def test_arrays_are_read(tmp_path):
    X = np.array([[1.0, 2], [3, 5], [8, 13]])
    np.save(tmp_path / "x.npy", X)
    np.savez(tmp_path / "x.npz", X=X, y=["a", "b", "a"], note=np.zeros(5))
    assert read_table(tmp_path / "x.npy").X.tolist() == X.tolist()
    table = read_table(tmp_path / "x.npz", label="y")
    assert table.columns == ("x1", "x2")
    assert table.labels.tolist() == ["a", "b", "a"]


def test_fields_of_record_arrays_are_columns(tmp_path):
    fields = [("a", int), ("b", float), ("kind", "U1")]
    rows = np.array([(1, 2.5, "u"), (2, 3.5, "v"), (4, 1.0, "u")], dtype=fields)
    np.save(tmp_path / "x.npy", rows)
    table = read_table(tmp_path / "x.npy", label="kind")
    assert table.columns == ("a", "b")
    assert table.X.tolist() == [[1, 2.5], [2, 3.5], [4, 1.0]]
    assert table.labels.tolist() == ["u", "v", "u"]


def test_array_named_like_a_column_is_numbered(tmp_path):
    X = np.array([[1.0, 2], [3, 5], [8, 13]])
    np.savez(tmp_path / "x.npz", X=X, x1=[7.0, 9.0, 8.5])
    table = read_table(tmp_path / "x.npz")
    assert table.columns == ("x1", "x2", "x1.1")
    assert table.X.tolist() == [[1, 2, 7], [3, 5, 9], [8, 13, 8.5]]
    assert len(table.notes) == 1


@pytest.mark.parametrize(
    ("save", "values"),
    [
        (lambda path: np.save(path, np.array([{}, []], dtype=object)), []),
        (lambda path: np.save(path, np.zeros((2, 2, 2))), ["3"]),
        (lambda path: np.savez(path, a=np.eye(2), b=np.eye(3)), ["a (2, 2)", "b (3, 3)"]),
    ],
    ids=["objects", "cube", "two tables"],
)
def test_arrays_that_are_not_a_table_are_rejected(tmp_path, save, values):
    path = tmp_path / "t.npz"
    with path.open("wb") as file:
        save(file)
    with raises(ValueError, path, *values):
        read_table(path)


# --- files that are not tables -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "values"),
    [
        (b"", []),
        (b" \n \n", []),
        (b"a,b\n", ["0 columns", "0 rows"]),
        (b"a,b\n1,2\n1,2,3\n", ["line 3", "3 fields", "2"]),
        (b"a,b,c\n1,2,3\n4,5\n6,7,8\n", ["line 3", "2 fields", "3"]),
        (b'a,b\n"1,2\n3,4\n5,6\n', []),
        (b"a\0b,c\n1,2\n", []),
        (b"\xef\xbb\xbf\n\n", []),
        (b"a\rb,c\n1,2\n", []),
        (b"a,b\n1,2\r3\n5,6\n", ["line 2"]),
        (b"PK\x03\x04broken", []),
        (b"PAR1broken", ["Parquet"]),
        (b"\x93NUMPYbroken", []),
        (b"\x28\xb5\x2f\xfdx", ["zstd"]),
    ],
)
def test_files_that_are_not_tables_are_rejected(tmp_path, content, values):
    path = tmp_path / "bad"
    path.write_bytes(content)
    with raises(ValueError, path.name, *values):
        read_table(path)


def test_folders_are_rejected(tmp_path):
    with raises(IsADirectoryError, tmp_path):
        read_table(tmp_path)


def test_missing_files_are_named_with_the_embedded_data_sets(tmp_path):
    with raises(FileNotFoundError, tmp_path / "none.csv", "wine"):
        read_table(tmp_path / "none.csv")


def test_parquet_parts_of_a_folder_are_read_in_the_order_of_their_numbers(tmp_path):
    pytest.importorskip("pyarrow")
    for i in (10, 2, 1):
        part = pd.DataFrame({"row": np.arange(3) + 3 * i, "name": list("abc")})
        part.to_parquet(tmp_path / f"part.{i}.parquet")
    (tmp_path / "notes.txt").write_text("not a part")
    frame, notes = read_frame(tmp_path)
    assert frame["row"].tolist() == [3, 4, 5, 6, 7, 8, 30, 31, 32]
    assert frame.index.tolist() == list(range(9))
    assert "3 Parquet files" in notes[0]
    pd.DataFrame({"other": [1]}).to_parquet(tmp_path / "part.3.parquet")
    with raises(ValueError, "part.3.parquet", "other"):
        read_frame(tmp_path)
