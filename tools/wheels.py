"""Check that the dependencies have wheels for every supported platform and Python version.

    ./run versions wheels

uv resolves the required dependencies, and what they require, for each platform and Python version
with wheels only. The package index is the one that uv is configured for. Optional dependencies that
are faster replacements are listed too, but may be missing.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Sequence

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = {
    "Linux x86-64": "x86_64-manylinux_2_28",
    "Linux aarch64": "aarch64-manylinux_2_28",
    "macOS arm64": "aarch64-apple-darwin",
    "macOS x86-64": "x86_64-apple-darwin",
    "Windows x86-64": "x86_64-pc-windows-msvc",
}

#: Versions by package, or None if there is a package without a wheel.
Versions = dict[str, str] | None
Resolve = Callable[[Sequence[str], str, str], Versions]


def resolve(requirements: Sequence[str], platform: str, python: str) -> Versions:
    """Return the versions that uv chooses among wheels, with the packages required by these."""
    from uv import find_uv_bin

    command = [find_uv_bin(), "pip", "compile", "--quiet", "--no-header", "--no-annotate"]
    command += ["--only-binary", ":all:", "--no-emit-index-url", "--python-version", python]
    command += ["--python-platform", platform, "-"]
    text = "\n".join(requirements)
    done = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
    return read_versions(done.stdout) if done.returncode == 0 else None


def read_versions(output: str) -> dict[str, str]:
    """Return the pinned versions in the output of ``uv pip compile``.

    >>> read_versions("numpy==2.4.6\\nscipy==1.17.1\\n")
    {'numpy': '2.4.6', 'scipy': '1.17.1'}
    """
    pins = (line.partition(";")[0].strip() for line in output.splitlines() if "==" in line)
    return dict(pin.split("==", 1) for pin in pins)


def check(
    required: Sequence[str], optional: Iterable[str], find: Resolve = resolve
) -> tuple[str, bool]:
    """Return a table of versions, and whether all required packages have wheels everywhere.

    Parameters
    ----------
    required : sequence of str
        Requirements, as in pyproject.toml.
    optional : iterable of str
        Names of packages whose wheels are reported only.
    find : callable
    """
    optional = list(optional)
    rows, packages = [], set[str]()
    for label, platform in PLATFORMS.items():
        for python in PYTHONS:
            versions = find(required, platform, python)
            extra = {name: (find([name], platform, python) or {}).get(name) for name in optional}
            rows.append((label, python, versions, extra))
            packages |= set(versions or {})
    names = sorted(packages)
    lines = [("platform", "Python", *names, *optional), ("---",) * (2 + len(names) + len(optional))]
    for label, python, versions, extra in rows:
        found = [(versions or {}).get(name, "no wheel") for name in names]
        lines.append((label, python, *found, *(extra[name] or "no wheel" for name in optional)))
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return table, all(versions is not None for _, _, versions, _ in rows)
