"""Values as a tree for JSON and a list of arrays, and back.

=========================== ==================================================================
None, bool, int, float, str unchanged, if JSON can represent them
list                        a list
dict                        ``{"dict": [[key, value], …]}``
array of numbers or strings ``{"array": [index of the array in the file, writeable]}``
array of objects            ``{"objects": [shape, [items], writeable]}``
type with a codec           ``{tag: [parts]}``, see :mod:`~mercer.persistence.codecs`
other object                ``{"object": [class name, {attribute: value}]}``
repeated object             ``{"again": index}``
=========================== ==================================================================

Objects with an identity are counted in the order of the tree. References by this index preserve
shared objects and cycles. A tree in a file is not trusted: invalid content raises an exception,
which the caller reports.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isfinite, prod
from typing import Any

import numpy as np

from mercer.data.dask import passes_for
from mercer.persistence.classes import check_plain, fill, find_class, name_of
from mercer.persistence.codecs import Codec, codec_of_tag, codec_of_value
from mercer.persistence.container import Members
from mercer.utils.types import Array

__all__ = ["DEEPEST", "decode", "encode"]

DEEPEST = 100  # levels of nesting, far below the recursion limit of Python
_UNFINISHED = object()


def encode(value: Any) -> tuple[Any, list[Array], set[str], list[str]]:
    """Return the tree, the arrays, the class names in the tree, and the attributes not encoded.

    Results on a Dask cluster are not encoded. If any other value cannot be encoded, a TypeError
    names the attribute.
    """
    encoder = _Encoder([type(value).__name__])
    tree = encoder.encode(value)
    return tree, encoder.arrays, encoder.classes, encoder.not_saved


def decode(tree: Any, members: Members, trusted: Sequence[type]) -> Any:
    """Return the value of a tree, which must use every array of the file once."""
    decoder = _Decoder(members, trusted)
    value = decoder.decode(tree, 0)
    if decoder.n_arrays != members.n_arrays:
        raise ValueError("it holds arrays that are not used")
    return value


class _Encoder:
    def __init__(self, path: list[str]) -> None:
        self.arrays: list[Array] = []
        self.classes: set[str] = set()
        self.not_saved: list[str] = []  # fitted attributes on a Dask cluster
        self._path = path
        self._indices: dict[int, int] = {}  # by id
        self._unfinished: set[int] = set()  # immutable objects, which cannot contain themselves
        self._alive: list[Any] = []  # references that prevent ids from being reused

    def encode(self, value: Any) -> Any:
        if _is_json(value):
            return value
        codec = codec_of_value(value)
        if codec is not None and not codec.has_identity:
            return self._coded(codec, value)
        if id(value) in self._indices:
            index = self._indices[id(value)]
            if index in self._unfinished:
                raise self._error(value, "it contains itself; only lists, dicts and objects may")
            return {"again": index}
        index = self._indices[id(value)] = len(self._indices)
        self._alive.append(value)
        if codec is not None:
            self._unfinished.add(index)
            node = self._coded(codec, value)
            self._unfinished.discard(index)
            return node
        if type(value) is list:
            return self._items(value)
        if type(value) is dict:
            return {"dict": [self._pair(key, item) for key, item in value.items()]}
        if type(value) in (np.ndarray, np.memmap):
            return self._array(value)
        return self._object(value)

    def _coded(self, codec: Codec, value: Any) -> dict[str, Any]:
        if self._path[-1].endswith("_") and passes_for(value).is_chunked:
            self.not_saved.append("".join(self._path))
        try:
            parts = codec.parts(value)
        except TypeError as error:
            raise self._error(value, str(error)) from error
        self._alive.append(parts)
        if isinstance(value, set | frozenset):  # their order in memory changes between runs
            parts = sorted(parts, key=self._sort_key)
        return {codec.tag: self._items(parts)}

    def _sort_key(self, item: Any) -> str:
        return json.dumps(_Encoder(list(self._path)).encode(item))

    def _array(self, value: Array) -> dict[str, Any]:
        is_writeable = bool(value.flags.writeable)
        if value.dtype == object:
            return {"objects": [list(value.shape), self._items(value.ravel()), is_writeable]}
        if value.dtype.hasobject or value.dtype.itemsize == 0:
            raise self._error(value, f"NumPy cannot store arrays of {value.dtype} without pickle")
        self.arrays.append(value)
        return {"array": [len(self.arrays) - 1, is_writeable]}

    def _object(self, value: Any) -> dict[str, Any]:
        try:
            check_plain(value)
        except TypeError as error:
            raise self._error(value, str(error)) from error
        reason = getattr(value, "why_not_saved", None)
        if reason is not None:
            raise self._error(value, reason)
        name = name_of(type(value))
        self.classes.add(name)
        return {"object": [name, {key: self._at(f".{key}", x) for key, x in vars(value).items()}]}

    def _items(self, items: Any) -> list[Any]:
        return [self._at(f"[{i}]", item) for i, item in enumerate(items)]

    def _pair(self, key: Any, item: Any) -> list[Any]:
        step = f"[{repr(key)[:40]}]"
        return [self._at(step, key), self._at(step, item)]

    def _at(self, step: str, value: Any) -> Any:
        if len(self._path) > DEEPEST:
            raise self._error(value, f"it is nested more than {DEEPEST} levels deep")
        self._path.append(step)
        node = self.encode(value)
        self._path.pop()
        return node

    def _error(self, value: Any, reason: str) -> TypeError:
        return TypeError(
            f"{''.join(self._path)} is a {type(value).__name__} and cannot be saved: {reason}. "
            "Nothing was written."
        )


def _is_json(value: Any) -> bool:
    """Return whether JSON represents a value exactly."""
    cls = type(value)
    if cls is int:
        return -(2**63) <= value < 2**63  # longer texts are slow to parse
    return value is None or cls is bool or cls is str or (cls is float and isfinite(value))


class _Decoder:
    def __init__(self, members: Members, trusted: Sequence[type]) -> None:
        self.n_arrays = 0
        self._members = members
        self._trusted = trusted
        self._decoded: list[Any] = []
        self._forms = {
            "again": self._again,
            "array": self._array,
            "dict": self._dict,
            "object": self._object,
            "objects": self._objects,
        }

    def decode(self, node: Any, depth: int) -> Any:
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if depth > DEEPEST:
            raise ValueError(f"it is nested more than {DEEPEST} levels deep")
        if isinstance(node, list):
            items = self._add([])
            items.extend(self.decode(item, depth + 1) for item in node)
            return items
        ((tag, content),) = node.items()
        if tag in self._forms:
            return self._forms[tag](content, depth + 1)
        codec, index = codec_of_tag(tag), len(self._decoded)
        if codec.has_identity:
            self._add(_UNFINISHED)
        value = codec.from_parts([self.decode(part, depth + 1) for part in content])
        if codec.has_identity:
            self._decoded[index] = value
        return value

    def _add(self, value: Any) -> Any:
        self._decoded.append(value)
        return value

    def _again(self, index: Any, depth: int) -> Any:
        if type(index) is not int or index < 0 or self._decoded[index] is _UNFINISHED:
            raise ValueError("it refers to a value that is not decoded yet")
        return self._decoded[index]

    def _array(self, content: Any, depth: int) -> Array:
        index, is_writeable = content
        if index != self.n_arrays:
            raise ValueError("its arrays are not in order")
        self.n_arrays += 1
        array: Array = self._add(self._members.array(index))
        array.flags.writeable = bool(is_writeable)
        return array

    def _objects(self, content: Any, depth: int) -> Array:
        shape, items, is_writeable = content
        if any(type(n) is not int or n < 0 for n in shape) or prod(shape) != len(items):
            raise ValueError(f"an array of shape {shape} has {len(items)} items")
        array: Array = self._add(np.empty(shape, dtype=object))
        flat = array.reshape(-1)  # a view, because a new array is contiguous
        for i, item in enumerate(items):
            flat[i] = self.decode(item, depth)
        array.flags.writeable = bool(is_writeable)
        return array

    def _dict(self, pairs: Any, depth: int) -> dict[Any, Any]:
        found: dict[Any, Any] = self._add({})
        for key, item in pairs:
            name = self.decode(key, depth)
            found[name] = self.decode(item, depth)
        return found

    def _object(self, content: Any, depth: int) -> Any:
        name, state = content
        created = self._add(object.__new__(find_class(name, self._trusted)))
        fill(created, {key: self.decode(item, depth) for key, item in state.items()})
        return created
