"""Loaders of the real data of the papers.

They search the folder in the environment variable ``MERCER_DATA``, then ``../shared/data`` relative
to a checkout of the project, then OpenML if it has the data set.
"""

from papers.data.loaders import (
    load_frey_faces,
    load_ida,
    load_newsgroups,
    load_pendigits,
    load_segment,
    load_thyroid,
    load_usps,
)

__all__ = [
    "load_frey_faces",
    "load_ida",
    "load_newsgroups",
    "load_pendigits",
    "load_segment",
    "load_thyroid",
    "load_usps",
]
