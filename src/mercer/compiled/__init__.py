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
_TYPES: dict[np.dtype[Any], str] = {np.dtype(np.float64): "double", np.dtype(np.float32): "float"}
_ARGUMENTS = {
    "exp": (ctypes.c_void_p, *[ctypes.c_ssize_t] * 3, ctypes.c_double),
    "add_products": (
        ctypes.c_void_p,
        *[ctypes.c_ssize_t] * 3,
        *[ctypes.c_void_p] * 4,
        ctypes.c_ssize_t,
    ),
}


def uses_compiled_code() -> bool:
    """Return whether the compiled library is used."""
    return bool(_functions())


def exponentials(h: Array, upper: float = np.inf) -> Array:
    """Replace h by ``exp(min(h, upper))`` and return it.

    The relative error is below one unit in the last place.

    >>> exponentials(np.array([0.0, -np.inf])).tolist()
    [1.0, 0.0]
    """
    function = _functions().get(("exp", h.dtype))
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

    Parameters
    ----------
    A : array of shape (rows, terms)
        float64 or float32, with contiguous rows.
    V, W : arrays of shape (terms, c) and (rows, c)
        Of the same type, contiguous; c is a multiple of ``COLUMN_MULTIPLE``.
    above, below : arrays of shape (rows, c) and (terms, c)
        float64, contiguous. ``below`` is not used without W.
    """
    if A.size == 0:
        return
    function = _functions()["add_products", A.dtype]
    shapes = [(A.shape[1], V), (A.shape[0], above)]
    shapes += [] if W is None else [(A.shape[0], W), (A.shape[1], below)]
    columns = V.shape[1]
    assert _has_contiguous_rows(A)
    assert columns % COLUMN_MULTIPLE == 0
    assert all(M.shape == (rows, columns) and M.flags.c_contiguous for rows, M in shapes)
    assert above.dtype == below.dtype == np.float64
    assert all(M.dtype == A.dtype for M in (V, W) if M is not None)
    function(
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
def _functions() -> dict[tuple[str, np.dtype[Any]], Any]:
    """Return the compiled functions by name and type of numbers; empty if there are none."""
    path = next(Path(__file__).parent.glob("_loops.*"), None)
    if path is None or os.environ.get("MERCER_COMPILED") == "0":
        return {}
    try:
        library = ctypes.CDLL(str(path))
    except OSError:  # of another platform
        return {}
    if not library.mercer_is_useful():
        return {}
    found = {}
    for name, arguments in _ARGUMENTS.items():
        for dtype, suffix in _TYPES.items():
            function = getattr(library, f"mercer_{name}_{suffix}")
            function.argtypes, function.restype = arguments, None
            found[name, dtype] = function
    return found
