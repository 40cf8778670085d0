"""The house has floors: a module imports only from those below it."""

import ast
import importlib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import mercer

ROOT = Path(mercer.__file__).parent

# DESIGN section 2, from the ground up; modules of one floor may import each other
FLOORS = [
    {
        "errors",
        "config",
        "formatting",
        "notebook",
        "progress",
        "threads",
        "atomic_files",
        "validation",
    },
    {"maths"},
    {"chunks", "distributed"},
    # data imports chunks.points inside a function, for Dask input only
    {"data", "chunks.points", "chunks.remote", "subsampling"},
    {"kernels"},
    {"operators"},
    {"isolated_points"},
    {"bandwidth"},
    {"solvers"},
    {"spectrum"},
    {"decompose"},
    {"diagnostics", "domains", "information", "population", "preimages", "spectroscopy"},
    {"estimators"},
    {"baselines"},
    {"datasets", "persistence", "plots", "tables"},
    {"cluster_count", "counting"},
    {"explorer", "report", "reproduce"},
    {"cli"},
]
FLOOR = {name: level for level, names in enumerate(FLOORS) for name in names}


def part_of(parts):
    """The longest listed name of a module, given the parts of its dotted name."""
    two = ".".join(parts[:2])
    return two if two in FLOOR else parts[0]


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mercer."):
            yield part_of(node.module.split(".")[1:])
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.startswith("mercer."):
                    yield part_of(name.name.split(".")[1:])


def test_imports_point_down():
    upward = []
    for path in ROOT.rglob("*.py"):
        part = part_of(path.relative_to(ROOT).with_suffix("").parts)
        if part == "__init__":
            continue
        assert part in FLOOR, f"{part} has no floor: give it one"
        upward += [
            f"{path.relative_to(ROOT)} imports {used}"
            for used in imports(path)
            if FLOOR[used] > FLOOR[part]
        ]
    assert not upward


def name_of(path):
    return ".".join(("mercer", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(
        ".__init__"
    )


def imported_at_once(node, modules):
    """Modules of ours that importing a file imports: not those in functions or for types only."""
    for child in ast.iter_child_nodes(node):
        for_types = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) or for_types:
            continue
        if isinstance(child, ast.ImportFrom):
            names = {f"{child.module}.{alias.name}" for alias in child.names}
            yield from names & modules or {child.module} & modules
        yield from imported_at_once(child, modules)


def test_no_module_needs_itself():
    paths = {name_of(path): path for path in ROOT.rglob("*.py")}
    graph = {
        name: set(imported_at_once(ast.parse(path.read_text(encoding="utf-8")), paths.keys()))
        for name, path in paths.items()
    }
    assert {"mercer.data", "mercer.kernels"} <= graph["mercer.estimators.base"]
    TopologicalSorter(graph).prepare()  # raises where there is a cycle


def test_every_public_name_is_found_when_it_is_first_used():
    for name in mercer._MODULES:
        assert mercer.__getattr__(name) is importlib.import_module(f"mercer.{name}")
    for name in mercer._HOMES:
        assert mercer.__getattr__(name) is getattr(mercer, name)
    assert set(mercer.__all__) == set(dir(mercer))
    with pytest.raises(AttributeError, match="module 'mercer' has no attribute 'nothing'"):
        mercer.nothing  # noqa: B018
