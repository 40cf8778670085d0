"""The gallery's promise: one question, one answer, a picture. The documentation build runs them."""

import ast
import re
from pathlib import Path

import pytest

GALLERY = Path(__file__).parents[1] / "docs" / "gallery"
SCRIPTS = sorted(GALLERY.glob("plot_*.py"))
# what draws: pyplot, or a Display that makes its own axes
_DRAWS = re.compile(r"plt\.(subplots|figure)\(|Display\.from_\w+\(")


def test_there_is_a_gallery():
    assert len(SCRIPTS) >= 15
    assert (GALLERY / "GALLERY_HEADER.rst").read_text(encoding="utf-8").startswith("Gallery\n====")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_page_asks_answers_draws_and_concludes(script):
    text = script.read_text(encoding="utf-8")
    title, underline, blank, *answer = ast.get_docstring(ast.parse(text)).splitlines()
    assert title.endswith("?")
    assert underline == "=" * len(title)
    assert blank == ""
    assert len(" ".join(answer)) > 100, "the answer comes first"
    assert _DRAWS.search(text)
    cells = re.split(r"^# %%.*\n", text, flags=re.MULTILINE)
    assert len(cells) >= 3
    assert cells[-1].startswith("# **To remember:**")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_page_needs_no_files_and_no_network(script):
    names = {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for node in ast.walk(ast.parse(script.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute | ast.Name)
    }
    ours = {"load_iris", "load_wine", "load_digits", "load_breast_cancer", "load_diabetes"}
    assert not {n for n in names if n.startswith(("load_", "fetch_", "read_"))} - ours
    assert "open" not in names


def test_titles_differ():
    titles = [ast.get_docstring(ast.parse(s.read_text(encoding="utf-8")))[:40] for s in SCRIPTS]
    assert len(set(titles)) == len(titles)
