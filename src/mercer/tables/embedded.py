"""Built-in data sets for the command line and the explorer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer.utils.types import Array

__all__ = ["EMBEDDED", "embedded_parts"]

#: Columns by name, and class labels (or None).
Parts = tuple[dict[str, Array], Array | None]


def embedded_parts(name: str) -> Parts:
    """Return the columns and the class labels of an embedded data set."""
    return EMBEDDED[name](name)


def _from_sklearn(name: str) -> Parts:
    import sklearn.datasets

    bunch: Any = getattr(sklearn.datasets, f"load_{name}")()
    columns = _by_name(bunch.data, bunch.feature_names)
    names = bunch.get("target_names")
    return columns, None if names is None else np.asarray(names).astype(str)[bunch.target]


def _rings(name: str) -> Parts:
    from mercer.datasets import make_rings

    X, part = make_rings(random_state=0)
    return _by_name(X, ["x", "y"]), np.array(["inner", "middle", "outer"])[part]


def _ring_and_blob(name: str) -> Parts:
    from mercer.datasets import make_ring_and_blob

    X, part = make_ring_and_blob(random_state=0)
    return _by_name(X, ["x", "y"]), np.array(["ring", "blob"])[part]


def _machines(name: str) -> Parts:
    from mercer.datasets import make_machines

    columns, state = make_machines(random_state=0)
    return columns, state


def _by_name(X: Array, names: Sequence[str]) -> dict[str, Array]:
    return {str(name): np.asarray(X)[:, j] for j, name in enumerate(names)}


#: Name of a data set -> function that returns its columns and labels.
EMBEDDED: dict[str, Callable[[str], Parts]] = {
    "wine": _from_sklearn,
    "iris": _from_sklearn,
    "digits": _from_sklearn,
    "breast_cancer": _from_sklearn,
    "diabetes": _from_sklearn,
    "rings": _rings,
    "ring-and-blob": _ring_and_blob,
    "machines": _machines,
}
