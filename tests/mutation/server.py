"""Try mutants in forks of one process that has all tests collected.

Imports and collection are paid once. For each mutant the process forks; the child replaces the code
of the functions that changed *in place* (``function.__code__``), so whoever imported them sees the
change, runs the tests that reach the changed lines, and ends at the first that fails. What limits
a child is CPU time, so a busy machine changes no verdict.

Which tests reach which lines, and how long they take, is measured once per file of tests and kept
until that file or the sources change. Tests that fail, are skipped, or take long are not
used; those that remain are run as far as the time allowed for a mutant goes: first those of its own
package, one of each function before a second set of parameters, the quickest first.
"""

from __future__ import annotations

import ast
import gc
import hashlib
import importlib
import json
import os
import resource
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import coverage
import pytest

from tests.mutation.operators import FUNCTIONS, Mutant, Program

LONGEST_TEST = 1.5  # seconds of CPU
MEMORY = 6 << 30


class Server:
    """A pytest plugin that tries mutants instead of running the tests once."""

    def __init__(
        self,
        programs: list[Program],
        sources: list[Path],
        folder: Path,
        use: Callable[[Server], None],
        seconds_each: float,
    ) -> None:
        self.seconds_each = seconds_each
        self.sources = sorted(path.resolve() for path in sources)
        self.programs = {program.path: program for program in programs}
        self.folder = folder
        self.use = use
        self.failed = False
        self.killers: dict[tuple[str, str], str] = {}

    # ---- pytest's hooks

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Measure the tests, then hand over."""
        if session.testsfailed:
            raise session.Interrupted("some tests cannot be collected")
        session.config.pluginmanager.unregister(name="terminalreporter")
        self.items = {item.nodeid: item for item in session.items}
        self._measure(session.items)
        self.live = _live_functions({str(path.resolve()) for path in self.programs})
        gc.collect()
        gc.freeze()  # what is never collected stays shared between the forks
        self.use(self)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember whether the running test passed."""
        self.failed |= report.outcome != "passed"

    def _passes(self, nodeid: str, following: str | None) -> bool:
        self.failed = False
        item = self.items[nodeid]
        item.ihook.pytest_runtest_protocol(
            item=item, nextitem=None if following is None else self.items[following]
        )
        return not self.failed

    # ---- which tests reach which lines

    def _measure(self, items: list[pytest.Item]) -> None:
        self.seconds: dict[str, float] = {}
        self.reach: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        sources = hashlib.sha256(b"".join(path.read_bytes() for path in self.sources))
        by_file = defaultdict(list)
        for item in items:
            by_file[item.path].append(item.nodeid)
        imported: set[str] = set()
        for path, nodeids in by_file.items():
            digest = sources.copy()
            digest.update(path.read_bytes() + "\n".join(nodeids).encode())
            kept = self.folder / f"reach-{digest.hexdigest()[:24]}.json"
            if not kept.exists():
                print(f"measuring {len(nodeids)} tests of {path.name}", flush=True)
                _in_child(lambda names=nodeids, to=kept: self._measure_file(names, to))
            found = json.loads(kept.read_text()) if kept.exists() else {"seconds": {}, "reach": {}}
            self.seconds |= found["seconds"]
            imported.update(found.get("imported", ()))
            for file, lines in found["reach"].items():
                for line, names in lines.items():
                    self.reach[file][int(line)].update(names)
        for name in sorted(imported):  # what tests import late need not be imported by each fork
            with suppress(Exception):
                importlib.import_module(name)

    def _measure_file(self, nodeids: list[str], to: Path) -> int:
        files = list(map(str, self.sources))
        tracer = coverage.Coverage(data_file=None, include=files, config_file=False)
        tracer.set_option("run:disable_warnings", ["no-data-collected"])
        before = set(sys.modules)
        seconds: dict[str, float] = {}
        tracer.start()
        signal.signal(signal.SIGPROF, _too_long)
        for nodeid, following in zip(nodeids, [*nodeids[1:], None], strict=True):
            tracer.switch_context(nodeid)
            started = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, 2 * LONGEST_TEST)
            passed = self._passes(nodeid, following)
            signal.setitimer(signal.ITIMER_PROF, 0)
            took = time.process_time() - started
            if passed and took <= LONGEST_TEST:
                seconds[nodeid] = round(took, 4)
        tracer.stop()
        data, root = tracer.get_data(), Path.cwd()
        reach = {
            str(Path(file).relative_to(root)): {
                line: [name for name in names if name in seconds]
                for line, names in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }
        late = [
            name
            for name in set(sys.modules) - before
            if name.split(".")[0] not in {"tests", "__main__"} and sys.modules[name] is not None
        ]
        to.write_text(json.dumps({"seconds": seconds, "reach": reach, "imported": late}))
        return 0

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Tests that reach a mutant, in the order in which they are tried."""
        lines = self.reach[mutant.file]
        names: set[str] = set()
        for line in self._lines(mutant):
            names |= lines.get(line, set())
        by_function = defaultdict(list)
        for name in sorted(names, key=lambda name: (self.seconds[name], name)):
            by_function[name.split("[")[0]].append(name)
        rounds = [
            (not _is_near(name, mutant), at, self.seconds[name], name)
            for several in by_function.values()
            for at, name in enumerate(several)
        ]
        chosen, total = [], 0.0
        for _, _, seconds, name in sorted(rounds):
            if total + seconds <= self.seconds_each:
                chosen.append(name)
                total += seconds
        killer = self.killers.get((mutant.file, mutant.unit))
        if killer in chosen:  # what found the last mutant of this function may find this one
            chosen.remove(killer)
            chosen.insert(0, killer)
        return chosen

    def _lines(self, mutant: Mutant) -> Iterator[int]:
        """Lines whose execution the mutant may change."""
        tree = self.programs[Path(mutant.file)].tree
        if mutant.kind == "body":
            yield from range(mutant.line, mutant.end + 1)
        elif mutant.kind == "default":
            function = _innermost(tree, mutant.line)
            yield from range(function.body[0].lineno, function.end_lineno + 1)
        else:  # functions that speak of the name, or the module's if none does
            name = _assigned(_innermost_statement(tree, mutant.line))
            functions = [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]
            speak = [node for node in functions if name in _words(node)]
            for function in speak or functions:
                yield from range(function.body[0].lineno, function.end_lineno + 1)

    # ---- one mutant

    def try_out(self, mutant: Mutant) -> dict[str, Any]:
        """What became of a mutant: "killed", "timeout", "survived", or "untested"."""
        tests = self.tests_of(mutant)
        if not tests:
            return {"verdict": "untested", "tests": 0}
        told = self.folder / f"killer-{os.getpid()}.txt"
        told.write_text("")
        status = _in_child(lambda: self._live_with(mutant, tests, told))
        killer = told.read_text()
        if os.WIFSIGNALED(status):
            by_clock = os.WTERMSIG(status) in {signal.SIGPROF, signal.SIGALRM}
            return {"verdict": "timeout" if by_clock else "killed", "by": "a signal"}
        if os.WEXITSTATUS(status) == 0:
            return {"verdict": "survived", "tests": len(tests)}
        self.killers[mutant.file, mutant.unit] = killer
        return {"verdict": "killed", "by": killer}

    def _live_with(self, mutant: Mutant, tests: list[str], told: Path) -> int:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        try:
            self._change(mutant)
        except Exception as error:
            told.write_text(f"not even built: {error!r}")
            return 1
        for nodeid, following in zip(tests, [*tests[1:], None], strict=True):
            allowed = 2 + 10 * self.seconds[nodeid]
            signal.setitimer(signal.ITIMER_PROF, allowed)
            signal.setitimer(signal.ITIMER_REAL, 20 * allowed)
            if not self._passes(nodeid, following):
                told.write_text(nodeid)
                return 1
        return 0

    def _change(self, mutant: Mutant) -> None:
        """Make this process live with the mutant."""
        program = self.programs[Path(mutant.file)]
        original = dict(_codes(program.compiled()))
        with mutant.applied():
            for key, code in _codes(program.compiled()):
                if original.get(key) != code:
                    for function in self.live[key]:
                        function.__code__ = code
            if mutant.kind == "default":
                node = _innermost(program.tree, mutant.line)
                for function in self.live[_key_of(program, mutant.unit, node)]:
                    _set_defaults(function, node)
            if mutant.kind == "constant":
                _rebind(program, mutant)


def _is_near(test: str, mutant: Mutant) -> bool:
    """Whether a test is one of the mutant's own package."""
    package = Path(mutant.file).parent.name
    return test.startswith((f"tests/{package}/", mutant.file))


def _in_child(work: Callable[[], int]) -> int:
    """Run work in a fork, with a process group of its own; return its status."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setpgrp()
            silence = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(silence, stream)
            code = work()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)  # what a test may have left behind
    return status


def _too_long(*_: Any) -> None:
    raise TimeoutError("longer than tests may take here")


def _codes(code: CodeType) -> Iterator[tuple[tuple[str, str, int], CodeType]]:
    """All functions' codes within a module's, by file, qualified name and line."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield _key(constant), constant
            yield from _codes(constant)


def _key(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _live_functions(files: set[str]) -> dict[tuple[str, str, int], list[FunctionType]]:
    """Function objects of this process, wherever they are held."""
    found = defaultdict(list)
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename in files:
            found[_key(thing.__code__)].append(thing)
    return found


def _key_of(program: Program, unit: str, node: Any) -> tuple[str, str, int]:
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    return str(program.path.resolve()), unit, first


def _innermost(tree: ast.Module, line: int) -> Any:
    """The function whose header or body holds a line."""
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, FUNCTIONS) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return max(around, key=lambda node: node.lineno)


def _innermost_statement(tree: ast.Module, line: int) -> ast.stmt:
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return max(around, key=lambda node: node.lineno)


def _assigned(statement: ast.stmt) -> str:
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement
    return ast.unparse(getattr(target, "target", target))


def _words(node: ast.AST) -> set[str]:
    return {getattr(one, "id", getattr(one, "attr", "")) for one in ast.walk(node)}


def _set_defaults(function: FunctionType, node: Any) -> None:
    def value(tree: ast.expr) -> Any:
        return eval(compile(ast.Expression(tree), "default", "eval"), function.__globals__)

    function.__defaults__ = tuple(map(value, node.args.defaults)) or None
    function.__kwdefaults__ = {
        argument.arg: value(default)
        for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if default is not None
    }


def _rebind(program: Program, mutant: Mutant) -> None:
    """Give a constant its new value: in its module or class, and wherever it was imported to."""
    statement: Any = _innermost_statement(program.tree, mutant.line)
    path = str(program.path.resolve())
    homes = [m for m in list(sys.modules.values()) if getattr(m, "__file__", None) == path]
    for module in homes:
        if mutant.unit:
            value = _evaluated(statement, module)
            _set_field(getattr(module, mutant.unit), _assigned(statement), value)
        else:
            changed: set[str] = set()
            for later in program.tree.body[program.tree.body.index(statement) :]:
                if later is statement or (
                    isinstance(later, ast.Assign) and _words(later.value) & changed
                ):
                    changed.add(_assigned(later))
                    _replace_everywhere(_assigned(later), _evaluated(later, module), module)


def _evaluated(statement: Any, module: Any) -> Any:
    return eval(compile(ast.Expression(statement.value), module.__file__, "eval"), vars(module))


def _replace_everywhere(name: str, value: Any, home: Any) -> None:
    old = vars(home)[name]
    for module in list(sys.modules.values()):
        if getattr(module, "__dict__", {}).get(name) is old:
            setattr(module, name, value)


def _set_field(owner: type, name: str, value: Any) -> None:
    """Change a class attribute, and what a dataclass's ``__init__`` made of it."""
    old = vars(owner).get(name)
    setattr(owner, name, value)
    made = vars(owner).get("__init__")
    if "__dataclass_fields__" in vars(owner) and made is not None:
        with_default = [
            field.name
            for field in owner.__dataclass_fields__.values()  # type: ignore[attr-defined]
            if field.init and field.default is not field.default_factory
        ]
        at = with_default.index(name)
        assert made.__defaults__[at] is old
        made.__defaults__ = (*made.__defaults__[:at], value, *made.__defaults__[at + 1 :])
