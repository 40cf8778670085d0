"""Where the papers' data files are, and how they are read.

Looked for in the folder named by MERCER_DATA, then in ``../shared/data`` beside a checkout, then on
OpenML where the set is there. Nothing is ever unpickled.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Arrays", "Stored", "find"]

Arrays = Mapping[str, NDArray[Any]]

_SUBSETS: tuple[str, ...] = ("all", "train", "test")


@dataclass(frozen=True)
class Stored:
    """A data file: name, arrays in it, what it is, source, number on OpenML, odd units."""

    file: str
    arrays: tuple[str, ...]
    about: str
    citation: str
    openml_id: int | None = None
    units: str = ""

    @property
    def description(self) -> str:
        """What it is and where it is from."""
        return f"{self.about}\n\nSource: {self.citation}"


def find(stored: Stored, subset: str = "all") -> tuple[Arrays, str]:
    """Return the arrays of the first copy found, and say where that was."""
    if subset not in _SUBSETS:
        raise ValueError(f"subset={subset!r} must be one of {', '.join(_SUBSETS)}.")
    looked: list[str] = []
    cause: Exception | None = None
    for place, folder in _places().items():
        if folder is None:
            looked.append(f"{place}: there is none")
        elif (folder / stored.file).is_file():
            return _read(folder / stored.file, stored), str(folder / stored.file)
        else:
            looked.append(f"{place}: no such file in {folder}")
    if stored.openml_id is not None:
        openml = f"OpenML, data_id={stored.openml_id}"
        if subset == "all":
            try:
                return _fetch(stored.openml_id), openml
            except (OSError, ValueError) as error:  # no network; OpenML's refusals are ValueErrors
                cause = error
                looked.append(f"{openml}: {error}")
        else:
            looked.append(
                f"{openml}: not asked, since its copy does not mark training and test rows "
                f"(subset={subset!r}); subset='all' can be had from there"
            )
    raise FileNotFoundError(
        f"{stored.file} was not found. Looked in:\n"
        + "".join(f"  - {line}\n" for line in looked)
        + "Put it in a folder and set the environment variable MERCER_DATA to that folder's path. "
        f"It is a NumPy archive (numpy.savez) of the arrays {', '.join(stored.arrays)}"
        f"{stored.units}, made from {stored.citation}"
    ) from cause


def _places() -> dict[str, Path | None]:
    """Name the places to look in, in that order, with the folder each stands for."""
    named = os.environ.get("MERCER_DATA")
    root = _project_root(Path(__file__))
    return {
        "the folder named by MERCER_DATA": Path(named).expanduser() if named else None,
        "../shared/data of a checkout": root.parent / "shared" / "data" if root else None,
    }


def _project_root(start: Path) -> Path | None:
    """Find the folder above `start` that holds this project's pyproject.toml."""
    for folder in start.resolve().parents:
        try:
            project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
        except (OSError, ValueError):  # none here, or somebody else's that cannot be read
            continue
        if project.get("project", {}).get("name") == "mercer":
            return folder
    return None


def _read(path: Path, stored: Stored) -> Arrays:
    with np.load(path, allow_pickle=False) as archive:
        missing = set(stored.arrays) - set(archive.files)
        if missing:
            raise ValueError(
                f"{path} lacks the arrays {', '.join(sorted(missing))}: it is not the file meant. "
                f"Needed are {', '.join(stored.arrays)}; move it away or set MERCER_DATA elsewhere."
            )
        return {name: archive[name] for name in stored.arrays}


def _fetch(data_id: int) -> Arrays:
    """Fetch a set from OpenML; classes come as strings."""
    from sklearn.datasets import fetch_openml

    # scikit-learn's other parser needs pandas, which is an extra here
    fetched = fetch_openml(data_id=data_id, as_frame=False, parser="liac-arff")
    return {
        "X": np.asarray(fetched.data, dtype=np.float64),
        "y": np.asarray(fetched.target),
        "feature_names": np.array(fetched.feature_names),
    }
