"""Model files: estimators, kernels and results on disk, without pickle.

A file holds data only. Loading it runs no code from the file, imports only modules of a fixed list,
and rejects damaged files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mercer
from mercer.errors import VersionWarning, warn
from mercer.persistence import container, legacy
from mercer.persistence.decoding import decode
from mercer.persistence.encoding import encode

__all__ = ["FORMAT", "load", "save"]

#: Format of the files that this version writes.
FORMAT = 2

# format -> function from its manifest to one of the next format
_MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {1: legacy.from_format_1}


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write an estimator, fitted or not, to a file that :func:`mercer.load` reads.

    Estimators, kernels, solvers, spectra and domains of mercer can be saved, pipelines and common
    preprocessing steps of scikit-learn, and what these hold: arrays, data frames, texts, graphs,
    generators of random numbers. So can objects of your own classes, as long as they consist of
    their attributes; ``load`` then asks for the classes. Functions and open files cannot.

    The file appears as a whole: where saving fails, a file that was there before stays as it is.
    Equal models give equal files.

    A model fitted on a Dask collection is saved without what it has for every row (``labels_``, the
    rows themselves): these stay on the engine, and the loaded model says so when it is asked.

    Parameters
    ----------
    estimator : estimator, kernel, or any other value
    path : str or path
        Taken as it is; by custom it ends in ``.mercer``. Folders that are missing are made.

    Raises
    ------
    TypeError
        Where something cannot be saved; the text names the attribute. Nothing was written then.

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
    place = Path(os.path.realpath(path))  # through links: they are not to be replaced
    if place.exists() and not place.is_file():
        raise ValueError(f"{path} is not a file, so no model can be saved there; add a file name.")
    tree, arrays, classes, left_behind = encode(estimator)
    manifest = {
        "format": FORMAT,
        "mercer": mercer.__version__,
        "numpy": version("numpy"),
        "scikit-learn": version("scikit-learn"),
        "borrowed": sorted(name for name in classes if name.startswith("sklearn.")),
        "value": tree,
    }
    container.write(place, manifest, arrays)
    if left_behind:
        warn(
            f"{', '.join(left_behind)} of the saved model stayed on the engine, with the rows. "
            "Compute what you need of it and save that beside the model.",
            UserWarning,
        )


def load(path: str | os.PathLike[str], *, trusted: Iterable[type] = ()) -> Any:
    """Read what :func:`mercer.save` wrote.

    A file is data: no code in it is run, no constructor is called. Only classes of mercer and a
    fixed list of scikit-learn's are made from it, unless you name others. Damaged files are
    refused. That a file is undamaged does not say who made it: a model from a stranger cannot
    harm your computer, but it can predict nonsense.

    Parameters
    ----------
    path : str or path
    trusted : iterable of classes
        Other classes that the file may hold, such as a kernel of yours. Their attributes are set
        without calling their methods.

    Returns
    -------
    estimator
        Equal to the one that was saved: the same attributes, the same predictions.

    Raises
    ------
    FileNotFoundError
        Where there is no such file.
    ValueError
        Where the file is no model file, is damaged, is of a format that cannot be read, or holds a
        class that is not trusted.

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
            raise TypeError(f"trusted holds {cls!r}; it takes classes, such as trusted=[MyKernel].")
    manifest: dict[str, Any] = {}
    try:
        with container.opened(Path(path)) as members:
            written = members.manifest()
            manifest = _current(path, written)
            upgrades = legacy.UPGRADES if written["format"] == 1 else None
            value = decode(manifest["value"], members, known, upgrades)
    except (ImportError, MemoryError, OSError, container.RefusedError):
        raise
    except Exception as error:
        # whatever a strange file makes of the reader says something about the file
        raise ValueError(f"{path} cannot be loaded: {_why(error)}.{_writer(manifest)}") from error
    _compare_versions(path, manifest)
    return value


def _why(error: Exception) -> str:
    """What an error says; it may quote a thing of the file that cannot even be shown."""
    kind = "" if isinstance(error, ValueError) else type(error).__name__
    try:
        return f"{kind}: {error}" if kind else str(error)
    except Exception:
        return kind or "something in it cannot be shown"


def _writer(manifest: dict[str, Any]) -> str:
    """Who wrote a file, where that may be the reason for trouble."""
    writer = manifest.get("mercer", mercer.__version__)
    if writer == mercer.__version__:
        return ""
    return f" It was written by mercer {writer}, and this is mercer {mercer.__version__}."


def _current(path: Any, manifest: Any) -> dict[str, Any]:
    """Bring a manifest to the current format, or say what to do."""
    number, writer = manifest["format"], manifest["mercer"]
    if type(number) is not int or not isinstance(writer, str):
        raise ValueError("it does not say which version wrote it")
    if number > FORMAT:
        raise container.RefusedError(
            f"{path} has format {number}, written by mercer {writer}; this is mercer "
            f"{mercer.__version__}, which reads formats up to {FORMAT}. Upgrade: "
            f"pip install 'mercer>={writer}'"
        )
    while number < FORMAT:
        if number not in _MIGRATIONS:
            raise container.RefusedError(
                f"{path} has format {number}, written by mercer {writer}, which mercer "
                f"{mercer.__version__} does not read any more. Load it with mercer {writer} and "
                "fit again here, or save it with a version in between that reads both."
            )
        manifest = _MIGRATIONS[number](manifest)
        number += 1
    borrowed, lender = manifest["borrowed"], manifest["scikit-learn"]
    if not isinstance(lender, str):
        raise ValueError("it does not say which version of scikit-learn was there")
    if not isinstance(borrowed, list) or not all(isinstance(name, str) for name in borrowed):
        raise ValueError("its list of borrowed classes is none")
    return dict(manifest)


def _compare_versions(path: Any, manifest: dict[str, Any]) -> None:
    """Warn if the versions that wrote the file may not agree with those that read it."""
    writer, here = _version_order(manifest["mercer"]), _version_order(mercer.__version__)
    if writer is None or here is None or writer > here:
        warn(
            f"{path} was written by mercer {manifest['mercer']}, which is not an earlier version "
            f"of this mercer ({mercer.__version__}). Its models may give other results here. "
            "Upgrade mercer, or fit and save the models again.",
            VersionWarning,
        )
    lender = version("scikit-learn")
    if manifest["borrowed"] and manifest["scikit-learn"] != lender:
        names = ", ".join(name.rpartition(".")[2] for name in manifest["borrowed"])
        warn(
            f"{path} holds objects of scikit-learn {manifest['scikit-learn']} ({names}), and the "
            f"installed version is {lender}. They may give other results or fail. Fit and save "
            "them again to be sure.",
            VersionWarning,
        )


_VERSION = re.compile(
    r"(?P<release>\d+(\.\d+)*)((?P<phase>a|b|rc)(?P<pre>\d+))?"
    r"(\.post(?P<post>\d+))?(\.dev(?P<dev>\d+))?(\+.*)?"
)


def _version_order(text: str) -> tuple[Any, ...] | None:
    """Return a key that sorts versions as PEP 440 does, or None if the text is not a version.

    >>> _version_order("0.1.0.dev0") < _version_order("0.1a2") < _version_order("0.1.0")
    True
    """
    found = _VERSION.fullmatch(text) if len(text) < 100 else None
    if found is None:
        return None
    release = tuple(int(part) for part in found["release"].split("."))
    while release[-1:] == (0,):
        release = release[:-1]
    phases = {None: "z", "a": "a", "b": "b", "rc": "c"}
    phase = "" if found["dev"] and not (found["phase"] or found["post"]) else phases[found["phase"]]
    dev = float("inf") if found["dev"] is None else int(found["dev"])
    return release, phase, int(found["pre"] or 0), int(found["post"] or -1), dev
