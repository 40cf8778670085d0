"""Data sets: loaders for the real data of the papers, and generators of artificial data.

Loaders (``load_*``) read files that are not part of the package. They search the folder in the
environment variable ``MERCER_DATA``, then ``../shared/data`` relative to a checkout of the project,
then OpenML if it has the data set. Generators (``make_*``) need only a seed.
"""

from __future__ import annotations

from mercer.datasets.known_densities import (
    make_annulus,
    make_bits,
    make_clusters,
    make_two_gaussians,
)
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
from mercer.datasets.process import make_process
from mercer.datasets.rings import make_halo, make_ring_and_blob, make_rings, make_wheel

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
    "make_process",
    "make_ring_and_blob",
    "make_rings",
    "make_two_gaussians",
    "make_wheel",
]
