"""CSV output: formulas are escaped, and the table can be read back."""

import io
import re

import pytest

pytest.importorskip("pandas", reason="tables need mercer[io]")
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from mercer.tables.readers import read_frame
from mercer.tables.text_files import escape_formula, to_csv

FORMULAS = ["=1+1", "+a", "-a", "@SUM(A1)", "\tx", "\rx", "'=1", "''+x", "+1 2", "-1-2", "+49 (0)"]
OTHERS = ["-1", "+1", "-1.5", "-1,5", "-1e-5", "-", "+", "a=b", "", "'", "'a", -1.5, None, True, 3]
#: Texts that the reader returns as they are: no surrounding spaces, no line breaks, not missing.
texts = st.text(st.sampled_from("=+-@'ab1.,\""), min_size=1, max_size=6).map(lambda t: f"{t}z")


def unescape(cell):
    """Remove the apostrophe of an escaped cell."""
    return re.sub(r"^'('*[=+\-@\t\r])", r"\1", cell)


@pytest.mark.parametrize("cell", FORMULAS)
def test_formulas_get_an_apostrophe(cell):
    assert escape_formula(cell) == f"'{cell}"
    assert unescape(escape_formula(cell)) == cell


@pytest.mark.parametrize("cell", OTHERS)
def test_numbers_and_other_cells_are_unchanged(cell):
    assert escape_formula(cell) is cell


@given(st.lists(st.tuples(texts, st.floats(-1e6, 1e6)), min_size=1, max_size=8), texts)
def test_table_is_read_back(rows, name):
    """Numbers are equal; texts are equal after the apostrophe of formulas is removed."""
    frame = pd.DataFrame({name: [text for text, _ in rows], "number": [x for _, x in rows]})
    found, _ = read_frame(io.BytesIO(to_csv(frame).encode()))
    assert [unescape(str(column)) for column in found] == [name, "number"]
    assert found["number"].tolist() == pytest.approx(frame["number"].tolist(), rel=1e-15)
    assert [unescape(cell) for cell in found.iloc[:, 0]] == frame[name].tolist()
    assert not any(re.match(r"[=+\-@]", cell) for cell in found.iloc[:, 0])


def test_all_kinds_of_text_columns_are_escaped():
    cells = ["=a", None, "b"]
    columns = {
        "object": pd.Series(cells, dtype=object),
        "string": pd.Series(cells, dtype="string"),
        "category": pd.Categorical(cells),
        "integer": pd.array([-1, None, 2], dtype="Int64"),
        "date": pd.to_datetime(["2024-01-01", None, "2024-01-02"]),
    }
    lines = to_csv(pd.DataFrame(columns)).splitlines()
    assert lines[1:] == ["'=a,'=a,'=a,-1,2024-01-01", ",,,,", "b,b,b,2,2024-01-02"]


def test_frame_is_not_changed():
    frame = pd.DataFrame({"=a": ["=b"]})
    to_csv(frame)
    assert frame.to_dict("list") == {"=a": ["=b"]}


def test_outputs_of_commands_and_of_the_report_are_escaped(tmp_path):
    pytest.importorskip("cyclopts", reason="the command line needs mercer[cli]")
    from mercer.cli import main

    rows = "".join(f"{i},{i * i % 7},{('=cmd()', '-1', '@x')[i % 3]}\n" for i in range(30))
    data = tmp_path / "data.csv"
    data.write_text(f"x,y,=who\n{rows}")
    out = tmp_path / "out.csv"
    assert main(["cluster", str(data), "--label", "=who", "--keep", "--out", str(out)]) == 0
    header, *lines = out.read_text().splitlines()
    assert "'=who" in header.split(",")
    assert {line.split(",")[2] for line in lines} == {"'=cmd()", "-1", "'@x"}


def test_scores_of_the_explorer_are_escaped(tmp_path):
    pytest.importorskip("starlette", reason="the explorer needs mercer[web]")
    from tests.explorer_client import connect

    path = tmp_path / "data.csv"
    path.write_text("x,y,who\n" + "".join(f"{i},{i * i % 7},{'=@'[i % 2]}a\n" for i in range(20)))
    with connect(given=path) as client:
        lines = client.get("/api/scores.csv?data=given&label=who").text.splitlines()
    assert {line.split(",")[1] for line in lines[1:]} == {"'=a", "'@a"}
