"""Layers of the package: a module imports from its own layer and from lower ones only."""

import ast
import importlib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import mercer
from tests.expectations import raises
from tools import call_path, generated_section, import_graph

ROOT = Path(mercer.__file__).parent


def test_modules_import_from_lower_layers_only():
    upward = []
    for module, files in import_graph.modules().items():
        assert module in import_graph.LEVEL, f"add {module} to LAYERS in tools/import_graph.py"
        upward += [
            f"{path.relative_to(import_graph.PACKAGE)} imports {used}"
            for path in files
            for used in import_graph.imported_modules(path)
            if import_graph.LEVEL[used] > import_graph.LEVEL[module]
        ]
    assert not upward


@pytest.mark.parametrize(
    ("name", "content", "command"),
    [
        (import_graph.NAME, import_graph.table, "python -m tools.import_graph --update"),
        (call_path.NAME, call_path.section, "python -m tools.call_path --update"),
    ],
)
def test_generated_parts_of_the_architecture_page_are_current(name, content, command):
    if not generated_section.PAGE.exists():
        pytest.skip("docs/architecture.md is not part of this installation")
    assert generated_section.is_current(name, content()), f"run: {command}"


def test_generated_parts_are_replaced_in_place(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- graph: begin -->\nold\n<!-- graph: end -->\nafter\n")
    assert not generated_section.is_current("graph", "new", page)
    generated_section.update("graph", "new", page)
    assert generated_section.is_current("graph", "new", page)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text


def test_a_fit_passes_through_few_files_and_validates_once():
    calls = call_path.calls_of_a_fit()
    assert len({call.file for call in calls}) <= 16
    validated = [call.function for call in calls if call.file == "data.py"]
    assert validated.count("validate_points") == validated.count("validate_weights") == 1


def test_a_fit_never_calls_a_higher_layer():
    """Local functions that were passed as arguments do not count."""
    upward = [
        call
        for call in call_path.calls_of_a_fit()
        if call.caller is not None and "<locals>" not in call.function
        if import_graph.level_of(call.file) > import_graph.level_of(call.caller)
    ]
    assert not upward


def module_name(path):
    parts = ("mercer", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


def imported_on_import(node, modules):
    """Yield the modules that importing a file imports, not those in functions or for typing."""
    for child in ast.iter_child_nodes(node):
        for_typing = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) or for_typing:
            continue
        if isinstance(child, ast.ImportFrom):
            names = {f"{child.module}.{alias.name}" for alias in child.names}
            yield from names & modules or {child.module} & modules
        yield from imported_on_import(child, modules)


def test_no_import_cycles():
    paths = {module_name(path): path for path in ROOT.rglob("*.py")}
    graph = {
        name: set(imported_on_import(ast.parse(path.read_text(encoding="utf-8")), paths.keys()))
        for name, path in paths.items()
    }
    assert {"mercer.data.points", "mercer.kernels"} <= graph["mercer.decomposition.base"]
    TopologicalSorter(graph).prepare()  # raises CycleError


def test_public_names_are_imported_on_first_use():
    for name in mercer._MODULES:
        assert mercer.__getattr__(name) is importlib.import_module(f"mercer.{name}")
    for name in mercer._HOMES:
        assert mercer.__getattr__(name) is getattr(mercer, name)
    assert set(mercer.__all__) == set(dir(mercer))
    with raises(AttributeError, "mercer", "nothing"):
        mercer.nothing  # noqa: B018
