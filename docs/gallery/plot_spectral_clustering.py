"""
Which kernel finds which clusters?
==================================

Spectral clustering cuts a graph of similarities. What it finds depends on the kernel: a Gaussian
kernel has one scale, a self-tuning kernel one for each point, and a neighbor graph ignores
distances beyond the nearest points. ``SpectralClustering`` compares three graphs and k-means
without labels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs, make_moons

from mercer import SpectralClustering
from mercer.cluster import clustering_error
from mercer.datasets import make_rings
from mercer.kernels import Gaussian, Neighbors, SelfTuning
from mercer.plots.style import PALETTE

# %%
# Four samples: rings, two half circles, three groups, two of them dense and close together, and
# three normal groups that overlap.

rng = np.random.default_rng(0)
moons = make_moons(300, noise=0.06, random_state=0)
sizes, spreads = (150, 150, 80), (0.15, 0.15, 1.2)
centers = np.array([[-1.0, 0.0], [0.0, 0.0], [4.5, 1.0]])
groups = np.repeat(np.arange(3), sizes)
densities = centers[groups] + np.repeat(spreads, sizes)[:, None] * rng.normal(size=(sum(sizes), 2))
shapes = {
    "rings": make_rings(random_state=0),
    "half circles": moons,
    "unequal densities": (densities, groups),
    "no gaps": make_blobs(400, centers=[[0, 0], [4, 0], [2, 3.4]], random_state=0),
}
kernels = {
    "Gaussian()": Gaussian(),
    "SelfTuning(7)": SelfTuning(7),
    "Neighbors(10)": Neighbors(10),
    'kernel="auto"': "auto",
}

# %%
# The number of clusters is given. Each panel states the clustering error: the fraction of points
# with a wrong label.

figure, axes = plt.subplots(4, 4, figsize=(10, 9.5), layout="constrained")
for row, (shape, (X, y)) in zip(axes, shapes.items(), strict=True):
    for ax, (name, kernel) in zip(row, kernels.items(), strict=True):
        model = SpectralClustering(len(np.unique(y)), kernel=kernel).fit(X)
        ax.scatter(*X.T, s=6, c=np.array(PALETTE)[model.labels_])
        ax.set(xticks=[], yticks=[], aspect="equal", anchor="C")
        ax.set_title(f"{name}: {100 * clustering_error(y, model.labels_):.0f} %", fontsize=10)
    row[0].set_ylabel(shape)
plt.show()

# %%
# The attribute ``path_`` has three graphs and k-means (``Linear``), with the mean conductance of
# the clusters of each on the mutual 10-neighbor graph. The graph with the lowest one is chosen,
# unless that of k-means is at most 1.5 times as large: then no gap contradicts compact clusters, as
# in the last row.

for record in model.path_:
    print(f"{record.cost:.4f}  {record.kernel}")

# %%
# **Summary:** keep ``kernel="auto"`` unless you know the scale of the clusters. Look at ``path_``:
# kernels with nearly the same cost and different labels mean that the clusters are not clear.
