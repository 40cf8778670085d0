"""Z. Liang, Eigen-analysis of kernel operators (thesis, The Ohio State University, 2014).

Each module contains one part of the thesis: its tables and its figures. If a published value is
wrong, the row has the correct one and the test that confirms it in another way.
"""

from __future__ import annotations

from papers.liang_2014 import centering, digits, discriminants, gaussian, polynomial, wheel

__all__ = ["FIGURES", "TABLES", "TITLE"]

TITLE = (
    "Z. Liang, Eigen-analysis of kernel operators for nonlinear dimension reduction and "
    "discrimination, thesis, The Ohio State University, 2014"
)

_PARTS = (polynomial, wheel, digits, centering, gaussian, discriminants)
TABLES = {title: table for part in _PARTS for title, table in part.TABLES.items()}
FIGURES = {
    "Figures 3.1 to 3.4 and 3.6": polynomial.figures,
    "Figures 3.5, 5.5, 5.6, 5.8 and 5.9": wheel.figures,
    "Figures 3.7 to 3.10": digits.figures,
    "Figures 4.1 to 4.5": centering.figures,
    "Figures 4.6 to 4.8": gaussian.figures,
    "Figures 5.1 to 5.4 and 5.7": discriminants.figures,
}
