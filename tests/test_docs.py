"""The pages tell the truth: their code runs and prints what they say; no name is left out."""

import contextlib
import doctest
import importlib
import inspect
import io
import re
import shlex
import subprocess
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest

import mercer

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
AS_PRINTED = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, whether it is marked to run, where it stands."""

    language: str
    marked: bool
    body: str
    line: int


def blocks_of(text):
    return [
        Block(
            language=(match["info"].split() or [""])[0],
            marked=match["info"].split()[1:] == ["run"],
            body=match["body"],
            line=text.count("\n", 0, match.start()) + 2,
        )
        for match in FENCE.finditer(text)
    ]


def runnable(block):
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
        )  # fmt: skip
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        printed += done.stdout
    return printed


def check_page(page, text, folder):
    """Run a page from top to bottom; a ``text`` block says what the block before it prints."""
    module = types.ModuleType("page")  # a real one: classes of a page can be pickled
    with mock.patch.dict(sys.modules, page=module):
        check_blocks(page, text, folder, vars(module))


def check_blocks(page, text, folder, names):
    printed = None
    for block in blocks_of(text):
        if runnable(block):
            is_python = block.language == "python"
            printed = run_python(block, page, names) if is_python else run_commands(block, folder)
        elif block.language == "text" and printed is not None:
            agrees = doctest.OutputChecker().check_output(block.body, printed, AS_PRINTED)
            where = f"{page}:{block.line}"
            assert agrees, f"{where} says\n{block.body}\nbut the code prints\n{printed}"
        else:
            printed = None


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if any(map(runnable, blocks_of(page.read_text(encoding="utf-8"))))],
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


def test_a_wrong_print_is_noticed(tmp_path):
    check_page("page", "```python\nprint(1.25)\n```\n\n```text\n1.2...\n```\n", tmp_path)
    with pytest.raises(AssertionError, match="page:6 says"):
        check_page("page", "```python\nprint(1)\n```\n\n```text\n2\n```\n", tmp_path)
    with pytest.raises(AssertionError, match="mercer nonsense"):
        check_page("page", "```sh run\nmercer nonsense\n```\n", tmp_path)


# --- the reference --------------------------------------------------------------------------------

MODULES = [
    f"mercer.{name}" for name in mercer.__all__ if inspect.ismodule(getattr(mercer, name))
] + ["mercer.tables", "mercer.report"]
PUBLIC = [
    *(("mercer", name) for name in mercer.__all__ if not inspect.ismodule(getattr(mercer, name))),
    *((module, name) for module in MODULES for name in importlib.import_module(module).__all__),
]


def listed():
    """What the API pages list, as (module, name)."""
    found = set()
    for page in (ROOT / "docs" / "api").glob("*.rst"):
        module = None
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith(".. currentmodule::"):
                module = line.split()[-1]
            elif re.fullmatch(r"   \w+", line):
                found.add((module, line.strip()))
    return found


def test_every_public_name_is_in_the_reference():
    missing = {pair for pair in PUBLIC if pair[1] != "__version__"} - listed()
    assert not missing, f"list them in docs/api/*.rst: {sorted(missing)}"


def test_the_reference_lists_public_names_only():
    extra = {pair for pair in listed() if pair[0]} - set(PUBLIC)
    assert not extra, f"not in any __all__: {sorted(extra)}"


def test_every_public_name_has_an_example():
    without = [
        f"{module}.{name}"
        for module, name in PUBLIC
        for thing in [getattr(importlib.import_module(module), name)]
        if (inspect.isclass(thing) or inspect.isroutine(thing))  # not a constant, nor a type alias
        and ">>>" not in (thing.__doc__ or "")
    ]
    assert not without, f"give these a docstring with a runnable example (>>>): {without}"
