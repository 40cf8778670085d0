"""Deprecated: use :mod:`mercer.chunks.files`."""

import warnings

from mercer.chunks.files import columns_of, open_parts, read_parts, write_frames, write_parts

__all__ = ["columns_of", "open_parts", "read_parts", "write_frames", "write_parts"]

warnings.warn(
    "mercer.distributed.files is deprecated; import from mercer.chunks.files instead.",
    DeprecationWarning,
    stacklevel=2,
)
