"""Decompression of files, up to a limit."""

from __future__ import annotations

import io
from typing import Any

__all__ = ["expanded"]

_PART = 1 << 20  # bytes
_METHODS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}


def expanded(name: str, content: bytes, largest: int | None = None) -> bytes:
    """Decompress gzip, bzip2 and xz; return other content unchanged.

    Parameters
    ----------
    name : str
        Name of the file in messages.
    content : bytes
    largest : int or None
        Largest size in bytes after decompression: a few kilobytes can expand to many gigabytes.

    Examples
    --------
    >>> import gzip
    >>> expanded("small.csv.gz", gzip.compress(b"a,b"))
    b'a,b'
    >>> expanded("large.csv.gz", gzip.compress(bytes(10**7)), 10**6)
    Traceback (most recent call last):
        ...
    ValueError: large.csv.gz would expand to more than 1 MB, which is the limit. Use a part of it.
    """
    import lzma
    import zlib

    method = next((found for magic, found in _METHODS.items() if content.startswith(magic)), None)
    if method is None:
        return content
    if method == "zstd":
        raise ValueError(
            f"{name} is compressed with {method}, which is not supported. Decompress it first."
        )
    try:
        with _opened(content, method) as file:
            plain = _read(file, largest)
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(
            f"{name} is compressed with {method}, but cannot be decompressed: {error}."
        ) from error
    if largest is not None and len(plain) > largest:
        raise ValueError(
            f"{name} would expand to more than {largest / 1e6:,.0f} MB, which is the limit. Use a "
            "part of it."
        )
    return plain


def _read(file: Any, largest: int | None) -> bytes:
    """Read a file, or a little more than ``largest`` bytes of it.

    ``file.read(largest)`` would allocate that many bytes for every file.
    """
    parts: list[bytes] = []
    size = 0
    while (largest is None or size <= largest) and (part := file.read(_PART)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _opened(content: bytes, method: str) -> Any:
    import bz2
    import gzip
    import lzma

    openers: dict[str, Any] = {"gzip": gzip.GzipFile, "bz2": bz2.BZ2File, "xz": lzma.LZMAFile}
    file = io.BytesIO(content)
    return openers[method](fileobj=file) if method == "gzip" else openers[method](file)
