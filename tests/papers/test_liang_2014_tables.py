"""All rows of the tables of Liang (2014) are inside their accepted ranges."""

import matplotlib as mpl
import numpy as np
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
from papers.liang_2014.number_list import CloseTo, NumberList, number_list

mpl.use("Agg")
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("part", [polynomial, wheel, centering, gaussian, discriminants])
def test_rows_are_inside_their_accepted_range(part):
    rows = [row for table in part.tables(quick=True) for row in table.rows]
    assert rows
    assert [row.item for row in rows if row.verdict != "inside"] == []


def test_rows_of_digits_are_inside_their_accepted_range():
    try:
        tables = list(digits.tables(quick=True))
    except OSError as missing:
        pytest.skip(str(missing))
    assert all(row.verdict == "inside" for table in tables for row in table.rows)


def test_all_figures_of_chapter_4_are_drawn():
    import matplotlib.pyplot as plt

    names = [picture.name for picture in centering.figures(quick=True)]
    plt.close("all")
    assert names == ["fig4_1", "fig4_2", "fig4_3", "fig4_4", "fig4_5"]


def test_title_names_the_author():
    assert "Liang" in load_paper("liang-2014").TITLE


def test_lists_are_close_within_a_tolerance():
    close = CloseTo((2.0, 1.0), 1e-3)
    assert close.holds(NumberList((2.001, 1.0)))
    assert not close.holds(NumberList((2.001, 1.003)))
    assert not close.holds(NumberList((2.0,)))
    assert close.describe(" s") == "2, 1 s (to 1e-03)"
    assert str(number_list(np.array([1.0, 1e-17]))) == "1, 0"
