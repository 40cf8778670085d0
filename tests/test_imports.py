"""Large packages are imported on first use."""

import json
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import mercer
from benchmarks.__main__ import MODULES
from tests.conftest import ROOT
from tests.expectations import names_values

HEAVY = (
    "numpy",
    "scipy",
    "sklearn",
    "joblib",
    "threadpoolctl",
    "cloudpickle",
    "finufft",
    "matplotlib",
    "pandas",
    "pyarrow",
    "polars",
    "dask",
    "distributed",
    "starlette",
    "uvicorn",
    "cyclopts",
    "rich",
)

# statements, run in one process, and the packages that each may import
STEPS = [
    ("import mercer", set()),
    ("from mercer import errors, get_config, set_config, config_context, __version__", set()),
    ("import mercer.cli, mercer.explorer", set()),
    ("from mercer import datasets, load, save", {"numpy", "scipy"}),
    ("from mercer import Spectrum, bandwidth, domains, information", set()),
    ("from mercer import kernels, population, solvers", set()),
]


def heavy_after(statements):
    """Return the large packages that are imported after each statement in a new process."""
    code = (
        "import json, sys\n"
        f"for statement in {statements!r}:\n"
        "    exec(statement)\n"
        f"    print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))\n"
        "print(json.dumps([name for name in sys.modules if name.startswith('sklearn')]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *found, sklearn = [json.loads(line) for line in done.stdout.splitlines()]
    return [set(one) for one in found], sklearn


def test_layers_import_only_what_they_need():
    found, _ = heavy_after([statement for statement, _ in STEPS])
    allowed = set()
    for (statement, added), heavy in zip(STEPS, found, strict=True):
        allowed |= added
        assert heavy <= allowed, statement


def test_public_names_import_no_more_than_scikit_learn():
    """scikit-learn itself imports pandas if it is installed."""
    public = "import mercer; [getattr(mercer, name) for name in mercer.__all__]"
    (ours,), modules = heavy_after([public])
    assert "sklearn.base" in modules
    (theirs,), _ = heavy_after([f"import {', '.join(modules)}"])
    assert ours <= theirs


def test_kernel_pca_imports_what_it_needs():
    """scikit-learn itself imports scipy.stats; no module of mercer does for kernel PCA."""
    code = """
import builtins, json, sys
import_module, users = builtins.__import__, []
def recorded(name, globals=None, *args, **kwargs):
    if name.startswith("scipy.stats") and globals["__name__"].startswith("mercer"):
        users.append(globals["__name__"])
    return import_module(name, globals, *args, **kwargs)
builtins.__import__ = recorded
from mercer import KernelPCA
print(json.dumps([users, [name for name in sys.modules if name.startswith("mercer")]]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    users, modules = json.loads(done.stdout)
    assert users == []
    assert len(modules) <= 70, modules


def test_help_and_version_import_no_numeric_packages():
    pytest.importorskip("cyclopts", reason="needs mercer[cli]")
    flags = ("--version", "--help")
    setup = "from mercer.cli import main; from contextlib import redirect_stdout; import io"
    found, _ = heavy_after(
        [setup, *(f"with redirect_stdout(io.StringIO()): main([{flag!r}])" for flag in flags)]
    )
    assert found[-1] <= {"cyclopts", "rich"}


def test_report_imports_only_the_displays_that_it_draws():
    code = "import sys, mercer.report; print([m for m in sys.modules if m.startswith('mercer.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'mercer.plots.embedding'" in done.stdout
    for name in ("population", "diversity", "monitoring"):
        assert f"'mercer.{name}'" not in done.stdout


@pytest.mark.parametrize(
    ("package", "statement", "extra"),
    [
        ("cyclopts", "mercer.cli.main(['report'])", "cli"),
        ("pandas", "mercer.tables.readers.read_frame('absent.csv')", "io"),
        ("pandas", "mercer.tables.read_rows('absent.csv')", "io"),
        ("uvicorn", "mercer.explorer.explore()", "web"),
        (
            "matplotlib",
            "mercer.plots.SpectrumDisplay(eigenvalues=[1.0], entropy_ratio=None, kept=[0]).plot()",
            "plot",
        ),
    ],
)
def test_missing_extras_are_named(package, statement, extra):
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        f"import mercer.cli, mercer.explorer, mercer.plots, mercer.tables.readers\n{statement}"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert names_values(done.stderr, package, f"mercer[{extra}]") == [], done.stderr


def test_extras_named_in_messages_exist():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {
        extra
        for path in Path(mercer.__file__).parent.rglob("*.py")
        for extra in re.findall(r"mercer\[(\w+)\]", path.read_text(encoding="utf-8"))
    }
    assert {"plot", "io", "dask"} <= named <= set(project["optional-dependencies"])


@pytest.mark.parametrize("name", MODULES)
def test_benchmarks_import_existing_names(name):
    import_module(f"benchmarks.{name}")
