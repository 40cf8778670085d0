"""Check the form of the gallery examples. The documentation build runs them."""

import ast
import re
from pathlib import Path

import pytest

GALLERY = Path(__file__).parents[1] / "docs" / "gallery"
SCRIPTS = sorted(GALLERY.glob("plot_*.py"))
# calls that create a figure: pyplot, or a Display
_DRAWS = re.compile(r"plt\.(subplots|figure)\(|Display\.from_\w+\(")


def test_gallery_has_examples_and_header():
    header = (GALLERY / "GALLERY_HEADER.rst").read_text(encoding="utf-8")
    assert header.startswith("Gallery\n====")
    assert 15 <= len(SCRIPTS) <= 24
    reasons = re.findall(r"``(plot_\w+)``", header)
    assert sorted(reasons) == [script.stem for script in SCRIPTS], "give a reason for each example"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_example_has_title_description_and_figure(script):
    text = script.read_text(encoding="utf-8")
    title, underline, blank, *description = ast.get_docstring(ast.parse(text)).splitlines()
    assert underline == "=" * len(title)
    assert blank == ""
    assert len(" ".join(description)) > 100, "describe the result before the code"
    assert _DRAWS.search(text)
    cells = re.split(r"^# %%.*\n", text, flags=re.MULTILINE)
    assert len(cells) >= 3


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_example_needs_no_files_and_no_network(script):
    names = {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for node in ast.walk(ast.parse(script.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute | ast.Name)
    }
    bundled = {"load_iris", "load_wine", "load_digits", "load_breast_cancer", "load_diabetes"}
    assert not {n for n in names if n.startswith(("load_", "fetch_", "read_"))} - bundled
    assert "open" not in names


def test_titles_are_unique():
    titles = [
        ast.get_docstring(ast.parse(s.read_text(encoding="utf-8"))).split("\n")[0] for s in SCRIPTS
    ]
    assert len(set(titles)) == len(titles)
