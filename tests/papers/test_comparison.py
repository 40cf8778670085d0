"""Comparison of published values with ours: verdicts, text tables and written files."""

import json
import sys
from math import nan

import matplotlib as mpl
import pytest

from papers import (
    PAPERS,
    AtLeast,
    AtMost,
    Picture,
    Row,
    Same,
    Table,
    Within,
    load_paper,
    reproduce,
)
from papers.__main__ import main
from papers.comparison import count_verdicts, show
from papers.text_tables import WIDTH, lines, print_table
from tests.expectations import names_values, raises

mpl.use("Agg")


@pytest.mark.parametrize(
    ("accepted", "inside", "outside", "text"),
    [
        (Within(1.5, 2.5), [1.5, 2, 2.5], [1.49, 2.51], "1.5 to 2.5 %"),
        (AtMost(10.0), [-5, 10], [10.01], "≤ 10 %"),
        (AtLeast(85.0), [85, 99.0], [84.9], "≥ 85 %"),
        (Same(7), [7, 7.0], [6], "7 %"),
    ],
)
def test_values_are_inside_or_outside_of_ranges(accepted, inside, outside, text):
    assert all(Row("", "", value, accepted).verdict == "inside" for value in inside)
    assert all(Row("", "", value, accepted).verdict == "outside" for value in outside)
    assert Row("", "", 1, accepted, " %").range == text


def test_sets_ignore_order_and_tuples_do_not():
    assert Row("", "", frozenset({4, 1}), Same({1, 4})).verdict == "inside"
    assert Row("", "", (1, 10, 4), Same((1, 4, 10))).verdict == "outside"


def test_rows_without_a_range_are_not_judged():
    row = Row("seconds", "12", 3.0)
    assert row.verdict == "not judged"
    assert row.range == ""


@pytest.mark.parametrize("accepted", [AtMost(1.0), AtLeast(1.0), Within(0, 2), Same(nan)])
def test_nan_is_outside_of_every_range(accepted):
    assert Row("", "", nan, accepted).verdict == "outside"


def test_values_are_formatted():
    assert show(frozenset({9, 1, 2})) == "{1, 2, 9}"
    assert show((1, 10, 4)) == "1, 10, 4"
    assert show(10.666, " %") == "10.7 %"
    assert show(0.0, " %") == "0 %"
    assert show(4.4e-16) == "4.4e-16"
    assert Row("", "", 28.71, unit=" %", spread=4.43).shown == "28.7 ± 4.4 %"
    assert show("as printed") == "as printed"
    assert Row("", "", 28.71234, unit=" %", digits=5).shown == "28.712 %"
    assert Row("", "", 5, Same(5), " of 5 seeds").range == "5 of 5 seeds"


def test_lines_are_at_most_100_columns():
    row = Row("item " * 30, "paper " * 8, 1.0, AtMost(2.0), remark="why " * 60)
    table = Table("A table", (row,), note="note " * 60)
    assert max(map(len, lines(table))) <= WIDTH
    assert any(line.endswith("  inside") for line in lines(table))


def test_lines_of_a_table_without_rows():
    assert list(lines(Table("T", (), layout="a\nb", note="n"))) == [
        "T",
        "─" * WIDTH,
        "a",
        "b",
        "",
        "",
        "n",
    ]


def test_printed_lines_equal_written_lines(capsys, monkeypatch):
    table = Table(
        "T", (Row("x", "1", 2, Same(1), remark="[bold]not markup"),), note="n", layout="  l"
    )
    monkeypatch.setenv("COLUMNS", "40")  # lines are not wrapped at the width of the terminal
    print_table(table)
    assert capsys.readouterr().out.rstrip("\n") == "\n".join(lines(table))


def test_plain_text_without_rich(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    table = Table("T", (Row("x", "1", 1, Same(1)),))
    print_table(table)
    assert capsys.readouterr().out == "\n".join([*lines(table), "", ""])


def test_verdicts_are_counted():
    rows = (Row("", "", 1, Same(1)), Row("", "", 2, Same(1)), Row("", "", 1), Row("", "", 1))
    assert count_verdicts([Table("", rows)]) == {"inside": 1, "outside": 1, "not judged": 2}


class Tiny:
    """A paper with one table and one figure."""

    TITLE = "A tiny paper"

    def __init__(self):
        self.calls = []

    def tables(self, quick):
        self.calls.append(quick)
        yield Table("Numbers", (Row("x", "1", 1.04, Within(0.9, 1.1)), Row("y", "", nan)))

    def figures(self, quick):
        import matplotlib.pyplot as plt

        yield Picture("fig01", "Fig. 1. A caption.", plt.figure(figsize=(2, 1)))


def test_run_writes_tables_and_figures(tmp_path):
    import matplotlib.pyplot as plt

    paper, seen = Tiny(), []
    done = reproduce(
        paper, tmp_path / "new", quick=True, on_table=seen.append, on_figure=seen.append
    )
    assert paper.calls == [True]
    assert seen == [done.tables[0], tmp_path / "new" / "fig01.png"]
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == [
        "fig01.png",
        "tables.json",
        "tables.txt",
    ]
    assert plt.get_fignums() == []
    image = plt.imread(done.figures[0])
    assert image.shape[:2] == (150, 300)  # 150 dots per inch
    text = (tmp_path / "new" / "tables.txt").read_text(encoding="utf-8")
    assert text.startswith("A tiny paper\n")
    assert "fig01.png: Fig. 1. A caption." in text
    assert text.rstrip().endswith(done.summary)
    assert names_values(done.summary, "1 of 1", "0 outside", "1 more") == []
    record = json.loads((tmp_path / "new" / "tables.json").read_text(encoding="utf-8"))
    assert record["quick"] is True
    assert record["verdicts"] == {"inside": 1, "outside": 0, "not judged": 1}
    first, second = record["tables"][0]["rows"]
    assert first["number"] == 1.04
    assert first["accepted_range"] == "0.9 to 1.1"
    assert second["number"] is None  # JSON has no nan


def test_run_without_figures(tmp_path, monkeypatch):
    monkeypatch.setattr(Tiny, "figures", lambda self, quick: pytest.fail("figures were drawn"))
    reproduce(Tiny(), tmp_path, figures=False)
    assert not (tmp_path / "fig01.png").exists()


def test_papers_can_be_loaded():
    for name in PAPERS:
        assert load_paper(name).TITLE
    with raises(KeyError, "nobody-1900", *PAPERS):
        load_paper("nobody-1900")


def test_block_matrices_are_inside_their_ranges():
    """Closed forms and identities of Jenssen (2010), section 3."""
    from papers.jenssen_2010 import blocks

    closed, identities = blocks.tables(quick=True)
    assert [row.verdict for row in closed.rows] == ["inside"] * 5
    assert [row.verdict for row in identities.rows] == ["inside"] * 4
    assert "{1, 3}" in "\n".join(lines(closed))
    (picture,) = blocks.figures(quick=True)
    left, right = picture.figure.axes
    assert left.get_title() == "(a) ideal case"
    assert len(right.collections) == 2


# --- command line --------------------------------------------------------------------------------


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr("papers.__main__.load_paper", lambda name: Tiny())


def test_command_prints_tables_and_writes_files(tiny, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["jenssen-2010"]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[0] == "Numbers"
    folder = tmp_path / "mercer-reproduce" / "jenssen-2010"
    assert {path.name for path in folder.iterdir()} == {"fig01.png", "tables.txt", "tables.json"}
    assert "fig01.png" in printed.err
    assert "fig01.png" not in printed.out


def test_command_without_figures(tiny, tmp_path):
    assert main(["jenssen-2010", "--no-figures", "--quick", "--out", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"tables.txt", "tables.json"}


def test_command_rejects_unknown_papers(capsys):
    with raises(SystemExit) as caught:
        main(["nobody-1900"])
    assert caught.value.code == 2
    assert names_values(capsys.readouterr().err, "nobody-1900", *PAPERS) == []


def test_command_without_data(tiny, tmp_path, monkeypatch, capsys):
    def absent(self, quick):
        raise FileNotFoundError("usps.npz was not found. Set MERCER_DATA.")

    monkeypatch.setattr(Tiny, "tables", absent)
    assert main(["jenssen-2010", "--out", str(tmp_path / "x")]) == 1
    assert "usps.npz" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
