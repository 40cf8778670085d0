"""Model files: estimators, kernels and results on disk, without pickle.

A file holds data only. Loading it runs no code from the file, imports only modules of mercer and of
the libraries whose objects it holds, and rejects damaged files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from math import inf
from pathlib import Path
from typing import Any

import mercer
from mercer.errors import VersionWarning, warn
from mercer.persistence import container
from mercer.persistence.tree import decode, encode

__all__ = ["FORMAT", "load", "save"]

#: Format of the files that this version writes.
FORMAT = 1


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Save an estimator, fitted or not, to a file for :func:`mercer.load`.

    Supported values are estimators, kernels, solvers, spectra and domains of mercer, pipelines and
    common preprocessing steps of scikit-learn, and their attributes: arrays, data frames, strings,
    graphs, random number generators. Objects of your own classes can be saved if they consist of
    their attributes; pass these classes to ``load``. Functions and open files cannot be saved.

    The file is written atomically: if saving fails, an existing file stays unchanged. Equal models
    give equal files.

    A model fitted on a Dask collection is saved without its training rows and per-row results such
    as ``labels_``; accessing these in the loaded model raises an error.

    Parameters
    ----------
    estimator : estimator, kernel, or any other value
    path : str or path
        Usually with the suffix ``.mercer``, which is not added. Missing folders are created.

    Raises
    ------
    TypeError
        If an attribute cannot be saved. The message names it, and nothing is written.

    See Also
    --------
    load : Read the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import mercer
    >>> from mercer.datasets import make_rings
    >>> X, y = make_rings(random_state=0)
    >>> eca = mercer.KernelECA(n_components=3).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mercer.save(eca, Path(folder, "rings.mercer"))
    ...     again = mercer.load(Path(folder, "rings.mercer"))
    >>> bool((again.transform(X) == eca.transform(X)).all())
    True
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        raise ValueError(f"{path} is not a file. Add a file name.")
    tree, arrays, classes, not_saved = encode(estimator)
    manifest = {
        "format": FORMAT,
        "mercer": mercer.__version__,
        "numpy": _installed("numpy"),
        "scikit-learn": _installed("scikit-learn"),
        "borrowed": sorted(name for name in classes if name.startswith("sklearn.")),
        "value": tree,
    }
    container.write(target, manifest, arrays)
    if not_saved:
        warn(
            f"{', '.join(not_saved)} of the model are Dask collections and were not saved. Compute "
            "and save the results that you need separately.",
            UserWarning,
        )


def load(path: str | os.PathLike[str], *, trusted: Iterable[type] = ()) -> Any:
    """Load a file written by :func:`mercer.save`.

    No code in the file is run and no constructor is called. Only classes of mercer and a fixed list
    of scikit-learn are allowed, unless you pass others. Damaged files are rejected. The checksum
    does not identify the author: an untrusted file runs no code, but its model may make arbitrary
    predictions.

    Parameters
    ----------
    path : str or path
    trusted : iterable of classes
        Other classes that the file may hold, such as your own kernels. Their attributes are set
        without calling their methods.

    Returns
    -------
    estimator
        With the same attributes and predictions as the one that was saved.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not a model file, is damaged, has an unknown format, or holds a class that is
        not trusted.

    Warns
    -----
    VersionWarning
        If the file was written by a newer version of mercer, or holds objects of another version of
        scikit-learn.

    See Also
    --------
    save : Write the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import mercer
    >>> from mercer.kernels import Gaussian, Kernel
    >>> class Halved(Kernel):
    ...     def matrix(self, X, Y):
    ...         return 0.5 * Gaussian(1.0)(X, Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mercer.save(Halved(), Path(folder, "halved.mercer"))
    ...     kernel = mercer.load(Path(folder, "halved.mercer"), trusted=[Halved])
    >>> kernel([[0.0]])
    array([[0.5]])
    """
    known = [*trusted]
    for cls in known:
        if not isinstance(cls, type):
            raise TypeError(
                f"trusted contains {cls!r}, which is not a class. Pass classes: trusted=[MyKernel]."
            )
    manifest: dict[str, Any] = {}
    try:
        with container.opened(Path(path)) as members:
            manifest = _checked(path, members.manifest())
            value = decode(manifest["value"], members, known)
    except (ImportError, MemoryError, OSError, container.UnreadableError):
        raise
    except Exception as error:  # forged content can raise any exception
        raise ValueError(
            f"{path} cannot be loaded: {_error_text(error)}.{_writer(manifest)}"
        ) from error
    _compare_versions(path, manifest)
    return value


def _error_text(error: Exception) -> str:
    """Return the message of an error; formatting it may fail on a forged value."""
    name = "" if isinstance(error, ValueError) else type(error).__name__
    try:
        return f"{name}: {error}" if name else str(error)
    except Exception:
        return name or "invalid content"


def _writer(manifest: dict[str, Any]) -> str:
    """Return a sentence about the version that wrote the file, if it differs from this one."""
    writer = manifest.get("mercer", mercer.__version__)
    if writer == mercer.__version__:
        return ""
    return f" It was written by mercer {writer}, and this is mercer {mercer.__version__}."


def _checked(path: Any, manifest: Any) -> dict[str, Any]:
    """Return the manifest of a file in the current format, or raise an error with a remedy."""
    number, writer = manifest["format"], manifest["mercer"]
    if type(number) is not int or not isinstance(writer, str):
        raise ValueError("its format and version are invalid")
    if number != FORMAT:
        raise container.UnreadableError(
            f"{path} has format {number}, written by mercer {writer}; mercer "
            f"{mercer.__version__} reads format {FORMAT}. Install mercer {writer}, or fit and save "
            "the model again."
        )
    names = manifest["borrowed"]
    if not isinstance(manifest["scikit-learn"], str):
        raise ValueError("its version of scikit-learn is invalid")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("its list of classes of scikit-learn is invalid")
    return dict(manifest)


@cache
def _installed(package: str) -> str:
    """Return the version of an installed package, whose metadata are read once."""
    return version(package)


def _compare_versions(path: Any, manifest: dict[str, Any]) -> None:
    """Warn if the versions that wrote the file may be incompatible with the installed ones."""
    if _release(manifest["mercer"]) > _release(mercer.__version__):
        warn(
            f"{path} was written by mercer {manifest['mercer']}, which is newer than this mercer "
            f"({mercer.__version__}). Its models may give other results here. Upgrade mercer, or "
            "fit and save the models again.",
            VersionWarning,
        )
    installed = _installed("scikit-learn")
    if manifest["borrowed"] and manifest["scikit-learn"] != installed:
        names = ", ".join(name.rpartition(".")[2] for name in manifest["borrowed"])
        warn(
            f"{path} holds objects of scikit-learn {manifest['scikit-learn']} ({names}), but the "
            f"installed version is {installed}. They may give other results or fail. Fit and save "
            "them again.",
            VersionWarning,
        )


def _release(version: str) -> tuple[float, ...]:
    """Return the numbers of a release, which compare like versions; (inf,) if it has none."""
    found = re.match(r"\d{1,9}(\.\d{1,9})*", version)
    return (inf,) if found is None else tuple(map(int, found[0].split(".")))
