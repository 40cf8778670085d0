"""Install the distributions as a new user does, and run the first commands of README.md.

    ./run versions install

The sdist is unpacked in an empty folder, where ``./run report`` and ``./run explore`` are started.
Then the wheel and the sdist are installed by pip into new environments, and the example of
README.md and ``mercer report`` are run. The PATH has Python and a few commands of a minimal Linux
system, no browser; finufft is not installed.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

COMMANDS = ("sh", "cat", "cksum", "dirname", "sed")  # used by ./run
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/\S*")
_START_SECONDS = 600.0  # until the explorer answers, including the installation


def check_installation(sdist: Path, wheel: Path) -> bool:
    """Run all checks in an empty folder, print a line for each, return whether all passed."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        variables = minimal_variables(root / "bin")
        with tarfile.open(sdist) as archive:
            archive.extractall(root, filter="data")
        (clone,) = root.glob("mercer-*")
        example = first_example((clone / "README.md").read_text(encoding="utf-8"))
        wheel_folder, sdist_folder = root / "wheel", root / "sdist"
        checks = {
            "./run report": lambda: report_in_clone(clone, variables),
            "./run explore": lambda: explorer_answers(clone, variables),
            "wheel[cli]": lambda: installed_works(wheel_folder, wheel, "[cli]", example, variables),
            "sdist": lambda: installed_works(sdist_folder, sdist, "[plot]", example, variables),
        }
        results = [passes(name, check) for name, check in checks.items()]
    return all(results)


def passes(name: str, check: object) -> bool:
    """Run one check, print its time and result, and return whether it passed."""
    start = time.monotonic()
    try:
        assert callable(check)
        found = check()
    except (subprocess.CalledProcessError, AssertionError, OSError) as error:
        output = getattr(error, "stderr", "") or ""
        print(f"{name}: FAILED after {time.monotonic() - start:.0f} s: {error}\n{output[-2000:]}")
        return False
    print(f"{name}: {time.monotonic() - start:.0f} s, {found}", flush=True)
    return True


def minimal_variables(folder: Path) -> dict[str, str]:
    """Return environment variables with a PATH to Python and a few commands only."""
    folder.mkdir()
    (folder / "python3").symlink_to(Path(getattr(sys, "_base_executable", sys.executable)))
    for command in COMMANDS:
        found = shutil.which(command)
        assert found is not None, f"{command} is missing"
        (folder / command).symlink_to(found)
    hidden = ("PYTHONPATH", "MERCER_DATA", "VIRTUAL_ENV", "DISPLAY", "BROWSER", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    return kept | {"PATH": str(folder)}


def first_example(readme: str) -> str:
    """Return the code of the one-minute example."""
    section = readme.split("## One-minute example")[1]
    found = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert found is not None, "README.md has no example"
    return found[1]


def report_in_clone(clone: Path, variables: dict[str, str]) -> str:
    """Run ``./run report`` and return the size of the page."""
    _run(["./run", "report"], clone, variables)
    page = clone / "mercer-report" / "report.html"
    assert page.stat().st_size > 100_000, f"{page} is too small"
    return f"{page.name} of {page.stat().st_size / 1e6:.1f} MB"


def explorer_answers(clone: Path, variables: dict[str, str]) -> str:
    """Run ``./run explore``, request its page, and stop it."""
    with _explorer(clone, variables) as address:
        with urllib.request.urlopen(address, timeout=60) as answer:
            assert answer.status == 200, f"status {answer.status}"
            size = len(answer.read())
        return f"page of {size} bytes"


@contextlib.contextmanager
def _explorer(clone: Path, variables: dict[str, str]) -> Iterator[str]:
    log = clone / "explorer.log"
    with log.open("w") as output:
        server = subprocess.Popen(
            ["./run", "explore"],
            cwd=clone,
            env=variables | {"PYTHONUNBUFFERED": "1"},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + _START_SECONDS
        while (found := _ADDRESS.search(log.read_text())) is None:
            text = log.read_text()[-2000:]
            assert server.poll() is None, f"the explorer ended: {text}"
            assert time.monotonic() < deadline, f"no address: {text}"
            time.sleep(0.5)
        yield found[0]
    finally:
        os.killpg(server.pid, signal.SIGINT)
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)


def installed_works(
    folder: Path, archive: Path, extras: str, example: str, variables: dict[str, str]
) -> str:
    """Install an archive into a new environment, run the example and, with commands, a report."""
    folder.mkdir()
    _run(["python3", "-m", "venv", "environment"], folder, variables)
    programs = folder / "environment" / "bin"
    python = str(programs / "python")
    _run([python, "-m", "pip", "install", "--quiet", f"{archive}{extras}"], folder, variables)
    code = "import importlib.util; print(importlib.util.find_spec('finufft'))"
    assert _run([python, "-c", code], folder, variables).strip() == "None", "finufft is installed"
    printed = _run([python, "-W", "error::UserWarning", "-c", example], folder, variables)
    version = _run([python, "-c", "import mercer; print(mercer.__version__)"], folder, variables)
    if "cli" in extras:
        _run([str(programs / "mercer"), "report"], folder, variables)
        assert (folder / "mercer-report" / "report.html").exists(), "no report"
    return f"mercer {version.strip()}, the example prints {' '.join(printed.split())}"


def _run(command: list[str], folder: Path, variables: dict[str, str]) -> str:
    done = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, check=True
    )
    return done.stdout
