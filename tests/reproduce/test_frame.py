"""The frame judges by ranges fixed beforehand, shows what it judged, and writes whole files."""

import json
from math import nan

import matplotlib as mpl
import pytest

from mercer.reproduce import (
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
from mercer.reproduce.frame import count_verdicts, show
from mercer.reproduce.show import WIDTH, lines, print_table

mpl.use("Agg")


@pytest.mark.parametrize(
    ("fair", "inside", "outside", "words"),
    [
        (Within(1.5, 2.5), [1.5, 2, 2.5], [1.49, 2.51], "1.5 to 2.5 %"),
        (AtMost(10.0), [-5, 10], [10.01], "≤ 10 %"),
        (AtLeast(85.0), [85, 99.0], [84.9], "≥ 85 %"),
        (Same(7), [7, 7.0], [6], "7 %"),
    ],
)
def test_ranges(fair, inside, outside, words):
    assert all(Row("", "", value, fair).verdict == "inside" for value in inside)
    assert all(Row("", "", value, fair).verdict == "outside" for value in outside)
    assert Row("", "", 1, fair, " %").range == words


def test_sets_and_lists_are_compared_as_they_are():
    assert Row("", "", frozenset({4, 1}), Same({1, 4})).verdict == "inside"
    assert Row("", "", (1, 10, 4), Same((1, 4, 10))).verdict == "outside"


def test_nothing_is_judged_without_a_range():
    row = Row("seconds", "12", 3.0)
    assert row.verdict == "not judged"
    assert row.range == ""


@pytest.mark.parametrize("fair", [AtMost(1.0), AtLeast(1.0), Within(0, 2), Same(nan)])
def test_a_number_that_is_none_is_outside(fair):
    assert Row("", "", nan, fair).verdict == "outside"


def test_values_are_shown_as_a_reader_expects():
    assert show(frozenset({9, 1, 2})) == "{1, 2, 9}"
    assert show((1, 10, 4)) == "1, 10, 4"
    assert show(10.666, " %") == "10.7 %"
    assert show(0.0, " %") == "0 %"
    assert show(4.4e-16) == "4.4e-16"
    assert Row("", "", 28.71, unit=" %", spread=4.43).shown == "28.7 ± 4.4 %"
    assert show("as printed") == "as printed"
    assert Row("", "", 28.71234, unit=" %", digits=5).shown == "28.712 %"
    assert Row("", "", 5, Same(5), " of 5 seeds").range == "5 of 5 seeds"


def test_lines_fit_the_page():
    row = Row("item " * 30, "paper " * 8, 1.0, AtMost(2.0), remark="why " * 60)
    table = Table("A table", (row,), note="note " * 60)
    assert max(map(len, lines(table))) <= WIDTH
    assert any(line.endswith("  inside") for line in lines(table))


def test_a_table_without_rows_is_its_layout_and_note():
    assert list(lines(Table("T", (), layout="a\nb", note="n"))) == [
        "T",
        "─" * WIDTH,
        "a",
        "b",
        "",
        "",
        "n",
    ]


def test_printed_and_written_lines_are_the_same(capsys, monkeypatch):
    table = Table(
        "T", (Row("x", "1", 2, Same(1), remark="[bold]not markup"),), note="n", layout="  l"
    )
    monkeypatch.setenv("COLUMNS", "40")  # never wrapped by the terminal's width
    print_table(table)
    assert capsys.readouterr().out.rstrip("\n") == "\n".join(lines(table))


def test_without_rich_the_text_is_plain(capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "rich.console", None)
    table = Table("T", (Row("x", "1", 1, Same(1)),))
    print_table(table)
    assert capsys.readouterr().out == "\n".join([*lines(table), "", ""])


def test_verdicts_are_counted():
    rows = (Row("", "", 1, Same(1)), Row("", "", 2, Same(1)), Row("", "", 1), Row("", "", 1))
    assert count_verdicts([Table("", rows)]) == {"inside": 1, "outside": 1, "not judged": 2}


class Tiny:
    """A paper of one table and one figure."""

    TITLE = "A tiny paper"

    def __init__(self):
        self.asked = []

    def tables(self, quick):
        self.asked.append(quick)
        yield Table("Numbers", (Row("x", "1", 1.04, Within(0.9, 1.1)), Row("y", "", nan)))

    def figures(self, quick):
        import matplotlib.pyplot as plt

        yield Picture("fig01", "Fig. 1. A caption.", plt.figure(figsize=(2, 1)))


def test_a_run_writes_everything_and_closes_its_figures(tmp_path):
    import matplotlib.pyplot as plt

    paper, seen = Tiny(), []
    done = reproduce(
        paper, tmp_path / "new", quick=True, on_table=seen.append, on_figure=seen.append
    )
    assert paper.asked == [True]
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
    assert text.endswith(
        "1 of 1 rows inside their fair range, 0 outside; 1 more without a range.\n"
    )
    told = json.loads((tmp_path / "new" / "tables.json").read_text(encoding="utf-8"))
    assert told["quick"] is True
    assert told["verdicts"] == {"inside": 1, "outside": 0, "not judged": 1}
    first, second = told["tables"][0]["rows"]
    assert first["number"] == 1.04
    assert first["fair_range"] == "0.9 to 1.1"
    assert second["number"] is None  # JSON has no nan


def test_without_figures_nothing_is_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(Tiny, "figures", lambda self, quick: pytest.fail("drew"))
    reproduce(Tiny(), tmp_path, figures=False)
    assert not (tmp_path / "fig01.png").exists()


def test_a_disk_that_fails_leaves_the_old_files(tmp_path, monkeypatch):
    reproduce(Tiny(), tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full_disk(source, target):
        raise OSError("No space left on device")

    monkeypatch.setattr("mercer.atomic_files.os.replace", full_disk)
    with pytest.raises(OSError, match="No space left"):
        reproduce(Tiny(), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_papers_can_be_loaded():
    for name in PAPERS:
        assert load_paper(name).TITLE
    with pytest.raises(KeyError, match="no paper 'nobody-1900' here; there is girolami-2002"):
        load_paper("nobody-1900")


def test_block_matrices_end_to_end():
    """The closed forms and identities of Jenssen's section 3, through table and text."""
    from mercer.reproduce.jenssen_2010 import blocks

    closed, identities = blocks.tables(quick=True)
    assert [row.verdict for row in closed.rows] == ["inside"] * 5
    assert [row.verdict for row in identities.rows] == ["inside"] * 4
    assert "{1, 3}" in "\n".join(lines(closed))
    (picture,) = blocks.figures(quick=True)
    left, right = picture.figure.axes
    assert left.get_title() == "(a) ideal case"
    assert len(right.collections) == 2
