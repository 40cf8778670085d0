"""
How do clusters look in feature space?
======================================

Like rays from the origin. In the space of kernel entropy components a cluster points in a
direction: its dense middle lies far out, its sparse margin near the origin. So clusters are told
apart by angle, not by distance.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import EntropyClustering
from mercer.datasets import make_clusters
from mercer.kernels import Gaussian
from mercer.plots import EmbeddingDisplay
from mercer.plots.style import PALETTE

X, y = make_clusters((250, 250), centers=((-2, 0), (2, 0)), spread=1.0, random_state=1)
clustering = EntropyClustering(2, kernel=Gaussian(0.8)).fit(X)

# %%
# Two round clusters that touch, and the same points in two entropy components. Arrows show the
# directions that the clustering found: nearly at right angles, as the groups have little in common.

names = np.array(["left", "right"])[y]
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.4), layout="constrained")
EmbeddingDisplay(points=X, labels=names, axis_labels=("x₁", "x₂")).plot(
    left, title="the data", equal_aspect=True
)
EmbeddingDisplay.from_estimator(
    clustering.eca_, labels=names, ax=right, title="entropy components", equal_aspect=True
)
Z = clustering.eca_.spectrum_.projections
lengths = np.linalg.norm(Z, axis=1)
for direction in clustering.cluster_centers_:
    tip = 1.15 * lengths.max() * direction
    right.arrow(
        0, 0, *tip, color="black", width=0.004, head_width=0.03, length_includes_head=True, zorder=3
    )
plt.show()

# %%
# Angles of all points, from the first axis, make two peaks. Their lengths do not: both clusters
# have long and short members.

angles = np.degrees(np.arctan2(Z[:, 1], Z[:, 0]))
figure, axes = plt.subplots(1, 2, figsize=(9.5, 3), layout="constrained")
for ax, values, label in zip(axes, (angles, lengths), ("angle, degrees", "length"), strict=True):
    bins = np.linspace(values.min(), values.max(), 40)
    for c, name in enumerate(("left", "right")):
        ax.hist(values[y == c], bins, color=PALETTE[c], alpha=0.65, label=name)
    ax.set_xlabel(label)
axes[0].set_ylabel("points")
axes[0].legend(frameon=False, loc="upper center")
plt.show()

# %%
# **Summary:** compare directions, never distances, in a kernel ECA plot. And never center: the
# origin is what angles are measured from.
