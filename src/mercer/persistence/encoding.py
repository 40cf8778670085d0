"""From values to a tree that JSON can hold, and a list of arrays.

=========================== ==================================================================
None, bool, str             themselves
int, float                  themselves; ``{"int": hex}`` beyond 64 bits, ``{"float": "nan"}``
list                        a list
array of numbers or texts   ``{"array": [number of the file's array, writeable]}``
array of objects            ``{"objects": [shape, [items], writeable]}``
tuple, set, frozenset       ``{"tuple": [items]}``, …; sets are sorted
dict                        ``{"dict": [[key, value], …]}``
an object with attributes   ``{"object": [class, {attribute: value}]}``
whatever is in ``kinds``    ``{tag: [parts]}``
any of these once more      ``{"again": number}``
=========================== ==================================================================

Whatever has an identity is numbered in the order in which it is met, here as in
:mod:`~mercer.persistence.decoding`, so that what is shared stays shared and cycles end.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

import numpy as np

from mercer.chunks import passes_for
from mercer.maths.types import Array
from mercer.persistence.classes import check_plain, name_of
from mercer.persistence.kinds import kind_of

__all__ = ["DEEPEST", "encode"]

DEEPEST = 100
_SMALL = 2**63
_ATOMS = {bool, int, float, str, bytes}


def encode(value: Any) -> tuple[Any, list[Array], set[str], list[str]]:
    """Return the tree, the arrays, the names of all classes in it, and results left behind.

    TypeError where something cannot be encoded; its text names the attribute.
    """
    encoder = _Encoder(type(value).__name__)
    tree = encoder.encode(value)
    return tree, encoder.arrays, encoder.classes, encoder.left_behind


class _Encoder:
    def __init__(self, name: str) -> None:
        self.arrays: list[Array] = []
        self.classes: set[str] = set()
        self.left_behind: list[str] = []  # fitted attributes that lie on an engine
        self._path = [name]
        self._numbers: dict[int, int] = {}
        self._unfinished: set[int] = set()  # of what cannot be referred to before it is complete
        self._alive: list[Any] = []  # numbers go by id: nothing may be freed meanwhile

    def encode(self, value: Any) -> Any:
        cls = type(value)
        if value is None or cls is bool or cls is str:
            return value
        if cls is int:
            return value if -_SMALL <= value < _SMALL else {"int": hex(value)}
        if cls is float:
            return value if isfinite(value) else {"float": repr(value)}
        kind = kind_of(value)
        if kind is not None and not kind.has_identity:
            return {kind.tag: [self._at(f".{kind.tag}", part) for part in self._parts(kind, value)]}
        if cls in (tuple, frozenset) and not value:
            return {cls.__name__: []}  # Python has one of each
        if id(value) in self._numbers:
            number = self._numbers[id(value)]
            if number in self._unfinished:
                raise self._refusal(value, "it contains itself, which only lists and objects may")
            return {"again": number}
        number = len(self._numbers)
        self._numbers[id(value)] = number
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
        if kind is None and cls not in (tuple, set, frozenset):
            return {"object": [self._class_name(value), self._state(value)]}
        self._unfinished.add(number)
        if cls is tuple:
            node: Any = {"tuple": [self._at(f"[{i}]", item) for i, item in enumerate(value)]}
        elif kind is None:
            ordered = self._ordered(value)
            node = {cls.__name__: [self._at("{…}", item) for item in ordered]}
        else:
            node = {kind.tag: [self._at("", part) for part in self._parts(kind, value)]}
        self._unfinished.discard(number)
        return node

    def _at(self, step: str, value: Any) -> Any:
        if len(self._path) > DEEPEST:
            raise self._refusal(value, f"it is nested more than {DEEPEST} levels deep")
        self._path.append(step)
        node = self.encode(value)
        self._path.pop()
        return node

    def _pair(self, key: Any, item: Any) -> list[Any]:
        step = f"[{repr(key)[:40]}]"
        return [self._at(step, key), self._at(step, item)]

    def _parts(self, kind: Any, value: Any) -> list[Any]:
        if passes_for(value).is_chunked and self._path[-1].endswith("_"):
            self.left_behind.append("".join(self._path))
        try:
            parts: list[Any] = kind.parts(value)
        except TypeError as error:
            raise self._refusal(value, str(error)) from error
        self._alive.append(parts)
        return parts

    def _ordered(self, items: Any) -> list[Any]:
        """Members of a set by what they look like: the order in memory changes with every run."""
        return sorted(
            items,
            key=lambda item: repr(item) if _is_simple(item) else json.dumps(self._apart(item)),
        )

    def _apart(self, item: Any) -> Any:
        encoder = _Encoder("")
        encoder._path = list(self._path)
        return encoder.encode(item)

    def _class_name(self, value: Any) -> str:
        cls = type(value)
        try:
            check_plain(cls)
            if isinstance(value, type) or not hasattr(value, "__dict__"):
                raise TypeError("it has no attributes to save")
        except TypeError as error:
            raise self._refusal(value, str(error)) from error
        self.classes.add(name_of(cls))
        return name_of(cls)

    def _state(self, value: Any) -> dict[str, Any]:
        why_not = getattr(value, "why_not_saved", None)
        if why_not is not None:
            raise self._refusal(value, why_not)
        return {name: self._at(f".{name}", item) for name, item in vars(value).items()}

    def _refusal(self, value: Any, why: str) -> TypeError:
        return TypeError(
            f"{''.join(self._path)} is a {type(value).__name__} and cannot be saved: {why}. "
            "Nothing was written."
        )


def _is_simple(item: Any) -> bool:
    if type(item) is tuple:
        return all(type(part) in _ATOMS for part in item)
    return type(item) in _ATOMS


def _plain(array: Array) -> bool:
    """Whether the bytes of an array are all there is."""
    dtype = array.dtype
    return not dtype.hasobject and dtype.kind in "biufcmMSUV" and dtype.itemsize > 0
