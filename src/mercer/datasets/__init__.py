"""Generators of artificial data. All of them need only a seed."""

from __future__ import annotations

from mercer.datasets.known_densities import (
    make_annulus,
    make_bits,
    make_clusters,
    make_two_gaussians,
)
from mercer.datasets.machines import make_machines
from mercer.datasets.process import make_process
from mercer.datasets.rings import make_halo, make_ring_and_blob, make_rings, make_wheel

__all__ = [
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
