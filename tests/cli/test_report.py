"""``mercer report``, exit codes, help and version."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mercer import __version__
from mercer.bandwidth.rules import RULES
from mercer.cli import main
from mercer.tables import EMBEDDED
from tests.cli.running import assert_names
from tests.expectations import raises
from tests.processes import environment
from tests.tables.examples import CSV

pytest.importorskip("cyclopts", reason="the command line needs mercer[cli]")


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "small.csv"
    path.write_text(CSV, encoding="utf-8")
    return path


def python(*arguments, cwd, **options):
    """Run Python in a new process, with the package under test."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        check=False,
        **options,
    )


def command(*arguments, cwd, **options):
    """Run the command as a user would."""
    return python("-m", "mercer.cli", *arguments, cwd=cwd, **options)


def read_numbers(folder):
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


# --- report ----------------------------------------------------------------------------------


def test_report_on_a_file(csv, monkeypatch, capsys):
    monkeypatch.chdir(csv.parent)
    assert main(["report", "small.csv", "--label", "kind", "--out", "pages"]) == 0
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert (csv.parent / lines[0]).samefile(csv.parent / "pages" / "report.html")
    assert_names(lines[1], "small.csv", "7 rows", "3 columns")
    assert_names(text, "column empty", "column mostly", "column same")
    data = read_numbers(csv.parent / "pages")["contents"]
    assert [one["name"] for one in data["columns"]] == ["height", "weight", "color"]
    assert data["rows"] == 7
    assert data["rows_read"] == 7
    assert set(data["omitted_columns"]) == {"empty", "mostly", "same"}


def test_default_data_of_report_is_wine(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report"]) == 0
    assert_names(capsys.readouterr().out, "178 rows", "13 columns")
    numbers = read_numbers(tmp_path / "mercer-report")
    assert numbers["contents"]["name"] == "wine"


def test_options_of_report(tmp_path, capsys):
    path = tmp_path / "points.csv"
    X = np.random.default_rng(0).normal(size=(50, 4)) * [1000, 1, 1, 1]
    np.savetxt(path, X, delimiter=",", header="a,b,c,d", comments="")
    options = ["--clusters", "2", "--no-scale", "--out", str(tmp_path)]
    assert main(["report", str(path), *options]) == 0
    numbers = read_numbers(tmp_path)
    assert_names(capsys.readouterr().out, *(section["answer"] for section in numbers.values()))
    assert numbers["groups"]["number"] == 2
    largest = max(numbers["groups"]["traits"], key=lambda trait: abs(trait["effect"]))
    assert largest["column"] == "a"  # it dominates all distances


def test_json_of_report_from_standard_input(csv):
    folder = csv.parent / "pages"
    options = ["--ignore", "color", "--clusters", "2", "--json", "--out", str(folder)]
    done = command("report", "-", *options, cwd=csv.parent, input=CSV)
    assert done.returncode == 0, done.stderr
    numbers = json.loads(done.stdout)
    assert numbers == read_numbers(folder)
    assert numbers["contents"]["name"] == "standard input"
    assert "color" in numbers["contents"]["omitted_columns"]
    assert numbers["groups"]["number"] == 2
    assert {path.name for path in folder.iterdir()} == {
        "report.html",
        "report.json",
        "rows.csv",
        "groups.csv",
        "columns.csv",
        "dependence.csv",
        "cells.csv",
    }


# --- errors in the data: exit code 1 ---------------------------------------------------------


def test_unknown_label_column(csv, monkeypatch, capsys):
    monkeypatch.chdir(csv.parent)
    assert main(["report", "small.csv", "--label", "species"]) == 1
    printed = capsys.readouterr()
    assert_names(printed.err, "'species'", "height", "weight", "color")
    assert "Traceback" not in printed.err
    assert printed.out == ""
    assert not (csv.parent / "mercer-report").exists()


def test_missing_file(tmp_path, capsys):
    assert main(["report", str(tmp_path / "nowhere.csv")]) == 1
    text = capsys.readouterr().err
    assert_names(text, "nowhere.csv", "wine", "iris")
    assert "Traceback" not in text


def test_verbose_prints_the_traceback(tmp_path, capsys):
    assert main(["report", str(tmp_path / "nowhere.csv"), "--verbose"]) == 1
    assert_names(capsys.readouterr().err, "Traceback", "nowhere.csv")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", ["bad.csv"]),
        ("a,b\n", ["bad.csv", 0]),
        ("a,b\n1,2\n1,2,3\n", [3, 2]),
        ("a,b\n1,2\n3,5\n", [2, 3]),
        ("a\n1\n1\n1\n", ["bad.csv", "a"]),
    ],
    ids=["empty", "header only", "long line", "two rows", "constant"],
)
def test_files_without_a_usable_table(tmp_path, capsys, text, values):
    path = tmp_path / "bad.csv"
    path.write_text(text, encoding="utf-8")
    assert main(["report", str(path), "--out", str(tmp_path / "pages")]) == 1
    assert_names(capsys.readouterr().err, *values)
    assert not (tmp_path / "pages").exists()


@pytest.mark.parametrize(
    ("package", "extra"), [("pandas", "mercer[io]"), ("matplotlib", "mercer[cli]")]
)
def test_error_names_a_missing_extra(csv, capsys, monkeypatch, package, extra):
    data = str(csv) if package == "pandas" else "iris"
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["report", data, "--out", str(csv.parent / "pages")]) == 1
    assert_names(capsys.readouterr().err, f"pip install {extra}")
    assert not (csv.parent / "pages").exists()


def test_missing_modules_of_mercer_raise(monkeypatch):
    """A bug or a broken installation: a traceback is more useful than a message."""
    monkeypatch.delitem(sys.modules, "mercer.cli.app", raising=False)
    monkeypatch.setitem(sys.modules, "mercer.cli.console", None)
    with raises(ModuleNotFoundError, "mercer.cli.console"):
        main(["--version"])


def test_commands_run_in_any_thread(capsys):
    """Signal handlers can be set in the main thread only."""
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(main, ["--version"]).result() == 0
    assert __version__ in capsys.readouterr().out


# --- invalid arguments: exit code 2 ----------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (["report", "--nonsense"], ["--nonsense"]),
        (["reprot"], ["reprot"]),
        (["reproduce", "jenssen-2010"], ["reproduce"]),
        (["report", "iris", "--clusters", "0"], ["--clusters", ">= 1"]),
        (["report", "iris", "--clusters", "few"], ["--clusters", "few"]),
        (["entropy", "iris", "--bandwidth", "wide"], ["--bandwidth", "wide", *RULES]),
        (["entropy", "iris", "--bandwidth", "0"], ["--bandwidth", "> 0"]),
        (["entropy", "iris", "--bandwidth", "nan"], ["--bandwidth", "> 0"]),
        (["explore", "-"], ["explore", "standard input"]),
    ],
)
def test_invalid_arguments(arguments, values, capsys):
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert_names(printed.err, *values)
    assert printed.out == ""


def test_invalid_arguments_of_a_process(tmp_path):
    done = command("report", "--nonsense", cwd=tmp_path)
    assert done.returncode == 2
    assert_names(done.stderr, "--nonsense")


# --- help ------------------------------------------------------------------------------------


def test_help_lists_every_option(capsys):
    assert main(["report", "--help"]) == 0
    printed = capsys.readouterr().out
    options = ("--label", "--out", "--clusters", "--ignore", "--no-scale", "--verbose")
    assert_names(printed, *options, *EMBEDDED, "mercer report measurements.csv --label species")


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == __version__


def test_help_imports_no_heavy_packages(tmp_path):
    code = (
        "import sys; from mercer.cli import main; main(['report', '--help']);"
        "sys.exit(bool({'sklearn', 'numpy', 'pandas', 'matplotlib'} & set(sys.modules)))"
    )
    done = python("-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
