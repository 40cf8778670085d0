"""The array type that annotations use; shapes are given in docstrings."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy.typing as npt

__all__ = ["Array"]

Array: TypeAlias = npt.NDArray[Any]
