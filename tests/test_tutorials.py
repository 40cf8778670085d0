"""Tutorials show the pictures that their code draws; the code itself is run with all pages."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "tutorials"
PAGES = [page for page in sorted(FOLDER.glob("*.md")) if page.stem != "index"]
PICTURES = ROOT / "docs" / "images" / "tutorials"


def drawn(page):
    return set(re.findall(r'savefig\(\s*"([^"]+)"', page.read_text(encoding="utf-8")))


def shown(page):
    links = re.findall(r"!\[([^\]]+)\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    return {link: words for words, link in links}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pictures_are_those_of_the_code(page):
    files = {(page.parent / link).resolve() for link in shown(page)}
    assert {file.name for file in files} == drawn(page), "draw and show the same pictures"
    for file in files:
        assert file.parent == PICTURES, "docs/images/make_tutorials.py writes there"
        assert 0 < file.stat().st_size <= 100_000
    assert all(len(words) > 20 for words in shown(page).values()), "say what there is to see"


def test_no_picture_is_left_over():
    assert {p.name for p in PICTURES.iterdir()} == set().union(*map(drawn, PAGES))


def test_the_index_lists_every_page():
    listed = re.search(r"```\{toctree\}(.*?)```", (FOLDER / "index.md").read_text("utf-8"), re.S)
    names = [line for line in listed[1].split() if not line.startswith(":") and line != "1"]
    assert sorted(names) == [page.stem for page in PAGES]
