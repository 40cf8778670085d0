"""Values with a way of their own into a model file: taken apart into parts, and put together.

``parts`` gives values that the encoder knows; ``whole`` is called with what became of them, and is
written for parts that anyone may have written.
"""

from __future__ import annotations

import base64
import datetime
import zoneinfo
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from mercer.chunks import passes_for
from mercer.chunks.points import ChunkedPoints
from mercer.chunks.remote import RemoteColumn, RemotePoints
from mercer.data import Points

__all__ = ["Kind", "is_inflated", "kind_called", "kind_of"]


@dataclass(frozen=True)
class Kind:
    """How one type of values is taken apart and put together.

    Parameters
    ----------
    tag : str
        Its name in a file.
    types : tuple of types
        Exactly these, no subclasses.
    parts : callable
        From a value to a list; TypeError where that would lose something.
    whole : callable
        From these to the value.
    has_identity : bool
        Whether it matters that two attributes hold the same one.
    has_rows : bool
        Whether a part may be a range of any length: it numbers rows that are there.
    """

    tag: str
    types: tuple[type, ...]
    parts: Callable[[Any], list[Any]]
    whole: Callable[..., Any]
    has_identity: bool = False
    has_rows: bool = False

    def made_of(self, parts: list[Any]) -> Any:
        """Put parts together that anyone may have written."""
        if not self.has_rows and any(is_inflated(part) for part in parts):
            raise ValueError(
                f"a part of a {self.tag!r} is longer than {_LONGEST} and holds nothing"
            )
        return self.whole(*parts)


_LONGEST = 2**24  # of what holds nothing


def is_inflated(value: Any) -> bool:
    """Whether a value is far longer than what it takes in a file.

    A range of 10¹⁸ numbers is a few letters there, and almost any use of it would write it out; so
    is an array of 10¹⁸ empty rows, and going through them never ends.
    """
    if isinstance(value, np.ndarray):
        return value.size == 0 and max(value.shape) > _LONGEST
    is_range = isinstance(value, range) or type(value).__name__ == "RangeIndex"  # of pandas
    return is_range and len(value) > _LONGEST


def kind_of(value: Any) -> Kind | None:
    """Return how this value is taken apart, or None where it has no way of its own."""
    cls = type(value)
    if isinstance(value, np.generic):
        return _SCALAR
    if isinstance(value, np.dtype):
        return _DTYPE
    if isinstance(value, type):
        return _TYPE
    if cls is np.ndarray and value.dtype.kind == "T":
        return _TEXTS
    if cls in _BY_TYPE:
        return _BY_TYPE[cls]
    if cls.__module__.partition(".")[0] == "pandas":
        from mercer.persistence.frames import frame_kind

        return frame_kind(value)
    if passes_for(value).is_chunked:
        return _LAZY
    if cls.__module__.startswith("scipy.sparse"):
        return _sparse_kind()
    if cls.__module__.startswith("networkx.") and hasattr(value, "is_multigraph"):
        return _graph_kind()
    return None


def kind_called(tag: str) -> Kind:
    """Return the kind that a file calls so."""
    if tag in _BY_TAG:
        return _BY_TAG[tag]
    if tag == "sparse":
        return _sparse_kind()
    if tag == "graph":
        return _graph_kind()
    if tag.startswith("pandas"):
        from mercer.persistence.frames import frame_kinds

        for kind in frame_kinds():
            if kind.tag == tag:
                return kind
    raise ValueError(f"it holds a {tag!r}, which this version of mercer does not know")


# --- numpy's types ---------------------------------------------------------------------------


def _dtype_parts(dtype: np.dtype[Any]) -> list[Any]:
    if dtype.kind == "T":
        raise TypeError("use a dtype of fixed size, or object")
    return [np.lib.format.dtype_to_descr(dtype)]


def _dtype(descr: Any) -> np.dtype[Any]:
    return np.lib.format.descr_to_dtype(descr)


def _scalar_parts(value: np.generic) -> list[Any]:
    if value.dtype.hasobject:
        raise TypeError("it holds Python objects")
    return [value.dtype, value.tobytes()[: value.dtype.itemsize].hex()]  # "" has padding


def _scalar(dtype: np.dtype[Any], digits: str) -> Any:
    data = bytes.fromhex(digits)
    if dtype.hasobject:
        raise ValueError("a number holds Python objects")
    if len(data) != dtype.itemsize:
        raise ValueError(f"a number of type {dtype} has {len(data)} bytes")
    return np.frombuffer(data, dtype)[0] if data else dtype.type()


_SIMPLE_TYPES: dict[str, type] = {
    **{cls.__name__: cls for cls in (bool, int, float, complex, str, bytes, object)},
    **{f"numpy.{cls.__name__}": cls for cls in set(np.sctypeDict.values())},
}


def _type_parts(cls: type) -> list[Any]:
    names = [name for name, known in _SIMPLE_TYPES.items() if known is cls]
    if not names:
        raise TypeError("of classes themselves only the types of numbers and texts can be saved")
    return names


def _texts_parts(array: Any) -> list[Any]:
    dtype = array.dtype
    has_na = hasattr(dtype, "na_object")
    return [array.astype(object), dtype.coerce, has_na, dtype.na_object if has_na else None]


def _texts(cells: Any, coerce: bool, has_na: bool, na: Any) -> Any:
    from numpy.dtypes import StringDType

    if not isinstance(cells, np.ndarray):
        raise ValueError(f"an array of texts is made of a {type(cells).__name__}")
    options = {"na_object": na} if has_na else {}
    return cells.astype(StringDType(coerce=coerce, **options))


_SCALAR = Kind("scalar", (), _scalar_parts, _scalar)
_DTYPE = Kind("dtype", (), _dtype_parts, _dtype)
_TYPE = Kind("type", (), _type_parts, _SIMPLE_TYPES.__getitem__)
_TEXTS = Kind("texts", (), _texts_parts, _texts, has_identity=True)


# --- generators of random numbers -------------------------------------------------------------

_BITS = {
    name: getattr(np.random, name) for name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
}
_LARGEST_POOL = 1024


def _bits_parts(bits: Any) -> list[Any]:
    return [type(bits).__name__, bits.state, getattr(bits, "seed_seq", None)]


def _bits(name: str, state: dict[str, Any], seed: Any) -> Any:
    bits = _BITS[name](seed if isinstance(seed, np.random.SeedSequence) else 0)
    bits.state = _as_long_as_written(state)
    return bits


def _as_long_as_written(value: Any) -> Any:
    """Pass on numbers, arrays and collections of them; numpy would write out any other sequence."""
    if isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            _as_long_as_written(item)
    elif isinstance(value, np.ndarray):
        if value.dtype.hasobject or is_inflated(value):
            raise ValueError("numbers are expected where it holds an array of something else")
    elif not (value is None or isinstance(value, bool | int | float | str | np.generic)):
        raise ValueError(f"numbers are expected where it holds a {type(value).__name__}")
    return value


def _seed_parts(seed: Any) -> list[Any]:
    return [seed.entropy, seed.spawn_key, seed.pool_size, seed.n_children_spawned]


def _seed(entropy: Any, spawn_key: Any, pool_size: int, spawned: int) -> Any:
    _as_long_as_written([entropy, spawn_key])
    if not 0 < pool_size <= _LARGEST_POOL:
        raise ValueError(f"a seed has a pool of {pool_size} numbers")
    return np.random.SeedSequence(
        entropy, spawn_key=spawn_key, pool_size=pool_size, n_children_spawned=spawned
    )


def _random_state_parts(state: Any) -> list[Any]:
    return [state.get_state(legacy=False)]


def _random_state(state: dict[str, Any]) -> Any:
    made = np.random.RandomState(_BITS[state["bit_generator"]](0))
    made.set_state(_as_long_as_written(state))
    return made


# --- times -----------------------------------------------------------------------------------


def _datetime_parts(moment: datetime.datetime) -> list[Any]:
    return [moment.replace(tzinfo=None).isoformat(), moment.fold, moment.tzinfo]


def _datetime(text: str, fold: int, zone: Any) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).replace(fold=fold, tzinfo=zone)


def _time_parts(moment: datetime.time) -> list[Any]:
    return [moment.replace(tzinfo=None).isoformat(), moment.fold, moment.tzinfo]


def _time(text: str, fold: int, zone: Any) -> datetime.time:
    return datetime.time.fromisoformat(text).replace(fold=fold, tzinfo=zone)


def _zone_parts(zone: zoneinfo.ZoneInfo) -> list[Any]:
    if zone.key is None:
        raise TypeError("this time zone has no name")
    return [zone.key]


# --- the rest --------------------------------------------------------------------------------


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _absent_parts(points: Points) -> list[Any]:
    return [points.n, points.dimension, points.dtype, points.kind, points.feature_names]


def _lazy_parts(column: Any) -> list[Any]:
    if not hasattr(column, "shape") or not hasattr(column, "dtype"):
        raise TypeError("it is lazy, and lies on an engine; compute it, or delete it")
    return [tuple(int(size) for size in column.shape), np.dtype(column.dtype)]


# what an engine has for every training row stays there with the rows
_LAZY = Kind("absent-column", (RemoteColumn,), _lazy_parts, RemoteColumn, True)

_KINDS = (
    _SCALAR,
    _DTYPE,
    _TYPE,
    _TEXTS,
    Kind("bytes", (bytes,), lambda data: [base64.b64encode(data).decode("ascii")], _bytes),
    # training rows that lie on an engine stay there: what the model does without them is kept
    Kind("absent", (RemotePoints, ChunkedPoints), _absent_parts, RemotePoints, True),
    _LAZY,
    Kind("complex", (complex,), lambda z: [z.real, z.imag], complex),
    Kind("slice", (slice,), lambda s: [s.start, s.stop, s.step], slice),
    Kind("range", (range,), lambda r: [r.start, r.stop, r.step], range),
    Kind("counter", (Counter,), lambda counter: [dict(counter)], Counter, True),
    Kind("ordered", (OrderedDict,), lambda ordered: [dict(ordered)], OrderedDict, True),
    Kind("decimal", (Decimal,), lambda number: [str(number)], Decimal),
    Kind("fraction", (Fraction,), lambda q: [q.numerator, q.denominator], Fraction),
    Kind("date", (datetime.date,), lambda d: [d.isoformat()], datetime.date.fromisoformat),
    Kind("datetime", (datetime.datetime,), _datetime_parts, _datetime),
    Kind("time", (datetime.time,), _time_parts, _time),
    Kind(
        "timedelta",
        (datetime.timedelta,),
        lambda t: [t.days, t.seconds, t.microseconds],
        datetime.timedelta,
    ),
    Kind(
        "timezone",
        (datetime.timezone,),
        lambda zone: list(zone.__getinitargs__()),
        datetime.timezone,
    ),
    Kind("zone", (zoneinfo.ZoneInfo,), _zone_parts, zoneinfo.ZoneInfo),
    Kind(
        "generator",
        (np.random.Generator,),
        lambda generator: [generator.bit_generator],
        np.random.Generator,
        has_identity=True,
    ),
    Kind("bits", tuple(_BITS.values()), _bits_parts, _bits, has_identity=True),
    Kind("seed", (np.random.SeedSequence,), _seed_parts, _seed, has_identity=True),
    Kind(
        "random-state",
        (np.random.RandomState,),
        _random_state_parts,
        _random_state,
        has_identity=True,
    ),
)


_BY_TAG = {kind.tag: kind for kind in _KINDS}
_BY_TYPE = {cls: kind for kind in _KINDS for cls in kind.types}


@cache
def _sparse_kind() -> Kind:
    import scipy.sparse as sp

    types = {
        cls.__name__: cls
        for cls in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix, sp.coo_array)
    }

    def parts(matrix: Any) -> list[Any]:
        name = type(matrix).__name__
        if types.get(name) is not type(matrix):
            raise TypeError(f"of sparse matrices only {', '.join(types)} can be saved; convert it")
        inner = matrix.coords if name == "coo_array" else (matrix.indices, matrix.indptr)
        return [name, matrix.shape, matrix.data, inner]

    def whole(name: str, shape: Any, data: Any, inner: Any) -> Any:
        _as_long_as_written([shape, data, list(inner)])
        if any(getattr(part, "ndim", None) != 1 for part in (data, *inner)):
            raise ValueError("a sparse matrix is not made of arrays with one axis")
        if name == "coo_array":
            return sp.coo_array((data, inner), shape=shape)
        places, starts = inner
        return types[name]((data, places, starts), shape=shape)

    return Kind("sparse", tuple(types.values()), parts, whole, has_identity=True)


@cache
def _graph_kind() -> Kind:
    """Graphs of networkx: nodes and edges in their order, with what they carry."""
    try:
        import networkx as nx
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "This model file holds graphs of networkx, which is not installed: "
            "pip install networkx",
            name=error.name,
        ) from error

    types = {cls.__name__: cls for cls in (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)}

    def parts(graph: Any) -> list[Any]:
        name = type(graph).__name__
        if types.get(name) is not type(graph):
            raise TypeError(
                f"of networkx's graphs only {', '.join(types)} can be saved; convert it"
            )
        keys = {"keys": True} if graph.is_multigraph() else {}
        edges = [list(edge) for edge in graph.edges(data=True, **keys)]
        return [name, graph.graph, [list(node) for node in graph.nodes(data=True)], edges]

    def whole(name: str, carried: Any, nodes: Any, edges: Any) -> Any:
        graph = types[name]()
        graph.graph.update(carried)
        graph.add_nodes_from((node, carries) for node, carries in nodes)
        graph.add_edges_from(tuple(edge) for edge in edges)
        return graph

    return Kind("graph", tuple(types.values()), parts, whole, has_identity=True)
