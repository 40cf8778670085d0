"""The contract of a kernel, as a test that anyone can run on their own."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from mercer.data import select_rows
from mercer.kernels.base import Kernel
from mercer.maths.types import Array

__all__ = ["check_kernel"]


def check_kernel(kernel: Kernel, X: Any = None, Y: Any = None) -> None:
    """Check that a kernel keeps the contract that the rest of the library relies on.

    Shapes, symmetry, diagonal, tiles equal to the whole, single precision kept, inputs left
    alone, positive semi-definiteness where ``is_psd`` claims it, features that reproduce the
    kernel, parameters that survive ``get_params``/``set_params``, ``clone`` and pickling.

    Parameters
    ----------
    kernel : Kernel
        With numbers for its bandwidths.
    X, Y : sequences of points or None
        What to try it on; needed where the kernel does not compare vectors. At least 3 each.

    Raises
    ------
    AssertionError
        Naming the clause that fails, with the numbers.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear, check_kernel
    >>> check_kernel(Gaussian(0.7) + 2.0 * Linear())
    """
    if X is None:
        rng = np.random.default_rng(0)
        X, Y = rng.normal(size=(23, 4)), rng.normal(size=(11, 4))
    Y = X if Y is None else Y
    _check_values(kernel, X, Y)
    _check_tiles(kernel, X, Y)
    if kernel.is_psd:
        _check_psd(kernel, X)
    _check_features(kernel, X, Y)
    if kernel.compares == "vectors" and isinstance(X, np.ndarray) and X.dtype == np.float64:
        _check_single_precision(kernel, X)
    _check_parameters(kernel, X, Y)


def _check_values(kernel: Kernel, X: Any, Y: Any) -> None:
    before = pickle.dumps((X, Y))
    K, cross, diagonal = kernel(X), kernel(X, Y), kernel.diagonal(X)
    assert pickle.dumps((X, Y)) == before, f"{kernel!r} changed its input"
    assert K.shape == (len(X), len(X)), f"{kernel!r}(X) has shape {K.shape} for {len(X)} points"
    assert cross.shape == (len(X), len(Y)), f"{kernel!r}(X, Y) has shape {cross.shape}"
    assert np.isfinite(K).all(), f"{kernel!r}(X) is not finite"
    _assert_close(K, K.T, f"{kernel!r}(X) is not symmetric")
    _assert_close(K, kernel(X, X), f"{kernel!r}(X) is not {kernel!r}(X, X)")
    _assert_close(cross, kernel(Y, X).T, f"{kernel!r}(X, Y) is not the transpose of (Y, X)")
    _assert_close(K.diagonal(), diagonal, f"diagonal(X) is not the diagonal of {kernel!r}(X)")


def _check_tiles(kernel: Kernel, X: Any, Y: Any) -> None:
    rows, columns = slice(1, len(X) - 1), slice(0, len(Y) // 2 + 1)
    out = np.full((rows.stop - rows.start, columns.stop), np.nan, kernel(X, Y).dtype)
    tile = kernel.tiles(kernel._as_points(X), kernel._as_points(Y))(rows, columns, out)
    assert tile is out, f"a tile of {kernel!r} is not written where it was asked for"
    expected = kernel(select_rows(X, rows), select_rows(Y, columns))
    _assert_close(tile, expected, f"a tile of {kernel!r} differs from the kernel of its points")


def _check_psd(kernel: Kernel, X: Any) -> None:
    values = np.linalg.eigvalsh(kernel(X))
    limit = -1e-10 * len(X) * max(abs(values[0]), abs(values[-1]))
    assert values[0] >= limit, f"{kernel!r} claims is_psd but has the eigenvalue {values[0]:.3g}"


def _check_features(kernel: Kernel, X: Any, Y: Any) -> None:
    left, right = kernel.features(X), kernel.features(Y)
    if left is not None and right is not None:
        _assert_close(left @ right.T, kernel(X, Y), f"features of {kernel!r} miss the kernel")


def _check_single_precision(kernel: Kernel, X: Array) -> None:
    single = kernel(X.astype(np.float32))
    assert single.dtype == np.float32, f"{kernel!r} turned float32 into {single.dtype}"
    _assert_close(single, kernel(X), f"{kernel!r} in float32 differs", tolerance=1e-4)


def _check_parameters(kernel: Kernel, X: Any, Y: Any) -> None:
    from sklearn.base import clone

    K = kernel(X, Y)
    copies = {"clone": clone(kernel), "pickling": pickle.loads(pickle.dumps(kernel))}
    copies["set_params"] = clone(kernel).set_params(**kernel.get_params())
    for way, copy in copies.items():
        assert np.array_equal(copy(X, Y), K), f"{way} changes {kernel!r} into {copy!r}"


def _assert_close(found: Array, expected: Array, message: str, tolerance: float = 1e-12) -> None:
    gap = float(np.abs(found - expected).max(initial=0.0))
    limit = tolerance * max(1.0, float(np.abs(expected).max(initial=0.0)))
    assert gap <= limit, f"{message}: by {gap:.3g}, allowed {limit:.3g}"
