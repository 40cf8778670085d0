"""The build step that compiles the library."""

import importlib.util
import os
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = Path("src", "mercer", "utils", "compiled")
LIBRARY = FOLDER / "_loops.so"


class Hook:
    """Stand-in for hatchling's class, which is installed for builds only."""

    def __class_getitem__(cls, _):
        return cls


@pytest.fixture
def build(monkeypatch, tmp_path):
    """hatch_build.py, and a copy of the sources."""
    if not (ROOT / "hatch_build.py").exists() or not (ROOT / FOLDER).exists():
        pytest.skip("not a checkout")
    interface = ModuleType("hatchling.builders.hooks.plugin.interface")
    interface.BuildHookInterface = Hook
    monkeypatch.setattr(Hook, "root", str(tmp_path), raising=False)
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    specification = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    (tmp_path / FOLDER).mkdir(parents=True)
    for source in (ROOT / FOLDER).glob("*.[ch]"):
        shutil.copy(source, tmp_path / FOLDER)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("MERCER_COMPILED", raising=False)
    return module


def initialized(build):
    data = {"artifacts": []}
    build.CompileLoops().initialize("standard", data)
    return data


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_wheel_of_this_platform_contains_the_library(build, tmp_path):
    data = initialized(build)
    assert data["artifacts"] == [f"/{LIBRARY.as_posix()}"]
    assert data["tag"].startswith("py3-none-")
    assert not data["tag"].endswith("-any")
    assert not data["pure_python"]
    assert (tmp_path / LIBRARY).stat().st_size > 1000


@pytest.mark.parametrize("compiler", ["no-such-compiler", "false"])
def test_without_a_working_compiler_the_wheel_is_pure_python(
    build, tmp_path, monkeypatch, capsys, compiler
):
    monkeypatch.setenv("CC", compiler)
    (tmp_path / LIBRARY).write_bytes(b"of an older version")
    assert initialized(build) == {"artifacts": []}
    assert not (tmp_path / LIBRARY).exists()
    assert compiler in capsys.readouterr().err


def test_compilation_can_be_disabled(build, tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_COMPILED", "0")
    (tmp_path / LIBRARY).write_bytes(b"in use by an editable installation")
    assert initialized(build) == {"artifacts": []}
    assert (tmp_path / LIBRARY).exists()


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_options_of_the_compiler_are_passed(build, tmp_path, monkeypatch):
    monkeypatch.setenv("CC", f"{shutil.which('cc')} -DUNUSED=1")
    assert initialized(build)["artifacts"]
    assert os.access(tmp_path / LIBRARY, os.R_OK)
