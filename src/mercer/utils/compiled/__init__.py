"""Exponentials in compiled code, if it was built and helps on this CPU.

Building a wheel compiles the C file of this folder if there is a C compiler (``hatch_build.py``).
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

__all__ = ["exponentials", "uses_compiled_code"]

Array = NDArray[Any]

_FEWEST = 512  # numbers; below, the call takes longer than NumPy's loop
_ARGUMENTS = (ctypes.c_void_p, *[ctypes.c_ssize_t] * 3, ctypes.c_double)
_NAMES: dict[np.dtype[Any], str] = {
    np.dtype(np.float64): "mercer_exp_double",
    np.dtype(np.float32): "mercer_exp_float",
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
    function = _functions().get(h.dtype)
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
    address = h.__array_interface__["data"][0]
    function(address, *matrix.shape, matrix.strides[0] // h.itemsize, upper)
    return h


def _has_contiguous_rows(A: Array) -> bool:
    """Return whether the rows of a matrix are contiguous and do not overlap."""
    step = A.strides[0]
    contiguous = A.strides[1] == A.itemsize or A.shape[1] == 1
    return contiguous and step % A.itemsize == 0 and step >= A.shape[1] * A.itemsize


@cache
def _functions() -> dict[np.dtype[Any], Any]:
    """Return the compiled functions by type; empty if there are none."""
    path = next(Path(__file__).parent.glob("_loops.*"), None)
    if path is None or os.environ.get("MERCER_COMPILED") == "0":
        return {}
    try:
        library = ctypes.CDLL(str(path))
    except OSError:  # of another platform
        return {}
    if not library.mercer_is_useful():
        return {}
    found = {dtype: getattr(library, name) for dtype, name in _NAMES.items()}
    for function in found.values():
        function.argtypes, function.restype = _ARGUMENTS, None
    return found
