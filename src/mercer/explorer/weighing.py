"""How large a file will become, asked before it is read: a small archive can hold a huge table."""

from __future__ import annotations

import io
import zipfile

from mercer.tables.compressed import expanded

__all__ = ["refuse_bomb"]


def refuse_bomb(content: bytes, name: str, largest: int) -> None:
    """Raise ValueError where a file would expand to more than ``largest`` bytes.

    Archives of arrays (NPZ) and Parquet files say how large they become; what is compressed as a
    whole is expanded, but no further than that.

    Examples
    --------
    >>> refuse_bomb(b"a,b\\n1,2\\n", "small.csv", 1000)
    """
    size, content = 0, expanded(name, content, largest)
    if content.startswith(b"PK\x03\x04"):
        size = _size_of_zip(content)
    elif content.startswith(b"PAR1"):
        size = _size_of_parquet(content)
    if size > largest:
        raise ValueError(
            f"{name} would expand to {size / 1e6:,.0f} MB; the explorer takes at most "
            f"{largest / 1e6:,.0f} MB. Use a part of it here, and the library for all."
        )


def _size_of_zip(content: bytes) -> int:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return sum(member.file_size for member in archive.infolist())
    except zipfile.BadZipFile:
        return 0  # the reader will say so


def _size_of_parquet(content: bytes) -> int:
    try:
        import pyarrow.parquet as pq

        facts = pq.read_metadata(io.BytesIO(content))
    except (ImportError, OSError, ValueError):
        return 0  # the reader will say so
    groups = range(facts.num_row_groups)
    expanded = sum(facts.row_group(i).total_byte_size for i in groups)
    return int(max(expanded, 8 * facts.num_rows * facts.num_columns))
