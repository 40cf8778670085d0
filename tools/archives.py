"""Check the contents of an sdist and a wheel."""

from __future__ import annotations

import re
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

# generated files
GENERATED = re.compile(
    r"(^|/)(__pycache__|\.[a-z_]+_cache|\.hypothesis|_build|auto_gallery|generated|build|dist)/"
    r"|\.py[co]$|(^|/)\.DS_Store$|(^|/)\.coverage"
)
# in wheels only
COMPILED = re.compile(r"/_loops\.[a-z]+$")
FOLDERS = ("src", "papers", "tests", "tools", "benchmarks", "docs")
FILES = (
    "LICENSE",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "CITATION.cff",
    "hatch_build.py",
    "pyproject.toml",
    "run",
)


def find_problems(sdist: Path, wheel: Path, root: Path) -> list[str]:
    """Return the problems of two archives that were built from the project in `root`."""
    sources, package = members_of_sdist(sdist), members_of_wheel(wheel)
    code = {name.removeprefix("src/") for name in files_below(root, ["src"])}
    expected = {*files_below(root, FOLDERS), *FILES, "constraints.txt"}
    licenses = [name for name in package if name.endswith(".dist-info/licenses/LICENSE")]
    return [
        *(f"the sdist lacks {name}" for name in sorted(expected - set(sources))),
        *(f"the wheel lacks {name}" for name in sorted(code - set(package))),
        *(["the wheel lacks LICENSE"] if not licenses else []),
        *(f"the wheel must not contain {name}" for name in sorted(package) if not is_package(name)),
        *(f"the sdist must not contain {name}" for name in sources if COMPILED.search(name)),
        *(f"the sdist: {one}" for one in unwanted_members(sources, root)),
        *(f"the wheel: {one}" for one in unwanted_members(package, root)),
    ]


def is_package(name: str) -> bool:
    """Return whether a member of the wheel belongs to mercer or its metadata."""
    return name.startswith("mercer/") or ".dist-info/" in name


def files_below(root: Path, folders: Iterable[str]) -> set[str]:
    """Return the paths, relative to `root`, of files that are not generated."""
    paths = [path for folder in folders for path in (root / folder).rglob("*") if path.is_file()]
    names = {path.relative_to(root).as_posix() for path in paths}
    return {name for name in names if not (GENERATED.search(name) or COMPILED.search(name))}


def unwanted_members(members: Mapping[str, bytes], root: Path) -> list[str]:
    """Find generated members and members that contain paths of the build machine."""
    paths = [str(path).encode() for path in (root.resolve(), Path.home())]
    return [
        *(f"{name} is a generated file" for name in members if GENERATED.search(name)),
        *(
            f"{name} contains the path {path.decode()}"
            for name, content in members.items()
            for path in paths
            if path + b"/" in content
        ),
    ]


def members_of_sdist(path: Path) -> dict[str, bytes]:
    """Read the files of an sdist; names are relative to its top folder."""
    with tarfile.open(path) as archive:
        return {
            member.name.partition("/")[2]: file.read()
            for member in archive
            if (file := archive.extractfile(member)) is not None
        }


def members_of_wheel(path: Path) -> dict[str, bytes]:
    """Read the files of a wheel."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
