"""Small changes of a program's syntax tree, each of which a test should notice.

A mutant replaces one node. Left alone is what no test can or should look at: docstrings,
annotations, texts of messages, ``__all__``, logging, ``strict=`` (it guards what cannot happen),
and assertions without a message (they are there for the type checker).
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

_COMPARISONS: dict[type, list[type[ast.cmpop]]] = {
    ast.Lt: [ast.LtE, ast.GtE],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
}
_ARITHMETIC: dict[type, type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_PAIRS = [
    *(("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("any", "all")),
    *(("zeros", "ones"), ("floor", "ceil"), ("sum", "mean"), ("fmin", "fmax")),
    *(("zeros_like", "ones_like"), ("log", "log1p"), ("exp", "expm1"), ("left", "right")),
]
_SWAPS = {a: b for pair in _PAIRS for a, b in (pair, pair[::-1])}
# calls that may be left away: f(x, …) becomes x
_TRANSPARENT = {"abs", "sqrt", "clip", "maximum", "minimum", "sorted", "unique", "log", "exp"}


@dataclass(frozen=True)
class Mutant:
    """One change: where it is, what it does, and the node to put in place of another."""

    file: str
    unit: str  # the function or class around it; "" on the module's own level
    line: int
    end: int
    before: str
    after: str
    number: int  # among mutants of this unit that read the same
    parent: ast.AST
    field: str
    index: int | None
    replacement: ast.AST
    kind: str  # "body", "default", or "constant" (of a module or class)

    @property
    def name(self) -> str:
        """What it is, whatever else of the file is edited."""
        return f"{self.file}::{self.unit}::{self.before} -> {self.after} #{self.number}"

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The tree with this change, for as long as the block runs."""
        siblings = getattr(self.parent, self.field)
        if self.index is None:
            setattr(self.parent, self.field, self.replacement)
            yield
            setattr(self.parent, self.field, siblings)
        else:
            original, siblings[self.index] = siblings[self.index], self.replacement
            yield
            siblings[self.index] = original


@dataclass(frozen=True)
class _Place:
    """Where a node hangs, and what is known there."""

    parent: ast.AST
    field: str
    index: int | None
    units: tuple[str, ...]
    function: ast.AST | None
    kind: str


class Program:
    """A module's source, its tree, and its mutants."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tree = ast.parse(path.read_text(encoding="utf-8"))
        self.mutants = list(self._mutants())

    def compiled(self) -> Any:
        """The module's code as the tree now is."""
        return compile(self.tree, str(self.path.resolve()), "exec")

    def _mutants(self) -> Iterator[Mutant]:
        seen: dict[tuple[str, str, str], int] = {}
        for place, node in _visit(self.tree, (), None, "constant"):
            for replacement in _changes(node, place):
                located = ast.copy_location(replacement, node)
                ast.fix_missing_locations(located)
                unit, before, after = ".".join(place.units), _text(node), _text(located)
                lines = node if hasattr(node, "lineno") else place.parent
                if before == after:
                    continue
                number = seen[unit, before, after] = seen.get((unit, before, after), -1) + 1
                yield Mutant(
                    *(str(self.path), unit, lines.lineno, lines.end_lineno, before, after, number),
                    *(place.parent, place.field, place.index, located, place.kind),
                )


def _text(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())


def _visit(
    node: ast.AST, units: tuple[str, ...], function: ast.AST | None, kind: str
) -> Iterator[tuple[_Place, Any]]:
    """All nodes that may change, with their places."""
    for field, value in ast.iter_fields(node):
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or _is_left_alone(node, field, child):
                continue
            here = kind
            if isinstance(node, FUNCTIONS):
                here = "body" if field == "body" else "default"
            if isinstance(node, ast.Lambda):
                here = "body"
            if isinstance(child, ast.stmt | ast.expr | ast.comprehension):
                yield _Place(node, field, index, units, function, here), child
            if isinstance(child, ast.Raise):
                continue  # its text; that it is raised is a mutant of its own
            if isinstance(child, ast.Assert) and child.msg is None:
                continue
            named = isinstance(child, (*FUNCTIONS, ast.ClassDef))
            inside = (*units, child.name) if named else units
            yield from _visit(
                child, inside, child if isinstance(child, FUNCTIONS) else function, here
            )


def _is_left_alone(parent: ast.AST, field: str, child: ast.AST) -> bool:
    if field in {"annotation", "returns", "decorator_list", "bases", "keywords", "msg"} and (
        not isinstance(parent, ast.Call)
    ):
        return True
    if isinstance(child, ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Global):
        return True
    if isinstance(child, ast.keyword) and child.arg == "strict":
        return True
    if isinstance(child, ast.Expr):
        call = child.value
        return isinstance(call, ast.Constant) or (
            isinstance(call, ast.Call) and ast.unparse(call.func).startswith(("log.", "warnings."))
        )
    if isinstance(child, ast.Assign):
        return any(ast.unparse(target) == "__all__" for target in child.targets)
    return isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"


def _changes(node: Any, place: _Place) -> Iterator[ast.AST]:
    change = _CHANGES.get(type(node))
    if change is not None:
        yield from change(node, place)
    if isinstance(node, ast.stmt) and _can_go(node, place):
        # never run rather than gone, so that names keep their scopes
        yield ast.If(ast.Constant(False), [node], [])


def _can_go(node: ast.stmt, place: _Place) -> bool:
    """Whether a program without this statement still means something."""
    if place.function is None:
        return False
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Name):
            return _is_bound_before(target.id, node, place.function)
        return isinstance(target, ast.Attribute | ast.Subscript)
    if isinstance(node, ast.Assert):
        return node.msg is not None
    return isinstance(node, ast.Expr | ast.AugAssign | ast.Raise | ast.Break | ast.Continue)


def _is_bound_before(name: str, node: ast.stmt, function: Any) -> bool:
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return any(one.arg == name for one in every) or any(
        isinstance(one, ast.Name)
        and isinstance(one.ctx, ast.Store)
        and one.id == name
        and one.lineno < node.lineno
        for one in ast.walk(function)
    )


def _with(node: Any, **fields: Any) -> Any:
    changed = copy.copy(node)
    for field, value in fields.items():
        setattr(changed, field, value)
    return changed


def _constant(node: ast.Constant, place: _Place) -> Iterator[ast.AST]:
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield ast.Constant(value + 1)
        if value == 1:
            yield ast.Constant(0)
    elif isinstance(value, float):
        yield ast.Constant(value * 1000 if 0 < value < 1e-2 else value + 1)
        if 0 < value < 1e-2:
            yield ast.Constant(value / 1000)
    elif isinstance(value, str) and isinstance(place.parent, ast.keyword) and value in _SWAPS:
        yield ast.Constant(_SWAPS[value])


def _compare(node: ast.Compare, place: _Place) -> Iterator[ast.AST]:
    for at, op in enumerate(node.ops):
        for other in _COMPARISONS[type(op)]:
            yield _with(node, ops=[*node.ops[:at], other(), *node.ops[at + 1 :]])


def _arithmetic(node: ast.BinOp | ast.AugAssign, place: _Place) -> Iterator[ast.AST]:
    sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.value]
    texts = any(
        isinstance(side, ast.JoinedStr)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in sides
    )
    if not texts and type(node.op) in _ARITHMETIC:
        yield _with(node, op=_ARITHMETIC[type(node.op)]())


def _boolean(node: ast.BoolOp, place: _Place) -> Iterator[ast.AST]:
    yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    for at in range(len(node.values)):
        rest = node.values[:at] + node.values[at + 1 :]
        yield rest[0] if len(rest) == 1 else _with(node, values=rest)


def _unary(node: ast.UnaryOp, place: _Place) -> Iterator[ast.AST]:
    yield node.operand


def _call(node: ast.Call, place: _Place) -> Iterator[ast.AST]:
    attribute = isinstance(node.func, ast.Attribute)
    name = node.func.attr if attribute else getattr(node.func, "id", "")
    if name in _SWAPS:
        other = _SWAPS[name]
        yield _with(node, func=_with(node.func, **{"attr" if attribute else "id": other}))
    if name in _TRANSPARENT and node.args and not isinstance(node.args[0], ast.Starred):
        yield node.args[0]
    if name == "copy" and attribute and not node.args:
        yield node.func.value
    if not isinstance(node.func, ast.Name) or node.func.id != "super":
        for at, keyword in enumerate(node.keywords):
            if keyword.arg not in (None, "strict"):
                yield _with(node, keywords=node.keywords[:at] + node.keywords[at + 1 :])


def _slice(node: ast.Slice, place: _Place) -> Iterator[ast.AST]:
    for part in ("lower", "upper", "step"):
        if getattr(node, part) is not None:
            yield _with(node, **{part: None})


def _returned(node: ast.Return, place: _Place) -> Iterator[ast.AST]:
    value, kind = node.value, ast.unparse(getattr(place.function, "returns", None) or ast.Name(""))
    if value is None or (isinstance(value, ast.Constant) and value.value is None):
        return
    if kind in {"Array", "float"}:
        yield ast.Return(ast.UnaryOp(ast.USub(), value))
    elif kind == "bool":
        yield ast.Return(ast.UnaryOp(ast.Not(), value))
    elif kind == "int":
        yield ast.Return(ast.BinOp(value, ast.Add(), ast.Constant(1)))
    else:
        yield ast.Return(ast.Constant(None))


def _condition(node: ast.If | ast.IfExp, place: _Place) -> Iterator[ast.AST]:
    if not isinstance(node.test, ast.Compare) or len(node.test.ops) > 1:
        yield _with(node, test=ast.UnaryOp(ast.Not(), node.test))


def _filter(node: ast.comprehension, place: _Place) -> Iterator[ast.AST]:
    if node.ifs:
        yield _with(node, ifs=[])


_CHANGES: dict[type, Any] = {
    ast.Constant: _constant,
    ast.Compare: _compare,
    ast.BinOp: _arithmetic,
    ast.AugAssign: _arithmetic,
    ast.BoolOp: _boolean,
    ast.UnaryOp: _unary,
    ast.Call: _call,
    ast.Slice: _slice,
    ast.Return: _returned,
    ast.If: _condition,
    ast.IfExp: _condition,
    ast.comprehension: _filter,
}
