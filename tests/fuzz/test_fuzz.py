"""A short run of every fuzzer, and the inputs that once broke a promise."""

import sys
from itertools import islice

import pytest

from mercer.errors import MemoryBudgetError
from tests.fuzz import TARGETS, target
from tests.fuzz.promises import BrokenPromiseError, is_in_words, no_code
from tests.fuzz.running import KEPT, mutants, run

pytest.importorskip("pandas", reason="the table reader needs mercer[io]")
pytest.importorskip("starlette", reason="the explorer needs mercer[web]")

EXAMPLES = {"tables": 2500, "models": 8000, "requests": 1500}  # about 20 seconds of one core each


@pytest.mark.parametrize("name", TARGETS)
def test_whatever_comes_in_is_read_or_refused_in_words(name):
    """The seed is fixed, so a failure is the same everywhere; the input that failed is kept."""
    facts = run(name, seed=20, examples=EXAMPLES[name])
    kept = "".join(path.read_text() for path in KEPT.glob(f"{name}-*.txt"))
    assert facts["failures"] == 0, f"./run fuzz --again, with the files in {KEPT}:\n{kept}"
    assert facts["examples"] == EXAMPLES[name]


def test_what_is_meant_by_words():
    assert is_in_words(ValueError("the table has 3 columns"))
    assert is_in_words(MemoryBudgetError("that would need 3 GB"))
    assert not is_in_words(ValueError("3"))
    assert not is_in_words(KeyError("the table has no column"))
    assert not is_in_words(UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"))


@pytest.mark.parametrize(
    ("event", "arguments"),
    [
        ("os.system", (b"true",)),
        ("subprocess.Popen", ("true", ["true"], None, None)),
        ("import", ("antigravity", None, None, None, None)),
        ("import", ("somebody.elses", None, None, None, None)),
        ("open", ("/x", "w", 0)),
    ],
)
def test_what_is_run_while_a_file_is_read_is_told(event, arguments):
    with pytest.raises(BrokenPromiseError, match="did more than read"), no_code():
        sys.audit(event, *arguments)
    with no_code():
        sys.audit("open", "/x", "r", 0)


@pytest.mark.parametrize("name", TARGETS)
def test_mutants_are_the_same_for_the_same_seed(name):
    module = target(name)
    first, second = (list(islice(mutants(module, 3), 60)) for _ in range(2))
    assert first == second
    assert len(set(first)) > 50
