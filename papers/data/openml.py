"""Data sets of the papers that OpenML has: how its copies differ, and their checksums."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from papers.data.mirrors import Arrays, Mirror

__all__ = ["PENDIGITS", "SEGMENT", "SURFACES", "THYROID", "USPS"]

#: Classes of the image segmentation data, from 1.
SURFACES = ("BRICKFACE", "SKY", "FOLIAGE", "CEMENT", "WINDOW", "PATH", "GRASS")
_SEGMENT_FEATURES = (
    *("region-centroid-col", "region-centroid-row", "region-pixel-count"),
    *("short-line-density-5", "short-line-density-2", "vedge-mean", "vedge-sd", "hedge-mean"),
    *("hedge-sd", "intensity-mean", "rawred-mean", "rawblue-mean", "rawgreen-mean"),
    *("exred-mean", "exblue-mean", "exgreen-mean", "value-mean", "saturation-mean", "hue-mean"),
)
_THYROID_FEATURES = (
    *("t3_resin_uptake", "total_serum_thyroxin", "total_serum_triiodothyronine"),
    *("basal_tsh", "tsh_difference"),
)

_Converted = tuple[NDArray[Any], NDArray[np.int64]]


def _surfaces(X: NDArray[Any], y: NDArray[Any]) -> _Converted:
    """OpenML has the names of the classes, in lower case."""
    return X, np.array([1 + SURFACES.index(str(name).upper()) for name in y])


def _pixels(X: NDArray[Any], y: NDArray[Any]) -> _Converted:
    """OpenML labels the digits 0 to 9 as 1 to 10, and the scale of its pixels may change."""
    low, high = X.min(), X.max()
    classes = y.astype(np.int64)
    return np.rint(2000 * (X - low) / (high - low) - 1000), classes - classes.min()


def _integers(X: NDArray[Any], y: NDArray[Any]) -> _Converted:
    return X, y.astype(np.int64)


def _pendigits(X: NDArray[Any], y: NDArray[Any]) -> Arrays:
    return {"X": X, "y": y, "is_train": np.arange(len(X)) < 7494}


def _segment(X: NDArray[Any], y: NDArray[Any]) -> Arrays:
    names = np.array(_SEGMENT_FEATURES)
    return {"X": X, "y": y, "is_train": np.arange(len(X)) < 210, "feature_names": names}


def _usps(X: NDArray[Any], y: NDArray[Any]) -> Arrays:
    return {"X_train": X[:7291], "y_train": y[:7291], "X_test": X[7291:], "y_test": y[7291:]}


def _thyroid(X: NDArray[Any], y: NDArray[Any]) -> Arrays:
    names, classes = np.array(_THYROID_FEATURES), np.array(["normal", "hyper", "hypo"])
    return {"X": X, "y": y, "class_names": classes, "feature_names": names}


PENDIGITS = Mirror(
    {"data_id": 32},
    10992,
    "cf0c0c3efc24fc6d337b8f1ac343ba5e821b45bae1a191daae3ba52ae9a09fd1",
    "pendigits",
    0,
    _integers,
    _pendigits,
)
SEGMENT = Mirror(  # copies have six to eight significant digits; one decimal identifies a row
    {"data_id": 36},
    2310,
    "b59cccb394507f2fbc31324d49cbcded14560299220e941bb6af24ed147b9050",
    "segment",
    1,
    _surfaces,
    _segment,
)
USPS = Mirror(
    {"data_id": 41082},
    9298,
    "5edda260be2408e98e1023a51875af93cd1cb638d371552c61dfc389f9987930",
    "usps",
    0,
    _pixels,
    _usps,
)
THYROID = Mirror(
    {"name": "thyroid-new", "version": 1},
    215,
    "cf90df252649c0ede3ea806ed1f788b0378703acd6db7b2c758a3b6cf1043bca",
    "newthyroid",
    1,
    _integers,
    _thyroid,
)
