"""R. Jenssen, Kernel entropy component analysis, IEEE TPAMI 32(5):847-860, 2010.

Each module contains one experiment with its tables and figures. Results are cached, so that a
figure shows the numbers of its table.
"""

from __future__ import annotations

from papers.jenssen_2010 import (
    baselines,
    blocks,
    denoising,
    digits,
    faces,
    indefinite,
    newsgroups,
    regression,
    segmentation,
    thyroid,
    toys,
    uci,
)

__all__ = ["FIGURES", "TABLES", "TITLE"]

TITLE = "R. Jenssen, Kernel entropy component analysis, IEEE TPAMI 32(5):847-860, 2010"

_EXPERIMENTS = (
    blocks,
    toys,
    digits,
    thyroid,
    segmentation,
    uci,
    faces,
    newsgroups,
    regression,
    denoising,
    indefinite,
    baselines,
)
TABLES = {title: table for part in _EXPERIMENTS for title, table in part.TABLES.items()}
FIGURES = {
    "Fig. 1": blocks.figures,
    "Figs. 2 to 9 and 11": toys.figures,
    "Fig. 10": digits.figures,
    "Fig. 12": thyroid.figures,
    "Fig. 13": segmentation.figures,
    "Fig. 14 and sweeps of Table 1": uci.figures,
    "Figs. 15 and 16": faces.figures,
    "Fig. 17": newsgroups.figures,
    "Fig. 18": regression.figures,
    "Fig. 19": denoising.figures,
}
