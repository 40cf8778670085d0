"""Verdicts of the tables of Girolami (2002) and Paiva (2006)."""

import matplotlib as mpl
import pytest

from papers import girolami_2002, paiva_2006

mpl.use("Agg")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::mercer.errors.IdentifiabilityWarning"),
]


def verdicts(paper, table):
    """Verdicts by item of the table whose title starts with a text."""
    (make,) = [make for title, make in paper.TABLES.items() if title.startswith(table)]
    return {row.item: row.verdict for row in make(True).rows}


def test_girolami_divergences_agree_with_the_printed_ones():
    found = verdicts(girolami_2002, "Divergence")
    printed = [verdict for verdict in found.values() if verdict != "not printed"]
    assert printed == ["agrees"] * 6


@pytest.mark.parametrize("paper", [girolami_2002, paiva_2006])
def test_identities_hold(paper):
    assert set(verdicts(paper, "Identities").values()) == {"identity"}


def test_paiva_title_holds_for_directions_of_unit_norm_and_the_same_kernel():
    found = verdicts(paiva_2006, "Section 4")
    assert [v for v in found.values() if v != "not printed"] == ["agrees"] * 2
    assert all("the same kernel" in item for item, v in found.items() if v == "agrees")


def test_paiva_networks_agree_and_respect_the_lower_limits():
    found = verdicts(paiva_2006, "Figure 1 (d)")
    assert set(found.values()) == {"agrees", "not printed"}
    limits = [verdict for item, verdict in found.items() if "against the minimum" in item]
    assert limits == ["agrees"] * 4


@pytest.mark.parametrize(("paper", "count"), [(girolami_2002, 9), (paiva_2006, 1)])
def test_all_figures_are_drawn(paper, count):
    import matplotlib.pyplot as plt

    figures = list(paper.figures(quick=True))
    assert [picture.name for picture in figures] == [f"fig{i + 1:02}" for i in range(count)]
    assert all(picture.figure.axes for picture in figures)
    plt.close("all")
