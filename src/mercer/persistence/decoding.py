"""Decoding of a tree and arrays, the inverse of :mod:`~mercer.persistence.encoding`.

The tree is not trusted: invalid content raises an exception, which the caller reports.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from mercer.persistence.classes import fill, find_class, instance
from mercer.persistence.container import Members
from mercer.persistence.encoding import DEEPEST
from mercer.persistence.value_types import type_of_tag
from mercer.utils.types import Array

__all__ = ["decode"]

_UNFINISHED = object()


def decode(tree: Any, members: Members, trusted: Sequence[type]) -> Any:
    """Return the value that a tree describes.

    Parameters
    ----------
    tree : object
        Parsed JSON.
    members : Members
        The file; every array in it must occur in the tree.
    trusted : sequence of classes
        Classes that are allowed in addition to the listed ones.
    """
    decoder = _Decoder(members, trusted)
    value = decoder.decode(tree, 0)
    if decoder.read != members.n_arrays:
        raise ValueError("it holds arrays that are not used")
    return value


class _Decoder:
    def __init__(self, members: Members, trusted: Sequence[type]) -> None:
        self.read = 0
        self._members = members
        self._trusted = trusted
        self._decoded: list[Any] = []
        self._tags: dict[str, Callable[[Any, int], Any]] = {
            "int": self._int,
            "float": self._float,
            "again": self._again,
            "array": self._array,
            "objects": self._objects,
            "dict": self._dict,
            "object": self._object,
            "tuple": self._collection(tuple),
            "set": self._collection(set),
            "frozenset": self._collection(frozenset),
        }

    def decode(self, node: Any, depth: int) -> Any:
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if depth > DEEPEST:
            raise ValueError(f"it is nested more than {DEEPEST} levels deep")
        if isinstance(node, list):
            shell: list[Any] = []
            self._decoded.append(shell)
            shell.extend(self.decode(item, depth + 1) for item in node)
            return shell
        ((tag, content),) = node.items()
        if tag in self._tags:
            return self._tags[tag](content, depth)
        value_type = type_of_tag(tag)
        if not value_type.has_identity:
            return value_type.from_parts([self.decode(part, depth + 1) for part in content])
        index = self._add(_UNFINISHED)
        value = value_type.from_parts([self.decode(part, depth + 1) for part in content])
        self._decoded[index] = value
        return value

    def _add(self, value: Any) -> int:
        self._decoded.append(value)
        return len(self._decoded) - 1

    def _int(self, content: Any, depth: int) -> int:
        return int(content, 16)

    def _float(self, content: Any, depth: int) -> float:
        return {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}[content]

    def _again(self, index: Any, depth: int) -> Any:
        if type(index) is not int or index < 0 or self._decoded[index] is _UNFINISHED:
            raise ValueError("it refers to a value that is not decoded yet")
        return self._decoded[index]

    def _array(self, content: Any, depth: int) -> Array:
        index, writeable = content
        if index != self.read:
            raise ValueError("its arrays are not in order")
        self.read += 1
        array = self._members.array(index)
        array.flags.writeable = bool(writeable)
        self._decoded.append(array)
        return array

    def _objects(self, content: Any, depth: int) -> Array:
        shape, items, writeable = content
        if any(type(n) is not int or n < 0 for n in shape) or prod(shape) != len(items):
            raise ValueError(f"an array of shape {shape} has {len(items)} items")
        array = np.empty(shape, dtype=object)
        self._decoded.append(array)
        flat = array.reshape(-1)  # a view, because a new array is contiguous
        for i, item in enumerate(items):
            flat[i] = self.decode(item, depth + 1)
        array.flags.writeable = bool(writeable)
        return array

    def _dict(self, pairs: Any, depth: int) -> dict[Any, Any]:
        shell: dict[Any, Any] = {}
        self._decoded.append(shell)
        for key, item in pairs:
            name = self.decode(key, depth + 1)
            shell[name] = self.decode(item, depth + 1)
        return shell

    def _object(self, content: Any, depth: int) -> Any:
        name, state = content
        shell = instance(find_class(name, self._trusted))
        self._decoded.append(shell)
        values = {key: self.decode(item, depth + 1) for key, item in state.items()}
        fill(shell, values)
        return shell

    def _collection(self, collect: Callable[[list[Any]], Any]) -> Callable[[Any, int], Any]:
        def collection(items: Any, depth: int) -> Any:
            if not items and collect is not set:
                return collect([])
            index = self._add(_UNFINISHED)
            value = collect([self.decode(item, depth + 1) for item in items])
            self._decoded[index] = value
            return value

        return collection
