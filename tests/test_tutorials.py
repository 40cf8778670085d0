"""Pages show the figures that their code saves (tests/test_docs.py runs the code)."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "tutorials"
PAGES = [page for page in sorted(FOLDER.glob("*.md")) if page.stem != "index"]
GUIDES = [
    page for page in sorted((ROOT / "docs").glob("*.md")) if "savefig(" in page.read_text("utf-8")
]
FIGURES = ROOT / "docs" / "images" / "tutorials"


def saved_figures(page):
    return set(re.findall(r'savefig\(\s*"([^"]+)"', page.read_text(encoding="utf-8")))


def shown_figures(page):
    links = re.findall(r"!\[([^\]]+)\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    return {link: text for text, link in links}


@pytest.mark.parametrize("page", [*PAGES, *GUIDES], ids=lambda page: page.stem)
def test_shown_figures_are_saved_by_the_code(page):
    files = {(page.parent / link).resolve() for link in shown_figures(page)}
    assert {file.name for file in files} == saved_figures(page), "save and show the same figures"
    for file in files:
        assert file.parent == FIGURES, "docs/images/make_tutorials.py writes there"
        assert 0 < file.stat().st_size <= 100_000
    assert all(len(text) > 20 for text in shown_figures(page).values()), "describe the figure"


def test_no_unused_figures():
    assert {p.name for p in FIGURES.iterdir()} == set().union(
        *map(saved_figures, [*PAGES, *GUIDES])
    )


def test_index_lists_every_page():
    listed = re.search(r"```\{toctree\}(.*?)```", (FOLDER / "index.md").read_text("utf-8"), re.S)
    names = [line for line in listed[1].split() if not line.startswith(":") and line != "1"]
    assert sorted(names) == [page.stem for page in PAGES]
