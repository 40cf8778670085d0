"""The house has floors: a module imports only from those below it."""

import ast
from pathlib import Path

import mercer

ROOT = Path(mercer.__file__).parent

# DESIGN section 2, from the ground up; modules of one floor may import each other
FLOORS = [
    {"errors", "config", "notebook", "progress", "threads", "writing"},
    {"distributed", "maths"},
    {"chunked", "points"},
    {"kernels"},
    {"operators"},
    {"bandwidth"},
    {"solvers"},
    {"spectrum"},
    {"decomposition"},
    {"diagnostics", "domains", "information", "population", "preimages", "spectroscopy"},
    {"estimators"},
    {"baselines"},
    {"datasets", "persistence", "plots", "tables"},
    {"explorer", "report", "reproduce"},
    {"cli"},
]
FLOOR = {name: level for level, names in enumerate(FLOORS) for name in names}


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mercer."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.startswith("mercer."):
                    yield name.name.split(".")[1]


def test_imports_point_down():
    upward = []
    for path in ROOT.rglob("*.py"):
        part = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if part == "__init__":
            continue
        assert part in FLOOR, f"{part} has no floor: give it one"
        upward += [
            f"{path.relative_to(ROOT)} imports {used}"
            for used in imports(path)
            if FLOOR[used] > FLOOR[part]
        ]
    assert not upward
