"""
How many clusters are there?
============================

Count the eigenvectors that do not change sign. Where groups hardly touch, each has exactly one such
eigenvector, positive on the group and zero elsewhere; all others take both signs. It works for
clear, round groups. For groups that blend into each other no rule does.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import scale

from mercer import KernelPCA
from mercer.plots.style import PALETTE
from mercer.spectroscopy import find_groups

rng = np.random.default_rng(0)
centers = np.array([[0, 0], [9, 1], [4, 8], [-6, 7]])
X = np.concatenate([rng.normal(at, 1.2, size=(120, 2)) for at in centers])

# %%
# ``find_groups`` chooses a bandwidth by data spectroscopy, looks at the leading eigenvectors, and
# keeps those without a change of sign.

groups = find_groups(X)
print(groups.n_groups, "groups, from eigenvectors", groups.components)

# %%
# The leading eigenvectors as colors of the points. Those that count have one color only.

count = 8
pca = KernelPCA(count, kernel=groups.kernel, center=False).fit(X)
vectors = pca.spectrum_.eigenvectors

figure, axes = plt.subplots(2, 4, figsize=(10, 5.2), layout="constrained", sharex=True, sharey=True)
for i, ax in enumerate(axes.flat):
    values = vectors[:, i] / abs(vectors[:, i]).max()
    drawn = ax.scatter(*X.T, c=values, cmap="PuOr", vmin=-1, vmax=1, s=9)
    drawn.set_edgecolor("#6b7178")
    drawn.set_linewidth(0.2)
    counts = i + 1 in groups.components
    ax.set_title(
        f"{i + 1}: {'one sign, a group' if counts else 'both signs'}",
        color=PALETTE[1] if counts else PALETTE[-1],
        fontsize="medium",
    )
    ax.set_xticks([])
    ax.set_yticks([])
figure.colorbar(drawn, ax=axes, label="entry, share of the largest", shrink=0.8)
plt.show()

# %%
# How far apart must the groups be? Four groups again, moved together step by step.

distances = np.array([0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.2])
noise = rng.normal(0, 1.2, size=(4, 120, 2))
found = [
    find_groups((factor * centers[:, None, :] + noise).reshape(-1, 2)).n_groups
    for factor in distances
]
closest = np.linalg.norm(centers[0] - centers[3]) * distances / 1.2  # the nearest pair

figure, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
ax.plot(closest, found, "o-", color=PALETTE[0])
ax.axhline(4, color=PALETTE[-1], linestyle="--", linewidth=1)
ax.annotate("the truth", (closest[0], 4), (0, 4), textcoords="offset points", color=PALETTE[-1])
ax.set_ylim(0, 5)
ax.set_xlabel("distance of the nearest two centers, in standard deviations")
ax.set_ylabel("groups found")
plt.show()

# %%
# Real data are seldom so kind. Iris and wine have three classes each, two of which blend.

for name, load in (("iris", load_iris), ("wine", load_wine)):
    print(name, find_groups(scale(load().data)).n_groups)

# %%
# **Summary:** ``EntropyClustering(n_clusters="auto")`` uses this count. Trust it for groups
# that are well apart; otherwise choose the number yourself and look at the stability of the
# clusters.
