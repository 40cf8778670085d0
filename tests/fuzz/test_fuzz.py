"""A short run of every fuzzer, and the inputs that once broke a promise."""

import pytest

from tests.fuzz import TARGETS
from tests.fuzz.running import KEPT, run

pytest.importorskip("pandas", reason="the table reader needs mercer[io]")
pytest.importorskip("starlette", reason="the explorer needs mercer[web]")

EXAMPLES = {"tables": 500, "models": 900, "requests": 500}  # about 20 seconds of one core each


@pytest.mark.parametrize("name", TARGETS)
def test_whatever_comes_in_is_read_or_refused_in_words(name):
    """The seed is fixed, so a failure is the same everywhere; the input that failed is kept."""
    facts = run(name, seed=20, examples=EXAMPLES[name])
    kept = "".join(path.read_text() for path in KEPT.glob(f"{name}-*.txt"))
    assert facts["failures"] == 0, f"./run fuzz --again, with the files in {KEPT}:\n{kept}"
    assert facts["examples"] == EXAMPLES[name]
