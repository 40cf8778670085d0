"""W. G. Macready, Density estimation with Mercer kernels, RIACS, NASA Ames, 2003.

Each module contains one experiment with its table and figure.
"""

from __future__ import annotations

from papers.macready_2003 import bits, em, halo, plane

__all__ = ["FIGURES", "TABLES", "TITLE"]

TITLE = "W. G. Macready, Density estimation with Mercer kernels, NASA Ames, 2003"

TABLES = {
    "Section 2: kernelized EM and EM on kernel coordinates, 15 steps": em.table,
    "Figure 1: core and halo, quadratic kernel, α = β = 1": halo.table,
    "Figure 2 (a): one Gaussian, α = 15, β = 1": plane.table,
    "Figure 2 (b): bit strings, ρ = 0.6, β = 0.5, α = 2.6": bits.table,
    "Figure 2 (b): sensitivity to ρ": bits.sensitivity,
}
FIGURES = {"Figure 1": halo.figures, "Figure 2 (a)": plane.figures, "Figure 2 (b)": bits.figures}
