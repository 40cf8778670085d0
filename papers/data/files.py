"""Search for the data files of the papers.

The folder in MERCER_DATA is searched first, then ``../shared/data`` relative to a checkout, then
OpenML if it has the data set. Nothing is unpickled.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mercer.utils.validation import check_choice
from papers.data.mirrors import Arrays, Mirror, fetch

__all__ = ["Arrays", "DataFile", "DataNotFoundError", "find"]

_SUBSETS: tuple[str, ...] = ("all", "train", "test")


class DataNotFoundError(FileNotFoundError):
    """A data set that is neither in a folder nor on OpenML."""


@dataclass(frozen=True)
class DataFile:
    """A data file.

    Parameters
    ----------
    file : str
        Name of the file.
    arrays : tuple of str
        Names of its arrays.
    about : str
        Description of the data.
    citation : str
        Source of the data.
    mirror : Mirror or None
        Copy on OpenML.
    units : str
        Remark on units, for the message about a missing file.
    """

    file: str
    arrays: tuple[str, ...]
    about: str
    citation: str
    mirror: Mirror | None = None
    units: str = ""

    @property
    def description(self) -> str:
        """Description and source."""
        return f"{self.about}\n\nSource: {self.citation}"


def find(data_file: DataFile, subset: str = "all") -> tuple[Arrays, str]:
    """Return the arrays of the first copy found, and its location."""
    check_choice(subset, "subset", _SUBSETS)
    searched: list[str] = []
    cause: Exception | None = None
    for name, folder in _folders().items():
        if folder is None:
            searched.append(f"{name}: not set")
        elif (folder / data_file.file).is_file():
            return _read(folder / data_file.file, data_file), str(folder / data_file.file)
        else:
            searched.append(f"{name}: no such file in {folder}")
    if data_file.mirror is not None:
        try:
            return fetch(data_file.mirror), str(data_file.mirror)
        except (OSError, ValueError) as error:  # no network; OpenML's errors are ValueErrors
            cause = error
            searched.append(f"{data_file.mirror}: {error}")
    raise DataNotFoundError(
        f"{data_file.file} was not found. Searched:\n"
        + "".join(f"  - {line}\n" for line in searched)
        + "Put the file in a folder and set the environment variable MERCER_DATA to its path. The "
        f"file is a NumPy archive (numpy.savez) of the arrays {', '.join(data_file.arrays)}"
        f"{data_file.units}, made from {data_file.citation}"
    ) from cause


def _folders() -> dict[str, Path | None]:
    """Return the folders to search, in order, by a description."""
    data_folder = os.environ.get("MERCER_DATA")
    root = _project_root(Path(__file__))
    return {
        "the folder in MERCER_DATA": Path(data_folder).expanduser() if data_folder else None,
        "../shared/data of a checkout": root.parent / "shared" / "data" if root else None,
    }


def _project_root(start: Path) -> Path | None:
    """Return the folder above `start` that contains the pyproject.toml of mercer, or None."""
    for folder in start.resolve().parents:
        try:
            project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
        except (OSError, ValueError):  # missing or invalid
            continue
        if project.get("project", {}).get("name") == "mercer":
            return folder
    return None


def _read(path: Path, data_file: DataFile) -> Arrays:
    with np.load(path, allow_pickle=False) as archive:
        missing = set(data_file.arrays) - set(archive.files)
        if missing:
            raise ValueError(
                f"{path} lacks the arrays {', '.join(sorted(missing))}; expected "
                f"{', '.join(data_file.arrays)}. Move it, or set MERCER_DATA to another folder."
            )
        return {name: archive[name] for name in data_file.arrays}
