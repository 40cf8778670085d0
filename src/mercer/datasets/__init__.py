"""Data to try kernel methods on: the real sets of the papers, and generators of artificial ones.

Loaders (``load_*``) read files that are not part of the package: they look in the folder named by
the environment variable ``MERCER_DATA``, then in ``../shared/data`` beside a checkout of the
project, then on OpenML where the set is there. Generators (``make_*``) need nothing but a seed.
"""

from __future__ import annotations

from mercer.datasets.clouds import make_annulus, make_bits, make_clusters, make_two_gaussians
from mercer.datasets.generators import make_halo, make_ring_and_blob, make_rings, make_wheel
from mercer.datasets.loaders import (
    load_frey_faces,
    load_ida,
    load_newsgroups,
    load_pendigits,
    load_segment,
    load_thyroid,
    load_usps,
)
from mercer.datasets.machines import make_machines

__all__ = [
    "load_frey_faces",
    "load_ida",
    "load_newsgroups",
    "load_pendigits",
    "load_segment",
    "load_thyroid",
    "load_usps",
    "make_annulus",
    "make_bits",
    "make_clusters",
    "make_halo",
    "make_machines",
    "make_ring_and_blob",
    "make_rings",
    "make_two_gaussians",
    "make_wheel",
]
