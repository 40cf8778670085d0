"""Which third-party packages the layers of mercer import."""

import ast
import sys
from pathlib import Path

import pytest

import mercer

ROOT = Path(mercer.__file__).parent
MATHS = sorted((ROOT / "maths").glob("*.py"))
OUTSIDE_CHUNKS = sorted(
    path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] != "chunks"
)


def imported_modules(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("path", MATHS, ids=lambda path: path.stem)
def test_maths_imports_numpy_scipy_and_maths_only(path):
    allowed = {"numpy", "scipy", *sys.stdlib_module_names}
    for module in imported_modules(path):
        assert module.startswith("mercer.maths") or module.partition(".")[0] in allowed


def test_only_chunks_imports_dask():
    users = {
        str(path.relative_to(ROOT))
        for path in OUTSIDE_CHUNKS
        for module in imported_modules(path)
        if module.partition(".")[0] in ("dask", "distributed")
    }
    assert not users


def test_only_chunks_asks_whether_data_is_a_dask_collection():
    names = "is_dask", "__dask_graph__", "isinstance(points, ChunkedPoints)", "._chunks"
    users = {
        (str(path.relative_to(ROOT)), name)
        for path in OUTSIDE_CHUNKS
        for name in names
        if name in path.read_text(encoding="utf-8")
    }
    assert not users


def test_private_modules_of_dask_are_used_in_one_file():
    users = {
        path.name
        for path in ROOT.rglob("*.py")
        for module in imported_modules(path)
        if module.partition(".")[0] in ("dask", "distributed") and "._" in module
    }
    assert users == {"dask_internals.py"}
