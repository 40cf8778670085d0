"""Types of values with their own representation in a model file: a list of parts.

A :class:`ValueType` converts a value to parts that the encoder knows, and builds the value from
decoded parts. Parts may come from a forged file, so ``build`` must not trust them.
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

from mercer.data.dask import passes_for
from mercer.data.dask.points import ChunkedPoints
from mercer.data.points import Points, RemoteColumn, RemotePoints

__all__ = ["ValueType", "is_inflated", "type_of_tag", "type_of_value"]


@dataclass(frozen=True)
class ValueType:
    """Conversion of one type of values to parts and back.

    Parameters
    ----------
    tag : str
        Name in a file.
    types : tuple of types
        Exactly these types, no subclasses.
    parts : callable
        Returns the parts of a value as a list. Raises TypeError if information would be lost.
    build : callable
        Returns the value for these parts.
    has_identity : bool
        Whether two attributes that hold the same object share it after loading.
    has_rows : bool
        Whether a part may be a range of any length, such as the index of a data frame.
    """

    tag: str
    types: tuple[type, ...]
    parts: Callable[[Any], list[Any]]
    build: Callable[..., Any]
    has_identity: bool = False
    has_rows: bool = False

    def from_parts(self, parts: list[Any]) -> Any:
        """Build the value from parts that may be forged."""
        if not self.has_rows and any(is_inflated(part) for part in parts):
            raise ValueError(
                f"a part of a {self.tag!r} has no content and is longer than {_MAX_EMPTY_LENGTH}"
            )
        return self.build(*parts)


_MAX_EMPTY_LENGTH = 2**24  # for ranges and arrays without content


def is_inflated(value: Any) -> bool:
    """Return whether a value is far longer than its representation in a file.

    A range of 10¹⁸ numbers takes a few bytes in a file, but most uses of it allocate all numbers.
    An array of 10¹⁸ empty rows takes no memory, but iterating over it takes forever.
    """
    if isinstance(value, np.ndarray):
        return value.size == 0 and max(value.shape) > _MAX_EMPTY_LENGTH
    is_range = isinstance(value, range) or type(value).__name__ == "RangeIndex"  # of pandas
    return is_range and len(value) > _MAX_EMPTY_LENGTH


def type_of_value(value: Any) -> ValueType | None:
    """Return the value type of a value, or None if it has none."""
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
        from mercer.persistence.pandas_types import type_of_pandas_value

        return type_of_pandas_value(value)
    if passes_for(value).is_chunked:
        return _LAZY
    if cls.__module__.startswith(("scipy.sparse", "mercer.utils.pairwise")):
        return _sparse_type()
    if cls.__module__.startswith("networkx.") and hasattr(value, "is_multigraph"):
        return _graph_type()
    return None


def type_of_tag(tag: str) -> ValueType:
    """Return the value type of a tag in a file."""
    if tag in _BY_TAG:
        return _BY_TAG[tag]
    if tag == "sparse":
        return _sparse_type()
    if tag == "graph":
        return _graph_type()
    if tag.startswith("pandas"):
        from mercer.persistence.pandas_types import pandas_types

        for value_type in pandas_types():
            if value_type.tag == tag:
                return value_type
    raise ValueError(f"it holds a {tag!r}, which is unknown to this version of mercer")


# --- NumPy types -----------------------------------------------------------------------------


def _dtype_parts(dtype: np.dtype[Any]) -> list[Any]:
    if dtype.kind == "T":
        raise TypeError("convert it to a dtype of fixed size, or to object")
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
        raise ValueError("a scalar holds Python objects")
    if len(data) != dtype.itemsize:
        raise ValueError(f"a scalar of type {dtype} has {len(data)} bytes")
    return np.frombuffer(data, dtype)[0] if data else dtype.type()


_SIMPLE_TYPES: dict[str, type] = {
    **{cls.__name__: cls for cls in (bool, int, float, complex, str, bytes, object)},
    **{f"numpy.{cls.__name__}": cls for cls in set(np.sctypeDict.values())},
}


def _type_parts(cls: type) -> list[Any]:
    names = [name for name, known in _SIMPLE_TYPES.items() if known is cls]
    if not names:
        raise TypeError("classes cannot be saved, except the types of numbers and strings")
    return names


def _texts_parts(array: Any) -> list[Any]:
    dtype = array.dtype
    has_na = hasattr(dtype, "na_object")
    return [array.astype(object), dtype.coerce, has_na, dtype.na_object if has_na else None]


def _texts(cells: Any, coerce: bool, has_na: bool, na: Any) -> Any:
    from numpy.dtypes import StringDType

    if not isinstance(cells, np.ndarray):
        raise ValueError(f"expected an array of strings instead of a {type(cells).__name__}")
    options = {"na_object": na} if has_na else {}
    return cells.astype(StringDType(coerce=coerce, **options))


_SCALAR = ValueType("scalar", (), _scalar_parts, _scalar)
_DTYPE = ValueType("dtype", (), _dtype_parts, _dtype)
_TYPE = ValueType("type", (), _type_parts, _SIMPLE_TYPES.__getitem__)
_TEXTS = ValueType("texts", (), _texts_parts, _texts, has_identity=True)


# --- random number generators -----------------------------------------------------------------

_BITS = {
    name: getattr(np.random, name) for name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
}
_MAX_POOL_SIZE = 1024


def _bits_parts(bits: Any) -> list[Any]:
    return [type(bits).__name__, bits.state, getattr(bits, "seed_seq", None)]


def _bits(name: str, state: dict[str, Any], seed: Any) -> Any:
    bits = _BITS[name](seed if isinstance(seed, np.random.SeedSequence) else 0)
    bits.state = _check_plain(state)
    return bits


def _check_plain(value: Any) -> Any:
    """Return the value if it consists of numbers and arrays; NumPy would expand other sequences."""
    if isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            _check_plain(item)
    elif isinstance(value, np.ndarray):
        if value.dtype.hasobject or is_inflated(value):
            raise ValueError(f"expected numbers instead of an array of {value.dtype}")
    elif not (value is None or isinstance(value, bool | int | float | str | np.generic)):
        raise ValueError(f"expected numbers instead of a {type(value).__name__}")
    return value


def _seed_parts(seed: Any) -> list[Any]:
    return [seed.entropy, seed.spawn_key, seed.pool_size, seed.n_children_spawned]


def _seed(entropy: Any, spawn_key: Any, pool_size: int, spawned: int) -> Any:
    _check_plain([entropy, spawn_key])
    if not 0 < pool_size <= _MAX_POOL_SIZE:
        raise ValueError(f"a seed has a pool of {pool_size} numbers")
    return np.random.SeedSequence(
        entropy, spawn_key=spawn_key, pool_size=pool_size, n_children_spawned=spawned
    )


def _random_state_parts(state: Any) -> list[Any]:
    return [state.get_state(legacy=False)]


def _random_state(state: dict[str, Any]) -> Any:
    generator = np.random.RandomState(_BITS[state["bit_generator"]](0))
    generator.set_state(_check_plain(state))
    return generator


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
        raise TypeError("the time zone has no name")
    return [zone.key]


# --- other values ----------------------------------------------------------------------------


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _absent_parts(points: Points) -> list[Any]:
    return [points.n, points.dimension, points.dtype, points.kind, points.feature_names]


def _lazy_parts(column: Any) -> list[Any]:
    if not hasattr(column, "shape") or not hasattr(column, "dtype"):
        raise TypeError("it is a Dask collection; call .compute(), or delete it")
    return [tuple(int(size) for size in column.shape), np.dtype(column.dtype)]


# per-row results on a Dask cluster are not saved, only their shape and type
_LAZY = ValueType("absent-column", (RemoteColumn,), _lazy_parts, RemoteColumn, True)

_VALUE_TYPES = (
    _SCALAR,
    _DTYPE,
    _TYPE,
    _TEXTS,
    ValueType("bytes", (bytes,), lambda data: [base64.b64encode(data).decode("ascii")], _bytes),
    # training rows on a Dask cluster are not saved, only their metadata
    ValueType("absent", (RemotePoints, ChunkedPoints), _absent_parts, RemotePoints, True),
    _LAZY,
    ValueType("complex", (complex,), lambda z: [z.real, z.imag], complex),
    ValueType("slice", (slice,), lambda s: [s.start, s.stop, s.step], slice),
    ValueType("range", (range,), lambda r: [r.start, r.stop, r.step], range),
    ValueType("counter", (Counter,), lambda counter: [dict(counter)], Counter, True),
    ValueType("ordered", (OrderedDict,), lambda ordered: [dict(ordered)], OrderedDict, True),
    ValueType("decimal", (Decimal,), lambda number: [str(number)], Decimal),
    ValueType("fraction", (Fraction,), lambda q: [q.numerator, q.denominator], Fraction),
    ValueType("date", (datetime.date,), lambda d: [d.isoformat()], datetime.date.fromisoformat),
    ValueType("datetime", (datetime.datetime,), _datetime_parts, _datetime),
    ValueType("time", (datetime.time,), _time_parts, _time),
    ValueType(
        "timedelta",
        (datetime.timedelta,),
        lambda t: [t.days, t.seconds, t.microseconds],
        datetime.timedelta,
    ),
    ValueType(
        "timezone",
        (datetime.timezone,),
        lambda zone: list(zone.__getinitargs__()),
        datetime.timezone,
    ),
    ValueType("zone", (zoneinfo.ZoneInfo,), _zone_parts, zoneinfo.ZoneInfo),
    ValueType(
        "generator",
        (np.random.Generator,),
        lambda generator: [generator.bit_generator],
        np.random.Generator,
        has_identity=True,
    ),
    ValueType("bits", tuple(_BITS.values()), _bits_parts, _bits, has_identity=True),
    ValueType("seed", (np.random.SeedSequence,), _seed_parts, _seed, has_identity=True),
    ValueType(
        "random-state",
        (np.random.RandomState,),
        _random_state_parts,
        _random_state,
        has_identity=True,
    ),
)


_BY_TAG = {value_type.tag: value_type for value_type in _VALUE_TYPES}
_BY_TYPE = {cls: value_type for value_type in _VALUE_TYPES for cls in value_type.types}


@cache
def _sparse_type() -> ValueType:
    import scipy.sparse as sp

    from mercer.utils.pairwise import SparseRows

    types = {
        cls.__name__: cls
        for cls in (
            sp.csr_array,
            sp.csr_matrix,
            sp.csc_array,
            sp.csc_matrix,
            sp.coo_array,
            SparseRows,
        )
    }

    def parts(matrix: Any) -> list[Any]:
        name = type(matrix).__name__
        if types.get(name) is not type(matrix):
            raise TypeError(f"convert it to one of {', '.join(types)}")
        inner = matrix.coords if name == "coo_array" else (matrix.indices, matrix.indptr)
        return [name, matrix.shape, matrix.data, inner]

    def build(name: str, shape: Any, data: Any, inner: Any) -> Any:
        _check_plain([shape, data, list(inner)])
        if any(getattr(part, "ndim", None) != 1 for part in (data, *inner)):
            raise ValueError("the parts of a sparse matrix must be 1-D arrays")
        if name == "coo_array":
            return sp.coo_array((data, inner), shape=shape)
        indices, indptr = inner
        return types[name]((data, indices, indptr), shape=shape)

    return ValueType("sparse", tuple(types.values()), parts, build, has_identity=True)


@cache
def _graph_type() -> ValueType:
    """Return the value type of networkx graphs: ordered nodes and edges with attributes."""
    try:
        import networkx as nx
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "The model file holds graphs of networkx, which is not installed. Use: "
            "pip install networkx",
            name=error.name,
        ) from error

    types = {cls.__name__: cls for cls in (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)}

    def parts(graph: Any) -> list[Any]:
        name = type(graph).__name__
        if types.get(name) is not type(graph):
            raise TypeError(f"convert it to one of {', '.join(types)}")
        keys = {"keys": True} if graph.is_multigraph() else {}
        edges = [list(edge) for edge in graph.edges(data=True, **keys)]
        return [name, graph.graph, [list(node) for node in graph.nodes(data=True)], edges]

    def build(name: str, attributes: Any, nodes: Any, edges: Any) -> Any:
        graph = types[name]()
        graph.graph.update(attributes)
        graph.add_nodes_from((node, of_node) for node, of_node in nodes)
        graph.add_edges_from(tuple(edge) for edge in edges)
        return graph

    return ValueType("graph", tuple(types.values()), parts, build, has_identity=True)
