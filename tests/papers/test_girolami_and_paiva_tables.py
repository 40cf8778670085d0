"""Tables of Girolami (2002) and Paiva (2006) are inside their accepted ranges."""

import matplotlib as mpl
import pytest

from papers import girolami_2002, paiva_2006
from papers.comparison import count_verdicts

mpl.use("Agg")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::mercer.errors.IdentifiabilityWarning"),
]


def test_girolami_mixture_has_the_smaller_divergence():
    """At the published variance of 0.1, the mixture (the true model) has the smaller divergence."""
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
def test_all_figures_are_drawn(paper, count):
    import matplotlib.pyplot as plt

    figures = list(paper.figures(quick=True))
    assert [picture.name for picture in figures] == [f"fig{i + 1:02}" for i in range(count)]
    assert all(picture.figure.axes for picture in figures)
    plt.close("all")
