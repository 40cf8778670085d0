"""Copies of data sets on OpenML, put into the order of the original files and verified.

OpenML does not mark the training and test rows and may order the rows differently. The rows are
sorted, compared with a known checksum, and put into the original order, which
``row_orders.npz`` has (written by ``tools/row_orders.py``).
"""

from __future__ import annotations

import hashlib
import socket
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Arrays", "Mirror", "checksum", "fetch", "original_order", "sorted_rows"]

Arrays = Mapping[str, NDArray[Any]]

_TIMEOUT = 20.0  # seconds without an answer
_failures: list[OSError] = []  # of the network; it is tried once per process


@dataclass(frozen=True)
class Mirror:
    """A data set on OpenML.

    Parameters
    ----------
    query : dict
        ``data_id``, or ``name`` and ``version``.
    n : int
        Number of rows.
    sha256 : str
        Checksum of the sorted rows, see :func:`checksum`.
    order : str
        Name of the original order in ``row_orders.npz``.
    decimals : int
        Decimals of the features that are compared.
    convert : callable
        Returns features and integer classes in the units of the file, from those on OpenML.
    arrays : callable
        Returns the arrays of the file, from features and classes in the original order.
    """

    query: Mapping[str, Any]
    n: int
    sha256: str
    order: str
    decimals: int
    convert: Callable[[NDArray[Any], NDArray[Any]], tuple[NDArray[Any], NDArray[Any]]]
    arrays: Callable[[NDArray[Any], NDArray[Any]], Arrays]

    def __str__(self) -> str:
        return "OpenML, " + ", ".join(f"{key}={value}" for key, value in self.query.items())


def sorted_rows(X: NDArray[Any], y: NDArray[Any], decimals: int) -> NDArray[np.intp]:
    """Return the indices that sort the rows by features, rounded to some decimals, and class."""
    return np.lexsort(_integers(X, y, decimals).T[::-1])


def checksum(X: NDArray[Any], y: NDArray[Any], decimals: int) -> str:
    """Return the SHA-256 of the sorted rows as integers; it does not depend on their order."""
    table = _integers(X, y, decimals)
    return hashlib.sha256(table[np.lexsort(table.T[::-1])].astype("<i8").tobytes()).hexdigest()


def original_order(name: str) -> NDArray[np.int64]:
    """Return, for each row of the original file, its position among the sorted rows."""
    with (Path(__file__).parent / "row_orders.npz").open("rb") as file, np.load(file) as orders:
        return np.asarray(orders[name], dtype=np.int64)


def fetch(mirror: Mirror) -> Arrays:
    """Download a data set and return the arrays of the original file.

    Raises OSError if OpenML cannot be reached, and ValueError if its copy differs.
    """
    X, y = mirror.convert(*_download(mirror.query))
    found = checksum(X, y, mirror.decimals)
    if len(X) != mirror.n or found != mirror.sha256:
        raise ValueError(
            f"the copy has {len(X)} rows with checksum {found[:12]}; expected {mirror.n} rows with "
            f"{mirror.sha256[:12]}"
        )
    rows = sorted_rows(X, y, mirror.decimals)[original_order(mirror.order)]
    return mirror.arrays(X[rows], y[rows])


def _integers(X: NDArray[Any], y: NDArray[Any], decimals: int) -> NDArray[np.int64]:
    return np.column_stack([np.rint(X * 10.0**decimals), y]).astype(np.int64)


def _download(query: Mapping[str, Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return features and classes (as strings); after a network error all later calls fail."""
    from sklearn.datasets import fetch_openml

    if _failures:
        raise _failures[0]
    try:
        with _timeout(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the retry
            # the other parser of scikit-learn requires pandas, an optional dependency
            fetched = fetch_openml(
                **query, as_frame=False, parser="liac-arff", n_retries=1, delay=0.1
            )
    except OSError as error:
        _failures.append(error)
        raise
    return np.asarray(fetched.data, dtype=np.float64), np.asarray(fetched.target)


@contextmanager
def _timeout() -> Iterator[None]:
    """Limit the time of connections; scikit-learn has no argument for it."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_TIMEOUT)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)
