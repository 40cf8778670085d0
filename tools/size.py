"""Size of the library: what a maintainer has to read.

    python -m tools.size            print the table of this checkout
    python -m tools.size OTHER ...  the same with a column for each other checkout

Complexity is one plus the number of branches, of operands of `and` and `or` after the first, and of
loops and conditions in comprehensions. A named constant is an assignment of a number, or of a
tuple of numbers, to a capitalized name. Times of imports are medians of seven new processes.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

_LONG = 50  # lines of code of a function
_BRANCHES = (ast.If, ast.IfExp, ast.For, ast.While, ast.ExceptHandler, ast.Assert, ast.match_case)
_LAYOUT = {
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def measure(checkout: Path) -> dict[str, str]:
    """Return the rows of the table for a checkout."""
    package = checkout / "src" / "mercer"
    paths = sorted(package.rglob("*.py"))
    texts = [path.read_text(encoding="utf-8") for path in paths]
    trees = [ast.parse(text) for text in texts]
    codes = [code_lines(text, tree) for text, tree in zip(texts, trees, strict=True)]
    lengths = sorted(
        (
            sum(node.lineno <= line <= (node.end_lineno or 0) for line in code)
            for tree, code in zip(trees, codes, strict=True)
            for node in functions(tree)
        ),
        reverse=True,
    )
    branches = [complexity(node) for tree in trees for node in functions(tree)]
    return {
        "lines": f"{sum(text.count(chr(10)) for text in texts):,}",
        "lines of code": f"{sum(map(len, codes)):,}",
        "files": f"{len(paths):,}",
        "functions": f"{len(lengths):,}",
        "longest functions (lines of code)": ", ".join(map(str, lengths[:5])),
        f"functions of more than {_LONG} lines of code": str(sum(n > _LONG for n in lengths)),
        "functions with complexity above 10": str(sum(n > 10 for n in branches)),
        "highest complexity": str(max(branches)),
        "named constants": str(sum(len(list(constants(tree))) for tree in trees)),
        "`type: ignore`": str(sum(text.count("# type: ignore") for text in texts)),
        **at_run_time(checkout),
        "lines of tests": f"{count_lines(checkout / 'tests', '*.py'):,}",
        "words of documentation": f"{words(checkout / 'docs'):,}",
    }


def code_lines(text: str, tree: ast.Module) -> set[int]:
    """Return the numbers of the lines with code: not blank, comment or docstring."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _LAYOUT and token.type != tokenize.COMMENT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                lines.difference_update(range(node.lineno, (node.end_lineno or 0) + 1))
    return lines


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield all functions and methods."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def constants(tree: ast.Module) -> Iterator[str]:
    """Yield the names of numeric constants of a module and its classes."""
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    scopes: list[ast.Module | ast.ClassDef] = [tree, *classes]
    for scope in scopes:
        for node in scope.body:
            if isinstance(node, ast.Assign):
                targets, value = node.targets, node.value
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                targets, value = [node.target], node.value
            else:
                continue
            names = [
                name.id
                for target in targets
                for name in ast.walk(target)
                if isinstance(name, ast.Name) and re.fullmatch(r"_?[A-Z][A-Z0-9_]*", name.id)
            ]
            if names and is_numeric(value):
                yield from names


def is_numeric(node: ast.expr) -> bool:
    """Return whether an expression consists of numbers only."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    if isinstance(node, ast.UnaryOp):
        return is_numeric(node.operand)
    if isinstance(node, ast.BinOp):
        return is_numeric(node.left) and is_numeric(node.right)
    return isinstance(node, ast.Tuple) and bool(node.elts) and all(map(is_numeric, node.elts))


def complexity(function: ast.AST) -> int:
    """Return one plus the number of branches, without those of nested functions."""
    count = 1
    nodes = list(ast.iter_child_nodes(function))
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        nodes += ast.iter_child_nodes(node)
        if isinstance(node, ast.BoolOp):
            count += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            count += 1 + len(node.ifs)
        else:
            count += isinstance(node, _BRANCHES)
    return count


_AT_RUN_TIME = """
import inspect, json, sys
from mercer import KernelPCA
modules = sum(name.split(".")[0] == "mercer" for name in sys.modules)
stats = "scipy.stats" in sys.modules
import mercer
from sklearn.base import BaseEstimator
public = {name: getattr(mercer, name) for name in mercer.__all__}
ours = {
    name: sum(base.__module__.startswith("mercer.") for base in value.__mro__)
    for name, value in public.items()
    if inspect.isclass(value) and issubclass(value, BaseEstimator)
}
print(json.dumps([len(public), modules, stats, ours]))
"""


def at_run_time(checkout: Path) -> dict[str, str]:
    """Return the rows that need the package to be imported."""
    public, modules, stats, ours = json.loads(_python(checkout, _AT_RUN_TIME))
    counts = Counter(ours.values())
    mercer = _import_time(checkout, "from mercer import KernelPCA")
    sklearn = _import_time(checkout, "from sklearn.decomposition import KernelPCA")
    return {
        "public names in `mercer`": str(public),
        "own classes per estimator": ", ".join(
            f"{count} estimators with {size}" for size, count in sorted(counts.items())
        ),
        "modules imported for `KernelPCA`": f"{modules}{' and scipy.stats' if stats else ''}",
        "import time of `KernelPCA` / scikit-learn's": f"{mercer / sklearn:.2f}",
    }


def _import_time(checkout: Path, statement: str) -> float:
    code = f"import time; start = time.perf_counter(); {statement}"
    code += "; print(time.perf_counter() - start)"
    return statistics.median(float(_python(checkout, code)) for _ in range(7))


def _python(checkout: Path, code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ) | {"PYTHONPATH": str(checkout / "src")},
    )
    return done.stdout


def count_lines(folder: Path, pattern: str) -> int:
    """Return the number of lines of the files below a folder."""
    return sum(path.read_text(encoding="utf-8").count("\n") for path in folder.rglob(pattern))


def words(folder: Path) -> int:
    """Return the number of words of the pages that are written by hand."""
    return sum(len(path.read_text(encoding="utf-8").split()) for path in folder.rglob("*.md"))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("others", nargs="*", type=Path, help="folders of other checkouts")
    checkouts = [*parser.parse_args().others, ROOT]
    columns = [measure(checkout.resolve()) for checkout in checkouts]
    print(f"| | {' | '.join(str(checkout.resolve().name) for checkout in checkouts)} |")
    print(f"|---|{'---|' * len(columns)}")
    for name in columns[-1]:
        print(f"| {name} | {' | '.join(column[name] for column in columns)} |")


if __name__ == "__main__":
    main()
