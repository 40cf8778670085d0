"""The papers' tables come out inside their fair ranges, and the figures can be drawn."""

import matplotlib as mpl
import pytest

from mercer.reproduce import girolami_2002, paiva_2006

mpl.use("Agg")
pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.IdentifiabilityWarning")


def test_girolami_divergences_keep_their_order():
    """At the printed variance of 0.1: the mixture, which is the truth here, is closer."""
    (ours, mixture), *_ = girolami_2002.divergences(seeds=1, variances=[0.1]).values()
    assert 0 < mixture < ours < 0.3


def test_paiva_table_is_inside():
    rows = paiva_2006.tables(seeds=4)
    assert [row for row in rows if row.verdict != "inside"] == []


@pytest.mark.parametrize(("paper", "count"), [(girolami_2002, 9), (paiva_2006, 1)])
def test_figures(paper, count):
    import matplotlib.pyplot as plt

    figures = paper.figures()
    assert list(figures) == [f"figure {i + 1}" for i in range(count)]
    assert all(figure.axes for figure in figures.values())
    plt.close("all")
