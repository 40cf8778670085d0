"""Files of embeddings: one vector per row, with texts or image paths if there are any."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer.utils.types import Array

__all__ = ["Embeddings", "read_embeddings"]

_PREFERRED = ("X", "embeddings", "embedding", "features")


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Vectors, and a caption per row.

    Attributes
    ----------
    vectors : array of shape (n, d)
        A memory map for NPY files.
    captions : list of str or None
        Texts or image paths.
    """

    vectors: Array
    captions: list[str] | None = None


def read_embeddings(path: str | Path) -> Embeddings:
    """Read embeddings from an NPY, NPZ, Parquet, CSV or TSV file.

    An NPZ file has one 2-D array of numbers (or one named X, embeddings, embedding or features),
    and may have a 1-D array of texts. A table has one column of lists or many numeric columns, and
    may have a column of texts, such as image paths. Other columns are not used.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from mercer.tables.embeddings import read_embeddings
    >>> with TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "vectors.npy", np.eye(3, dtype=np.float32))
    ...     read_embeddings(Path(folder) / "vectors.npy").vectors.shape
    (3, 3)
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return Embeddings(_as_vectors(np.load(path, mmap_mode="r", allow_pickle=False), path))
    if suffix == ".npz":
        with np.load(path, allow_pickle=False) as arrays:
            return _from_arrays({name: arrays[name] for name in arrays.files}, path)
    if suffix in (".parquet", ".pq"):
        import pyarrow.parquet as pq

        return _from_table(pq.read_table(path), path)
    if suffix in (".csv", ".tsv"):
        import pyarrow.csv as pv

        delimiter = "\t" if suffix == ".tsv" else ","
        options = pv.ParseOptions(delimiter=delimiter)
        return _from_table(pv.read_csv(path, parse_options=options), path)
    raise ValueError(
        f"{path} has the ending {suffix!r}; embeddings are read from .npy, .npz, .parquet, .csv "
        "and .tsv files."
    )


def _as_vectors(array: Any, path: Path) -> Array:
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise ValueError(
            f"{path} has an array of shape {array.shape} and type {array.dtype}; embeddings are a "
            "2-D array of numbers, one row per object."
        )
    return array.astype(np.float32) if array.dtype == np.float16 else array


def _from_arrays(arrays: dict[str, Array], path: Path) -> Embeddings:
    numeric = [name for name, a in arrays.items() if a.ndim == 2 and a.dtype.kind in "fiu"]
    chosen = [name for name in _PREFERRED if name in numeric] or numeric
    if not chosen:
        listed = ", ".join(f"{name} {a.shape}" for name, a in arrays.items()) or "nothing"
        raise ValueError(f"{path} has no 2-D array of numbers; it has {listed}.")
    vectors = _as_vectors(arrays[chosen[0]], path)
    texts = [a for a in arrays.values() if a.shape == (len(vectors),) and a.dtype.kind in "SU"]
    return Embeddings(vectors, [str(text) for text in texts[0]] if texts else None)


def _from_table(table: Any, path: Path) -> Embeddings:
    import pyarrow.types as types

    from mercer.utils.frames import as_numbers

    numeric, captions, lists = [], None, None
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        if types.is_list(kind) or types.is_fixed_size_list(kind) or types.is_large_list(kind):
            lists = column if lists is None else lists
        elif types.is_floating(kind) or types.is_integer(kind):
            numeric.append(name)
        elif captions is None and (types.is_string(kind) or types.is_large_string(kind)):
            captions = ["" if text is None else text for text in column.to_pylist()]
    if lists is not None:
        return Embeddings(_as_vectors(as_numbers(lists), path), captions)
    if not numeric:
        raise ValueError(f"{path} has neither a column of lists nor numeric columns.")
    columns = [table[name].to_numpy() for name in numeric]
    return Embeddings(np.column_stack(columns), captions)
