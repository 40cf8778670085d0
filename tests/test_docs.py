"""Run the code of all pages, compare the printed output, and check the API reference."""

import contextlib
import doctest
import html
import importlib
import importlib.util
import inspect
import io
import re
import shlex
import subprocess
import sys
import types
from dataclasses import dataclass
from pathlib import Path

import pytest

import mercer
from tests.expectations import raises
from tests.processes import environment

ROOT = Path(__file__).parent.parent
GENERATED = {"_build", "auto_gallery", "generated"}
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *(
        path
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if not GENERATED & set(path.relative_to(ROOT).parts)
    ),
]
FENCE = re.compile(r"^(?P<ticks>```+)(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=ticks)[ ]*$", re.M | re.S)
OUTPUT_OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, whether it is marked with ``run``, and its first line."""

    language: str
    marked: bool
    body: str
    line: int


def find_blocks(text):
    return [
        Block(
            language=(match["info"].split() or [""])[0],
            marked=match["info"].split()[1:] == ["run"],
            body=match["body"],
            line=text.count("\n", 0, match.start()) + 2,
        )
        for match in FENCE.finditer(text)
    ]


def is_runnable(block):
    return block.language == "python" or (block.language == "sh" and block.marked)


def run_python(block, page, names):
    code = compile("\n" * (block.line - 1) + block.body, str(page), "exec")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, names)
    return printed.getvalue()


def run_commands(block, folder):
    printed = ""
    for line in block.body.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if not words:
            continue
        assert words[0] == "mercer", f"only mercer commands are run, not {line!r}"
        done = subprocess.run(
            [sys.executable, "-m", "mercer.cli", *words[1:]],
            cwd=folder, capture_output=True, text=True, check=False,
            env=environment(),
        )  # fmt: skip
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        printed += done.stdout
    return printed


@contextlib.contextmanager
def registered_module(module):
    """Add a module to ``sys.modules`` temporarily; modules imported meanwhile stay there."""
    sys.modules[module.__name__] = module
    try:
        yield
    finally:
        del sys.modules[module.__name__]


def check_page(page, text, folder):
    """Run a page from top to bottom; a ``text`` block is the output of the block before it."""
    module = types.ModuleType("page")  # a real module, so that classes of a page can be pickled
    with registered_module(module):
        check_blocks(page, text, folder, vars(module))


def check_blocks(page, text, folder, names):
    printed = None
    for block in find_blocks(text):
        if is_runnable(block):
            is_python = block.language == "python"
            printed = run_python(block, page, names) if is_python else run_commands(block, folder)
        elif block.language == "text" and printed is not None:
            agrees = doctest.OutputChecker().check_output(block.body, printed, OUTPUT_OPTIONS)
            location = f"{page}:{block.line}"
            assert agrees, f"{location} expects\n{block.body}\nbut the code prints\n{printed}"
        else:
            printed = None


@pytest.mark.parametrize(
    "page",
    [
        page
        for page in PAGES
        if any(map(is_runnable, find_blocks(page.read_text(encoding="utf-8"))))
    ],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_every_block_runs(page, tmp_path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    try:
        check_page(page.relative_to(ROOT), page.read_text(encoding="utf-8"), tmp_path)
    finally:
        plt.close("all")


def test_check_page_detects_wrong_output(tmp_path):
    check_page("page", "```python\nprint(1.25)\n```\n\n```text\n1.2...\n```\n", tmp_path)
    with raises(AssertionError, "page:6"):
        check_page("page", "```python\nprint(1)\n```\n\n```text\n2\n```\n", tmp_path)
    with raises(AssertionError, "mercer nonsense"):
        check_page("page", "```sh run\nmercer nonsense\n```\n", tmp_path)


# --- the reference --------------------------------------------------------------------------------

MODULES = [
    f"mercer.{name}" for name in mercer.__all__ if inspect.ismodule(getattr(mercer, name))
] + ["mercer.tables", "mercer.report"]
NAMES = [name for name in mercer.__all__ if not inspect.ismodule(getattr(mercer, name))]
PUBLIC = [
    *(("mercer", name) for name in NAMES),
    *(
        (module, name)
        for module in MODULES
        for name in importlib.import_module(module).__all__
        if name not in NAMES
    ),
]


def listed_names():
    """Return the (module, name) pairs that the API pages list."""
    names = set()
    for page in (ROOT / "docs" / "api").glob("*.rst"):
        module = None
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith(".. currentmodule::"):
                module = line.split()[-1]
            elif re.fullmatch(r"   \w+", line):
                names.add((module, line.strip()))
    return names


def test_every_public_name_is_in_the_reference():
    missing = {pair for pair in PUBLIC if pair[1] != "__version__"} - listed_names()
    assert not missing, f"add to docs/api/*.rst: {sorted(missing)}"


def test_reference_lists_public_names_only():
    extra = {pair for pair in listed_names() if pair[0]} - set(PUBLIC)
    assert not extra, f"not in any __all__: {sorted(extra)}"


def test_every_public_name_has_an_example():
    without = [
        f"{module}.{name}"
        for module, name in PUBLIC
        for thing in [getattr(importlib.import_module(module), name)]
        if (inspect.isclass(thing) or inspect.isroutine(thing))  # not constants or type aliases
        and ">>>" not in (thing.__doc__ or "")
    ]
    assert not without, f"docstrings without an example (>>>): {without}"


# --- statements that repeat what the code says ----------------------------------------------------


def test_page_of_commands_lists_every_command():
    pytest.importorskip("cyclopts", reason="needs mercer[cli]")
    from mercer.cli.app import app

    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[`(\w+)`\]\(#\w+\) \|", text, re.MULTILINE)
    assert sorted(listed) == sorted(name for name in app if not name.startswith("-"))


def test_docstring_of_the_report_names_existing_modules():
    import mercer.report

    names = re.findall(r"``(\w+)/?``", mercer.report.__doc__)
    folder = Path(mercer.report.__file__).parent
    assert {"groups", "section"} <= set(names)
    assert [
        n for n in names if not (folder / f"{n}.py").exists() and not (folder / n).is_dir()
    ] == []


def test_page_of_decisions_gives_the_limits_of_the_explorer():
    from mercer.explorer.models import MAX_DENSE

    text = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
    assert f"Full decomposition up to {MAX_DENSE} rows" in text


# --- tools of the documentation build -------------------------------------------------------------


def import_file(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    with registered_module(module):  # needed by dataclasses
        spec.loader.exec_module(module)
    return module


def test_check_links_finds_broken_links(tmp_path):
    check_links = import_file(ROOT / "docs" / "check_links.py")
    (tmp_path / "good.html").write_text(
        '<h1 id="top">x</h1><a href="#top"></a><a href="https://example.org/a"></a>'
        '<a href="other.html#here"></a><img src="data:image/png;base64,AA">'
        '<script src="a.js"></script>'
    )
    (tmp_path / "other.html").write_text('<p id="here">y</p>')
    (tmp_path / "a.js").write_text("")
    assert check_links.find_problems(tmp_path) == []

    (tmp_path / "bad.html").write_text(
        '<a href="gone.html"></a><a href="other.html#gone"></a><a href="https:///nowhere"></a>'
        '<script src="https://cdn.example.org/x.js"></script><img src="gone.png">'
        '<p style="background: url(//fonts.example.org/f)"></p>'
    )
    (tmp_path / "bad.css").write_text("@font-face { src: url(https://example.org/font.woff) }")
    problems = check_links.find_problems(tmp_path)
    expected = [
        ("bad.html", "gone.html"),
        ("bad.html", "other.html#gone"),
        ("bad.html", "https:///nowhere"),
        ("bad.html", "https://cdn.example.org/x.js"),
        ("bad.html", "gone.png"),
        ("bad.html", "//fonts.example.org/f"),
        ("bad.css", "https://example.org/font.woff"),
    ]
    for file, target in expected:
        assert any(file in line and target in line for line in problems), target
    assert len(problems) == len(expected)


def test_fitted_attribute_names_are_escaped():
    escape = import_file(ROOT / "docs" / "_ext" / "docstrings.py").escape
    assert escape(["shape (n, rank_)", "``rank_`` of rank_.", "a_b"]) == [
        r"shape (n, rank\_)",
        r"``rank_`` of rank\_.",
        "a_b",
    ]
    example = [">>> a.b_", "b_ c_", ""]
    assert escape(example) == example


def test_formulas_are_converted_to_mathml():
    pytest.importorskip("latex2mathml")
    errors = pytest.importorskip("sphinx.errors")
    to_mathml = import_file(ROOT / "docs" / "_ext" / "mathml.py").to_mathml
    assert "𝟏" in to_mathml(r"\mathbf{1}", block=False)
    assert "𝔼" in html.unescape(to_mathml(r"\mathbb{E}", block=False))
    assert 'display="block"' in to_mathml("x", block=True)
    with raises(errors.ExtensionError, "nonsense"):
        to_mathml(r"\nonsense x", block=False)


# --- finding a page -------------------------------------------------------------------------------

GUIDES = [
    "clustering",
    "embedding",
    "classification",
    "monitoring",
    "diversity",
    "entropy",
    "densities",
    "mixtures",
    "any-data",
    "big-data",
    "sample-weights",
]


def load_keywords():
    return import_file(ROOT / "docs" / "_ext" / "keywords.py")


def test_keywords_belong_to_one_existing_page_each():
    keywords = load_keywords().KEYWORDS
    everything = [keyword for listed in keywords.values() for keyword in listed]
    assert [k for k in everything if everything.count(k) > 1 or k != k.lower().strip()] == []
    assert [page for page in keywords if not (ROOT / "docs" / f"{page}.md").exists()] == []


@pytest.mark.parametrize(
    ("keyword", "page"),
    [
        ("embedding", "embedding"),
        ("dimensionality reduction", "embedding"),
        ("clusters", "clustering"),
        ("kde", "densities"),
        ("anomaly", "novelty"),
        ("outlier", "novelty"),
        ("drift", "monitoring"),
        ("classification", "classification"),
        ("diversity", "diversity"),
        ("semantic search duplicates", "diversity"),
        ("missing values", "any-data"),
        ("gamma", "coming-from/scikit-learn"),
        ("umap", "coming-from/umap-hdbscan"),
        ("csv", "commands"),
    ],
)
def test_keyword_is_an_index_entry_below_the_title_of_its_page(keyword, page):
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    changed = load_keywords().add_keywords(page, text)
    beginning = changed[: changed.index(text.split("\n", 2)[2][:200])]
    assert f"   ! single: {keyword}\n" in beginning
    assert re.search(rf":keywords: .*\b{keyword}\b", beginning)


def test_keywords_change_no_other_page():
    add_keywords = load_keywords().add_keywords
    assert add_keywords("nowhere", "# Title\n\ntext") == "# Title\n\ntext"
    assert add_keywords("report", "# Title\n\ntext").startswith("# Title\n\n```{eval-rst}")


def test_check_search_finds_keywords_of_other_pages():
    check_search = import_file(ROOT / "docs" / "check_search.py")
    index = {
        "docnames": ["good", "other"],
        "indexentries": {
            "right": [[0, "index-0", True]],
            "wrong": [[1, "index-0", True]],
            "minor": [[0, "index-0", False]],
        },
    }
    assert check_search.find_problems(index, {"good": ["right"]}) == []
    problems = check_search.find_problems(index, {"good": ["right", "wrong", "minor", "absent"]})
    assert [line.split()[0] for line in problems] == ["'wrong'", "'minor'", "'absent'"]


@pytest.mark.parametrize("page", GUIDES)
def test_guides_begin_with_an_example_and_a_picture(page):
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    first, *others = re.split(r"^## ", text, flags=re.MULTILINE)
    titles = [part.split("\n")[0] for part in others]
    wanted = ["What users ask next", "Choices that matter", "What goes wrong", "Further reading"]
    assert titles == wanted
    assert "```python" in first
    assert "![" in first
    assert "| question | call |" in others[0]
    assert len(text.split()) <= 1200


def test_front_page_uses_no_private_symbols():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert not re.search(r"\bV\b|information potential|certified_", text)
