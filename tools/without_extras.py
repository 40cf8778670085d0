"""Pytest plugin for an environment without extras: ``pytest -p tools.without_extras``.

A test that imports a package of an extra is skipped, and so is one where mercer raises an error
that names the extra to install. Any other ModuleNotFoundError from mercer is a failure.
"""

from __future__ import annotations

import doctest
import re
from collections.abc import Generator
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

EXTRA_OF = {
    "finufft": "fast",
    "matplotlib": "plot",
    "pandas": "io",
    "pyarrow": "io",
    "dask": "dask",
    "distributed": "dask",
    "cyclopts": "cli",
    "rich": "cli",
    "starlette": "web",
    "uvicorn": "web",
    "jinja2": "cli",
    "httpx": "dev",
    "playwright": "dev",
    "polars": "dev",
    "networkx": "dev",
    "sphinx": "docs",
    "latex2mathml": "docs",
}
INSTALL_HINT = re.compile(r"pip install mercer\[(\w+)\]")
MISSING = re.compile(r"No module named '(\w+)")
LOCATION = re.compile(r"^(\S+\.py):\d+: in ", re.MULTILINE)
TESTS = Path(__file__).parents[1] / "tests"


def missing_extra(error: BaseException) -> str | None:
    """Return the missing extra, if the test or the message of mercer names it."""
    if isinstance(error, doctest.UnexpectedException):
        error = error.exc_info[1]
    if not isinstance(error, ImportError):
        return None
    if hint := INSTALL_HINT.search(str(error)):
        return hint[1]
    missing = MISSING.search(str(error))
    by_test = innermost(error.__traceback__) in ("tests", "doctest")
    return EXTRA_OF.get(missing[1]) if missing and by_test else None


def innermost(traceback: TracebackType | None) -> str:
    """Return the importer: the last frame outside of Python's import system."""
    path = ""
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if "importlib" not in file and "<frozen" not in file:
            path = file
        traceback = traceback.tb_next
    if path.startswith("<doctest"):
        return "doctest"
    return "tests" if Path(path).is_relative_to(TESTS) else path


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, Any, Any]:
    return (yield from skip_without_extra())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, Any, Any]:
    return (yield from skip_without_extra())


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup() -> Generator[None, Any, Any]:
    return (yield from skip_without_extra())


def skip_without_extra() -> Generator[None, Any, Any]:
    """Run a hook; skip the test if an extra is missing."""
    try:
        return (yield)
    except Exception as error:
        if extra := missing_extra(error):
            pytest.skip(f"needs mercer[{extra}]")
        raise


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Skip a test file that imports a package of an extra at module level."""
    report: pytest.CollectReport = yield
    text = str(report.longrepr) if report.failed else ""
    missing, locations = MISSING.search(text), LOCATION.findall(text)
    extra = EXTRA_OF.get(missing[1]) if missing else None
    if extra and (collector.path.parent / Path(locations[-1]).name).is_relative_to(TESTS):
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 0, f"Skipped: needs mercer[{extra}]")
    return report
