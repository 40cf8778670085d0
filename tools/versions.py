"""Build the distributions and test them in clean environments.

    ./run versions [NAME ...] [-- ARGS]     environments (default: all), arguments for pytest
    ./run versions wheels                   platforms for which all dependencies have wheels
    ./run versions install                  README's commands and example in new environments

The sdist is built, and the wheel from it. Each environment has the wheel installed and does not see
the checkout; it runs the tests of the sdist and the doctests of the installed package. uv uses the
Python interpreters on the PATH and downloads others. Logs, results and environments are in
``build/versions``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree

from tools import first_install, wheels
from tools.archives import find_problems

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "versions"
ALL_TESTS = ("tests", "--pyargs", "mercer")  # tests of the sdist, doctests of the wheel
TOOLS = ("pytest", "pytest-xdist", "hypothesis")  # the minimum for running tests


@dataclass(frozen=True)
class Environment:
    """A Python version and a rule for choosing package versions."""

    python: str
    rule: tuple[str, ...]  # options of uv
    extras: tuple[str, ...] = ("dev", "docs")
    options: tuple[str, ...] = ()  # options of pytest
    without: tuple[str, ...] = ()  # packages to remove


ENVIRONMENTS = {
    "lowest": Environment("3.11", ("--resolution", "lowest-direct")),
    "locked": Environment("3.12", ("--constraints", "constraints.txt")),
    "newest": Environment("3.13", ("--upgrade",)),
    "without-finufft": Environment(
        "3.12", ("--constraints", "constraints.txt"), without=("finufft",)
    ),
    "minimal": Environment(
        "3.12", ("--upgrade",), (), ("-p", "tools.without_extras", "--doctest-ignore-import-errors")
    ),
}
WHEELS = "wheels"  # a check of the package index, without tests
INSTALL = "install"  # the first commands of a user, without tests


@dataclass
class Result:
    """Test results of one environment."""

    name: str
    python: str
    passed: int
    failed: int
    skipped: int
    minutes: float
    versions: dict[str, str]


def uv(*arguments: object) -> str:
    """Run uv in the project's folder and return its output."""
    from uv import find_uv_bin

    command = [find_uv_bin(), "--quiet", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"uv {' '.join(map(str, arguments))} failed")
    return done.stdout


def build() -> tuple[Path, Path]:
    """Build the sdist, and the wheel from the sdist; stop if a file is missing or unwanted."""
    built = FOLDER / "built"
    shutil.rmtree(built, ignore_errors=True)
    uv("build", "--out-dir", built)
    (sdist,), (wheel,) = built.glob("*.tar.gz"), built.glob("*.whl")
    if problems := find_problems(sdist, wheel, ROOT):
        raise SystemExit("\n".join(problems))
    return sdist, wheel


def install(environment: Environment, folder: Path, wheel: Path) -> Path:
    """Create a clean environment with the wheel and return its Python.

    The requirements are read from pyproject.toml: "lowest-direct" applies to direct requirements,
    and those of a wheel are indirect.
    """
    uv("venv", "--clear", "--no-project", "--python", environment.python, folder)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    extras = [part for extra in environment.extras for part in ("--extra", extra)]
    tools = [] if environment.extras else requirements("dev", TOOLS)
    into = ("pip", "install", "--python", python)
    uv(*into, *environment.rule, *extras, "--requirements", "pyproject.toml", *tools)
    uv(*into, "--no-deps", wheel)
    if environment.without:
        uv("pip", "uninstall", "--python", python, *environment.without)
    return python


def requirements(extra: str, names: tuple[str, ...]) -> list[str]:
    """Return some requirements of an extra as written in pyproject.toml."""
    return [one for one in project()["optional-dependencies"][extra] if name_of(one) in names]


def project() -> dict[str, dict[str, list[str]]]:
    """Return the [project] table."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def name_of(requirement: str) -> str:
    """Return the name of a requirement: "dask" for "dask[array]>=2025.7"."""
    found = re.match(r"[\w.-]+", requirement)
    assert found is not None
    return found[0].lower()


def direct_dependencies() -> list[str]:
    """Return the requirements of the package, then those of its extras for users."""
    users = ("fast", "plot", "io", "dask", "cli", "web")
    listed = [*project()["dependencies"]]
    listed += [one for extra in users for one in project()["optional-dependencies"][extra]]
    return [name for name in dict.fromkeys(map(name_of, listed)) if name != "mercer"]


def run_environment(name: str, sdist: Path, wheel: Path, arguments: list[str]) -> Result:
    """Install, run the tests and count the results."""
    environment, folder = ENVIRONMENTS[name], FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    python = install(environment, folder / "environment", wheel)
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (sources,) = folder.glob("mercer-*")
    shutil.rmtree(sources / "src")  # the installed wheel is tested
    counts = folder / "results.xml"
    started = time.monotonic()
    command = [str(python), "-m", "pytest", "-v", "--tb=short", "-n", "2", "-p", "no:cacheprovider"]
    with (folder / "log.txt").open("w") as log:
        subprocess.run(
            [*command, *environment.options, f"--junitxml={counts}", *(arguments or ALL_TESTS)],
            cwd=sources,
            env=clean_variables(),
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    minutes = (time.monotonic() - started) / 60
    if not counts.exists():
        raise SystemExit((folder / "log.txt").read_text()[-2000:])
    suite = next(ElementTree.parse(counts).getroot().iter("testsuite"))
    total, skipped = int(suite.attrib["tests"]), int(suite.attrib["skipped"])
    failed = int(suite.attrib["failures"]) + int(suite.attrib["errors"])
    result = Result(
        name=name,
        python=subprocess.check_output([python, "-V"], text=True).split()[1],
        passed=total - skipped - failed,
        failed=failed,
        skipped=skipped,
        minutes=round(minutes, 1),
        versions=installed(python),
    )
    (folder / "result.json").write_text(json.dumps(asdict(result)))
    return result


def clean_variables() -> dict[str, str]:
    """Return the environment variables: no path into the checkout, one thread per process."""
    variables = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "MERCER_DATA")}
    return variables | {"OMP_NUM_THREADS": "1"}


def installed(python: Path) -> dict[str, str]:
    """Return the installed versions of the direct dependencies."""
    found = json.loads(uv("pip", "list", "--python", python, "--format", "json"))
    versions = {one["name"].lower(): one["version"] for one in found}
    return {name: versions[name] for name in direct_dependencies() if name in versions}


def table(results: list[Result]) -> str:
    """Format the results with one column per environment."""
    rows = [
        ("", *(f"**{one.name}**" for one in results)),
        ("---", *("---:" for _ in results)),
        ("Python", *(one.python for one in results)),
        *((n, *(one.versions.get(n, "–") for one in results)) for n in direct_dependencies()),
        ("tests passed", *(str(one.passed) for one in results)),
        ("failed", *(str(one.failed) for one in results)),
        ("skipped", *(str(one.skipped) for one in results)),
        ("minutes", *(f"{one.minutes:g}" for one in results)),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main(arguments: list[str]) -> int:
    """Test in the named environments, print tables, and return 1 if something failed."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    known = [WHEELS, INSTALL, *ENVIRONMENTS]
    names = arguments[:end] or known
    if unknown := set(names) - {*known}:
        raise SystemExit(f"Unknown environments {sorted(unknown)}; choose from {', '.join(known)}")
    complete = True
    if WHEELS in names:
        fast = map(name_of, project()["optional-dependencies"]["fast"])
        listed, complete = wheels.check([*project()["dependencies"]], fast)
        print(listed)
    if INSTALL in names:
        complete = first_install.check_installation(*build()) and complete
    names = [name for name in names if name in ENVIRONMENTS]
    return 0 if complete and run_environments(names, arguments[end + 1 :]) else 1


def run_environments(names: list[str], arguments: list[str]) -> bool:
    """Test in the named environments, print a table, and return whether all tests passed."""
    if not names:
        return True
    # Background jobs of a shell ignore SIGINT, and the tests of interrupts would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sdist, wheel = build()
    results = []
    for name in names:
        print(f"{name}: see {FOLDER.relative_to(ROOT) / name / 'log.txt'} ...", file=sys.stderr)
        results.append(run_environment(name, sdist, wheel, arguments))
    print(table(results))
    return not any(one.failed for one in results)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
