"""The fast tier of tests: its lists name existing tests, and CI has what the slow tests need."""

import os
import re
import shutil
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import ROOT, SLOW_FILES, SLOW_TESTS, WITHOUT_COVERAGE


@pytest.mark.parametrize("path", [*SLOW_FILES, *SLOW_TESTS])
def test_lists_of_slow_tests_are_current(path):
    functions = re.findall(r"^def (test_\w+)", Path(ROOT, path).read_text("utf-8"), re.MULTILINE)
    assert SLOW_FILES.get(path, set()) | SLOW_TESTS.get(path, set()) <= set(functions)


def test_files_without_coverage_exist_and_their_tests_are_marked(request):
    assert all((ROOT / path).is_file() for path in WITHOUT_COVERAGE)
    for item in request.session.items:
        path = item.path.relative_to(ROOT).as_posix() if item.path.is_relative_to(ROOT) else ""
        assert (item.get_closest_marker("no_cover") is not None) == (path in WITHOUT_COVERAGE)


@pytest.mark.skipif("CI" not in os.environ, reason="browser and node are optional outside of CI")
@pytest.mark.parametrize("programs", [("chromium", "chromium-browser"), ("node",)])
def test_continuous_integration_has_browser_and_node(programs):
    """Tests that need them are skipped elsewhere; in CI that must not happen unnoticed."""
    assert any(map(shutil.which, programs)), f"install one of {programs}"
    assert find_spec("playwright"), "install mercer[dev]"


def test_browser_tests_cannot_be_skipped_silently_in_ci():
    """A failed installation stops the script, and a missing browser is a failure."""
    script = ROOT / ".ci" / "run"
    if not script.exists():
        pytest.skip("the script of CI is not part of the sdist")
    text = script.read_text(encoding="utf-8")
    assert "set -euo pipefail" in text
    assert "export CI=1" in text
    assert "|| true" not in text


def test_extra_for_all_features_has_no_development_tools():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["optional-dependencies"]["all"] == ["mercer[fast,plot,io,dask,cli,web]"]
    features = [
        re.match(r"[\w-]+", requirement)[0]
        for extra in ("plot", "io", "dask", "cli", "web")
        for requirement in project["optional-dependencies"][extra]
    ]
    assert not {"pytest", "mypy", "ruff", "sphinx", "hypothesis"} & set(features)
    assert "Operating System :: OS Independent" not in project["classifiers"]
