"""The fast tier of tests: its lists name existing tests, and CI has what the slow tests need."""

import os
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import ROOT, SLOW_FILES, SLOW_TESTS


@pytest.mark.parametrize("path", [*SLOW_FILES, *SLOW_TESTS])
def test_lists_of_slow_tests_are_current(path):
    functions = re.findall(r"^def (test_\w+)", Path(ROOT, path).read_text("utf-8"), re.MULTILINE)
    assert SLOW_FILES.get(path, set()) | SLOW_TESTS.get(path, set()) <= set(functions)


@pytest.mark.skipif("CI" not in os.environ, reason="browser and node are optional outside of CI")
@pytest.mark.parametrize("programs", [("chromium", "chromium-browser"), ("node",)])
def test_continuous_integration_has_browser_and_node(programs):
    """Tests that need them are skipped elsewhere; in CI that must not happen unnoticed."""
    assert any(map(shutil.which, programs)), f"install one of {programs}"
    assert find_spec("playwright"), "install mercer[dev]"
