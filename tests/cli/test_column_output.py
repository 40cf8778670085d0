"""Commands that write columns: invalid input, output and files."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import adjusted_rand_score

from mercer.cli import main
from tests.cli.running import assert_names

# --- invalid input and arguments ------------------------------------------------------------------


def test_density_needs_complete_numeric_columns(machines, tmp_path, command):
    _, text = command("density", machines, "--ignore", "state", code=1)
    assert_names(text, "'coolant'", "category", "--ignore", "mercer novelty")
    frame = pd.DataFrame({"a": [1, 2, None, None, 5.0], "b": [3, 1, 4, 1, 5]})
    frame.to_csv(tmp_path / "incomplete.csv", index=False)
    _, text = command("density", tmp_path / "incomplete.csv", code=1)
    assert_names(text, "'a'", "--missing drop")
    found, _ = command("density", tmp_path / "incomplete.csv", "--missing", "drop")
    assert found["log_density"].notna().tolist() == [True, True, False, False, True]


def test_denoise_needs_complete_numeric_columns(tmp_path, command):
    (tmp_path / "w.csv").write_text("a\nx\ny\nx\ny\nx\n", encoding="utf-8")
    _, text = command("denoise", tmp_path / "w.csv", code=1)
    assert_names(text, "w.csv", "numeric")
    _, text = command("denoise", "wine", "--missing", "keep", code=2)
    assert_names(text, "denoise", "--missing keep")


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (["embed"], ["DATA"]),
        (["embed", "--nonsense"], ["--nonsense", "./--nonsense"]),
        (["embed", "wine", "--components", "0"], ["--components", ">= 1"]),
        (["embed", "wine", "--components", "1.5"], ["--components", ">= 1"]),
        (["embed", "wine", "--components", "three"], ["--components", ">= 1"]),
        (["embed", "wine", "--method", "ica"], ["--method", "ica"]),
        (["cluster", "wine", "--noise", "1"], ["--noise", 1]),
        (
            ["cluster", "wine", "--noise", "0.1", "--method", "entropy"],
            ["--noise", "--method spectral"],
        ),
        (["cluster", "wine", "--clusters", "few"], ["--clusters", ">= 1", "auto"]),
        (["cluster", "wine", "--clusters", "0"], ["--clusters", ">= 1", "auto"]),
        (["novelty", "wine", "--false-alarm-rate", "0.9"], ["--false-alarm-rate", "<= 0.5"]),
        (["embed", "wine", "--out", "wine.xlsx"], ["wine.xlsx", ".parquet"]),
        (["embed", "wine", "--out", "w.npy", "--keep"], ["--keep", ".npy"]),
        (["embed", "wine", "--out", "w.csv", "--model", "w.csv"], ["--model", "--out", "w.csv"]),
        (["embed", "wine", "--missing", "no"], ["--missing"]),
    ],
)
def test_invalid_arguments(arguments, values, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, text = command(*arguments, code=2)
    assert_names(text, *values)
    assert list(tmp_path.iterdir()) == []


# --- output ---------------------------------------------------------------------------------------


def test_keep_copies_columns_unchanged(tmp_path, command):
    lines = [
        'id,code,"a, b",x',
        '1,007,1.50,"say ""hi"""',
        "2,011,NA,é",
        "3,010,2.0,",
        "4,012,7e3,x",
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    out = tmp_path / "o.csv"
    command(
        "embed", tmp_path / "t.csv", "--ignore", "x", "--ignore", "code", "--keep", "--out", out
    )
    written = out.read_text(encoding="utf-8").splitlines()
    assert [line.rsplit(",", 2)[0] for line in written] == lines
    assert written[2].endswith(",,")  # a value is missing


def test_new_columns_must_have_new_names(flowers, tmp_path, command):
    out = tmp_path / "o.csv"
    command("cluster", flowers, "--ignore", "species", "--clusters", 2, "--keep", "--out", out)
    _, text = command("cluster", out, "--clusters", 2, "--keep", code=1)
    assert_names(text, "o.csv", "'cluster'", "--keep")


def test_denoised_columns_replace_those_of_the_input(flowers, tmp_path, command):
    out = tmp_path / "o.csv"
    command("denoise", flowers, "--keep", "--out", out)
    written, before = pd.read_csv(out), pd.read_csv(flowers)
    assert list(written) == list(before)
    assert_array_equal(written["species"], before["species"])
    assert not (written["length"] == before["length"]).any()


def test_formats_have_the_same_content(flowers, tmp_path, command):
    found, _ = command("embed", flowers, "--ignore", "species")
    for suffix in (".csv", ".tsv", ".parquet", ".npy"):
        command("embed", flowers, "--ignore", "species", "--out", tmp_path / f"new/o{suffix}")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "new/o.csv"), found)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "new/o.tsv", sep="\t"), found)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "new/o.parquet"), found)
    assert_array_equal(np.load(tmp_path / "new/o.npy"), found[["eca1", "eca2"]])


def test_copied_columns_have_types_in_parquet(flowers, tmp_path, command):
    command("embed", flowers, "--ignore", "species", "--keep", "--out", tmp_path / "o.parquet")
    written = pd.read_parquet(tmp_path / "o.parquet")
    pd.testing.assert_frame_equal(written.iloc[:, :5], pd.read_csv(flowers))


def test_error_names_the_extra_of_parquet(tmp_path, command, monkeypatch):
    def absent(frame, *_, **__):
        raise ImportError("pyarrow or fastparquet is required")

    monkeypatch.setattr(pd.DataFrame, "to_parquet", absent)
    _, text = command("embed", "rings", "--out", tmp_path / "o.parquet", code=1)
    assert_names(text, "pyarrow", "pip install mercer[io]")
    assert list(tmp_path.iterdir()) == []


def test_at_most_five_omitted_columns_are_listed(tmp_path, command):
    X = np.random.default_rng(0).normal(size=(20, 2))
    frame = pd.DataFrame(X, columns=["x", "y"]).assign(**{f"same{j}": 1 for j in range(7)})
    frame.to_csv(tmp_path / "x.csv", index=False)
    _, text = command("embed", tmp_path / "x.csv")
    assert text.count("column same") == 5
    assert_names(text, "2 more columns")


def test_text_columns_cannot_be_written_to_npy(flowers, tmp_path, command):
    out = tmp_path / "o.npy"
    _, text = command("discriminate", flowers, "--label", "species", "--out", out, code=1)
    assert_names(text, "'predicted'", ".csv", ".parquet")
    assert not out.exists()


def test_quiet_prints_errors_only(flowers, tmp_path, command):
    arguments = ("embed", flowers, "--ignore", "species", "--bandwidth", 0.001)
    _, text = command(*arguments)
    assert_names(text, "IdentifiabilityWarning", "column species")
    assert command(*arguments, "--quiet")[1] == ""
    _, text = command("embed", tmp_path / "none.csv", "--quiet", code=1)
    assert_names(text, "none.csv")


def test_verbose_prints_the_traceback(tmp_path, capsys):
    assert main(["embed", str(tmp_path / "none.csv"), "--verbose"]) == 1
    assert "Traceback" in capsys.readouterr().err


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "values"),
    [
        (b"", []),
        (b"a,b\n", [0]),
        (b"a,b\n1,2\n1,2,3\n", [3, 2]),
        (b"a,b,c\n1,2,3\n4,5\n6,7,8\n", [3, 2]),
        ("größe,b\n1,2\n3,4\n5,7\n".encode("latin-1"), [1, "0xf6"]),
        (b"a,b\n1,\x002\n3,4\n", []),
        (b'a,b\n1,"2\n3,4\n', []),
        (b"PAR1 and then nothing", ["Parquet"]),
        (b"\x93NUMPY and then nothing", []),
        (b"\x1f\x8b and then nothing", []),
    ],
    ids=[
        "empty",
        "header only",
        "long row",
        "short row",
        "encoding",
        "zero bytes",
        "open quote",
        "parquet",
        "npy",
        "gzip",
    ],
)
@pytest.mark.parametrize("name", ["embed", "cluster", "density", "entropy", "denoise"])
def test_invalid_files(tmp_path, command, name, content, values):
    (tmp_path / "bad.csv").write_bytes(content)
    _, text = command(name, tmp_path / "bad.csv", code=1)
    assert_names(text, "bad.csv", *values)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


def test_unusual_files_that_can_be_read(tmp_path, command):
    path = tmp_path / "strange.csv"
    path.write_bytes("größe,b\n1,2\n3,4\n5,7\n".encode("latin-1"))
    assert len(command("embed", path, "--encoding", "latin-1")[0]) == 3
    path.write_bytes(b"a,a,b\n1,2,3\n4,5,6\n9,1,0\n")
    assert_names(command("embed", path)[1], "note: ", "3 columns")
    path.write_text("a,b\n" + "".join(f'{i},"{"x" * 200_000}{i % 3}"\n' for i in range(9)))
    assert len(command("embed", path)[0]) == 9
    path.write_bytes(b"a,b\r1,2\r3,5\r7,1\r")
    assert len(command("embed", path)[0]) == 3
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(5, 3000)))
    wide.add_prefix("c").to_csv(path, index=False)
    found, text = command("embed", path)
    assert_names(text, "5 rows", "3,000 columns")
    assert list(found) == ["row", "eca1", "eca2"]


@pytest.mark.parametrize("name", ["wine", "machines"])
def test_cluster_and_report_number_clusters_as_the_estimator(name, tmp_path):
    """The report has the same clusters, as groups that are numbered by size."""
    assert main(["cluster", name, "--out", str(tmp_path / "c.csv")]) == 0
    assert main(["report", name, "--out", str(tmp_path)]) == 0
    clusters = pd.read_csv(tmp_path / "c.csv").set_index("row")["cluster"]
    groups = pd.read_csv(tmp_path / "rows.csv").set_index("row")["group"]
    assert adjusted_rand_score(clusters, groups) == 1
    table = pd.read_csv(tmp_path / "groups.csv").drop_duplicates("group").set_index("group")
    assert table["size"].to_dict() == groups[groups > 0].value_counts().to_dict()
    assert table["size"].is_monotonic_decreasing
