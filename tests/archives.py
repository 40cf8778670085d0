"""What an sdist and a wheel must hold, and what neither may."""

from __future__ import annotations

import re
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

# made by running things, not by writing them
MADE = re.compile(
    r"(^|/)(__pycache__|\.[a-z_]+_cache|\.hypothesis|_build|auto_gallery|generated|build|dist)/"
    r"|\.py[co]$|(^|/)\.DS_Store$|(^|/)\.coverage"
)
FOLDERS = ("src", "tests", "benchmarks", "docs")
FILES = ("LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "pyproject.toml", "run")


def complaints(sdist: Path, wheel: Path, root: Path) -> list[str]:
    """In words, what is wrong with two archives that were built from the project in `root`."""
    sources, package = members_of_sdist(sdist), members_of_wheel(wheel)
    code = {name.removeprefix("src/") for name in files_below(root, ["src"])}
    wanted = {*files_below(root, FOLDERS), *FILES, "constraints.txt"}
    licences = [name for name in package if name.endswith(".dist-info/licenses/LICENSE")]
    return [
        *(f"the sdist lacks {name}" for name in sorted(wanted - set(sources))),
        *(f"the wheel lacks {name}" for name in sorted(code - set(package))),
        *(["the wheel lacks LICENSE"] if not licences else []),
        *(f"the sdist: {one}" for one in unwelcome(sources, root)),
        *(f"the wheel: {one}" for one in unwelcome(package, root)),
    ]


def files_below(root: Path, folders: Iterable[str]) -> set[str]:
    """Files that somebody wrote, by their paths from `root`."""
    paths = [path for folder in folders for path in (root / folder).rglob("*") if path.is_file()]
    names = {path.relative_to(root).as_posix() for path in paths}
    return {name for name in names if not MADE.search(name)}


def unwelcome(members: Mapping[str, bytes], root: Path) -> list[str]:
    """Members that were made, not written, and those that tell where they were built."""
    places = [str(place).encode() for place in (root.resolve(), Path.home())]
    return [
        *(f"{name} was made, not written" for name in members if MADE.search(name)),
        *(
            f"{name} names {place.decode()}"
            for name, content in members.items()
            for place in places
            if place + b"/" in content
        ),
    ]


def members_of_sdist(path: Path) -> dict[str, bytes]:
    """Files without their common first folder, and what is in them."""
    with tarfile.open(path) as archive:
        return {
            member.name.partition("/")[2]: file.read()
            for member in archive
            if (file := archive.extractfile(member)) is not None
        }


def members_of_wheel(path: Path) -> dict[str, bytes]:
    """Files, and what is in them."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
