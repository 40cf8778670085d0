"""Limit the size of uploaded files after decompression: a small archive can hold a huge table."""

from __future__ import annotations

import io
import zipfile

from mercer.tables.compressed import expanded

__all__ = ["decompress_upload"]


def decompress_upload(content: bytes, name: str, limit: int) -> bytes:
    """Return the decompressed content of an upload, if it is not larger than ``limit`` bytes.

    Files that are compressed as a whole (gzip, bzip2, xz) are decompressed once, up to the limit.
    For NPZ and Parquet files, the size that the file declares is checked.

    Raises
    ------
    ValueError
        If the content is too large, damaged, or compressed more than once.

    Examples
    --------
    >>> decompress_upload(b"a,b\\n1,2\\n", "small.csv", 1000)
    b'a,b\\n1,2\\n'
    """
    plain = expanded(name, content, limit)
    if plain is not content and expanded(name, plain, limit) is not plain:
        raise ValueError(f"{name} is compressed more than once. Decompress it first.")
    size = 0
    if plain.startswith(b"PK\x03\x04"):
        size = _zip_size(plain)
    elif plain.startswith(b"PAR1"):
        size = _parquet_size(plain)
    if size > limit:
        raise ValueError(
            f"{name} would expand to {size / 1e6:,.0f} MB. The explorer accepts at most "
            f"{limit / 1e6:,.0f} MB. Use fewer rows, or the library."
        )
    return plain


def _zip_size(content: bytes) -> int:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return sum(member.file_size for member in archive.infolist())
    except zipfile.BadZipFile:
        return 0  # the reader raises a clear error


def _parquet_size(content: bytes) -> int:
    try:
        import pyarrow.parquet as pq

        metadata = pq.read_metadata(io.BytesIO(content))
    except (ImportError, OSError, ValueError):
        return 0  # the reader raises a clear error
    groups = range(metadata.num_row_groups)
    declared = sum(metadata.row_group(i).total_byte_size for i in groups)
    return int(max(declared, 8 * metadata.num_rows * metadata.num_columns))
