"""Domains of densities: spaces over which a density can be integrated and sampled.

A mixture in feature space defines a density that is not normalized. For a local kernel its integral
over R^d is infinite, because it tends to a constant far from the data. So the domain has to be
specified. Each domain provides nodes and log-weights with ``∫ f dμ ≈ Σ_j exp(w_j) f(x_j)``:

====================== ======================= ==================== =================
domain                 nodes                   error of integrals   samples
====================== ======================= ==================== =================
:class:`FiniteSpace`   all its elements        none                 exact
:class:`Box`, d ≤ 2    a grid, refined where   from differences     uniform in a cell
                       it is too coarse
:class:`Box`, d > 2    scrambled Sobol' points from eight scrambles resampling
:class:`GaussianBase`  draws from q            Monte Carlo          resampling
:class:`ProductDomain` draws near data         Monte Carlo          resampling
====================== ======================= ==================== =================

With a base measure q the density is ``p ∝ q f``, where f is bounded.
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
