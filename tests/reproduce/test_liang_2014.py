"""Every row of the thesis' tables inside its fair range; figures under different names."""

import matplotlib as mpl
import numpy as np
import pytest

from mercer.reproduce import load_paper
from mercer.reproduce.liang_2014 import (
    centring,
    digits,
    discriminants,
    gaussian,
    polynomial,
    wheel,
)
from mercer.reproduce.liang_2014.numbers import Near, Numbers, numbers

mpl.use("Agg")


@pytest.mark.parametrize("part", [polynomial, wheel, centring, gaussian, discriminants])
def test_rows_are_inside(part):
    rows = [row for table in part.tables(quick=True) for row in table.rows]
    assert rows
    assert [row.item for row in rows if row.verdict != "inside"] == []


def test_digits_by_two_routes():
    try:
        tables = list(digits.tables(quick=True))
    except OSError as missing:
        pytest.skip(str(missing))
    assert all(row.verdict == "inside" for table in tables for row in table.rows)


def test_figures_of_chapter_4():
    import matplotlib.pyplot as plt

    names = [picture.name for picture in centring.figures(quick=True)]
    plt.close("all")
    assert names == ["fig4_1", "fig4_2", "fig4_3", "fig4_4", "fig4_5"]


def test_the_paper_is_known():
    assert "Liang" in load_paper("liang-2014").TITLE


def test_near():
    near = Near((2.0, 1.0), 1e-3)
    assert near.holds(Numbers((2.001, 1.0)))
    assert not near.holds(Numbers((2.001, 1.003)))
    assert not near.holds(Numbers((2.0,)))
    assert near.describe(" s") == "2, 1 s (to 1e-03)"
    assert str(numbers(np.array([1.0, 1e-17]))) == "1, 0"
