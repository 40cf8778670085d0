"""Figures of experiments: points by class, axes named by eigenvectors, the origin marked."""

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.reproduce.drawing import name_axes, panels, scatter, scatter_in_space

mpl.use("Agg")

Z = np.array([[1.0, 2.0, 3.0], [2.0, -1.0, 1.0], [4.0, 0.5, 2.0]])
y = np.array([0, 1, 0])


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.parametrize("origin", [True, False])
def test_the_origin_of_a_plane_is_marked_if_angles_matter(origin):
    _, axes = panels(1, 2, (4, 2))
    assert axes.shape == (1, 2)
    scatter(axes[0, 0], Z, y, names=["u", "v"], origin=origin)
    assert len(axes[0, 0].lines) == (2 if origin else 0)
    drawn = {one.get_label(): one.get_offsets() for one in axes[0, 0].collections}
    assert_allclose(drawn["u"], Z[y == 0, :2])
    assert_allclose(drawn["v"], Z[y == 1, :2])


def test_axes_are_named_by_the_places_of_their_eigenvectors():
    _, axes = panels(1, 1, (2, 2))
    name_axes(axes[0, 0], (1, 14))
    assert axes[0, 0].get_xlabel() == "e$_{1}$"
    assert axes[0, 0].get_ylabel() == "e$_{14}$"
    with pytest.raises(ValueError, match="shorter"):
        name_axes(axes[0, 0], (1,))


def test_lines_through_the_origin_of_space_reach_as_far_as_the_points():
    _, axes = panels(1, 1, (3, 3), subplot_kw={"projection": "3d"})
    ax = axes[0, 0]
    scatter_in_space(ax, Z, y, (1, 2, 9))
    assert [text.get_text() for text in ax.texts] == ["e$_{1}$", "e$_{2}$", "e$_{9}$"]
    for axis, (line, low) in enumerate(zip(ax.lines, (0, -1, 0), strict=True)):
        ends = np.zeros((3, 2))
        ends[axis] = low, Z[:, axis].max()
        assert_allclose(line.get_data_3d(), ends)
    assert len(ax.collections) == 2
