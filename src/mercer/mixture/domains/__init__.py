"""Domains of densities: spaces over which a density can be integrated and sampled.

Each domain provides nodes and log-weights with ``∫ f dμ ≈ Σ_j exp(w_j) f(x_j)``. With a base
measure q the density is ``p ∝ q f``, where f is bounded.
"""

from __future__ import annotations

from mercer.mixture.domains.base import Domain, Nodes, Normalization, integrate, resample
from mercer.mixture.domains.column_domains import (
    Categories,
    ColumnDomain,
    Counts,
    Interval,
    Strings,
)
from mercer.mixture.domains.products import ProductDomain, table_domain
from mercer.mixture.domains.spaces import Box, FiniteSpace, GaussianBase, bit_strings

__all__ = [
    "Box",
    "Categories",
    "ColumnDomain",
    "Counts",
    "Domain",
    "FiniteSpace",
    "GaussianBase",
    "Interval",
    "Nodes",
    "Normalization",
    "ProductDomain",
    "Strings",
    "bit_strings",
    "integrate",
    "resample",
    "table_domain",
]
