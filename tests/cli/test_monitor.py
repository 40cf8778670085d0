"""``mercer monitor``: alarms, JSON, tables, page and following a file."""

import json
import re
import threading
import time

import pandas as pd
import pytest

from mercer import ProcessMonitor
from mercer.cli import main
from mercer.cli.following import _Alarms, _check_size, _complete_lines
from mercer.datasets import make_process
from mercer.tables.readers import read_frame
from tests.expectations import raises


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("process")
    make_process(1000, random_state=0).to_csv(folder / "normal.csv")
    new = make_process(120, fault="leak", fault_start=60, random_state=1, start="2026-02-01")
    new.to_csv(folder / "new.csv")
    return folder


def arguments(folder, *more):
    command = ["monitor", str(folder / "normal.csv"), str(folder / "new.csv")]
    return [*command, "--time", "time", "--lags", "1", *more]


def expected(folder):
    normal, new = (pd.read_csv(folder / name) for name in ("normal.csv", "new.csv"))
    return ProcessMonitor(n_lags=1, time="time").fit(normal).monitor(new)


def test_json_equals_the_estimator(files, capsys):
    assert main(arguments(files, "--json", "--quiet")) == 0
    found = json.loads(capsys.readouterr().out)
    frame = expected(files)
    assert found["alarms"] == int(frame["alarm"].sum())
    assert found["charts"]["ewma"] == pytest.approx(frame["ewma"].tolist())
    assert found["episodes"][-1]["variables"][0] == "outlet_flow"
    assert sum(one["rows"] for one in found["episodes"]) == found["alarms"]


def test_text_and_page(files, capsys, tmp_path):
    page = tmp_path / "page.html"
    assert main(arguments(files, "--out", str(page))) == 0
    printed = capsys.readouterr()
    assert "outlet_flow" in printed.out
    assert str(page) in printed.err
    text = page.read_text()
    assert text.count("<svg") == 2
    for word in ("outlet_flow", "Episodes of alarms", "EWMA", "false-alarm rate"):
        assert word in text
    assert "http" not in text.replace("http://www.w3.org", "")


def test_longest_episode_is_printed_first(files, tmp_path, capsys):
    """A drift that lasts until the end comes before short episodes of earlier rows."""
    frame = pd.read_csv(files / "new.csv")
    numeric = frame.columns[1]
    for row in range(2, 50, 4):
        frame.loc[row, numeric] += 50 * frame[numeric].std()
    frame.to_csv(tmp_path / "new.csv", index=False)
    command = arguments(files, "--chart", "statistic", "--quiet")
    command[2] = str(tmp_path / "new.csv")
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [int(re.search(r" (\d+)  ", line)[1]) for line in lines[2:] if line[:2] == "20"]
    assert len(rows) == 10
    assert rows == sorted(rows, reverse=True)
    assert rows[0] > rows[1]


def test_saved_model_monitors_another_file(files, tmp_path, capsys):
    path = str(tmp_path / "normal.mercer")
    normal, new = str(files / "normal.csv"), str(files / "new.csv")
    options = ["--time", "time", "--lags", "1"]
    assert main(["monitor", normal, *options, "--model", path, "--quiet"]) == 0
    assert main(arguments(files, "--json", "--quiet")) == 0
    first = json.loads(capsys.readouterr().out)
    assert main(["monitor", new, "--apply", path, "--json", "--quiet"]) == 0
    second = json.loads(capsys.readouterr().out)
    assert second["charts"] == first["charts"]
    assert second["episodes"] == first["episodes"]


@pytest.mark.parametrize(
    ("more", "word"),
    [(["--lags", "2"], "--lags"), (["--model", "b.mercer"], "--model"), (["new.csv"], "one file")],
)
def test_a_model_is_applied_as_it_was_fitted(more, word, capsys):
    assert main(["monitor", "new.csv", *more, "--apply", "a.mercer"]) == 2
    assert word in capsys.readouterr().err


def test_other_models_are_rejected(files, tmp_path, capsys):
    from mercer import KernelPCA, save

    save(KernelPCA(1).fit([[0.0], [1.0], [3.0]]), tmp_path / "pca.mercer")
    command = ["monitor", str(files / "new.csv"), "--apply", str(tmp_path / "pca.mercer")]
    assert main(command) == 1
    assert "KernelPCA" in capsys.readouterr().err
    assert main(["monitor", str(files / "normal.csv")]) == 2


def test_page_without_alarms(files, tmp_path):
    page = tmp_path / "page.html"
    normal = str(files / "normal.csv")
    chart = ["--average-run-length", "100000", "--chart", "cusum", "--quiet"]
    command = ["monitor", normal, normal, "--time", "time", "--lags", "0", *chart]
    assert main([*command, "--out", str(page)]) == 0
    assert "No alarms in 1,000 rows" in page.read_text()


def test_table_of_charts_and_contributions(files, tmp_path):
    out = tmp_path / "charts.csv"
    assert main(arguments(files, "--out", str(out), "--quiet")) == 0
    table = pd.read_csv(out)
    assert table["ewma"].tolist() == pytest.approx(expected(files)["ewma"].tolist())
    assert "contribution_outlet_flow" in table
    assert table["time"].iloc[0] == "2026-02-01 00:00:00"


def test_following_a_growing_file(files, tmp_path, capsys):
    lines = (files / "new.csv").read_text().splitlines(keepends=True)
    growing = tmp_path / "growing.csv"
    growing.write_text("".join(lines[:30]) + lines[30][:7])

    def grow():
        time.sleep(0.3)
        with growing.open("a") as file:
            file.write(lines[30][7:] + "".join(lines[31:90]))
            file.flush()
            time.sleep(0.2)
            file.write("".join(lines[90:]))

    writer = threading.Thread(target=grow)
    writer.start()
    command = arguments(files, "--follow", "--idle", "1", "--interval", "0.05", "--quiet")
    command[2] = str(growing)
    assert main(command) == 0
    writer.join()
    printed = capsys.readouterr().out.splitlines()
    frame = expected(files)
    assert printed[-1].split()[0] == str(int(frame["alarm"].sum()))
    assert printed[-1].split()[2] == "120"
    first = frame.index[frame["alarm"]][0]
    assert printed[0].startswith(str(first))
    n_begins = int((frame["alarm"] & ~frame["alarm"].shift(fill_value=False)).sum())
    assert sum("  alarm  " in line for line in printed) == n_begins


class Quiet:
    def print(self, text):
        pass


@pytest.mark.parametrize("sizes", [(1, 1, 1, 40, 1), (10, 5, 8, 30), (50,)])
def test_followed_rows_equal_the_table_reader(files, tmp_path, sizes):
    """Semicolons, decimal commas and batches of any size."""
    path = tmp_path / "new.csv"
    new = make_process(60, random_state=2).reset_index()
    new.iloc[::7, 3] = 290.0
    new.to_csv(path, sep=";", decimal=",", index=False)
    lines = path.read_bytes().splitlines(keepends=True)
    monitor = ProcessMonitor(n_lags=1, time="time").fit(pd.read_csv(files / "normal.csv"))
    alarms, parts, begin = _Alarms(monitor, (), Quiet()), [], 0
    for size in (*sizes, len(lines)):
        part = alarms._parse(b"".join(lines[begin : begin + size]))
        begin += size
        if part is not None:
            parts.append(part)
    expected, _ = read_frame(path)
    pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), expected, check_dtype=False)


def test_followed_file_without_header_keeps_its_first_row(files):
    monitor = ProcessMonitor(n_lags=0).fit(pd.read_csv(files / "normal.csv").iloc[:, 1:3])
    alarms = _Alarms(monitor, (), Quiet())
    assert alarms._parse(b"1.5\t2\n") is None
    assert alarms._parse(b"3\t4\n")["x1"].tolist() == [1.5, 3]
    assert alarms._parse(b"5\t6\n")["x2"].tolist() == [6]


def test_following_reads_complete_lines_and_reports_a_shorter_file(tmp_path):
    path = tmp_path / "growing.csv"
    path.write_bytes(b"a,b\n1,2\n3")
    with path.open("rb") as file:
        assert _complete_lines(file) == b"a,b\n1,2\n"
        assert _complete_lines(file) == b""
        _check_size(file, path)
        path.write_bytes(b"a\n")
        with raises(ValueError, path, "shorter"):
            _check_size(file, path)


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (("--out", "page.txt"), 2),
        (("--follow", "--json"), 2),
        (("--lags", "-3"), 2),
        (("--false-alarm-rate", "0.9"), 2),
        (("--ignore", "absent"), 1),
        (("--time", "feed_flow"), 1),
    ],
)
def test_invalid_arguments(files, more, code, capsys):
    command = arguments(files, *more)
    if "--time" in more:
        command = [*command[:3], *more]
    assert main(command) == code
    assert capsys.readouterr().err
