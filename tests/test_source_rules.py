"""Rules for the source: users of Dask and of private modules, no comparisons of sentences."""

import ast
import re
from pathlib import Path

import mercer

ROOT = Path(mercer.__file__).parent
OUTSIDE_DASK = sorted(
    path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[:2] != ("data", "dask")
)


def imported_modules(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_only_data_dask_imports_dask():
    users = {
        str(path.relative_to(ROOT))
        for path in OUTSIDE_DASK
        for module in imported_modules(path)
        if module.partition(".")[0] in ("dask", "distributed")
    }
    assert not users


def test_only_data_dask_detects_dask_collections():
    names = "is_dask", "__dask_graph__", "isinstance(points, ChunkedPoints)", "._chunks"
    users = {
        (str(path.relative_to(ROOT)), name)
        for path in OUTSIDE_DASK
        for name in names
        if name in path.read_text(encoding="utf-8")
    }
    assert not users


def private_imports(path):
    """Yield private modules, and private names of modules, of other packages."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            package, *parts = name.split(".")
            if package not in ("mercer", "__future__") and any(p.startswith("_") for p in parts):
                yield name


def test_private_modules_of_other_packages_are_used_in_one_file():
    """Of Dask's, with a canary test; none of SciPy, scikit-learn or any other package."""
    users = {(path.name, name) for path in ROOT.rglob("*.py") for name in private_imports(path)}
    assert {name for name, _ in users} == {"dask_internals.py"}
    assert all(module.startswith("dask._task_spec.") for _, module in users)


# --- logic never depends on the wording of a text ------------------------------------------------


def compared_texts(path):
    """Yield comparisons with a text of several words, or with the text of an exception."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    caught = {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare):
            continue
        for side in (node.left, *node.comparators):
            words = isinstance(side, ast.Constant) and isinstance(side.value, str)
            is_sentence = words and " " in side.value.strip()
            is_error = ast.unparse(side) in {f"str({name})" for name in caught if name}
            if is_sentence or is_error:
                yield ast.unparse(node)


def test_no_source_file_compares_sentences():
    found = [(path, text) for path in ROOT.rglob("*.py") for text in compared_texts(path)]
    assert not found


def test_comparisons_with_sentences_are_found(tmp_path):
    path = tmp_path / "x.py"
    path.write_text("try: ...\nexcept E as e:\n  a = 'x' in str(e)\nb = c == 'you left it out'\n")
    assert set(compared_texts(path)) == {"'x' in str(e)", "c == 'you left it out'"}


def test_no_script_of_the_explorer_compares_sentences():
    scripts = [
        path for path in (ROOT / "explorer" / "static").glob("*.js") if "plotly" not in path.name
    ]
    assert scripts
    comparison = re.compile(r"""([!=]==? *|includes\(|startsWith\()["'`][^"'`]* [^"'`]*["'`]""")
    found = [line for path in scripts for line in path.read_text("utf-8").splitlines()]
    assert not [line for line in found if comparison.search(line)]
    assert comparison.search('reason !== "you left it out"')
