"""Files for releases agree with the package; `./run lint` checks their schemas."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mercer

ROOT = Path(__file__).parents[2]


def test_version_of_citation():
    assert f"\nversion: {mercer.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_changelog_starts_with_version():
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == mercer.__version__


def test_workflows_call_commands_that_exist():
    folder = ROOT / ".github" / "workflows"
    if not folder.is_dir():
        pytest.skip("not part of the source distribution")
    called = {
        command
        for file in folder.glob("*.yml")
        for command in re.findall(r"run: \./run (\w+)", file.read_text())
    }
    known = set(re.findall(r"^(\w+)\)", (ROOT / "run").read_text(), re.MULTILINE))
    assert called
    assert called <= known
