"""Plots show the results of the estimators, with labels and distinguishable markers."""

import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
from numpy.testing import assert_allclose, assert_array_equal

from mercer import EntropyClustering, KernelECA, KernelPCA, ParzenDensity, SeriesDensity
from mercer.cluster.diagnostics import clustering_error
from mercer.datasets import make_clusters, make_rings
from mercer.kernels import Gaussian, Polynomial
from mercer.plots import (
    BandwidthDisplay,
    DensityDisplay,
    EigenfunctionDisplay,
    EmbeddingDisplay,
    GramDisplay,
    SpectrumDisplay,
)
from mercer.plots.style import DARK_PALETTE, HIGHLIGHT, MARKERS, MUTED, PALETTE
from mercer.population import Mixture, Normal, PolynomialOperator
from mercer.utils.formatting import format_percent
from tests.expectations import names_values, raises

mpl.use("Agg")

X, y = make_rings(random_state=0)


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def eca():
    return KernelECA(3, kernel=Gaussian(3.7), solver="dense").fit(X)


@pytest.fixture(scope="module")
def iterated():
    return KernelECA(3, kernel=Gaussian(3.7), solver="lanczos").fit(X)


# --- spectrum --------------------------------------------------------------------------------


def test_spectrum_draws_the_known_pairs(eca):
    display = SpectrumDisplay.from_estimator(eca)
    selected, others = (display.eigenvalue_markers_[name] for name in ("selected", "not selected"))
    assert_array_equal(selected.get_xdata(), [1, 2, 9])
    drawn = dict(zip(selected.get_xdata(), selected.get_ydata(), strict=True))
    drawn |= dict(zip(others.get_xdata(), others.get_ydata(), strict=True))
    assert_allclose([drawn[i] for i in range(1, 21)], eca.spectrum_.known_eigenvalues[:20])
    heights = [bar.get_height() for bar in display.entropy_bars_]
    expected = eca.spectrum_.known_entropy_terms[:20] / eca.information_potential_
    assert_allclose(heights, expected)


def test_spectrum_highlights_the_selected_components(eca):
    display = SpectrumDisplay.from_estimator(eca)
    colors = [to_hex(bar.get_facecolor()) for bar in display.entropy_bars_]
    assert [i + 1 for i, color in enumerate(colors) if color == HIGHLIGHT] == [1, 2, 9]
    assert set(colors) == {HIGHLIGHT, MUTED}
    numbered = {text.get_text(): round(text.xy[0]) for text in display.axes_[1].texts}
    assert numbered == {"1": 1, "2": 2, "3": 9}
    legend = [text.get_text() for text in display.axes_[0].get_legend().get_texts()]
    assert legend == list(display.eigenvalue_markers_)


def test_spectrum_axes_have_labels(eca):
    upper, lower = SpectrumDisplay.from_estimator(eca).axes_
    assert "λ" in upper.get_ylabel()
    assert "ψ / V" in lower.get_ylabel()
    assert "rank" in lower.get_xlabel()
    assert upper.get_yscale() == lower.get_yscale() == "linear"


def test_spectrum_scale_is_logarithmic_for_a_large_range():
    cloud = np.random.default_rng(0).normal(size=(60, 2))
    eca = KernelECA(2, kernel=Gaussian(3.0), solver="dense").fit(cloud)
    assert eca.entropy_ratio_[1] < 0.01
    lower = SpectrumDisplay.from_estimator(eca).axes_[1]
    assert lower.get_yscale() == "log"
    assert lower.get_ylabel().endswith("log")
    assert lower.get_ylim()[0] < eca.entropy_ratio_[1]


def test_indices_of_an_iterative_solver_are_not_ranks(iterated):
    display = SpectrumDisplay.from_estimator(iterated)
    assert not display.ranked
    assert "rank" not in display.axes_[1].get_xlabel()
    assert_allclose(display.eigenvalues[display.kept], iterated.eigenvalues_)
    assert_allclose(display.entropy_ratio[display.kept], iterated.entropy_ratio_, rtol=1e-8)


def test_selected_pairs_without_entropy_are_shown():
    """Points symmetric about zero: odd components have no entropy term."""
    symmetric = np.array([[-1.0], [1.0], [-3.0], [3.0]])
    eca = KernelECA(3, kernel=Gaussian(1.0), solver="lanczos").fit(symmetric)
    assert not np.isin(eca.eigenvalues_, eca.spectrum_.known_eigenvalues).all()
    display = SpectrumDisplay.from_estimator(eca)
    assert_allclose(display.eigenvalues[display.kept], eca.eigenvalues_)
    assert (np.diff(display.eigenvalues) <= 0).all()


def test_spectrum_shows_components_beyond_the_default_range():
    values, ratio = np.linspace(2, 1, 40), np.full(40, 1 / 40)
    display = SpectrumDisplay(eigenvalues=values, entropy_ratio=ratio, kept=np.array([0, 33]))
    assert len(display.plot().entropy_bars_) == 35
    assert len(display.plot(n_pairs=5).entropy_bars_) == 5


def test_a_centered_spectrum_has_no_entropy_terms():
    display = SpectrumDisplay.from_estimator(KernelPCA(2).fit(X))
    assert display.entropy_bars_ is None
    assert len(display.axes_) == 1


def test_spectrum_uses_the_given_axes(eca):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2)
    display = SpectrumDisplay.from_spectrum(eca.spectrum_, axes=axes)
    assert display.figure_ is figure
    with raises(ValueError, 1, 2):
        display.plot(axes[:1])


# --- embedding -------------------------------------------------------------------------------


def test_embedding_draws_the_projections_by_class(eca):
    display = EmbeddingDisplay.from_estimator(eca, labels=y)
    assert list(display.scatters_) == ["0", "1", "2"]
    for label in (0, 1, 2):
        drawn = np.asarray(display.scatters_[str(label)].get_offsets())
        assert_allclose(drawn, eca.transform(X)[y == label, :2], atol=1e-10)
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["0", "1", "2"]


def test_classes_differ_in_color_and_shape(eca):
    display = EmbeddingDisplay.from_estimator(eca, labels=y)
    colors = {to_hex(scatter.get_facecolor()[0]) for scatter in display.scatters_.values()}
    shapes = {scatter.get_paths()[0].vertices.tobytes() for scatter in display.scatters_.values()}
    assert colors == set(PALETTE[:3])
    assert len(shapes) == 3


def test_axis_labels_contain_rank_and_fraction(eca):
    label = EmbeddingDisplay.from_estimator(eca, components=(0, 2)).ax_.get_ylabel()
    fraction = format_percent(eca.entropy_ratio_[2])
    assert names_values(label, "component 3", "rank 9", fraction, "of V") == []
    pca = KernelPCA(2).fit(X)
    label = EmbeddingDisplay.from_estimator(pca).ax_.get_xlabel()
    fraction = format_percent(pca.explained_variance_ratio_[0])
    assert names_values(label, "component 1", fraction, "of variance") == []
    assert "rank" not in label  # components are in the order of eigenvalues


def test_embedding_of_new_rows(eca):
    new = X[:7] + 0.01
    display = EmbeddingDisplay.from_estimator(eca, new)
    drawn = np.asarray(display.scatters_[""].get_offsets())
    assert_allclose(drawn, eca.transform(new)[:, :2])


def test_the_origin_is_marked(eca):
    lines = EmbeddingDisplay.from_estimator(eca).ax_.lines
    assert [list(line.get_ydata()) for line in lines] == [[0, 0], [0, 1]]
    assert list(lines[1].get_xdata()) == [0, 0]


def test_many_rows_are_subsampled_evenly():
    points = np.random.default_rng(0).normal(size=(1000, 2))
    display = EmbeddingDisplay(points=points).plot(title="Cloud", max_points=100)
    assert names_values(display.ax_.get_title(), "Cloud", "100 of 1,000 rows") == []
    assert len(display.scatters_[""].get_offsets()) == 100
    assert_array_equal(display.shown_[[0, -1]], [0, 999])
    assert np.diff(display.shown_).max() <= 11
    again = EmbeddingDisplay(points=points).plot(max_points=100)
    assert_array_equal(display.shown_, again.shown_)


def test_rare_classes_are_grouped():
    labels = np.repeat([f"kind {i:02d}" for i in range(14)], np.arange(14, 0, -1))
    points = np.zeros((len(labels), 2))
    scatters = EmbeddingDisplay(points=points, labels=labels).plot().scatters_
    assert list(scatters) == [f"kind {i:02d}" for i in range(9)] + ["5 others"]
    assert len(scatters["5 others"].get_offsets()) == 5 + 4 + 3 + 2 + 1


def test_labels_of_several_types_are_converted_to_text(eca):
    labels = np.array([1, "1", "b"], dtype=object)[np.arange(len(X)) % 3]
    display = EmbeddingDisplay.from_estimator(eca, labels=labels)
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == ["1", "b"]


def test_missing_matplotlib_raises_with_the_install_command(eca, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with raises(ModuleNotFoundError, "pip install mercer[plot]"):
        SpectrumDisplay.from_estimator(eca)


def test_continuous_labels_use_a_color_scale():
    values = np.linspace(0, 5, 50)
    display = EmbeddingDisplay(points=np.zeros((50, 2)), labels=values).plot()
    assert_allclose(display.scatters_[""].get_array(), values)
    assert len(display.figure_.axes) == 2  # the second one is the color bar
    assert display.ax_.get_legend() is None


def test_equal_aspect_is_an_option(eca):
    assert EmbeddingDisplay.from_estimator(eca).ax_.get_aspect() == "auto"
    assert EmbeddingDisplay.from_estimator(eca, equal_aspect=True).ax_.get_aspect() == 1


def test_embedding_rejects_invalid_components_and_labels(eca):
    with raises(ValueError, "components=(0, 3)", 2):
        EmbeddingDisplay.from_estimator(eca, components=(0, 3))
    with raises(ValueError, "labels", 2, 315):
        EmbeddingDisplay.from_estimator(eca, labels=[0, 1])


# --- bandwidths ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sweep():
    bandwidths = [1.0, 2.0, 3.0, 3.5, 3.7, 4.0]
    return EntropyClustering(3, bandwidths=bandwidths, solver="dense").fit(X)


def test_bandwidth_plot_shows_the_sweep(sweep):
    display = BandwidthDisplay.from_estimator(sweep, y=y)
    path = sweep.path_
    assert list(display.axes_) == ["cost", "stability", "error", "components"]
    for name, values in {
        "cost": [record.cost / len(X) for record in path],
        "stability": [record.stability for record in path],
    }.items():
        assert_array_equal(display.lines_[name].get_xdata(), [1.0, 2.0, 3.0, 3.5, 3.7, 4.0])
        assert_allclose(display.lines_[name].get_ydata(), values)
    at = {record.bandwidth: i for i, record in enumerate(path)}
    assert display.lines_["error"].get_ydata()[at[3.7]] == 0
    assert all(ax.get_ylabel() for ax in display.axes_.values())
    assert "σ" in display.axes_["components"].get_xlabel()


def test_bandwidth_plot_shows_component_ranks_as_steps(sweep):
    ax = BandwidthDisplay.from_estimator(sweep).axes_["components"]
    steps = [line for line in ax.lines if line.get_drawstyle() == "steps-mid"]
    assert len(steps) == 3
    at = [record.bandwidth for record in sweep.path_].index(3.7)
    assert [line.get_ydata()[at] for line in steps] == [1, 2, 9]


def test_bandwidth_plot_marks_the_chosen_bandwidth(sweep):
    display = BandwidthDisplay.from_estimator(sweep, components=False)
    assert list(display.axes_) == ["cost", "stability"]
    chosen = sweep.kernel_.bandwidth
    assert [line.get_xdata()[0] for line in display.chosen_] == [chosen] * 2
    assert f"σ = {chosen:.3g}" in display.axes_["cost"].get_title()


def test_large_component_ranks_use_a_logarithmic_scale():
    display = BandwidthDisplay(
        bandwidths=np.array([1.0, 2.0]),
        costs=np.ones(2),
        stabilities=np.ones(2),
        components=[np.array([1, 80]), None],
    ).plot()
    assert display.axes_["components"].get_yscale() == "log"
    assert display.chosen_ == []


def test_bandwidth_plot_computes_the_error_of_the_subsample(monkeypatch):
    monkeypatch.setattr("mercer.cluster.entropy_clustering._SWEEP_ROWS", 60)
    fitted = EntropyClustering(3).fit(X)
    assert len(fitted.sweep_rows_) == 60
    display = BandwidthDisplay.from_estimator(fitted, y=y, components=False)
    rows = fitted.sweep_rows_
    assert_allclose(
        display.errors, [clustering_error(y[rows], record.labels) for record in fitted.path_]
    )


def test_bandwidth_plot_rejects_a_single_bandwidth_and_missing_axes(sweep):
    with raises(ValueError, 1, "bandwidths="):
        BandwidthDisplay.from_estimator(EntropyClustering(3, kernel=Gaussian(3.7)).fit(X))
    with raises(ValueError, 1, 2, "cost", "stability"):
        BandwidthDisplay.from_estimator(sweep, components=False, axes=[None])


# --- Gram matrices ---------------------------------------------------------------------------


def test_gram_is_ordered_by_cluster(eca):
    shuffled = np.random.default_rng(0).permutation(len(X))
    other = KernelECA(3, kernel=Gaussian(3.7), solver="dense").fit(X[shuffled])
    display = GramDisplay.from_estimator(other, labels=y[shuffled])
    assert_array_equal(display.labels, np.sort(y))
    assert display.borders_ == [62.5, 188.5]
    Z = other.transform(X[shuffled])[display.rows]
    assert_allclose(display.image_.get_array(), Z @ Z.T, atol=1e-10)
    assert "cluster" in display.ax_.get_xlabel()
    assert len(display.ax_.lines) == 4
    assert len(display.figure_.axes) == 2  # the second one is the color bar


def test_gram_or_its_reconstruction(eca):
    itself = GramDisplay.from_estimator(eca, reconstruction=False, title="K")
    assert_allclose(itself.image_.get_array(), Gaussian(3.7)(X))
    assert itself.ax_.get_title() == "K"
    assert itself.borders_ == []
    given = GramDisplay.from_gram(Gaussian(3.7)(X), colorbar=False)
    assert_allclose(given.image_.get_array(), itself.image_.get_array())
    assert len(given.figure_.axes) == 1


def test_gram_uses_the_labels_of_a_clustering():
    fitted = EntropyClustering(3, kernel=Gaussian(3.7)).fit(X)
    display = GramDisplay.from_estimator(fitted)
    assert_array_equal(display.labels, np.sort(fitted.labels_))


def test_a_large_gram_is_subsampled(eca):
    display = GramDisplay.from_estimator(eca, labels=y, max_rows=100, title="K_eca")
    assert display.image_.get_array().shape == (100, 100)
    assert names_values(display.ax_.get_title(), "K_eca", "100 of 315 rows") == []
    assert set(display.labels) == {0, 1, 2}


def test_gram_rejects_invalid_input(eca):
    with raises(ValueError, "labels", 2, 315):
        GramDisplay.from_estimator(eca, labels=[0, 1])
    with raises(ValueError, "gram", (2, 3)):
        GramDisplay.from_gram(np.ones((2, 3)))
    precomputed = KernelECA(2, kernel="precomputed").fit(Gaussian(3.7)(X))
    with raises(ValueError, "GramDisplay.from_gram"):
        GramDisplay.from_estimator(precomputed, reconstruction=False)


# --- densities -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def clusters():
    return make_clusters(noise=0.1, random_state=0)[0]


def test_density_contours_enclose_fractions_of_the_mass(clusters):
    density = ParzenDensity(kernel=Gaussian(0.2)).fit(clusters)
    display = DensityDisplay.from_estimator(density, clusters)
    values = density.pdf(
        np.stack(np.meshgrid(*display.axes_points, indexing="ij"), -1).reshape(-1, 2)
    )
    assert_allclose(display.values.ravel(), values)
    masses = [values[values >= level].sum() / values.sum() for level in display.levels_]
    assert_allclose(masses, [0.99, 0.9, 0.7, 0.5, 0.3, 0.1], atol=0.01)
    assert_allclose(display.contours_.levels, display.levels_)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("x1", "x2")


def test_points_are_drawn_below_contours_by_default(clusters):
    density = ParzenDensity(kernel=Gaussian(0.2)).fit(clusters)
    display = DensityDisplay.from_estimator(density, clusters, grid=20)
    drawn = [one.get_offsets() for one in display.ax_.collections if len(one.get_offsets()) > 1]
    assert_allclose(drawn[0], clusters)
    display.plot(show_points=False)
    assert all(len(one.get_offsets()) <= 1 for one in display.ax_.collections)


def test_density_of_one_column_is_a_curve(clusters):
    column = clusters[:, :1]
    density = ParzenDensity().fit(column)
    display = DensityDisplay.from_estimator(density, column, title="Curve")
    x, drawn = display.curve_.get_data()
    assert_allclose(drawn, density.pdf(x[:, None]))
    assert display.ax_.get_title() == "Curve"
    assert display.ax_.get_ylabel() == "density"


def test_density_without_a_sample_is_drawn_where_its_mass_is(clusters):
    for columns in (1, 2):
        density = ParzenDensity().fit(clusters[:, :columns])
        display = DensityDisplay.from_estimator(density, grid=60)
        assert display.points is None
        steps = [axis[1] - axis[0] for axis in display.axes_points]
        assert_allclose(display.values.sum() * np.prod(steps), 1, atol=0.01)
    positive = ParzenDensity(support="positive").fit(np.abs(clusters[:, :1]))
    assert DensityDisplay.from_estimator(positive).axes_points[0][0] >= 0


def test_regions_of_one_column_have_their_probability_and_start_at_the_bound():
    column = np.random.default_rng(0).exponential(size=(200, 1))
    density = ParzenDensity(kernel=Gaussian(0.3), support="positive").fit(column)
    display = DensityDisplay.from_estimator(density, column, grid=2000, coverages=(0.5, 0.9))
    for coverage, region in display.regions_.items():
        assert_allclose(region, density.highest_density_region(coverage), atol=0.01)
        assert region[0, 0] == 0
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["90 %", "50 %"]
    assert len(display.levels_) == 2


def test_colors_of_regions_differ_alike_for_all_probabilities():
    """The densities that enclose 99 % and 90 % are nearly equal; the colors are not."""
    X = np.random.default_rng(0).normal(size=(400, 2))
    coverages = (0.1, 0.3, 0.5, 0.9, 0.99)
    display = DensityDisplay.from_estimator(ParzenDensity().fit(X), coverages=coverages)
    colors = display.contours_.get_edgecolor()[:, :3]
    steps = np.linalg.norm(np.diff(colors, axis=0), axis=1)
    assert steps.max() < 2 * steps.min()


def test_regions_of_two_columns_are_labeled(clusters):
    density = ParzenDensity(kernel=Gaussian(0.2)).fit(clusters)
    display = DensityDisplay.from_estimator(density, clusters, grid=60, coverages=(0.9, 0.5))
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["90 %", "50 %"]
    drawn = density.sample(4000, random_state=0)
    inside = density.pdf(drawn) >= display.levels_[0]
    assert_allclose(inside.mean(), 0.9, atol=0.03)


def test_coverages_are_checked(clusters):
    density = ParzenDensity(kernel=Gaussian(0.2)).fit(clusters)
    with raises(ValueError, 1.5):
        DensityDisplay.from_estimator(density, clusters, coverages=(1.5,))


def test_selected_eigenfunctions_are_highlighted(clusters):
    density = SeriesDensity(kernel=Gaussian(0.3)).fit(clusters)
    display = EigenfunctionDisplay.from_estimator(density, clusters, n_functions=6, grid=40)
    nodes = np.stack(np.meshgrid(*display.axes_points, indexing="ij"), -1).reshape(-1, 2)
    expected = density.spectrum_.eigenfunctions(nodes)[:, :6]
    assert_allclose(display.values.reshape(6, -1).T, expected)
    highlighted = [ax.title.get_color() == HIGHLIGHT for ax in display.axes_[:6]]
    assert_array_equal(highlighted, np.isin(np.arange(6), density.selected_))


def test_too_few_axes_for_eigenfunctions_raise(clusters):
    import matplotlib.pyplot as plt

    density = SeriesDensity(kernel=Gaussian(0.3)).fit(clusters)
    display = EigenfunctionDisplay.from_estimator(density, clusters, n_functions=3, grid=10)
    with raises(ValueError, 2, 3):
        display.plot(plt.subplots(1, 2)[1])


def test_spectrum_highlights_the_selected_terms_of_a_series(clusters):
    density = SeriesDensity(kernel=Gaussian(0.3), terms="kronmal-tarter-run").fit(clusters)
    display = SpectrumDisplay.from_estimator(density)
    assert_array_equal(display.kept, density.selected_)


def test_densities_of_more_than_two_columns_are_drawn_in_pairs():
    """The curves of single columns have the mass 1, and bounds are respected."""
    rng = np.random.default_rng(0)
    wide = np.exp(rng.normal(size=(150, 3)) @ [[0.4, 0.2, 0], [0, 0.4, 0], [0, 0, 0.3]])
    density = ParzenDensity(support="positive").fit(wide)
    display = DensityDisplay.from_estimator(density, wide, grid=80, title="Three columns")
    assert display.axes_.shape == (3, 3)
    assert display.axes_[2, 0].get_xlabel() == "x1"
    assert display.axes_[2, 0].get_ylabel() == "x3"
    for i in range(3):
        curve = display.margins[i, i]
        assert curve.axes_points[0][0] >= 0
        assert np.trapezoid(curve.values, curve.axes_points[0]) == pytest.approx(1, abs=0.03)
    many = DensityDisplay.from_estimator(ParzenDensity().fit(rng.normal(size=(30, 9))), grid=20)
    assert many.axes_.shape == (8, 8)  # the first columns
    with raises(ValueError, "ax"):
        display.plot(ax=display.axes_[0, 0])
    with raises(TypeError, "KernelPCA"):
        DensityDisplay.from_estimator(KernelPCA(2).fit(wide))


# --- colors ----------------------------------------------------------------------------------


def luminance(color):
    channels = np.array(to_rgb(color))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(first, second):
    dark, light = sorted((luminance(first), luminance(second)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize(
    ("palette", "background"), [(PALETTE, "#ffffff"), (DARK_PALETTE, "#15181c")]
)
def test_colors_have_a_contrast_of_at_least_3(palette, background):
    assert min(contrast(color, background) for color in palette) >= 3
    assert len(set(palette)) == len(PALETTE) == len(MARKERS) == len(set(MARKERS))


def test_population_eigenfunctions_below_those_of_a_sample():
    measure = Mixture([0.5, 0.5], [Normal([-3, 1]), Normal([2, -1])])
    operator = PolynomialOperator(3, measure)
    points = measure.sample(400, random_state=0)
    pca = KernelPCA(3, kernel=Polynomial(3), center=False, solver="dense").fit(points)
    display = EigenfunctionDisplay.from_operator(operator, points, estimator=pca)
    assert len(display.axes_) == len(display.contours_) == 6  # as many as the sample has
    assert display.axes_[0].get_position().y0 > display.axes_[3].get_position().y0
    assert [title.split(" ")[0] for title in display.titles] == ["sample"] * 3 + ["population"] * 3
    above, below = display.values[:3].reshape(3, -1), display.values[3:].reshape(3, -1)
    for one, other in zip(above, below, strict=True):
        assert np.corrcoef(one, other)[0, 1] > 0.9  # with the same sign
    population = EigenfunctionDisplay.from_operator(operator, n_functions=2)
    assert len(population.contours_) == 2
    assert population.points is None
    with raises(ValueError, "two columns", 1):
        EigenfunctionDisplay.from_operator(PolynomialOperator(2, Normal(0, 1)))


# --- effects ---------------------------------------------------------------------------------


def test_degree_effect_plot():
    from mercer.plots import EffectDisplay
    from mercer.population import degree_effect

    effect = degree_effect(X, y, degrees=(1, 2, 3))
    display = EffectDisplay.from_effect(effect)
    assert list(display.axes_) == ["separation", "explained", "extreme_fraction", "relative_error"]
    line = display.axes_["separation"].lines[0]
    assert_allclose(line.get_ydata(), [row.separation for row in effect.rows])
    assert line.get_xdata().tolist() == [1, 2, 3]
    assert "degree" in display.axes_["relative_error"].get_xlabel()


def test_centering_effect_plot():
    from mercer.plots import EffectDisplay
    from mercer.population import centering_effect

    effect = centering_effect(X, Gaussian(3.7), n_components=4)
    display = EffectDisplay.from_effect(effect)
    heights = [bar.get_height() for bar in display.axes_["eigenvalues"].patches]
    assert_allclose(heights, np.r_[effect.eigenvalues, effect.centered_eigenvalues])
    assert_allclose(display.axes_["matches"].images[0].get_array(), effect.matches)
    with raises(TypeError, "degree_effect", "str"):
        EffectDisplay.from_effect("nothing")


def test_bandwidths_of_a_composite_kernel_are_multipliers():
    X, _ = make_rings(random_state=0)
    kernel = Gaussian(3.0) * Gaussian(1e9)
    clustering = EntropyClustering(3, kernel=kernel, bandwidths=[0.8, 1.0, 1.2]).fit(X)
    display = BandwidthDisplay.from_estimator(clustering, components=False)
    assert display.chosen in (0.8, 1.0, 1.2)
    assert display.are_factors
    assert "multiplier" in display.axes_["stability"].get_xlabel()
