"""A pytest plugin for an environment without extras: ``pytest -p tests.without_extras``.

A test that itself imports a package of an extra is skipped, and so is one that mercer told which
extra to install. A bare "No module named ..." from inside of mercer is a failure: users would see
it too.
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
    "matplotlib": "plot",
    "pandas": "io",
    "pyarrow": "io",
    "dask": "dask",
    "distributed": "dask",
    "cyclopts": "cli",
    "rich": "cli",
    "starlette": "web",
    "uvicorn": "web",
    "httpx": "dev",
    "playwright": "dev",
    "polars": "dev",
    "networkx": "dev",
    "sphinx": "docs",
    "latex2mathml": "docs",
}
TOLD = re.compile(r"pip install mercer\[(\w+)\]")
MISSING = re.compile(r"No module named '(\w+)")
PLACE = re.compile(r"^(\S+\.py):\d+: in ", re.MULTILINE)
TESTS = Path(__file__).parent


def wanted_extra(error: BaseException) -> str | None:
    """The extra that would have helped, where tests or mercer's words say which."""
    if isinstance(error, doctest.UnexpectedException):
        error = error.exc_info[1]
    if not isinstance(error, ImportError):
        return None
    if told := TOLD.search(str(error)):
        return told[1]
    missing = MISSING.search(str(error))
    by_test = innermost(error.__traceback__) in ("tests", "doctest")
    return EXTRA_OF.get(missing[1]) if missing and by_test else None


def innermost(traceback: TracebackType | None) -> str:
    """Who imported: the last frame that is not Python's import machinery."""
    place = ""
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if "importlib" not in file and "<frozen" not in file:
            place = file
        traceback = traceback.tb_next
    if place.startswith("<doctest"):
        return "doctest"
    return "tests" if Path(place).is_relative_to(TESTS) else place


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, Any, Any]:
    return (yield from skipping())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, Any, Any]:
    return (yield from skipping())


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup() -> Generator[None, Any, Any]:
    return (yield from skipping())


def skipping() -> Generator[None, Any, Any]:
    """Let it run; skip where only an extra was missing."""
    try:
        return (yield)
    except Exception as error:
        if extra := wanted_extra(error):
            pytest.skip(f"needs mercer[{extra}]")
        raise


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """A file of tests that imports a package of an extra at its top is skipped as a whole."""
    report: pytest.CollectReport = yield
    text = str(report.longrepr) if report.failed else ""
    missing, places = MISSING.search(text), PLACE.findall(text)
    extra = EXTRA_OF.get(missing[1]) if missing else None
    if extra and (collector.path.parent / Path(places[-1]).name).is_relative_to(TESTS):
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 0, f"Skipped: needs mercer[{extra}]")
    return report
