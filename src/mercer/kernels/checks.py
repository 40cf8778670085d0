"""Test of the kernel interface, also for custom kernels."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from mercer.data.points import select_rows
from mercer.kernels.base import Kernel
from mercer.utils.types import Array

__all__ = ["check_kernel"]


def check_kernel(kernel: Kernel, X: Any = None, Y: Any = None) -> None:
    """Check that a kernel adheres to the kernel interface.

    The checks are: shapes, symmetry and diagonal; tiles equal to parts of the Gram matrix; single
    precision is preserved; inputs are not modified; results share no memory with earlier ones;
    positive semi-definiteness if ``is_psd`` is True; features reproduce the kernel; parameters are
    preserved by ``get_params``/``set_params``, ``clone`` and pickling.

    Parameters
    ----------
    kernel : Kernel
        Its bandwidths must be numbers, not rules.
    X, Y : sequences of points or None
        Data for the check, at least 3 points each; required if the kernel does not compare vectors.

    Raises
    ------
    AssertionError
        With the condition that is violated and the values found.

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
    _check_memory_is_not_shared(kernel, X, Y)
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
    assert tile is out, f"a tile of {kernel!r} is not written to the array that was passed"
    expected = kernel(select_rows(X, rows), select_rows(Y, columns))
    _assert_close(tile, expected, f"a tile of {kernel!r} differs from the kernel of its points")


def _check_memory_is_not_shared(kernel: Kernel, X: Any, Y: Any) -> None:
    """Check that tiles are new arrays: sums and products modify the tiles of their terms."""
    tiles = kernel.tiles(kernel._as_points(X), kernel._as_points(Y))
    blocks = [tiles(slice(None), slice(None), None) for _ in range(2)]
    assert not np.shares_memory(blocks[0], blocks[1]), (
        f"tiles of {kernel!r} share memory: return a new array each time, or a copy"
    )
    expected = blocks[0].copy()
    assert blocks[0].flags.writeable, f"a tile of {kernel!r} is read-only; return a copy"
    blocks[0][...] = np.nan
    _assert_close(kernel(X, Y), expected, f"changing a tile of {kernel!r} changes later ones")


def _check_psd(kernel: Kernel, X: Any) -> None:
    values = np.linalg.eigvalsh(kernel(X))
    limit = -1e-10 * len(X) * max(abs(values[0]), abs(values[-1]))
    assert values[0] >= limit, f"{kernel!r} has is_psd but the eigenvalue {values[0]:.3g}"


def _check_features(kernel: Kernel, X: Any, Y: Any) -> None:
    left, right = kernel.features(X), kernel.features(Y)
    if left is not None and right is not None:
        _assert_close(left @ right.T, kernel(X, Y), f"features of {kernel!r} do not reproduce it")


def _check_single_precision(kernel: Kernel, X: Array) -> None:
    single = kernel(X.astype(np.float32))
    assert single.dtype == np.float32, f"{kernel!r} returns {single.dtype} for float32"
    _assert_close(single, kernel(X), f"{kernel!r} in float32 differs", tolerance=1e-4)


def _check_parameters(kernel: Kernel, X: Any, Y: Any) -> None:
    from sklearn.base import clone

    K = kernel(X, Y)
    copies = {"clone": clone(kernel), "pickling": pickle.loads(pickle.dumps(kernel))}
    copies["set_params"] = clone(kernel).set_params(**kernel.get_params())
    for operation, copy in copies.items():
        assert np.array_equal(copy(X, Y), K), f"{operation} changes {kernel!r} into {copy!r}"


def _assert_close(found: Array, expected: Array, message: str, tolerance: float = 1e-12) -> None:
    difference = float(np.abs(found - expected).max(initial=0.0))
    limit = tolerance * max(1.0, float(np.abs(expected).max(initial=0.0)))
    assert difference <= limit, f"{message}: by {difference:.3g}, allowed {limit:.3g}"
