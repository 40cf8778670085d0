"""Structure of the package: files on the way of common calls, public names.

``./run lint`` checks the direction of imports: the contracts are in pyproject.toml.
"""

import importlib

import numpy as np
import pytest

import mercer
from tests.expectations import raises
from tools import call_path, generated_section


def test_call_path_of_the_architecture_page_is_current():
    if not generated_section.PAGE.exists():
        pytest.skip("docs/architecture.md is not part of this installation")
    name, command = call_path.NAME, "python -m tools.call_path --update"
    assert generated_section.is_current(name, call_path.section()), f"run: {command}"


def test_generated_parts_are_replaced_in_place(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- graph: begin -->\nold\n<!-- graph: end -->\nafter\n")
    assert not generated_section.is_current("graph", "new", page)
    generated_section.update("graph", "new", page)
    assert generated_section.is_current("graph", "new", page)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text


@pytest.mark.parametrize("name", call_path.PATHS)
def test_common_calls_pass_through_few_files(name):
    path = call_path.PATHS[name]
    assert len({call.file for call in path.calls()}) <= path.most_files


def test_a_fit_validates_once():
    X = np.random.default_rng(0).normal(size=(300, 5))
    calls = call_path.trace_calls(lambda: mercer.KernelPCA().fit(X))
    validated = [call.function for call in calls if call.file == "data/points.py"]
    assert validated.count("validate_points") == validated.count("validate_weights") == 1


def test_public_names_are_imported_on_first_use():
    for name in mercer._MODULES:
        assert mercer.__getattr__(name) is importlib.import_module(f"mercer.{name}")
    for name in mercer._HOMES:
        assert mercer.__getattr__(name) is getattr(mercer, name)
    assert set(mercer.__all__) == set(dir(mercer))
    with raises(AttributeError, "mercer", "nothing"):
        mercer.nothing  # noqa: B018


@pytest.mark.parametrize("package", [name for name in mercer._MODULES if name != "errors"])
def test_names_of_a_package_exist(package):
    module = importlib.import_module(f"mercer.{package}")
    for name in module.__all__:
        assert getattr(module, name) is not None
    with raises(AttributeError, package, "nothing"):
        module.nothing  # noqa: B018
