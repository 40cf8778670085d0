"""Bandwidth rules, with the definitions that reproduce the papers.

Every rule takes points and optional weights (a weight of 2 is equivalent to two copies) and returns
one number. The sample size is ``n = max(Σw, (Σw)² / Σw²)``. The scale of the weights has no effect
on "median-distance", "distance-fraction" and "leave-one-out". Distances are computed between at
most 2000 representative rows, selected by value, so a rule never costs O(n²) and does not depend on
the order of rows.

========================= =================================================================
"auto"                    d ≤ 3: "silverman", with s at most √2 "median-distance" if the range
                          is at least 0.1 √n s; d > 3: "median-distance" / √2; in densities the
                          most likely kernel (:mod:`mercer.bandwidth.likelihood`)
"silverman"               ``s (4 / ((2d + 1) n))^(1/(d+4))``, s² the mean marginal variance
"scott"                   ``s n^(-1/(d+4))``
"median-distance"         median over rows of the median distance to all rows, itself included
"distance-fraction"       0.15 of the "median-distance" (Jenssen uses 0.10 to 0.20)
"spectroscopy"            95 % of the points have 5 % of all points within the kernel's radius
"leave-one-out"           maximum of the leave-one-out likelihood
"normal-reference"        ``s (4 / ((d + 2) n))^(1/(d+4))``
"sheather-jones"          solve-the-equation plug-in, one column (R's ``bw.SJ``)
"improved-sheather-jones" fixed point of Botev, Grotowski and Kroese, one column
"plug-in"                 two-stage direct plug-in (R's ``bw.SJ(method="dpi")``)
"least-squares-cv"        least-squares (unbiased) cross-validation (R's ``bw.ucv``)
"biased-cv"               biased cross-validation (R's ``bw.bcv``)
"smoothed-cv"             smoothed cross-validation
========================= =================================================================
"""

from mercer.bandwidth.rules import (
    bandwidth,
    distance_fraction,
    fit_kernel,
    leave_one_out,
    median_distance,
    plug_in_matrix,
    scott,
    silverman,
    spectroscopy,
)

__all__ = [
    "bandwidth",
    "distance_fraction",
    "fit_kernel",
    "leave_one_out",
    "median_distance",
    "plug_in_matrix",
    "scott",
    "silverman",
    "spectroscopy",
]
