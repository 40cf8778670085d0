"""The papers' tables come out inside their fair ranges, and the figures can be drawn."""

import matplotlib as mpl
import pytest

from mercer.reproduce import girolami_2002, paiva_2006
from mercer.reproduce.frame import count_verdicts

mpl.use("Agg")
pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.IdentifiabilityWarning")


def test_girolami_divergences_keep_their_order():
    """At the printed variance of 0.1: the mixture, which is the truth here, is closer."""
    (ours, mixture), *_ = girolami_2002.divergences(seeds=1, variances=[0.1]).values()
    assert 0 < mixture < ours < 0.3


def test_girolami_identities_are_inside():
    verdicts = count_verdicts([next(girolami_2002.tables(quick=True))])
    assert verdicts["outside"] == 0
    assert verdicts["inside"] == 4


def test_paiva_tables_are_inside():
    verdicts = count_verdicts(paiva_2006.tables(quick=True))
    assert verdicts["outside"] == 0
    assert verdicts["inside"] == 9


@pytest.mark.parametrize(("paper", "count"), [(girolami_2002, 9), (paiva_2006, 1)])
def test_figures(paper, count):
    import matplotlib.pyplot as plt

    figures = list(paper.figures(quick=True))
    assert [picture.name for picture in figures] == [f"fig{i + 1:02}" for i in range(count)]
    assert all(picture.figure.axes for picture in figures)
    plt.close("all")
