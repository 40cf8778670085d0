"""Parts of the check of a first installation that need no network."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools import first_install

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.skipif(not README.exists(), reason="README.md is not part of this installation")
def test_the_first_example_is_that_of_the_readme():
    code = first_install.first_example(README.read_text(encoding="utf-8"))
    imported = {
        alias.name
        for node in ast.parse(code).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert {"KernelPCA", "SpectralClustering", "ParzenDensity"} <= imported


def test_missing_examples_are_reported():
    with pytest.raises(AssertionError, match="example"):
        first_install.first_example("## One-minute example\n\nnone\n")


@pytest.mark.skipif(sys.platform != "linux", reason="./run needs a POSIX shell")
def test_the_path_has_python_but_no_browser(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "somewhere")
    variables = first_install.minimal_variables(tmp_path / "bin")
    assert "PYTHONPATH" not in variables
    for name in ("chromium", "firefox", "xdg-open", "git"):
        assert shutil.which(name, path=variables["PATH"]) is None
    done = subprocess.run(
        ["python3", "-c", "print(1)"], env=variables, capture_output=True, text=True, check=True
    )
    assert done.stdout == "1\n"


def test_failed_checks_are_printed(capsys):
    def fail():
        raise AssertionError("no report")

    assert first_install.passes("good", lambda: "fine")
    assert not first_install.passes("bad", fail)
    printed = capsys.readouterr().out
    assert "fine" in printed
    assert "no report" in printed
