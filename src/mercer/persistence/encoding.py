"""Encoding of values as a tree for JSON and a list of arrays.

=========================== ==================================================================
None, bool, str             unchanged
int, float                  unchanged; ``{"int": hex}`` beyond 64 bits, ``{"float": "nan"}``
list                        a list
array of numbers or strings ``{"array": [index of the array in the file, writeable]}``
array of objects            ``{"objects": [shape, [items], writeable]}``
tuple, set, frozenset       ``{"tuple": [items]}``, …; sets are sorted
dict                        ``{"dict": [[key, value], …]}``
object with attributes      ``{"object": [class name, {attribute: value}]}``
type in ``value_types``     ``{tag: [parts]}``
repeated object             ``{"again": index}``
=========================== ==================================================================

Objects with an identity are counted in the order of the tree, here and in
:mod:`~mercer.persistence.decoding`. References by this index preserve shared objects and cycles.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

import numpy as np

from mercer.data.dask import passes_for
from mercer.persistence.classes import check_plain, name_of
from mercer.persistence.value_types import ValueType, type_of_value
from mercer.utils.types import Array

__all__ = ["DEEPEST", "encode"]

DEEPEST = 100
_INT64_LIMIT = 2**63
_ATOMS = {bool, int, float, str, bytes}


def encode(value: Any) -> tuple[Any, list[Array], set[str], list[str]]:
    """Return the tree, the arrays, the class names in the tree, and the attributes not encoded.

    Results on a Dask cluster are not encoded. If any other value cannot be encoded, a TypeError
    names the attribute.
    """
    encoder = _Encoder(type(value).__name__)
    tree = encoder.encode(value)
    return tree, encoder.arrays, encoder.classes, encoder.not_saved


class _Encoder:
    def __init__(self, name: str) -> None:
        self.arrays: list[Array] = []
        self.classes: set[str] = set()
        self.not_saved: list[str] = []  # fitted attributes on a Dask cluster
        self._path = [name]
        self._indices: dict[int, int] = {}  # by id
        self._unfinished: set[int] = set()  # immutable objects, which cannot contain themselves
        self._alive: list[Any] = []  # references that prevent ids from being reused

    def encode(self, value: Any) -> Any:
        cls = type(value)
        if value is None or cls is bool or cls is str:
            return value
        if cls is int:
            return value if -_INT64_LIMIT <= value < _INT64_LIMIT else {"int": hex(value)}
        if cls is float:
            return value if isfinite(value) else {"float": repr(value)}
        found = type_of_value(value)
        if found is not None and not found.has_identity:
            parts = self._parts(found, value)
            return {found.tag: [self._at(f".{found.tag}", part) for part in parts]}
        if cls in (tuple, frozenset) and not value:
            return {cls.__name__: []}  # a singleton in Python
        if id(value) in self._indices:
            index = self._indices[id(value)]
            if index in self._unfinished:
                raise self._error(value, "it contains itself; only lists, dicts and objects may")
            return {"again": index}
        index = len(self._indices)
        self._indices[id(value)] = index
        self._alive.append(value)
        if cls is list:
            return [self._at(f"[{i}]", item) for i, item in enumerate(value)]
        if cls is dict:
            return {"dict": [self._pair(key, item) for key, item in value.items()]}
        if isinstance(value, np.ndarray) and cls in (np.ndarray, np.memmap) and _plain(value):
            self.arrays.append(value)
            return {"array": [len(self.arrays) - 1, bool(value.flags.writeable)]}
        if cls is np.ndarray and value.dtype == object:
            items = [self._at(f"[{i}]", item) for i, item in enumerate(value.ravel())]
            return {"objects": [list(value.shape), items, bool(value.flags.writeable)]}
        if found is None and cls not in (tuple, set, frozenset):
            return {"object": [self._class_name(value), self._state(value)]}
        self._unfinished.add(index)
        if cls is tuple:
            node: Any = {"tuple": [self._at(f"[{i}]", item) for i, item in enumerate(value)]}
        elif found is None:
            ordered = self._ordered(value)
            node = {cls.__name__: [self._at("{…}", item) for item in ordered]}
        else:
            node = {found.tag: [self._at("", part) for part in self._parts(found, value)]}
        self._unfinished.discard(index)
        return node

    def _at(self, step: str, value: Any) -> Any:
        if len(self._path) > DEEPEST:
            raise self._error(value, f"it is nested more than {DEEPEST} levels deep")
        self._path.append(step)
        node = self.encode(value)
        self._path.pop()
        return node

    def _pair(self, key: Any, item: Any) -> list[Any]:
        step = f"[{repr(key)[:40]}]"
        return [self._at(step, key), self._at(step, item)]

    def _parts(self, value_type: ValueType, value: Any) -> list[Any]:
        if passes_for(value).is_chunked and self._path[-1].endswith("_"):
            self.not_saved.append("".join(self._path))
        try:
            parts = value_type.parts(value)
        except TypeError as error:
            raise self._error(value, str(error)) from error
        self._alive.append(parts)
        return parts

    def _ordered(self, items: Any) -> list[Any]:
        """Sort a set by representation, because its order in memory changes between runs."""
        return sorted(
            items,
            key=lambda item: (
                repr(item) if _is_simple(item) else json.dumps(self._encode_separately(item))
            ),
        )

    def _encode_separately(self, item: Any) -> Any:
        encoder = _Encoder("")
        encoder._path = list(self._path)
        return encoder.encode(item)

    def _class_name(self, value: Any) -> str:
        cls = type(value)
        try:
            check_plain(cls)
            if isinstance(value, type) or not hasattr(value, "__dict__"):
                raise TypeError("it has no attributes")
        except TypeError as error:
            raise self._error(value, str(error)) from error
        self.classes.add(name_of(cls))
        return name_of(cls)

    def _state(self, value: Any) -> dict[str, Any]:
        reason = getattr(value, "why_not_saved", None)
        if reason is not None:
            raise self._error(value, reason)
        return {name: self._at(f".{name}", item) for name, item in vars(value).items()}

    def _error(self, value: Any, reason: str) -> TypeError:
        return TypeError(
            f"{''.join(self._path)} is a {type(value).__name__} and cannot be saved: {reason}. "
            "Nothing was written."
        )


def _is_simple(item: Any) -> bool:
    if type(item) is tuple:
        return all(type(part) in _ATOMS for part in item)
    return type(item) in _ATOMS


def _plain(array: Array) -> bool:
    """Return whether an array can be stored as bytes."""
    dtype = array.dtype
    return not dtype.hasobject and dtype.kind in "biufcmMSUV" and dtype.itemsize > 0
