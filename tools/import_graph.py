"""Import graph of the layers of mercer, from the imports in its source files.

    python -m tools.import_graph            print the graph as a Markdown table
    python -m tools.import_graph --update   write it to docs/architecture.md

``LAYERS`` lists the modules from the lowest layer to the highest. A module may import from its own
layer and from lower ones; ``tests/test_layers.py`` checks that.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from pathlib import Path

import mercer
from tools import generated_section

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "mercer"
NAME = "import graph"

#: Name and modules of each layer, from the lowest to the highest.
LAYERS: dict[str, set[str]] = {
    "utilities": {
        *(
            "atomic_files",
            "config",
            "csv_files",
            "errors",
            "formatting",
            "frames",
            "notebook",
            "numeric_values",
            "parameter_hints",
            "progress",
            "resources",
        ),
        "validation",
    },
    "arrays": {"compiled", "maths"},
    "data": {"chunks", "data", "subsampling"},
    "kernels": {"kernels"},
    "operators": {"operators"},
    "bandwidth": {"bandwidth", "density_bandwidth", "fourier_likelihood"},
    "solvers": {"solvers"},
    "decomposition": {"decompose", "spectrum"},
    "analysis": {
        *("diagnostics", "diversity", "domains", "information", "population", "preimages"),
        "spectroscopy",
    },
    "estimators": {"baselines", "estimators", "row_scores"},
    "input and output": {"datasets", "distributed", "persistence", "plots", "tables"},
    "applications": {
        "cluster_count",
        "cluster_profiles",
        "counting",
        "explorer",
        "report",
        "table_clusters",
    },
    "command line": {"cli"},
}
LEVEL = {module: level for level, modules in enumerate(LAYERS.values()) for module in modules}


def level_of(file: str) -> int:
    """Return the level of a source file, given relative to the package."""
    return LEVEL[file.split("/")[0].removesuffix(".py")]


def modules() -> dict[str, list[Path]]:
    """Return the source files of each top-level module of mercer."""
    found: dict[str, list[Path]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if name != "__init__":
            found.setdefault(name, []).append(path)
    return found


def imported_modules(path: Path) -> Iterator[str]:
    """Yield the top-level modules of mercer that a file imports, at any place."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mercer."):
            yield str(node.module).split(".")[1]
        elif isinstance(node, ast.ImportFrom) and node.module == "mercer":
            homes = [mercer._HOMES.get(alias.name, f"mercer.{alias.name}") for alias in node.names]
            yield from (home.split(".")[1] for home in homes if home != "mercer.__version__")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("mercer."):
                    yield alias.name.split(".")[1]


def layer_edges() -> set[tuple[str, str]]:
    """Return the pairs of layers where the first imports from the second."""
    names = list(LAYERS)
    return {
        (names[LEVEL[module]], names[LEVEL[used]])
        for module, files in modules().items()
        for path in files
        for used in imported_modules(path)
        if used in LEVEL and LEVEL[used] != LEVEL[module]
    }


def table() -> str:
    """Return the graph as a Markdown table; imports that follow from others are omitted."""
    edges, existing, names = layer_edges(), modules(), list(LAYERS)
    lines = ["| layer | modules | imports from |", "|---|---|---|"]
    for name in reversed(names):
        members = ", ".join(f"`{module}`" for module in sorted(LAYERS[name] & existing.keys()))
        lower = [end for start, end in edges if start == name]
        direct = [layer for layer in lower if not _is_implied(name, layer, edges)]
        lines.append(f"| {name} | {members} | {', '.join(sorted(direct, key=names.index))} |")
    return "\n".join(lines)


def _is_implied(upper: str, lower: str, edges: set[tuple[str, str]]) -> bool:
    """Return whether there is a longer path between two layers."""
    to_visit = [end for start, end in edges if start == upper and end != lower]
    visited: set[str] = set()
    while to_visit:
        layer = to_visit.pop()
        if layer == lower:
            return True
        if layer not in visited:
            visited.add(layer)
            to_visit += [end for start, end in edges if start == layer]
    return False


def main() -> None:
    """Print the graph or update the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="write to docs/architecture.md")
    if parser.parse_args().update:
        generated_section.update(NAME, table())
    else:
        print(table())


if __name__ == "__main__":
    main()
