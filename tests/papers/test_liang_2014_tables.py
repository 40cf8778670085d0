"""Verdicts of the tables of Liang (2014)."""

import matplotlib as mpl
import pytest

from papers import load_paper
from papers.liang_2014 import (
    centering,
    digits,
    discriminants,
    gaussian,
    polynomial,
    wheel,
)
from tests.papers.loading import load_or_skip

mpl.use("Agg")
pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("part", "corrections"),
    [
        (polynomial, 2),
        (wheel, 0),
        (digits, 0),
        (centering, 2),
        (gaussian, 13),
        (discriminants, 1),
    ],
)
def test_rows_agree_or_correct_the_thesis(part, corrections):
    tables = [load_or_skip(make, True) for make in part.TABLES.values()]
    rows = [row for table in tables for row in table.rows]
    assert rows
    assert [row.item for row in rows if row.verdict == "does not reproduce"] == []
    assert sum(row.verdict == "corrects the paper" for row in rows) == corrections


def test_all_figures_of_chapter_4_are_drawn():
    import matplotlib.pyplot as plt

    names = [picture.name for picture in centering.figures(quick=True)]
    plt.close("all")
    assert names == ["fig4_1", "fig4_2", "fig4_3", "fig4_4", "fig4_5"]


def test_title_names_the_author():
    assert "Liang" in load_paper("liang-2014").TITLE
