"""The file: a zip of one text and many arrays, closed by a checksum of all that comes before it.

The members are stored, not compressed: kernel models are made of floating-point numbers, which
hardly shrink, and what is not compressed cannot be a bomb. The checksum sits in the comment of
the zip, the very last bytes, so that ``unzip`` and ``numpy.load`` still read every part. It is
verified before anything else looks at the content: damage is told in one place, in words. It does
not tell who wrote the file; what follows it trusts nothing either.
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

from mercer.atomic_files import atomic_write
from mercer.maths.types import Array

__all__ = ["Members", "RefusedError", "opened", "write"]

_MANIFEST = "mercer.json"
_TRAILER = b"mercer model file; sha256 of all bytes before: "
_DIGITS = 64
_START = b"PK\x03\x04"
_CHUNK = 2**24
_LARGEST_HEADER = 2**16
_PICKLE = "a pickle (or a joblib file), which can run any code when it is read"
_OTHERS = {
    b"\x80": _PICKLE,
    **{
        b"x" + level: "a compressed file, perhaps by joblib"
        for level in (b"\x01", b"^", b"\x9c", b"\xda")
    },
    b"\x1f\x8b": "a gzip file",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ": "an xz file",
    b"\x93NUMPY": "an array by numpy.save",
    b"\x89HDF": "an HDF5 file",
}


class RefusedError(ValueError):
    """A file that is refused as a whole; the text says all there is to say."""


# --- writing ---------------------------------------------------------------------------------


def write(path: Path, manifest: Mapping[str, Any], arrays: Sequence[Array]) -> None:
    """Write a model file, or leave what was there."""
    text = json.dumps(manifest, allow_nan=False, separators=(",", ":")).encode("ascii")
    with atomic_write(path) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.comment = _TRAILER + b"0" * _DIGITS
            with _member(archive, _MANIFEST, len(text)) as member:
                member.write(text)
            for number, array in enumerate(arrays):
                with _member(archive, _array_name(number), array.nbytes) as member:
                    np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
        size = file.seek(0, os.SEEK_END) - _DIGITS
        digest = _digest(file, size)
        file.seek(size)
        file.write(digest)


@contextmanager
def _member(archive: zipfile.ZipFile, name: str, size: int) -> Iterator[Any]:
    info = zipfile.ZipInfo(name)  # dated 1980: equal models give equal files
    info.create_system = 3
    with archive.open(info, "w", force_zip64=size > 2**30) as member:
        yield member


def _array_name(number: int) -> str:
    return f"arrays/{number}.npy"


def _digest(file: BinaryIO, size: int) -> bytes:
    """SHA-256 of the first ``size`` bytes, in hexadecimal digits."""
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
    """The parts of an open model file."""

    def __init__(self, archive: zipfile.ZipFile, room: int) -> None:
        self._archive = archive
        infos = archive.infolist()
        names = [_MANIFEST, *(_array_name(i) for i in range(len(infos) - 1))]
        if [info.filename for info in infos] != names:
            raise ValueError("its parts are not those of a model file")
        for info in infos:
            if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
                raise ValueError("a part of it is compressed or encrypted")
        inside = all(0 <= info.header_offset < room for info in infos)
        if not inside or sum(info.file_size for info in infos) > room:
            raise ValueError("its parts lie outside the file")
        self._infos = infos

    @property
    def n_arrays(self) -> int:
        """How many arrays there are."""
        return len(self._infos) - 1

    def manifest(self) -> Any:
        """Return the text, parsed."""
        text = self._archive.read(self._infos[0])
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)

    def array(self, number: int) -> Array:
        """Read an array into memory of its own; its size is checked before memory is asked for."""
        info = self._infos[1 + number]
        with self._archive.open(info) as member:
            if np.lib.format.read_magic(member) != (1, 0):
                raise ValueError("an array has an unknown version")
            shape, by_columns, dtype = np.lib.format.read_array_header_1_0(
                member, max_header_size=_LARGEST_HEADER
            )
            if dtype.hasobject:
                raise ValueError("an array holds Python objects")
            if dtype.itemsize == 0 or min(shape, default=0) < 0:
                raise ValueError("an array has cells without size, or a negative shape")
            left = info.file_size - member.tell()
            if prod(shape) * dtype.itemsize != left:
                raise ValueError(f"an array of shape {shape} has {left} bytes")
            array = np.empty(shape[::-1] if by_columns else shape, dtype)
            cells = array.reshape(-1).view(np.uint8)
            for first in range(0, left, _CHUNK):
                chunk = member.read(min(_CHUNK, left - first))
                cells[first : first + _CHUNK] = np.frombuffer(chunk, np.uint8)
        return array.T if by_columns else array


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name comes twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


@contextmanager
def opened(path: Path) -> Iterator[Members]:
    """Open a model file whose checksum is right."""
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    if not path.is_file():
        raise RefusedError(f"{path} is not a file; mercer.load reads files written by mercer.save.")
    with path.open("rb") as file:
        _check_sum(path, file)
        with zipfile.ZipFile(file) as archive:
            yield Members(archive, file.seek(0, os.SEEK_END))


def _check_sum(path: Path, file: BinaryIO) -> None:
    head = file.read(30 + len(_MANIFEST))
    if not (head.startswith(_START) and head.endswith(_MANIFEST.encode())):
        _refuse_other(path, head)
    size = file.seek(0, os.SEEK_END) - _DIGITS
    file.seek(max(size - len(_TRAILER), 0))
    tail = file.read()
    if len(tail) != len(_TRAILER) + _DIGITS or not tail.startswith(_TRAILER):
        raise RefusedError(
            f"{path} is a model file without its end ({size + _DIGITS} bytes): it was cut off or "
            "lengthened. Copy it again, or save the model again."
        )
    if _digest(file, size) != tail[len(_TRAILER) :]:
        raise RefusedError(
            f"{path} is damaged: its checksum does not match its content. Copy it again, or save "
            "the model again."
        )


def _refuse_other(path: Path, head: bytes) -> None:
    what = next((words for start, words in _OTHERS.items() if head.startswith(start)), None)
    if not head:
        what = "empty"
    elif what is None:
        what = "something else, or its beginning is damaged"
    raise RefusedError(
        f"{path} is not a model file of mercer: it is {what}. mercer.load reads files written by "
        "mercer.save."
    )
