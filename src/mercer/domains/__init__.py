"""Domains of densities: spaces over which a density can be integrated and sampled.

The density that a mixture in feature space induces has no normalizer of its own, and none at all
over R^d if the kernel is local: far from the data it tends to a constant. So the domain has to be
specified. Each domain provides nodes, ``∫ f dμ ≈ Σ_j exp(w_j) f(x_j)``:

===================== ========================= ======================= ====================
domain                nodes                     error of the integral   samples
===================== ========================= ======================= ====================
:class:`FiniteSpace`  all its elements          none                    exact
:class:`Box`, d ≤ 2   midpoints of a grid       that of the grid        a cell, then within
:class:`Box`, d > 2   scrambled Sobol' points   from eight scrambles    resampling
:class:`GaussianBase` draws from q              Monte Carlo             resampling
===================== ========================= ======================= ====================

With a base measure the density is ``p ∝ q f``: f, which is bounded, tilts q.
"""

from __future__ import annotations

from mercer.domains.base import Domain, Nodes, Normalization
from mercer.domains.integration import integrate, resample
from mercer.domains.spaces import Box, FiniteSpace, GaussianBase, bit_strings

__all__ = [
    "Box",
    "Domain",
    "FiniteSpace",
    "GaussianBase",
    "Nodes",
    "Normalization",
    "bit_strings",
    "integrate",
    "resample",
]
