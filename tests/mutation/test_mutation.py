"""The mutation tester itself: what it changes and leaves alone, and how a change is applied."""

import ast
import sys
from pathlib import Path

import pytest

from tests.mutation.__main__ import evenly
from tests.mutation.operators import Program
from tests.mutation.server import Server, _live_functions

SOURCE = '''
"""A docstring with 1 < 2."""

__all__ = ["LIMIT", "clipped"]

LIMIT = 3
TWICE = 2 * LIMIT


def clipped(x: int = 1, *, least: int = -9) -> int:
    """Another."""
    if x < least and x > -LIMIT:
        raise ValueError(f"{x + 1} is not allowed")
    values = [x, min(x, LIMIT)]
    values = values[1:].copy()
    return values[0]


def made(factor):
    def inner(x):
        return x * factor

    return inner


class Box:
    size: int = 4

    def double(self):
        return [self.size * 2]
'''


@pytest.fixture
def program(tmp_path, monkeypatch):
    path = tmp_path / "victim_of_mutation.py"
    path.write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    yield Program(path)
    sys.modules.pop("victim_of_mutation", None)


def changes(program):
    return {(mutant.before, mutant.after) for mutant in program.mutants}


@pytest.mark.parametrize(
    "change",
    [
        ("x < least", "x <= least"),
        ("x < least", "x >= least"),
        ("x < least and x > -LIMIT", "x < least or x > -LIMIT"),
        ("x < least and x > -LIMIT", "x < least"),
        ("-LIMIT", "LIMIT"),
        ("min(x, LIMIT)", "max(x, LIMIT)"),
        ("1:", ":"),
        ("values[1:].copy()", "values[1:]"),
        ("x * factor", "x / factor"),
        ("0", "1"),
        ("3", "4"),
        ("return values[0]", "return values[0] + 1"),
        ("return [self.size * 2]", "return None"),
        ("values = values[1:].copy()", "if False: values = values[1:].copy()"),
    ],
    ids=lambda change: change[1],
)
def test_the_change_is_tried(program, change):
    assert change in changes(program)


def test_texts_and_names_are_left_alone(program):
    befores = {before for before, _ in changes(program)}
    assert not befores & {"1 < 2", "x + 1", "int", "['LIMIT', 'clipped']"}
    assert not any("docstring" in before for before in befores)


def test_a_mutant_leaves_no_trace(program):
    before = ast.dump(program.tree)
    for mutant in program.mutants:
        with mutant.applied():
            assert ast.dump(program.tree) != before
        assert ast.dump(program.tree) == before


def test_names_differ(program):
    names = [mutant.name for mutant in program.mutants]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_samples_are_even_and_repeat(program, share):
    sample = evenly([program], share)
    assert share * len(program.mutants) <= len(sample) < share * len(program.mutants) + 1
    assert [one.name for one in sample] == [one.name for one in evenly([program], share)]


def changed(program, before, after):
    """The module after a change in place."""
    import victim_of_mutation as module

    server = Server([program], [program.path], Path(), lambda server: None, 1.0)
    server.live = _live_functions({str(program.path.resolve())})
    (mutant,) = [m for m in program.mutants if (m.before, m.after) == (before, after)]
    held = module.clipped, module.made(2.0), module.Box
    server._change(mutant)
    return held


def test_a_body_changes_for_those_who_hold_the_function(program):
    clipped, _, _ = changed(program, "min(x, LIMIT)", "max(x, LIMIT)")
    assert clipped(7) == 7


def test_a_default_changes(program):
    clipped, _, _ = changed(program, "-9", "9")
    with pytest.raises(ValueError, match="not allowed"):
        clipped()


def test_a_constant_changes(program):
    clipped, _, _ = changed(program, "3", "4")
    assert clipped(7) == 4


def test_constants_made_from_it_change_too(program):
    import victim_of_mutation as module

    changed(program, "3", "4")
    assert module.TWICE == 8


def test_closures_change_where_they_are_made_later(program):
    import victim_of_mutation as module

    changed(program, "x * factor", "x / factor")
    assert module.made(2.0)(3.0) == 1.5


def test_a_field_of_a_class_changes(program):
    _, _, box = changed(program, "4", "5")
    assert box().double() == [10]
