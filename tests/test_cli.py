"""The command line end to end, and the tables it reads."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import mercer
from mercer import __version__
from mercer.cli import main
from mercer.tables import EMBEDDED

pytest.importorskip("cyclopts", reason="the command line needs mercer[cli]")

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


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "small.csv"
    path.write_text(CSV, encoding="utf-8")
    return path


def python(*arguments, cwd):
    """Run Python in a process of its own, with the package under test."""
    paths = {"PYTHONPATH": str(Path(mercer.__file__).parents[1]), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, **paths},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def command(*arguments, cwd):
    """Run the command as a user would."""
    return python("-m", "mercer.cli", *arguments, cwd=cwd)


# --- report ----------------------------------------------------------------------------------


def test_report_on_a_file(csv):
    done = command("report", "small.csv", "--label", "kind", "--out", "pages", cwd=csv.parent)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert (csv.parent / lines[0]).samefile(csv.parent / "pages" / "report.html")
    assert "small.csv: 7 rows, 3 columns" in lines[1]
    assert "  left out: column empty (no value in any row)" in done.stdout
    told = json.loads((csv.parent / "pages" / "report.json").read_text(encoding="utf-8"))
    assert told["data"]["columns"] == ["height", "weight", "colour"]
    assert told["data"]["rows"] == 7
    assert told["data"]["rows_read"] == 7
    assert told["data"]["omitted_columns"]["mostly"] == "missing in 5 of 7 rows"


def test_report_without_arguments_is_on_wine(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report"]) == 0
    assert "178 rows, 13 columns" in capsys.readouterr().out
    told = json.loads((tmp_path / "mercer-report" / "report.json").read_text(encoding="utf-8"))
    assert told["data"]["name"] == "wine"
    assert told["choices"]["scaled"] is True


def test_options_reach_the_report(tmp_path, capsys):
    options = ["--components", "4", "--bandwidth", "0.5", "--no-scale", "--out", str(tmp_path)]
    assert main(["report", "iris", *options]) == 0
    choices = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["choices"]
    assert choices["n_components"] == 4
    assert choices["bandwidth"] == 0.5
    assert choices["scaled"] is False
    assert "bandwidth σ = 0.5 (given)" in capsys.readouterr().out


def test_a_bandwidth_rule_by_name(tmp_path, capsys):
    assert main(["report", "iris", "--bandwidth", "scott", "--out", str(tmp_path)]) == 0
    choices = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["choices"]
    assert choices["bandwidth_asked"] == "scott"
    assert choices["bandwidth"] == pytest.approx(150 ** (-1 / 8))  # unit variances, d = 4
    assert "(rule: scott)" in capsys.readouterr().out


def test_a_report_from_a_pipe_as_numbers(csv):
    text = csv.read_bytes()
    place = csv.parent / "pages"
    paths = {"PYTHONPATH": str(Path(mercer.__file__).parents[1]), "PYTHONIOENCODING": "utf-8"}
    options = ["--ignore", "colour", "--clusters", "2", "--json", "--out", str(place)]
    done = subprocess.run(
        [sys.executable, "-m", "mercer.cli", "report", "-", *options],
        input=text,
        env={**os.environ, **paths},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told == json.loads((place / "report.json").read_text(encoding="utf-8"))
    assert told["data"]["name"] == "standard input"
    assert told["data"]["omitted_columns"]["colour"] == "ignored as requested"
    assert told["number_of_clusters"]["chosen"] == 2
    assert {path.name for path in place.iterdir()} == {
        "report.html",
        "report.json",
        "rows.csv",
        "clusters.csv",
        "components.csv",
        "columns.csv",
    }


def test_a_mixed_table_has_a_factor_for_a_bandwidth(tmp_path, capsys):
    options = ["--bandwidth", "0.5", "--categorical", "power", "--out", str(tmp_path)]
    assert main(["report", "machines", *options]) == 0
    told = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert told["choices"]["bandwidth"] is None
    assert told["choices"]["factor"] == 0.5
    assert told["data"]["kinds"]["power"] == "category"
    assert "widths: 0.5 × the table's own" in capsys.readouterr().out


def test_warnings_of_the_fits_are_printed(tmp_path, capsys):
    assert main(["report", "rings", "--bandwidth", "1e-4", "--out", str(tmp_path)]) == 0
    assert "IdentifiabilityWarning" in capsys.readouterr().out


# --- bad data: 1 -----------------------------------------------------------------------------


def test_unknown_label_column(csv):
    done = command("report", "small.csv", "--label", "species", cwd=csv.parent)
    assert done.returncode == 1
    assert "no column 'species'; it has: height, weight, colour" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not (csv.parent / "mercer-report").exists()


def test_missing_file(tmp_path):
    done = command("report", "nowhere.csv", cwd=tmp_path)
    assert done.returncode == 1
    assert "There is no file nowhere.csv" in done.stderr
    assert "wine, iris" in done.stderr
    assert "Traceback" not in done.stderr


def test_verbose_shows_where_it_happened(tmp_path, capsys):
    assert main(["report", str(tmp_path / "nowhere.csv"), "--verbose"]) == 1
    told = capsys.readouterr().err
    assert "Traceback" in told
    assert "There is no file" in told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,b\n", "leaves 0 columns and 0 rows of 0"),
        ("a,b\n1,2\n1,2,3\n", "line 3 has 3 fields, the header has 2"),
        ("a,b\n1,2\n3,5\n", "2 rows of 2"),
        ("a\n1\n1\n1\n", "the same value in every row"),
    ],
)
def test_files_that_hold_no_table(tmp_path, capsys, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text, encoding="utf-8")
    assert main(["report", str(path), "--out", str(tmp_path / "pages")]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "pages").exists()


@pytest.mark.parametrize(
    ("package", "extra"), [("pandas", "mercer[io]"), ("matplotlib", "mercer[plot]")]
)
def test_a_missing_extra_is_named(csv, capsys, monkeypatch, package, extra):
    data = str(csv) if package == "pandas" else "iris"
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["report", data, "--out", str(csv.parent / "pages")]) == 1
    assert f"pip install {extra}" in capsys.readouterr().err
    assert not (csv.parent / "pages").exists()


def test_other_modules_that_are_missing_show_themselves(monkeypatch):
    """Our mistake, or a broken installation: the traceback says more than a sentence would."""
    monkeypatch.delitem(sys.modules, "mercer.cli.app", raising=False)
    monkeypatch.setitem(sys.modules, "mercer.cli.failing", None)
    with pytest.raises(ModuleNotFoundError, match=r"mercer\.cli\.failing"):
        main(["--version"])


def test_commands_may_run_in_any_thread(capsys):
    """Signals are handled in the main one only."""
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(main, ["--version"]).result() == 0
    assert __version__ in capsys.readouterr().out


# --- bad usage: 2 ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["report", "--nonsense"], "no option --nonsense"),
        (["reprot"], "Unknown command"),
        (["report", "iris", "--components", "1"], "Must be >= 2"),
        (["report", "iris", "--components", "few"], "Invalid value"),
        (["report", "iris", "--bandwidth", "wide"], "one of auto,"),
        (["report", "iris", "--bandwidth", "0"], "finite number above 0"),
        (["report", "iris", "--bandwidth", "nan"], "finite number above 0"),
    ],
)
def test_bad_usage(arguments, message, capsys):
    assert main(arguments) == 2
    told = capsys.readouterr()
    assert message in told.err
    assert told.out == ""


def test_bad_usage_through_the_process(tmp_path):
    done = command("report", "--nonsense", cwd=tmp_path)
    assert done.returncode == 2
    assert "--nonsense" in done.stderr


# --- reproduce -------------------------------------------------------------------------------


class TinyPaper:
    TITLE = "A tiny paper"

    @staticmethod
    def tables(quick):
        from mercer.reproduce import Row, Same, Table

        yield Table("Numbers", (Row("x", "1", 1, Same(1)), Row("y", "1", 2, Same(1))))

    @staticmethod
    def figures(quick):
        import matplotlib.pyplot as plt

        from mercer.reproduce import Picture

        yield Picture("fig01", "Fig. 1.", plt.figure(figsize=(1, 1)))


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr("mercer.cli.reproducing.load_paper", lambda name: TinyPaper)


def test_reproduce_prints_tables_and_writes_files(tiny, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "jenssen-2010"]) == 0
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert lines[0] == "Numbers"
    assert lines[-1] == "1 of 2 rows inside their fair range, 1 outside; 0 more without a range."
    assert Path(lines[-2]) == Path("mercer-reproduce", "jenssen-2010")
    folder = tmp_path / "mercer-reproduce" / "jenssen-2010"
    assert {p.name for p in folder.iterdir()} == {"fig01.png", "tables.txt", "tables.json"}
    assert "drew fig01.png" in told.err
    assert "drew" not in told.out


def test_reproduce_without_figures(tiny, tmp_path, capsys):
    assert main(["reproduce", "jenssen-2010", "--no-figures", "--out", str(tmp_path)]) == 0
    assert {p.name for p in tmp_path.iterdir()} == {"tables.txt", "tables.json"}


def test_reproduce_an_unknown_paper(capsys):
    assert main(["reproduce", "nobody-1900"]) == 2
    told = capsys.readouterr()
    assert "no paper 'nobody-1900'; choose from: girolami-2002, jenssen-2010" in told.err
    assert told.out == ""


def test_reproduce_without_its_data(tiny, tmp_path, monkeypatch, capsys):
    def absent(quick):
        raise FileNotFoundError("usps.npz was not found. Set MERCER_DATA.")

    monkeypatch.setattr(TinyPaper, "tables", absent)
    assert main(["reproduce", "jenssen-2010", "--out", str(tmp_path / "x")]) == 1
    assert "mercer: usps.npz was not found" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


# --- help ------------------------------------------------------------------------------------


def test_help_explains_every_option(capsys):
    assert main(["report", "--help"]) == 0
    told = capsys.readouterr().out
    for name in ("--label", "--out", "--components", "--bandwidth", "--no-scale", "--verbose"):
        assert name in told
    assert "mercer report measurements.csv --label species" in told
    assert all(name in told for name in EMBEDDED)


def test_help_lists_every_paper(capsys):
    from mercer.reproduce import PAPERS

    assert main(["reproduce", "--help"]) == 0
    told = capsys.readouterr().out
    for name in (*PAPERS, "--out", "--quick", "--no-figures", "MERCER_DATA"):
        assert name in told


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == __version__


def test_help_is_quick(tmp_path):
    """Asking for help must not import what only the work needs."""
    code = (
        "import sys; from mercer.cli import main; main(['report', '--help']);"
        "sys.exit(bool({'sklearn', 'numpy', 'pandas', 'matplotlib'} & set(sys.modules)))"
    )
    done = python("-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
