"""Scatter plots of the papers: points by class, axes labeled by eigenvectors."""

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose

from papers.figures import name_axes, panels, scatter, scatter_3d
from tests.expectations import raises

mpl.use("Agg")

Z = np.array([[1.0, 2.0, 3.0], [2.0, -1.0, 1.0], [4.0, 0.5, 2.0]])
y = np.array([0, 1, 0])


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.parametrize("origin", [True, False])
def test_scatter_marks_the_origin_on_request(origin):
    _, axes = panels(1, 2, (4, 2))
    assert axes.shape == (1, 2)
    scatter(axes[0, 0], Z, y, names=["u", "v"], origin=origin)
    assert len(axes[0, 0].lines) == (2 if origin else 0)
    drawn = {one.get_label(): one.get_offsets() for one in axes[0, 0].collections}
    assert_allclose(drawn["u"], Z[y == 0, :2])
    assert_allclose(drawn["v"], Z[y == 1, :2])


def test_axes_are_labeled_by_ranks():
    _, axes = panels(1, 1, (2, 2))
    name_axes(axes[0, 0], (1, 14))
    assert axes[0, 0].get_xlabel() == "e$_{1}$"
    assert axes[0, 0].get_ylabel() == "e$_{14}$"
    with raises(ValueError, "zip"):
        name_axes(axes[0, 0], (1,))


def test_axes_of_3d_plots_span_the_points():
    _, axes = panels(1, 1, (3, 3), subplot_kw={"projection": "3d"})
    ax = axes[0, 0]
    scatter_3d(ax, Z, y, (1, 2, 9))
    assert [text.get_text() for text in ax.texts] == ["e$_{1}$", "e$_{2}$", "e$_{9}$"]
    for axis, (line, low) in enumerate(zip(ax.lines, (0, -1, 0), strict=True)):
        ends = np.zeros((3, 2))
        ends[axis] = low, Z[:, axis].max()
        assert_allclose(line.get_data_3d(), ends)
    assert len(ax.collections) == 2
