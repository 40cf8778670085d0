"""check_kernel accepts valid kernels and detects defects."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mercer.kernels import (
    Cosine,
    Epanechnikov,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    check_kernel,
)
from tests.expectations import raises
from tests.kernels.naive import FORMULAS, IDS


@pytest.mark.parametrize("kernel", [kernel for kernel, _ in FORMULAS], ids=IDS)
def test_check_kernel_passes_for_every_kernel(kernel):
    check_kernel(kernel)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.0) + Linear() + Cosine(),
        Gaussian(1.0) * Polynomial(2, 1.0),
        2.5 * Laplacian(1.0) * Matern(2.0),
        -1.0 * Gaussian(1.0),
        0.5 * Linear(1.0, 1.0),
        3.0 * Cosine(),
    ],
    ids=repr,
)
def test_check_kernel_passes_for_combinations(kernel):
    check_kernel(kernel)


class _Plain(Gaussian):
    """A Gaussian defined by its formula, a base class of defective kernels."""

    def tiles(self, X, Y=None):
        return Kernel.tiles(self, X, Y)

    def matrix(self, X, Y):
        return np.exp(-(cdist(X, Y) ** 2) / (2 * self.bandwidth**2)).astype(X.dtype)


class _Asymmetric(_Plain):
    def matrix(self, X, Y):
        return super().matrix(X, Y) + 1e-6 * X[:, :1]


class _WrongDiagonal(_Plain):
    def diagonal(self, X):
        return np.full(len(X), 1 + 1e-6, X.dtype)


class _FalsePsd(Epanechnikov):
    is_psd = True


class _Mutating(_Plain):
    def matrix(self, X, Y):
        X += 1.0
        return super().matrix(X, Y)


class _ReturnsDouble(_Plain):
    def matrix(self, X, Y):
        return super().matrix(X, Y).astype(np.float64)


class _WrongTile(_Plain):
    def tiles(self, X, Y=None):
        inner = super().tiles(X, Y)

        def tile(rows, columns, out):
            offset = 0 if rows == slice(None) else 1e-6
            block = inner(rows, columns, out)
            block += offset
            return block

        return tile


class _WrongFeatures(Linear):
    def features(self, X):
        return 1.001 * super().features(X)


class _LosesParameters(_Plain):
    def get_params(self, deep=True):
        return {"bandwidth": 1.0}


class _NotFinite(_Plain):
    def matrix(self, X, Y):
        K = super().matrix(X, Y)
        K[K < 0.01] = np.nan
        return K


class _Cropped(_Plain):
    def __call__(self, X, Y=None):
        return super().__call__(X, Y)[:-1]


class _CroppedCross(_Plain):
    def __call__(self, X, Y=None):
        K = super().__call__(X, Y)
        return K if Y is None else K[:, :-1]


class _DifferentCross(_Plain):
    def __call__(self, X, Y=None):
        K = super().__call__(X, Y)
        return K if Y is None else 2 * K


class _NotTheTranspose(_Plain):
    def matrix(self, X, Y):
        return super().matrix(X, Y) * (1 if len(X) >= len(Y) else 2)


class _IgnoresOut(_Plain):
    def tiles(self, X, Y=None):
        inner = super().tiles(X, Y)
        return lambda rows, columns, out: inner(rows, columns, None)


class _SharesTiles(_Plain):
    """Returns the same array for every tile of the same points."""

    def tiles(self, X, Y=None):
        K = super().tiles(X, Y)(slice(None), slice(None), None)

        def tile(rows, columns, out):
            if out is None:
                return K[rows, columns]
            out[...] = K[rows, columns]
            return out

        return tile


class _ReadOnlyTiles(_Plain):
    def tiles(self, X, Y=None):
        inner = super().tiles(X, Y)

        def tile(rows, columns, out):
            block = inner(rows, columns, out)
            block.flags.writeable = out is not None
            return block

        return tile


def test_check_kernel_accepts_a_kernel_defined_by_matrix():
    check_kernel(_Plain(0.7))


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_check_kernel_tolerances_are_relative(factor):
    check_kernel(factor * (Linear() + Polynomial(3, constant=1.0)))
    check_kernel(factor * Linear())


@pytest.mark.parametrize(
    ("defect", "values"),
    [
        (_Asymmetric(0.7), ["symmetric"]),
        (_WrongDiagonal(0.7), ["diagonal"]),
        (_FalsePsd(2.0), ["is_psd", "eigenvalue -"]),
        (_Mutating(0.7), ["input"]),
        (_ReturnsDouble(0.7), ["float32", "float64"]),
        (_WrongTile(0.7), ["tile"]),
        (_WrongFeatures(), ["features"]),
        (_LosesParameters(0.7), ["clone"]),
        (_NotFinite(0.7), ["finite"]),
        (_Cropped(0.7), ["(22, 23)", 23]),
        (_CroppedCross(0.7), ["(23, 10)"]),
        (_DifferentCross(0.7), ["(X, X)"]),
        (_NotTheTranspose(0.7), ["transpose"]),
        (_IgnoresOut(0.7), ["tile"]),
        (_SharesTiles(0.7), ["memory"]),
        (_ReadOnlyTiles(0.7), ["read-only"]),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Kernel) else "",
)
def test_check_kernel_detects_defects(defect, values):
    with raises(AssertionError, *values):
        check_kernel(defect)
