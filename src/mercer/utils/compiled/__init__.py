"""Two loops in compiled code if it was built and helps on this CPU: exponentials, narrow products.

Building a wheel compiles the C files of this folder if there is a C compiler (``hatch_build.py``).
Only pointers and sizes cross the boundary, so the library does not depend on a version of Python or
NumPy. Otherwise NumPy does the same, and results agree up to rounding error. The environment
variable ``MERCER_COMPILED=0`` selects NumPy; it is read once, and processes of a Dask cluster
inherit it.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["COLUMN_MULTIPLE", "add_products", "exponentials", "uses_compiled_code"]

Array = NDArray[Any]

COLUMN_MULTIPLE = 8  # of the factors of compiled products

_FEWEST = 512  # numbers; below, the call takes longer than NumPy's loop
_POINTER, _SIZE = ctypes.c_void_p, ctypes.c_ssize_t
_ARGUMENTS = {
    "exp_double": (_POINTER, *[_SIZE] * 3, ctypes.c_double),
    "exp_float": (_POINTER, *[_SIZE] * 3, ctypes.c_double),
    "add_products": (_POINTER, *[_SIZE] * 3, *[_POINTER] * 4, _SIZE),
}
_EXPONENTIALS = {np.dtype(np.float64): "exp_double", np.dtype(np.float32): "exp_float"}


def uses_compiled_code() -> bool:
    """Return whether the compiled library is used."""
    return bool(_functions())


def exponentials(h: Array, upper: float = np.inf) -> Array:
    """Replace h by ``exp(min(h, upper))`` and return it.

    The relative error is below one unit in the last place.

    >>> exponentials(np.array([0.0, -np.inf])).tolist()
    [1.0, 0.0]
    """
    function = _functions().get(_EXPONENTIALS.get(h.dtype, ""))
    matrix = h.reshape(1, -1) if h.ndim == 1 else h
    if (
        function is None
        or h.size < _FEWEST
        or matrix.ndim != 2
        or not _has_contiguous_rows(matrix)
        or not (h.flags.writeable and h.flags.aligned)
    ):
        # a maximum takes half the time of clipping, which is rarely necessary
        if upper < np.inf and h.max(initial=-np.inf) > upper:
            np.minimum(h, upper, out=h)
        return np.exp(h, out=h)
    function(_address(h), *matrix.shape, matrix.strides[0] // h.itemsize, upper)
    return h


def add_products(A: Array, V: Array, above: Array, W: Array | None, below: Array) -> None:
    """Add ``A V`` to ``above``, and ``A' W`` to ``below`` unless W is None, in compiled code.

    All arrays are of type float64.

    Parameters
    ----------
    A : array of shape (rows, terms)
        With contiguous rows.
    V, W : arrays of shape (terms, c) and (rows, c)
        Contiguous; c is a multiple of ``COLUMN_MULTIPLE``.
    above, below : arrays of shape (rows, c) and (terms, c)
        Contiguous. ``below`` is not used without W.
    """
    if A.size == 0:
        return
    shapes = [(A.shape[1], V), (A.shape[0], above)]
    shapes += [] if W is None else [(A.shape[0], W), (A.shape[1], below)]
    columns = V.shape[1]
    assert _has_contiguous_rows(A)
    assert columns % COLUMN_MULTIPLE == 0
    assert all(M.shape == (rows, columns) and M.flags.c_contiguous for rows, M in shapes)
    assert all(M.dtype == np.float64 for _, M in [(0, A), *shapes])
    _functions()["add_products"](
        _address(A),
        A.strides[0] // A.itemsize,
        *A.shape,
        _address(V),
        None if W is None else _address(W),
        _address(above),
        _address(below),
        columns,
    )


def _has_contiguous_rows(A: Array) -> bool:
    """Return whether the rows of a matrix are contiguous and do not overlap."""
    step = A.strides[0]
    contiguous = A.strides[1] == A.itemsize or A.shape[1] == 1
    return contiguous and step % A.itemsize == 0 and step >= A.shape[1] * A.itemsize


def _address(A: Array) -> int:
    return int(A.__array_interface__["data"][0])


@cache
def _functions() -> dict[str, Any]:
    """Return the compiled functions by name; empty if there are none."""
    path = next(Path(__file__).parent.glob("_loops.*"), None)
    if path is None or os.environ.get("MERCER_COMPILED") == "0":
        return {}
    try:
        library = ctypes.CDLL(str(path))
    except OSError:  # of another platform
        return {}
    if not library.mercer_is_useful():
        return {}
    found = {name: getattr(library, f"mercer_{name}") for name in _ARGUMENTS}
    for name, function in found.items():
        function.argtypes, function.restype = _ARGUMENTS[name], None
    return found
