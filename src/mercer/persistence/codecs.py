"""Values with a representation of their own in a model file: a list of parts.

A :class:`Codec` converts a value to parts that the encoder knows, and rebuilds it from decoded
parts. Parts may come from a forged file, so ``build`` does not trust them. Codecs for types of
other packages have tags that start with the name of the package, which is imported on first use.
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
from mercer.utils.pairwise import SparseRows

__all__ = ["Codec", "check_length", "codec_of_tag", "codec_of_value"]


@dataclass(frozen=True)
class Codec:
    """Conversion of values of some types to parts and back.

    Parameters
    ----------
    tag : str
        Name in a file.
    types : tuple of types
    parts : callable
        Returns the parts of a value as a list. Raises TypeError if information would be lost.
    build : callable
        Returns the value for these parts.
    has_identity : bool
        Whether two attributes that hold the same object share it after loading.
    any_length : bool
        Whether a part may be a range of any length, such as the index of a data frame.
    subclasses : bool
        Whether the codec also applies to subclasses of ``types``.
    """

    tag: str
    types: tuple[type, ...]
    parts: Callable[[Any], Any]
    build: Callable[..., Any]
    has_identity: bool = False
    any_length: bool = False
    subclasses: bool = False

    def from_parts(self, parts: list[Any]) -> Any:
        """Rebuild a value from parts that may be forged."""
        if not self.any_length:
            for part in parts:
                check_length(part)
        return self.build(*parts)

    def applies_to(self, cls: type) -> bool:
        """Return whether values of exactly this class are converted by this codec."""
        return cls in self.types or (self.subclasses and issubclass(cls, self.types))


def codec_of_value(value: Any) -> Codec | None:
    """Return the codec for a value, or None if it needs none or cannot be saved."""
    cls: Any = type(value)
    if cls is np.ndarray:
        return _STRINGS if value.dtype.kind == "T" else None
    codec = _codec_of_class(cls)
    return _ABSENT_COLUMN if codec is None and passes_for(value).is_chunked else codec


@cache
def _codec_of_class(cls: type) -> Codec | None:
    package = "scipy" if cls is SparseRows else cls.__module__.partition(".")[0]
    return next((codec for codec in _codecs(package) if codec.applies_to(cls)), None)


def codec_of_tag(tag: str) -> Codec:
    """Return the codec of a tag in a file."""
    for codec in _codecs(tag.partition(" ")[0]):
        if codec.tag == tag:
            return codec
    raise ValueError(f"it holds a {tag!r}, which is unknown to this version of mercer")


@cache
def _codecs(package: str) -> tuple[Codec, ...]:
    """Return the codecs of a package, or of Python, NumPy and mercer."""
    try:
        if package == "pandas":
            from mercer.persistence.pandas_codecs import pandas_codecs

            return pandas_codecs()
        if package == "networkx":
            return (_graph_codec(),)
    except ModuleNotFoundError as error:
        remedy = {"pandas": "pip install mercer[io]"}.get(package, f"pip install {package}")
        raise ModuleNotFoundError(
            f"The model file holds objects of {package}, which is not installed. Use: {remedy}",
            name=error.name,
        ) from error
    return (_sparse_codec(),) if package == "scipy" else _PYTHON


# --- checks of forged parts -------------------------------------------------------------------


def check_length(value: Any) -> Any:
    """Return a value; raise ValueError if it is far longer than its representation in a file.

    A range of 10¹⁸ numbers takes a few bytes in a file, but most uses of it allocate all numbers.
    An array of 10¹⁸ empty rows takes no memory, but iterating over it takes forever.
    """
    if isinstance(value, np.ndarray):
        length = max(value.shape) if value.size == 0 else 0
    else:
        is_range = isinstance(value, range) or type(value).__name__ == "RangeIndex"  # of pandas
        length = len(value) if is_range else 0
    if length > 2**24:
        raise ValueError(f"a {type(value).__name__} without content has the length {length}")
    return value


def _check_numbers(value: Any) -> Any:
    """Return the value if it consists of numbers and arrays; NumPy would expand other sequences."""
    if isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            _check_numbers(item)
    elif isinstance(value, np.ndarray):
        if check_length(value).dtype.hasobject:
            raise ValueError(f"expected numbers instead of an array of {value.dtype}")
    elif not (value is None or isinstance(value, bool | int | float | str | np.generic)):
        raise ValueError(f"expected numbers instead of a {type(value).__name__}")
    return value


# --- NumPy ------------------------------------------------------------------------------------


def _dtype_parts(dtype: np.dtype[Any]) -> list[Any]:
    if dtype.kind == "T":
        raise TypeError("convert it to a dtype of fixed size, or to object")
    return [np.lib.format.dtype_to_descr(dtype)]


def _scalar_parts(value: np.generic) -> list[Any]:
    if value.dtype.hasobject:
        raise TypeError("it holds Python objects")
    return [value.dtype, value.tobytes()[: value.dtype.itemsize].hex()]  # "" has padding


def _scalar(dtype: np.dtype[Any], digits: str) -> Any:
    data = bytes.fromhex(digits)
    if dtype.hasobject or len(data) != dtype.itemsize:
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


def _strings_parts(array: Any) -> list[Any]:
    dtype = array.dtype
    has_na = hasattr(dtype, "na_object")
    return [array.astype(object), dtype.coerce, has_na, dtype.na_object if has_na else None]


def _strings(cells: Any, coerce: bool, has_na: bool, na: Any) -> Any:
    from numpy.dtypes import StringDType

    if not isinstance(cells, np.ndarray):
        raise ValueError(f"expected an array of strings instead of a {type(cells).__name__}")
    options = {"na_object": na} if has_na else {}
    return cells.astype(StringDType(coerce=coerce, **options))


_BITS = {
    name: getattr(np.random, name) for name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
}


def _bits(name: str, state: dict[str, Any], seed: Any) -> Any:
    bits = _BITS[name](seed if isinstance(seed, np.random.SeedSequence) else 0)
    bits.state = _check_numbers(state)
    return bits


def _seed(entropy: Any, spawn_key: Any, pool_size: int, spawned: int) -> Any:
    _check_numbers([entropy, spawn_key])
    if not 0 < pool_size <= 1024:  # NumPy's default is 4; the pool is allocated
        raise ValueError(f"a seed has a pool of {pool_size} numbers")
    return np.random.SeedSequence(
        entropy, spawn_key=spawn_key, pool_size=pool_size, n_children_spawned=spawned
    )


def _random_state(state: dict[str, Any]) -> Any:
    generator = np.random.RandomState(_BITS[state["bit_generator"]](0))
    generator.set_state(_check_numbers(state))
    return generator


# --- Python -----------------------------------------------------------------------------------


def _time_parts(moment: Any) -> list[Any]:
    return [moment.replace(tzinfo=None).isoformat(), moment.fold, moment.tzinfo]


def _time(cls: Any) -> Callable[..., Any]:
    return lambda text, fold, zone: cls.fromisoformat(text).replace(fold=fold, tzinfo=zone)


def _zone_parts(zone: zoneinfo.ZoneInfo) -> list[Any]:
    if zone.key is None:
        raise TypeError("the time zone has no name")
    return [zone.key]


def _column_parts(column: Any) -> list[Any]:
    if not hasattr(column, "shape") or not hasattr(column, "dtype"):
        raise TypeError("it is a Dask collection; call .compute(), or delete it")
    return [tuple(int(size) for size in column.shape), np.dtype(column.dtype)]


def _points_parts(points: Points) -> list[Any]:
    return [points.n, points.dimension, points.dtype, points.kind, points.feature_names]


_STRINGS = Codec("strings", (), _strings_parts, _strings, True)
# per-row results and training rows on a Dask cluster are not saved, only their metadata
_ABSENT_COLUMN = Codec("absent column", (RemoteColumn,), _column_parts, RemoteColumn, True)

_PYTHON = (
    _STRINGS,
    _ABSENT_COLUMN,
    Codec("absent points", (RemotePoints, ChunkedPoints), _points_parts, RemotePoints, True),
    Codec("int", (int,), lambda n: [hex(n)], lambda digits: int(digits, 16)),
    Codec(
        "float",
        (float,),
        lambda x: [repr(x)],
        {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}.__getitem__,
    ),
    Codec("complex", (complex,), lambda z: [z.real, z.imag], complex),
    Codec("tuple", (tuple,), list, lambda *items: items, True, any_length=True),
    Codec("set", (set,), list, lambda *items: set(items), True, any_length=True),
    Codec("frozenset", (frozenset,), list, lambda *items: frozenset(items), True, any_length=True),
    Codec("bytes", (bytes,), lambda b: [base64.b64encode(b).decode("ascii")], base64.b64decode),
    Codec("slice", (slice,), lambda s: [s.start, s.stop, s.step], slice),
    Codec("range", (range,), lambda r: [r.start, r.stop, r.step], range),
    Codec("counter", (Counter,), lambda counter: [dict(counter)], Counter, True),
    Codec("ordered", (OrderedDict,), lambda ordered: [dict(ordered)], OrderedDict, True),
    Codec("decimal", (Decimal,), lambda number: [str(number)], Decimal),
    Codec("fraction", (Fraction,), lambda q: [q.numerator, q.denominator], Fraction),
    Codec("date", (datetime.date,), lambda d: [d.isoformat()], datetime.date.fromisoformat),
    Codec("datetime", (datetime.datetime,), _time_parts, _time(datetime.datetime)),
    Codec("time", (datetime.time,), _time_parts, _time(datetime.time)),
    Codec(
        "timedelta",
        (datetime.timedelta,),
        lambda t: [t.days, t.seconds, t.microseconds],
        datetime.timedelta,
    ),
    Codec(
        "timezone",
        (datetime.timezone,),
        lambda zone: list(zone.__getinitargs__()),
        datetime.timezone,
    ),
    Codec("zone", (zoneinfo.ZoneInfo,), _zone_parts, zoneinfo.ZoneInfo),
    Codec("scalar", (np.generic,), _scalar_parts, _scalar, subclasses=True),
    Codec("dtype", (np.dtype,), _dtype_parts, np.lib.format.descr_to_dtype, subclasses=True),
    Codec("type", (type,), _type_parts, _SIMPLE_TYPES.__getitem__, subclasses=True),
    Codec(
        "generator", (np.random.Generator,), lambda g: [g.bit_generator], np.random.Generator, True
    ),
    Codec(
        "bits",
        tuple(_BITS.values()),
        lambda bits: [type(bits).__name__, bits.state, getattr(bits, "seed_seq", None)],
        _bits,
        True,
    ),
    Codec(
        "seed",
        (np.random.SeedSequence,),
        lambda s: [s.entropy, s.spawn_key, s.pool_size, s.n_children_spawned],
        _seed,
        True,
    ),
    Codec(
        "random-state",
        (np.random.RandomState,),
        lambda generator: [generator.get_state(legacy=False)],
        _random_state,
        True,
    ),
)


# --- SciPy and networkx -----------------------------------------------------------------------


def _sparse_codec() -> Codec:
    import scipy.sparse as sp

    formats = (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix, sp.coo_array, SparseRows)
    types = {cls.__name__: cls for cls in formats}

    def parts(matrix: Any) -> list[Any]:
        name = type(matrix).__name__
        if types.get(name) is not type(matrix):
            raise TypeError(f"convert it to one of {', '.join(types)}")
        inner = matrix.coords if name == "coo_array" else (matrix.indices, matrix.indptr)
        return [name, matrix.shape, matrix.data, inner]

    def build(name: str, shape: Any, data: Any, inner: Any) -> Any:
        _check_numbers([shape, data, list(inner)])
        if any(getattr(part, "ndim", None) != 1 for part in (data, *inner)):
            raise ValueError("the parts of a sparse matrix must be 1-D arrays")
        content = (data, inner) if name == "coo_array" else (data, *inner)
        return types[name](content, shape=shape)

    bases = (sp.sparray, sp.spmatrix)
    return Codec("scipy sparse", bases, parts, build, True, subclasses=True)


def _graph_codec() -> Codec:
    """Return the codec of networkx graphs: ordered nodes and edges with attributes."""
    import networkx as nx

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

    return Codec("networkx graph", (nx.Graph,), parts, build, True, subclasses=True)
