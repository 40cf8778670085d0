"""Display of objects in notebooks."""

from html.parser import HTMLParser

import pandas as pd
import pytest
import sklearn

from mercer import EntropyClustering, KernelECA, KernelPCA, MercerMixture, ParzenDensity
from mercer.datasets import make_machines, make_rings
from mercer.kernels import Gaussian, Linear, On, Polynomial, table_kernel
from mercer.utils.formatting import bar, table
from tests.expectations import names_values


class Tables(HTMLParser):
    """Collect the cells of all rows, and check that tags are closed in order."""

    def __init__(self, html):
        super().__init__()
        self.rows, self.open, self.text = [], [], ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        if tag in ("script", "link", "img"):
            raise AssertionError(f"unexpected <{tag}>")
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


@pytest.fixture
def eca():
    X, _ = make_rings(random_state=0)
    return KernelECA(3, kernel=Gaussian(3.7), solver="dense").fit(X)


def test_spectrum_shows_entropy_terms_and_certificate(eca):
    shown = Tables(eca.spectrum_._repr_html_())
    assert len(shown.rows[0]) == 6
    assert (shown.rows[0][1], shown.rows[0][4]) == ("λ", "ψ")
    assert [row[4] for row in shown.rows[1:]] == [f"{term:.4g}" for term in eca.entropy_terms_]
    assert shown.rows[1][5] == f"{100 * eca.entropy_ratio_[0]:.3g} %"
    assert eca.spectrum_.certificate in shown.text
    assert names_values(shown.text, 3, 315) == []


def test_centered_spectrum_has_no_entropy_terms():
    X, _ = make_rings(random_state=0)
    shown = Tables(KernelPCA(12, kernel=Gaussian(3.7)).fit(X).spectrum_._repr_html_())
    assert len(shown.rows[0]) == 4
    assert "ψ" not in shown.rows[0]
    assert "2" in shown.rows[-1][0]  # of 12 components, 10 are shown
    assert len(shown.rows) == 12


def test_fitted_estimator_shows_its_spectrum(eca):
    shown = eca.spectrum_._repr_html_()
    assert "ψ" not in KernelECA()._repr_html_()
    assert eca._repr_html_().endswith(shown)
    assert eca._repr_mimebundle_()["text/html"].endswith(shown)
    with sklearn.config_context(display="text"):
        assert eca._repr_mimebundle_() == {"text/plain": repr(eca)}


@pytest.mark.parametrize(
    "estimator", [EntropyClustering(2), MercerMixture(2), ParzenDensity()], ids=str
)
def test_other_estimators_show_their_kernel(estimator):
    X, _ = make_rings((20, 20), radii=(2.0, 10.0), random_state=0)
    shown = estimator.fit(X)._repr_html_()
    assert "Gaussian" in shown.rpartition("<table")[2] or "Gaussian kernel" in shown


def test_kernels_show_parameters_and_terms():
    shown = Tables((Gaussian(1.5) * Polynomial(2) + 0.1 * Linear())._repr_html_())
    assert names_values(shown.text, "Sum", 2) == []
    assert Tables(Gaussian(1.5)._repr_html_()).rows[1] == ["bandwidth", "1.5"]
    frame = pd.DataFrame(make_machines(30, random_state=0)[0])
    shown = Tables(table_kernel(frame)._repr_html_())
    assert len(shown.rows) == 1 + frame.shape[1]
    assert "On('temperature', Gaussian" in shown.rows[1][1]


def test_names_are_escaped():
    shown = Tables(On("<b>&", Gaussian(1.0))._repr_html_())
    assert "<b>&" in shown.text
    assert Tables(table("<i>", ["<b>"], [["<script>", "&"]])).rows[1] == ["<script>", "&"]


@pytest.mark.parametrize(("fraction", "width"), [(-0.1, "0.0%"), (0.25, "25.0%"), (1.5, "100.0%")])
def test_length_of_a_bar_is_limited(fraction, width):
    assert f"width:{width}" in bar(fraction)
