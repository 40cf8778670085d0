"""The file format: a zip archive of a JSON text and arrays, with a checksum at the end.

The members are not compressed: floating-point numbers hardly shrink, and an uncompressed file
cannot be a decompression bomb. The checksum is in the comment of the zip archive, its last bytes,
so that ``unzip`` and ``numpy.load`` still read every member. It is verified before the content is
read, and detects damage but not forgery; the other modules do not trust the content either.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mercer.utils.atomic_files import atomic_write
from mercer.utils.types import Array

__all__ = ["Members", "UnreadableError", "opened", "write"]

_MANIFEST = "mercer.json"
_TRAILER = b"mercer model file; sha256 of all bytes before: "
_DIGITS = 64  # of the checksum
_START = b"PK\x03\x04"
_CHUNK = 2**24  # bytes that are read at once
_PICKLE = "a pickle (or a joblib file), which can run arbitrary code when it is read"
_OTHER_FORMATS = {
    b"\x80": _PICKLE,
    **{
        b"x" + level: "a compressed file, possibly written by joblib"
        for level in (b"\x01", b"^", b"\x9c", b"\xda")
    },
    b"\x1f\x8b": "a gzip file",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ": "an xz file",
    b"\x93NUMPY": "an array written by numpy.save",
    b"\x89HDF": "an HDF5 file",
}


class UnreadableError(ValueError):
    """A file that cannot be read, with a complete message."""


# --- writing ---------------------------------------------------------------------------------


def write(path: Path, manifest: Mapping[str, Any], arrays: Sequence[Array]) -> None:
    """Write a model file; if that fails, an existing file stays unchanged."""
    text = json.dumps(manifest, allow_nan=False, separators=(",", ":")).encode("ascii")
    with atomic_write(path) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.comment = _TRAILER + b"0" * _DIGITS
            with _member(archive, _MANIFEST, len(text)) as member:
                member.write(text)
            for index, array in enumerate(arrays):
                with _member(archive, _array_name(index), array.nbytes) as member:
                    np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
        size = file.seek(0, os.SEEK_END) - _DIGITS
        digest = _digest(file, size)
        file.seek(size)
        file.write(digest)


@contextmanager
def _member(archive: zipfile.ZipFile, name: str, size: int) -> Iterator[Any]:
    info = zipfile.ZipInfo(name)  # with a fixed date, so that equal models give equal files
    info.create_system = 3
    with archive.open(info, "w", force_zip64=size > 2**30) as member:
        yield member


def _array_name(index: int) -> str:
    return f"arrays/{index}.npy"


def _digest(file: BinaryIO, size: int) -> bytes:
    """Return the SHA-256 of the first ``size`` bytes, in hexadecimal digits."""
    sums = hashlib.sha256()
    file.seek(0)
    while size > 0:
        chunk = file.read(min(size, _CHUNK))
        if not chunk:
            break
        sums.update(chunk)
        size -= len(chunk)
    return sums.hexdigest().encode("ascii")


# --- reading ---------------------------------------------------------------------------------


class Members:
    """The members of an open model file.

    Parameters
    ----------
    archive : ZipFile
    size : int
        Size of the file in bytes.
    """

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        self._archive = archive
        infos = archive.infolist()
        names = [_MANIFEST, *(_array_name(i) for i in range(len(infos) - 1))]
        if [info.filename for info in infos] != names:
            raise ValueError("its members are not those of a model file")
        for info in infos:
            if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
                raise ValueError("a member is compressed or encrypted")
        inside = all(0 <= info.header_offset < size for info in infos)
        if not inside or sum(info.file_size for info in infos) > size:
            raise ValueError("its members are outside of the file")
        self._infos = infos

    @property
    def n_arrays(self) -> int:
        """Number of arrays."""
        return len(self._infos) - 1

    def manifest(self) -> Any:
        """Return the parsed JSON text."""
        text = self._archive.read(self._infos[0])
        return json.loads(text, object_pairs_hook=_distinct, parse_constant=_reject_constant)

    def array(self, index: int) -> Array:
        """Read an array; its size is checked before memory is allocated."""
        info = self._infos[1 + index]
        with self._archive.open(info) as member:
            if np.lib.format.read_magic(member) != (1, 0):
                raise ValueError("an array has an unknown version")
            shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(
                member, max_header_size=2**16
            )
            if dtype.hasobject:
                raise ValueError("an array holds Python objects")
            if dtype.itemsize == 0 or min(shape, default=0) < 0:
                raise ValueError("an array has items of size 0, or a negative shape")
            n_bytes = info.file_size - member.tell()
            if prod(shape) * dtype.itemsize != n_bytes:
                raise ValueError(f"an array of shape {shape} has {n_bytes} bytes")
            array = np.empty(shape[::-1] if is_fortran else shape, dtype)
            cells = array.reshape(-1).view(np.uint8)
            for first in range(0, n_bytes, _CHUNK):
                chunk = member.read(min(_CHUNK, n_bytes - first))
                cells[first : first + _CHUNK] = np.frombuffer(chunk, np.uint8)
        return array.T if is_fortran else array


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")


@contextmanager
def opened(path: Path) -> Iterator[Members]:
    """Open a model file and verify its checksum."""
    if not path.exists():
        raise FileNotFoundError(f"{path} was not found.")
    if not path.is_file():
        raise UnreadableError(
            f"{path} is not a file. mercer.load reads files written by mercer.save."
        )
    with path.open("rb") as file:
        _verify_checksum(path, file)
        with zipfile.ZipFile(file) as archive:
            yield Members(archive, file.seek(0, os.SEEK_END))


def _verify_checksum(path: Path, file: BinaryIO) -> None:
    head = file.read(30 + len(_MANIFEST))
    if not (head.startswith(_START) and head.endswith(_MANIFEST.encode())):
        raise _other_format(path, head)
    size = file.seek(0, os.SEEK_END) - _DIGITS
    file.seek(max(size - len(_TRAILER), 0))
    tail = file.read()
    if len(tail) != len(_TRAILER) + _DIGITS or not tail.startswith(_TRAILER):
        raise UnreadableError(
            f"{path} is an incomplete model file ({size + _DIGITS} bytes): its end is missing or "
            "changed. Copy it again, or save the model again."
        )
    if _digest(file, size) != tail[len(_TRAILER) :]:
        raise UnreadableError(
            f"{path} is damaged: its checksum does not match its content. Copy it again, or save "
            "the model again."
        )


def _other_format(path: Path, head: bytes) -> UnreadableError:
    found = next((name for start, name in _OTHER_FORMATS.items() if head.startswith(start)), None)
    if not head:
        found = "empty"
    elif found is None:
        found = "of another format, or its beginning is damaged"
    return UnreadableError(
        f"{path} is not a model file of mercer: it is {found}. mercer.load reads files written by "
        "mercer.save."
    )
