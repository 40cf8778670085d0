"""
What is the effect of centering?
================================

Centering removes the mean of the data in feature space. Uncentered components of separate groups
are positive on one group each; centered components have mean 0, so each of them mixes groups.
Kernel PCA centers by default, kernel ECA never does.
"""

import matplotlib.pyplot as plt

from mercer import KernelPCA
from mercer.datasets import make_clusters
from mercer.kernels import Gaussian
from mercer.plots import EffectDisplay, EmbeddingDisplay
from mercer.population import centering_effect

X, y = make_clusters((200, 120, 60), spread=0.15, random_state=0)
kernel = Gaussian(0.4)

# %%
# Three clusters of different sizes. Uncentered, each lies along its own axis (the third axis is not
# shown); centered, they are the corners of a triangle, and no axis belongs to one of them.

names = [f"cluster {c + 1}" for c in y]
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.4), layout="constrained")
for ax, center in zip(axes, (False, True), strict=True):
    pca = KernelPCA(3, kernel=kernel, center=center).fit(X)
    title = "centered" if center else "uncentered"
    EmbeddingDisplay.from_estimator(pca, labels=names, ax=ax, title=title, equal_aspect=True)
plt.show()

# %%
# Eigenvalues before and after centering, and the uncentered component that is most similar to each
# centered one.

effect = centering_effect(X, kernel)
EffectDisplay.from_effect(effect)
plt.show()
print(effect)

# %%
# **Summary:** center to describe variation around the mean; do not center to find clusters or to
# estimate a density.
