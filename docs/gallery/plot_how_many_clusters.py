"""
How many clusters are there?
============================

Data spectroscopy counts the eigenvectors that do not change sign. If clusters are well separated,
each has exactly one such eigenvector, positive on the cluster and zero elsewhere; all others take
both signs. The method is reliable for separated, round clusters, not for overlapping ones.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import scale

from mercer import KernelPCA
from mercer.cluster.spectroscopy import find_groups
from mercer.plots.style import PALETTE

rng = np.random.default_rng(0)
centers = np.array([[0, 0], [9, 1], [4, 8], [-6, 7]])
X = np.concatenate([rng.normal(center, 1.2, size=(120, 2)) for center in centers])

# %%
# ``find_groups`` chooses a bandwidth by data spectroscopy, computes the leading eigenvectors, and
# counts those without a change of sign.

groups = find_groups(X)
print(groups.n_groups, "groups, from eigenvectors", groups.components)

# %%
# The leading eigenvectors as colors of the points. Those that are counted have one sign only.

count = 8
pca = KernelPCA(count, kernel=groups.kernel, center=False).fit(X)
vectors = pca.spectrum_.eigenvectors

figure, axes = plt.subplots(2, 4, figsize=(10, 5.2), layout="constrained", sharex=True, sharey=True)
for i, ax in enumerate(axes.flat):
    values = vectors[:, i] / abs(vectors[:, i]).max()
    drawn = ax.scatter(*X.T, c=values, cmap="PuOr", vmin=-1, vmax=1, s=9)
    drawn.set_edgecolor("#6b7178")
    drawn.set_linewidth(0.2)
    counted = i + 1 in groups.components
    ax.set_title(
        f"{i + 1}: {'one sign: counted' if counted else 'both signs'}",
        color=PALETTE[1] if counted else PALETTE[-1],
        fontsize="medium",
    )
    ax.set_xticks([])
    ax.set_yticks([])
figure.colorbar(drawn, ax=axes, label="entry, relative to the largest", shrink=0.8)
plt.show()

# %%
# How far apart must the clusters be? The distances between the four centers are scaled by a factor.

factors = np.array([0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.2])
noise = rng.normal(0, 1.2, size=(4, 120, 2))
counts = [
    find_groups((factor * centers[:, None, :] + noise).reshape(-1, 2)).n_groups
    for factor in factors
]
closest = np.linalg.norm(centers[0] - centers[3]) * factors / 1.2  # nearest pair

figure, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
ax.plot(closest, counts, "o-", color=PALETTE[0])
ax.axhline(4, color=PALETTE[-1], linestyle="--", linewidth=1)
ax.annotate("true number", (closest[0], 4), (0, 4), textcoords="offset points", color=PALETTE[-1])
ax.set_ylim(0, 5)
ax.set_xlabel("distance of the nearest two centers, in standard deviations")
ax.set_ylabel("estimated number of clusters")
plt.show()

# %%
# Iris and wine have three classes each, two of which overlap.

for name, load in (("iris", load_iris), ("wine", load_wine)):
    print(name, find_groups(scale(load().data)).n_groups)

# %%
# **Summary:** ``EntropyClustering(n_clusters="auto")`` uses this count. Use it for well separated
# clusters only; otherwise choose the number yourself and check the stability of the clusters.
