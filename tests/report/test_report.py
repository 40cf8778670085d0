"""The report: a self-contained, accessible page with the results of the estimators."""

import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import mercer.report
from mercer.report import analyze, write_report
from mercer.tables import as_table, read_table
from mercer.utils.formatting import format_number, format_percent, join_words
from tests.expectations import raises

FILES = {
    "report.html", "report.json", "rows.csv", "groups.csv", "columns.csv", "dependence.csv",
    "cells.csv", "predictors.csv",
}  # fmt: skip
VOID = {"meta", "br", "img", "link", "hr", "input"}


class Page(HTMLParser):
    """Collect elements with their attributes, the text, and unmatched tags."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.words, self.open, self.unmatched = [], [], [], []
        self.feed(text)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.unmatched.append(tag)

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def rings(tmp_path_factory):
    return write_report(read_table("rings"), tmp_path_factory.mktemp("rings"))


@pytest.fixture(scope="module")
def source(rings):
    return rings.html.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(source):
    return Page(source)


def blobs(n=40, X=None, columns=("a", "b"), **changes):
    if X is None:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, 2)) + np.repeat([[0, 0], [9, 9]], n // 2, axis=0)
    names = columns if X.shape[1] == len(columns) else [f"x{j}" for j in range(X.shape[1])]
    return replace(as_table(pd.DataFrame(X, columns=names), name="blobs"), **changes)


# --- the page --------------------------------------------------------------------------------


def test_tags_match_and_ids_are_unique(page):
    assert page.unmatched == []
    assert page.open == []
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids)) > 0


def test_page_has_no_external_resources(page, source):
    assert not page.all("script")
    assert not page.all("link")
    references = [
        attributes[name]
        for _, attributes in page.elements
        for name in ("src", "href", "xlink:href", "srcset")
        if name in attributes
    ]
    references += re.findall(r"url\(([^)]*)\)", source)
    assert references  # within the page
    assert all(reference.startswith("#") for reference in references)
    assert "@import" not in source


def test_figures_refer_to_existing_ids(page, source):
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    used = set(re.findall(r'(?:xlink:href="#|url\(#)([^")]+)', source))
    assert used <= ids


def test_every_figure_has_an_alternative_text(page):
    figures = page.all("svg")
    # map, dependence, two distributions, spectrum
    assert len(figures) == len(page.all("figure")) == 5
    assert all(figure["role"] == "img" and len(figure["aria-label"]) > 30 for figure in figures)


def test_page_supports_small_screens_and_dark_mode(page, source):
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in page.all(
        "meta"
    )
    assert "@media (prefers-color-scheme: dark)" in source
    assert page.all("html") == [{"lang": "en"}]
    figures = source[source.index("<svg") : source.rindex("</svg>")]
    assert "var(--ink)" in figures
    # all colors of a figure are CSS variables of the page
    assert re.findall(r"#[0-9a-f]{6}\b", figures) == []


def test_heading_levels_are_not_skipped(page):
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_contents_link_to_every_section(page):
    sections = [attributes["id"] for attributes in page.all("section")]
    links = [a["href"] for a in page.all("a")]
    assert links == ["#main", *(f"#{name}" for name in sections)]
    assert len(page.all("nav")) == len(page.all("main")) == len(page.all("footer")) == 1
    assert sections == [
        "contents", "groups", "dependence", "unusual", "distributions", "prediction", "methods",
    ]  # fmt: skip


def test_title_is_the_name_of_the_table(page):
    assert page.words[page.words.index("rings")] == "rings"
    path = "taxis.csv.gz"
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [2.0, 1.0, 1.0]})
    text = mercer.report.page(analyze(as_table(frame, name=path)))
    assert "<title>taxis</title>" in text
    assert "<h1>taxis</h1>" in text


def test_every_section_opens_with_its_answer_and_the_top_lists_them(page, source, rings):
    answers = [one.answer for one in rings.analysis.sections]
    assert len(re.findall('<p class="answer">', source)) == len(answers)
    assert all(page.text.count(" ".join(answer.split())) == 2 for answer in answers)


def test_tables_have_captions_and_scopes(page):
    assert len(page.all("caption")) == len(page.all("table")) >= 5
    assert all(head["scope"] in ("col", "row") for head in page.all("th"))
    assert all(region["tabindex"] == "0" for region in page.all("div") if "role" in region)


def test_text_from_the_data_is_escaped(tmp_path):
    table = blobs(name="<b>&", columns=("<script>alert(1)</script>", "b"), label="<i>")
    labels = np.array(["<x>", "&y"]).repeat(20)
    table = replace(table, labels=labels)
    page = Page(write_report(table, tmp_path).html.read_text(encoding="utf-8"))
    assert not page.all("script")
    assert not page.all("i")
    assert page.unmatched == []
    assert "<script>alert(1)</script>" in page.text


# --- files -----------------------------------------------------------------------------------


@pytest.fixture
def analyzed(rings, monkeypatch):
    """Write reports on the rings without repeating the analysis and drawing figures."""
    monkeypatch.setattr(mercer.report, "analyze", lambda table, **options: rings.analysis)
    monkeypatch.setattr(mercer.report, "page", lambda analysis: "page")


def test_files_are_unchanged_if_writing_fails(tmp_path, monkeypatch, analyzed):
    write_report(blobs(), tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(before) == FILES
    replaced = []

    def full_disk(source, target):
        replaced.append(target)
        raise OSError("No space left on device")

    monkeypatch.setattr("mercer.utils.atomic_files.os.replace", full_disk)
    with raises(OSError, "No space left"):
        write_report(blobs(n=60), tmp_path)
    assert len(replaced) == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_targets_are_checked_before_the_analysis(tmp_path, monkeypatch):
    monkeypatch.setattr(mercer.report, "analyze", None)
    (tmp_path / "report.json").mkdir()
    with raises(IsADirectoryError, tmp_path / "report.json"):
        write_report(blobs(), tmp_path)
    (tmp_path / "file").write_text("old")
    with raises(NotADirectoryError, tmp_path / "file"):
        write_report(blobs(), tmp_path / "file")


def test_rows_in_the_other_format_are_removed_but_not_a_folder(tmp_path, analyzed):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "rows.parquet").write_text("of an earlier report")
    (tmp_path / "two" / "rows.parquet").mkdir(parents=True)
    for name in ("one", "two"):
        write_report(blobs(), tmp_path / name)
    assert not (tmp_path / "one" / "rows.parquet").exists()
    assert (tmp_path / "two" / "rows.parquet").is_dir()


def test_nothing_is_written_if_the_page_cannot_be_rendered(tmp_path, monkeypatch, analyzed):
    def fail(analysis):
        raise RuntimeError("no page")

    monkeypatch.setattr(mercer.report, "page", fail)
    with raises(RuntimeError, "no page"):
        write_report(blobs(), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_missing_jinja_raises_with_the_install_command(rings, monkeypatch):
    from mercer.report import section

    section._environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with raises(ModuleNotFoundError, "pip install mercer[cli]"):
        section.render("page.html")


def test_every_template_is_installed_with_the_package():
    templates = files("mercer.report") / "templates"
    assert {path.name for path in templates.iterdir()} == {
        "diversity.html", "macros.html", "monitoring.html", "page.html", "sections.html",
        "style.css",
    }  # fmt: skip


# --- formatting -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.0730645, "0.07306"),
        (0.99999999, "1.000"),
        (9.9996, "10.00"),
        (1234.5678, "1,235"),
        (2.704e-4, "2.70 × 10⁻⁴"),
        (9.996e-5, "1.00 × 10⁻⁴"),
        (-10.371, "−10.37"),
        (3.2e7, "3.20 × 10⁷"),
    ],
)
def test_format_number(value, text):
    assert format_number(value) == text


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.15, "15.0 %"),
        (0.99999, "99.99 %"),
        (1.0, "100 %"),
        (1e-6, "under 0.001 %"),
        (-1e-17, "0 %"),
    ],
)
def test_format_percent_rounds_only_one_to_100(fraction, text):
    assert format_percent(fraction) == text


def test_join_words():
    assert [join_words(x) for x in ([1], [1, 2], [1, 2, 9])] == ["1", "1 and 2", "1, 2 and 9"]
