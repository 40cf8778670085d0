"""Comparison of published values with ours: ranges, verdicts, text tables and written files."""

import ast
import json
import re
import sys
from dataclasses import replace
from math import inf, nan
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest

from papers import (
    PAPERS,
    Correction,
    Picture,
    Row,
    Table,
    accepted_range,
    load_paper,
    reproduce,
)
from papers.__main__ import main
from papers.comparison import IDENTITY_TOLERANCE, count_searched, count_verdicts, show
from papers.data.files import DataNotFoundError
from papers.text_tables import WIDTH, lines, print_table, summary
from tests.expectations import names_values, raises

mpl.use("Agg")
ROOT = Path(__file__).parents[2]

# --- the range of a printed value --------------------------------------------------------------


@pytest.mark.parametrize(
    ("printed", "agree", "differ"),
    [
        ("10.7", [10.65, 10.7, 32 / 3, 10.75], [10.64, 10.76]),
        ("3", [3, 2.5, 3.49], [4, 2.4]),
        (".0188", [0.01875], [0.0187]),
        ("-.1305", [-0.13048], [0.1305, -0.1306]),
        ("≈ 20", [15.0, 24.9], [14.9, 25.1]),
        ("≈ .96", [0.955, 0.965], [0.95, 0.97]),
        ("20 to 25", [19.5, 23.3, 25.5], [17.8, 25.6]),
        ("< 10", [9.99, -5.0], [10.0]),
        ("> 10", [10.01], [10.0]),
        ("≤ .05", [0.05, 0.0], [0.052]),
        ("≥ .2657", [0.2657, 1.0], [0.2656]),
        (".52 .089", [(0.521, 0.0889)], [(0.526, 0.0889), (0.52, 0.09), (0.52,), 0.52]),
        ("12.424 4 2.576", [(12.4244, 4.0, 2.5756)], [(12.4244, 4.1, 2.5756)]),
        (frozenset({1, 4}), [{4, 1}, frozenset({1, 4})], [{1, 2}]),
        ((1, 10, 4), [(1, 10, 4)], [(1, 4, 10)]),
        ("mixture", ["mixture"], ["series"]),
        (True, [True], [False]),
    ],
)
def test_range_is_that_of_the_printed_digits(printed, agree, differ):
    accepted = accepted_range(printed)
    assert all(accepted.holds(value) for value in agree)
    assert not any(accepted.holds(value) for value in differ)


@pytest.mark.parametrize("printed", ["10.7", "≈ 20", "20 to 25", "< 10", "≥ 3", ".5 .1", "series"])
def test_nan_never_agrees(printed):
    assert not accepted_range(printed).holds(nan)
    assert not accepted_range(printed, 1.0 if printed != "series" else None).holds(nan)


def test_sampling_error_widens_the_range_to_99_percent():
    """A normal value with this standard deviation is inside in 99 % of the samples."""
    from scipy.stats import norm

    (low, high) = accepted_range("2.600", sampling_error=0.2).limits[0]
    inside = norm.cdf(high - 0.0005, 2.6, 0.2) - norm.cdf(low + 0.0005, 2.6, 0.2)
    assert inside == pytest.approx(0.99, abs=1e-6)
    each = accepted_range("1.0 2.0", sampling_error=(0.0, 1.0))
    assert each.holds((1.04, 4.5))
    assert not each.holds((1.06, 2.0))
    with raises(ValueError):
        accepted_range("1.0 2.0", sampling_error=(0.1,))


def test_range_is_that_of_the_difference_of_two_samples():
    """99 % of the pairs of a printed mean of 100 and our mean of 10 repetitions agree."""
    rng = np.random.default_rng(0)
    paper, ours = rng.normal(22.6, 0.12, 20_000), rng.normal(22.6, 0.4, 20_000)
    (low, high) = accepted_range("22.60000", 0.12, 0.4).limits[0]
    inside = (ours - paper >= low - 22.6) & (ours - paper <= high - 22.6)
    assert inside.mean() == pytest.approx(0.99, abs=0.004)
    assert accepted_range("22.6", 0.12, 0.0) == accepted_range("22.6", 0.12)
    assert accepted_range("22.6", None, 0.4) == accepted_range("22.6", 0.4)
    assert accepted_range("1.0 2.0", (0.3, 0.0), 0.4) == accepted_range("1.0 2.0", (0.5, 0.4))
    with raises(ValueError):
        accepted_range("1.0 2.0", None, (0.1, 0.1, 0.1))


def test_range_always_accepts_the_printed_value_itself():
    """No range excludes the number that the paper prints, with or without sampling error."""
    for printed, value in [("10.7", 10.7), ("≈ 20", 20), ("444", 444), ("-.0072", -0.0072)]:
        for error in (None, 0.0, 3.0):
            assert accepted_range(printed, error).holds(value)


def test_rows_of_all_papers_use_the_same_function():
    """Ranges cannot be given by hand: a row has no such argument."""
    assert "accepted" not in Row.__dataclass_fields__
    assert accepted_range("10.7") == Row("", "10.7", 1.0).accepted
    assert accepted_range("10.7", 0.5) == Row("", "10.7", 1.0, sampling_error=0.5).accepted


# --- verdicts ----------------------------------------------------------------------------------

ROUTE = "tests/papers/test_comparison.py::test_corrections_need_a_second_route"


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        (Row("", "5.1", 5.06), "agrees"),
        (Row("", "5.1", 6.7), "does not reproduce"),
        (Row("", "5.1", nan), "does not reproduce"),
        (Row("", "5.1", inf), "does not reproduce"),
        (Row("", "5.1", 6.7, sampling_error=1.0), "agrees"),
        (Row("", "5.1", 6.7, sampling_error=0.3, our_error=0.6), "agrees"),
        (Row("", "5.1", 6.7, our_error=0.6), "does not reproduce"),
        (Row("", "27.2", 27.13, within_rounding=(27.13, 27.22)), "agrees"),
        (Row("", "27.2", 27.0, within_rounding=(27.1, 27.3)), "does not reproduce"),
        (Row("", frozenset({1}), {2}, within_rounding=({1},)), "agrees"),
        (Row("", "", 6.7), "not printed"),
        (Row("", ".5", 1.0024, correction=Correction("1.0024", ROUTE)), "corrects the paper"),
        (Row("", ".5", 0.51, correction=Correction("1.0024", ROUTE)), "agrees"),
        (Row("", ".5", 0.7, correction=Correction("1.0024", ROUTE)), "does not reproduce"),
        (Row("", True, False, correction=Correction(False, ROUTE)), "corrects the paper"),
        (Row("", "equal", 1e-16, identity=True), "identity"),
        (Row("", "equal", 2 * IDENTITY_TOLERANCE, identity=True), "does not reproduce"),
    ],
)
def test_verdict_is_computed(row, verdict):
    assert row.verdict == verdict


def test_corrections_need_a_second_route():
    """Every test that a paper's module names exists."""
    named = set()
    for path in (ROOT / "papers").rglob("*.py"):
        named |= set(re.findall(r"\btest_\w+(?=\")", path.read_text(encoding="utf-8")))
    assert len(named) >= 10
    defined = {
        node.name
        for path in (ROOT / "tests" / "papers").glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    assert named - defined == set()


def test_reason_is_shown_only_if_the_value_does_not_reproduce():
    assert "few splits" in Row("", "1", 3.0, reason="few splits").comment
    assert "unknown" in Row("", "1", 3.0).comment
    assert Row("", "1", 1.0, reason="few splits", remark="r").comment == "r"
    corrected = Row("", "1", 3.0, correction=Correction("3", ROUTE)).comment
    assert names_values(corrected, "3", ROUTE.rpartition("::")[2]) == []


def test_rounded_parameters_and_readings_are_reported():
    row = Row("", "27.2", 27.13, " %", within_rounding=(27.13, 27.22, 27.22), readings=3)
    assert names_values(row.comment, "27.13 %", "27.22 %", "tried: 3") == []
    assert row.comment.count("27.22") == 1
    assert "tried" not in Row("", "27.2", 27.2).comment


def test_rows_that_needed_a_search_are_counted():
    """Only those that agree, and not those of a recomputation."""
    found = Row("", "1", 1, readings=4)
    rows = (found, Row("", "1", 1), Row("", "1", 2, readings=4), replace(found, recomputed=True))
    assert count_searched([Table(rows)]) == 1
    assert "1 needed a search" in summary(count_verdicts([Table(rows)]), {}, searched=1)
    assert "search" not in summary(count_verdicts([Table(rows)]), {})


def test_verdicts_are_counted():
    rows = (
        Row("", "1", 1),
        Row("", "1", 2),
        Row("", "", 1),
        Row("", "1", 1, recomputed=True),
        Row("", "equal", 0.0, identity=True),
    )
    counts = count_verdicts([Table(rows)])
    assert counts == {
        "agrees": 1,
        "corrects the paper": 0,
        "does not reproduce": 1,
        "identity": 1,
        "not printed": 1,
    }
    assert count_verdicts([Table(rows)], recomputed=True)["agrees"] == 1


@pytest.mark.parametrize("paper", PAPERS)
def test_counts_of_the_pages_are_those_of_their_rows(paper):
    """The first line of a generated page, and the overview of all papers."""
    page = (ROOT / "docs" / "papers" / "tables" / f"{paper}.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("|")]
    ours = [line for line in rows if "(recomputed)" not in line]
    counts = [
        sum(line.endswith(f"| {verdict} |") for line in ours)
        for verdict in ("agrees", "corrects the paper", "does not reproduce", "identity")
    ]
    found = re.search(r"(\d+) agree, (\d+) correct.*?, (\d+) do not.*?, (\d+) ident", page)
    assert [int(number) for number in found.groups()] == counts
    overview = (ROOT / "docs" / "papers" / "tables" / "counts.md").read_text(encoding="utf-8")
    assert f"({paper}.md)" in overview
    (line,) = [line for line in overview.splitlines() if f"({paper}.md)" in line]
    assert line.endswith(f"| {' | '.join(map(str, counts))} |")


# --- text --------------------------------------------------------------------------------------


def test_values_are_formatted():
    assert show(frozenset({9, 1, 2})) == "{1, 2, 9}"
    assert show((1, 10, 4)) == "1, 10, 4"
    assert show(True) == "yes"
    assert show(10.666, " %") == "10.7 %"
    assert show(0.0, " %") == "0 %"
    assert show(4.4e-16) == "4.4e-16"
    assert show("as printed") == "as printed"
    assert Row("", "", 28.71, unit=" %", spread=4.43).shown == "28.7 ± 4.4 %"


def test_ours_has_one_digit_more_than_printed():
    assert Row("", "5.1", 5.0562, " %").shown == "5.06 %"
    assert Row("", ".36 4", (0.3612, 4.04)).shown == "0.361 4.0"
    assert Row("", "5", 5, " of 5").range == "5 of 5"
    assert Row("", "5.1", 5.0, " %").range == "5.05 to 5.15 %"
    assert Row("", "< 10", 5.0, " %").range == "≤ 10 %"
    assert Row("", "1", 1, recomputed=True).paper == "1 (recomputed)"


def test_lines_are_at_most_100_columns():
    row = Row("item " * 30, "paper " * 8, 1.0, remark="why " * 60)
    table = Table((row, Row("x", "1", 1.0)), note="note " * 60, title="A table")
    assert max(map(len, lines(table))) <= WIDTH
    assert any(line.endswith("  agrees") for line in lines(table))
    assert any(line.endswith("  does not reproduce") for line in lines(table))


def test_lines_of_a_table_without_rows():
    assert list(lines(Table((), layout="a\nb", note="n", title="T"))) == [
        "T",
        "─" * WIDTH,
        "a",
        "b",
        "",
        "",
        "n",
    ]


def test_printed_lines_equal_written_lines(capsys, monkeypatch):
    row = Row("x", "1", 2, remark="[bold]not markup")
    table = Table((row,), note="n", layout="  l", title="T")
    monkeypatch.setenv("COLUMNS", "40")  # lines are not wrapped at the width of the terminal
    print_table(table)
    assert capsys.readouterr().out.rstrip("\n") == "\n".join(lines(table))


def test_plain_text_without_rich(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    table = Table((Row("x", "1", 1),), title="T")
    print_table(table)
    assert capsys.readouterr().out == "\n".join([*lines(table), "", ""])


class Tiny:
    """A paper with one table and one figure."""

    TITLE = "A tiny paper"

    def __init__(self):
        self.calls = []
        self.TABLES = {"Numbers": self.numbers}
        self.FIGURES = {"Fig. 1": self.figures}

    def numbers(self, quick):
        self.calls.append(quick)
        return Table((Row("x", "1", 1.04), Row("y", "", nan)))

    def figures(self, quick):
        import matplotlib.pyplot as plt

        yield Picture("fig01", "Fig. 1. A caption.", plt.figure(figsize=(2, 1)))


def absent(quick):
    raise DataNotFoundError("usps.npz was not found. Set MERCER_DATA.")


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
    image = plt.imread(next(iter(done.figures)))
    assert image.shape[:2] == (150, 300)  # 150 dots per inch
    text = (tmp_path / "new" / "tables.txt").read_text(encoding="utf-8")
    assert text.startswith("A tiny paper\n")
    assert "fig01.png: Fig. 1. A caption." in text
    assert text.rstrip().endswith(done.summary)
    assert names_values(done.summary, "1 agree", "0 do not reproduce", "1 more") == []
    record = json.loads((tmp_path / "new" / "tables.json").read_text(encoding="utf-8"))
    assert record["quick"] is True
    assert record["verdicts"]["agrees"] == record["verdicts"]["not printed"] == 1
    assert record["tables"][0]["title"] == "Numbers"
    first, second = record["tables"][0]["rows"]
    assert first["number"] == 1.04
    assert first["accepted_range"] == "0.5 to 1.5"
    assert first["verdict"] == "agrees"
    assert second["number"] is None  # JSON has no nan


def test_run_without_figures(tmp_path, monkeypatch):
    monkeypatch.setattr(Tiny, "figures", lambda self, quick: pytest.fail("figures were drawn"))
    reproduce(Tiny(), tmp_path, figures=False)
    assert not (tmp_path / "fig01.png").exists()


def test_files_are_written_after_each_table(tmp_path):
    """An interrupted run leaves the tables that were finished."""
    paper = Tiny()

    def interrupted(quick):
        raise KeyboardInterrupt

    paper.TABLES["Later"] = interrupted
    with raises(KeyboardInterrupt):
        reproduce(paper, tmp_path)
    record = json.loads((tmp_path / "tables.json").read_text(encoding="utf-8"))
    assert [table["title"] for table in record["tables"]] == ["Numbers"]


def test_tables_without_data_are_skipped(tmp_path):
    paper, skipped = Tiny(), []
    paper.TABLES = {"Digits": absent, **paper.TABLES}
    paper.FIGURES = {"Fig. 2": absent, **paper.FIGURES}
    done = reproduce(paper, tmp_path, on_skip=skipped.append)
    assert [table.title for table in done.tables] == ["Numbers"]
    assert len(done.figures) == 1
    assert [item.what for item in skipped] == ["Digits", "Fig. 2"]
    assert names_values(done.summary, "Digits", "Fig. 2") == []
    record = json.loads((tmp_path / "tables.json").read_text(encoding="utf-8"))
    assert names_values(record["skipped"]["Digits"], "usps.npz", "MERCER_DATA") == []


def test_papers_can_be_loaded():
    for name in PAPERS:
        paper = load_paper(name)
        assert paper.TITLE
        assert all(map(callable, [*paper.TABLES.values(), *paper.FIGURES.values()]))
    with raises(KeyError, "nobody-1900", *PAPERS):
        load_paper("nobody-1900")


def test_block_matrices_have_the_closed_forms():
    """Closed forms and identities of Jenssen (2010), section 3."""
    from papers.jenssen_2010 import blocks

    closed, identities = (make(True) for make in blocks.TABLES.values())
    verdicts = [row.verdict for row in closed.rows]
    assert verdicts == ["identity", "identity", "agrees", "identity", "not printed"]
    assert [row.verdict for row in identities.rows] == ["identity"] * 4
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
    """Exit code 0, the reason on standard error, the remaining tables on standard output."""
    paper = Tiny()
    paper.TABLES = {"Digits": absent, **paper.TABLES}
    monkeypatch.setattr("papers.__main__.load_paper", lambda name: paper)
    assert main(["jenssen-2010", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert names_values(printed.err, "Digits", "usps.npz", "MERCER_DATA") == []
    assert names_values(printed.out, "Numbers", "Digits") == []


def test_command_reports_a_folder_that_cannot_be_written(tiny, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["jenssen-2010", "--out", str(tmp_path / "file" / "x")]) == 1
    assert "file" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::mercer.errors.IdentifiabilityWarning")
def test_papers_without_data_files_skip_tables_and_name_the_file(tmp_path, monkeypatch):
    """As in a fresh clone without data and without network: Liang's digits are skipped."""
    from papers.data import files, mirrors

    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    monkeypatch.setattr(files, "_project_root", lambda start: None)
    monkeypatch.setattr(mirrors, "_failures", [])
    from papers.liang_2014 import digits, polynomial

    digits._digits.cache_clear()
    digits._components.cache_clear()

    part = SimpleNamespace(
        TITLE="two parts",
        TABLES={**digits.TABLES, **polynomial.TABLES},
        FIGURES={"Figures 3.7 to 3.10": digits.figures},
    )
    done = reproduce(part, tmp_path / "out", quick=True)
    assert [item.what for item in done.skipped] == [*digits.TABLES, "Figures 3.7 to 3.10"]
    for item in done.skipped:
        assert names_values(item.reason, "usps.npz", "MERCER_DATA", "OpenML") == []
    assert [table.title for table in done.tables] == list(polynomial.TABLES)


@pytest.mark.parametrize("of", [1, 10])
def test_row_of_mean_accepts_means_of_the_same_distribution(of):
    """The printed value is a mean of `of` draws, ours one of 40: 99 % of such pairs agree."""
    rng = np.random.default_rng(of)
    printed = rng.normal(3.0, size=(2000, of)).mean(axis=1)
    agree = [
        Row.of_mean("x", f"{one:.6f}", rng.normal(3.0, size=40), of=of).verdict == "agrees"
        for one in printed
    ]
    assert 0.97 < np.mean(agree) < 0.995


def test_row_of_mean_shows_the_mean_and_the_spread():
    row = Row.of_mean("x", "3.5", np.array([3.0, 4.0, 5.0]), " %", reason="unknown")
    assert (row.ours, row.spread, row.unit, row.reason) == (4.0, 1.0, " %", "unknown")
