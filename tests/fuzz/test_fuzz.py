"""A short run of every fuzzer with a fixed seed."""

import sys
from itertools import islice

import pytest

from mercer.errors import MemoryBudgetError
from tests.fuzz import TARGETS, load_target
from tests.fuzz.invariants import InvariantError, is_clear_error, no_side_effects
from tools.fuzz.runner import FAILURES, mutants, run

pytest.importorskip("pandas", reason="the table reader needs mercer[io]")
pytest.importorskip("starlette", reason="the explorer needs mercer[web]")

# Numbers of examples, about 20 seconds (FULL) or one second (SMOKE) each.
FULL = {"tables": 2500, "models": 8000, "requests": 1500}
SMOKE = {"tables": 100, "models": 300, "requests": 60}


@pytest.mark.parametrize(
    ("name", "examples"),
    [
        *SMOKE.items(),
        *(pytest.param(name, count, marks=pytest.mark.slow) for name, count in FULL.items()),
    ],
)
def test_inputs_are_read_or_rejected_with_a_clear_error(name, examples):
    """The seed is fixed, so failures are reproducible; a failing input is stored."""
    counts = run(name, seed=20, examples=examples)
    stored = "".join(path.read_text() for path in FAILURES.glob(f"{name}-*.txt"))
    assert counts["failures"] == 0, f"see ./run fuzz --repeat {FAILURES}/FILE\n{stored}"
    assert counts["examples"] == examples


def test_clear_errors_are_recognized():
    assert is_clear_error(ValueError("the table has 3 columns"))
    assert is_clear_error(MemoryBudgetError("that would need 3 GB"))
    assert not is_clear_error(ValueError("3"))
    assert not is_clear_error(KeyError("the table has no column"))
    assert not is_clear_error(UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"))


@pytest.mark.parametrize(
    ("event", "arguments"),
    [
        ("os.system", (b"true",)),
        ("subprocess.Popen", ("true", ["true"], None, None)),
        ("import", ("antigravity", None, None, None, None)),
        ("import", ("another.package", None, None, None, None)),
        ("open", ("/x", "w", 0)),
    ],
)
def test_side_effects_are_detected(event, arguments):
    with pytest.raises(InvariantError), no_side_effects():
        sys.audit(event, *arguments)
    with no_side_effects():
        sys.audit("open", "/x", "r", 0)


@pytest.mark.parametrize("name", TARGETS)
def test_mutants_are_deterministic(name):
    target = load_target(name)
    first, second = (list(islice(mutants(target, 3), 60)) for _ in range(2))
    assert first == second
    assert len(set(first)) > 50
