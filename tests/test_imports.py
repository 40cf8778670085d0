"""Heavy packages are imported when they are used, not before."""

import json
import subprocess
import sys

import pytest

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

# one after the other in one process: what each step may add
STEPS = [
    ("import mercer", set()),
    ("from mercer import errors, get_config, set_config, config_context, __version__", set()),
    ("import mercer.cli, mercer.explorer", set()),
    ("from mercer import datasets, load, save", {"numpy"}),
    ("from mercer import Spectrum, bandwidth, diagnostics, domains, information", {"scipy"}),
    ("from mercer import kernels, population, solvers, spectroscopy", set()),
]


def heavy_after(statements):
    """Heavy packages that are there after each of the statements, in a fresh process."""
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


def test_each_floor_brings_only_what_it_computes_with():
    found, _ = heavy_after([statement for statement, _ in STEPS])
    allowed = set()
    for (statement, added), heavy in zip(STEPS, found, strict=True):
        allowed |= added
        assert heavy <= allowed, statement


def test_all_public_names_bring_no_more_than_scikit_learn_does():
    """scikit-learn itself imports pandas, where that is installed."""
    public = "import mercer; [getattr(mercer, name) for name in mercer.__all__]"
    (ours,), modules = heavy_after([public])
    assert "sklearn.base" in modules
    (theirs,), _ = heavy_after([f"import {', '.join(modules)}"])
    assert ours <= theirs


def test_help_and_version_compute_nothing():
    pytest.importorskip("cyclopts", reason="needs mercer[cli]")
    flags = ("--version", "--help")
    ask = "from mercer.cli import main; from contextlib import redirect_stdout; import io"
    found, _ = heavy_after(
        [ask, *(f"with redirect_stdout(io.StringIO()): main([{flag!r}])" for flag in flags)]
    )
    assert found[-1] <= {"cyclopts", "rich"}


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
def test_without_an_extra_its_name_is_told(package, statement, extra):
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        f"import mercer.cli, mercer.explorer, mercer.plots, mercer.tables\n{statement}"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"needs {package}" in done.stderr or f"need {package}" in done.stderr, done.stderr
    assert f"pip install mercer[{extra}]" in done.stderr
