"""
Why are clusters separated by angle in feature space?
=====================================================

In the space of kernel entropy components a cluster has a direction: its dense center lies far from
the origin, its sparse margin near it. So clusters are separated by angle, not by distance.
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
# directions of the clusters. They are nearly orthogonal, because kernel values between the clusters
# are small.

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
# The histogram of angles has two peaks, one for each cluster. The lengths do not separate the
# clusters: both have long and short projections.

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
# **Summary:** compare directions, not distances, in a kernel ECA plot. Kernel ECA does not center
# the data, because angles are measured from the origin.
