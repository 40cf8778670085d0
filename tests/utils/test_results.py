"""Texts of results fit on a screen, and notebooks show them in HTML."""

from math import ceil, inf

import numpy as np
import pytest

import mercer
from mercer import population
from mercer.information import column_dependence, kullback_leibler, matrix_renyi_entropy
from mercer.kernels import Gaussian
from mercer.population import Normal
from mercer.utils.formatting import Markup, Result, Summary

pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(200, 40)), RNG.normal(size=(200, 40))
X[:60, :3] += 6


def discriminants():
    classes = [Normal([0, 0]), Normal([2, 1])]
    rows = np.vstack([p.sample(100, random_state=i) for i, p in enumerate(classes)])
    model = mercer.KernelLDA(kernel=Gaussian(2.0), rank=10).fit(rows, np.repeat([0, 1], 100))
    return population.compare_discriminants(model, classes)


def frame(columns=40):
    import pandas as pd

    names = [f"a column with a name of more than forty characters, {i}" for i in range(columns)]
    return pd.DataFrame(X[:, :columns], columns=names)


RESULTS = {
    "Diversity": lambda: mercer.measure_diversity(X, Gaussian(5.0), orders=(*range(60), inf)),
    "Mode": lambda: mercer.measure_diversity(X).modes[0],
    "SampleComparison": lambda: mercer.compare_samples(X, Y),
    "EmbeddingComparison": lambda: mercer.compare_embeddings(X, Y, n_modes=40),
    "DifferenceMode": lambda: mercer.compare_embeddings(X, Y).first_modes[0],
    "ColumnDependence": lambda: column_dependence(frame()),
    "DensityDistance": lambda: kullback_leibler(Normal(0), Normal(1)),
    "EntropyBounds": lambda: matrix_renyi_entropy(X, bounds=True),
    "Comparison": lambda: population.compare(
        mercer.KernelPCA(5, kernel=Gaussian(1.0)).fit(X[:, :2]), Normal(np.zeros(2))
    ),
    "DegreeEffect": lambda: population.degree_effect(X[:, :2]),
    "CenteringEffect": lambda: population.centering_effect(X[:, :2]),
    "DiscriminantComparison": discriminants,
    "BandwidthRecord": lambda: mercer.EntropyClustering(3).fit(X[:, :3]).path_[0],
    "Spectrum": lambda: mercer.KernelPCA(100).fit(X).spectrum_,
}


def screen_lines(text):
    return sum(max(ceil(len(line) / 100), 1) for line in text.split("\n"))


@pytest.mark.parametrize("name", RESULTS)
def test_result_fits_on_a_screen_and_has_html(name):
    result = RESULTS[name]()
    assert type(result).__name__ == name
    for text in (repr(result), str(result)):
        assert screen_lines(text) <= 40
    html = result._repr_html_()
    assert html.startswith("<")
    assert html.count("<tr") <= 40


def test_every_result_class_is_tested():
    def below(cls):
        return {cls, *(c for sub in cls.__subclasses__() for c in below(sub))}

    named = {cls.__name__ for cls in below(Result) - {Result} if cls.__module__[:6] == "mercer"}
    assert named <= set(RESULTS)


class Many(Result):
    def _summary(self):
        rows = [[f"row {i}", "x" * 70] for i in range(30)]
        return Summary("Many rows", ["name", "value"], rows, "a note " * 30)


def test_long_tables_and_cells_are_cut_with_the_number_of_other_rows():
    text = repr(Many())
    assert "row 24" in text
    assert "row 25" not in text
    assert "5 more rows" in text
    assert "5 more rows" in Many()._repr_html_()
    assert max(map(len, text.split("\n"))) <= 100


def test_bars_are_percentages_in_text():
    class WithBar(Result):
        def _summary(self):
            cell = Markup("<b>9 %</b>")
            cell.text = "9 %"
            return Summary("Bars", ["name", "value"], [["a", cell]])

    assert "9 %" in repr(WithBar())
    assert "<b>" not in repr(WithBar())
    assert "<b>9 %</b>" in WithBar()._repr_html_()


def test_comparison_lists_significant_modes_and_the_most_novel_rows():
    rows = Y.copy()
    rows[:4] += 30
    found = mercer.compare_samples(X, rows, Gaussian(10.0))
    text = repr(found)
    line = next(line for line in text.splitlines() if line.startswith("most novel rows of Y"))
    assert ", ".join(map(str, np.argsort(-found.novelty)[:5])) in line
    assert text.count("novel mode") == sum(mode.significant for mode in found.novel_modes)


def test_modes_are_ordered_by_eigenvalue_by_default():
    values = [mode.eigenvalue for mode in mercer.measure_diversity(X + 3).modes]
    assert values == sorted(values, reverse=True)
