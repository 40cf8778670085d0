"""
How many clusters are there?
============================

``SpectralClustering`` counts the clusters of a density tree: regions of high density that are
separated by a lower one, each with at least 2 % of the rows. It takes one more if the normalized
cut then grows more than twice as much. The confidence is the fraction of smallest cluster sizes,
from half to twice this one, at which the tree has the same number.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import scale

from mercer import SpectralClustering
from mercer.plots.style import PALETTE

rng = np.random.default_rng(0)
centers = np.array([[0, 0], [9, 1], [4, 8], [-6, 7]])
noise = rng.normal(0, 1.2, size=(4, 120, 2))
warnings.simplefilter("ignore")  # of numbers with a low confidence


def fit(factor):
    return SpectralClustering().fit((factor * centers[:, None, :] + noise).reshape(-1, 2))


clustering = fit(1.0)
print(f"{clustering.n_clusters_} clusters, confidence {clustering.confidence_:.1f}")

# %%
# How far apart must the clusters be? The distances between the four centers are scaled by a factor.

factors = np.array([0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.2])
fitted = [fit(factor) for factor in factors]
closest = np.linalg.norm(centers[0] - centers[3]) * factors / 1.2  # nearest pair

figure, (ax, below) = plt.subplots(
    2, 1, figsize=(6.5, 4.2), layout="constrained", sharex=True, height_ratios=[2, 1]
)
ax.plot(closest, [model.n_clusters_ for model in fitted], "o-", color=PALETTE[0])
ax.axhline(4, color=PALETTE[-1], linestyle="--", linewidth=1)
ax.text(closest[-1], 4.1, "true number", ha="right", color=PALETTE[-1])
ax.set_ylim(0, None)
ax.set_ylabel("number of clusters")
below.plot(closest, [model.confidence_ for model in fitted], "o-", color=PALETTE[1])
below.set_ylim(0, 1.05)
below.set_ylabel("confidence")
below.set_xlabel("distance of the nearest two centers, in standard deviations")
plt.show()

# %%
# Iris and wine have three classes each, two of which overlap. The next best number is printed too.

for name, load in (("iris", load_iris), ("wine", load_wine)):
    model = SpectralClustering().fit(scale(load().data))
    print(
        f"{name}: {model.n_clusters_} clusters, confidence {model.confidence_:.1f}, "
        f"next best {model.alternative_}"
    )

# %%
# **Summary:** Clusters count if a lower density separates them. Pass the number if you know it, in
# particular if the confidence is low.
