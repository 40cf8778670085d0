"""
Which rows are new?
===================

Two samples on a sphere share ten modes; the second has one more, with 1 % of its rows. The test by
the mean direction hardly notices it, but the difference of the covariance operators contains it,
and the novelty score ranks its rows first.
"""

import matplotlib.pyplot as plt
import numpy as np

import mercer
from mercer.plots.style import PALETTE

# %%
# The samples.

rng = np.random.default_rng(0)
centers = rng.normal(size=(11, 32))
centers /= np.linalg.norm(centers, axis=1, keepdims=True)


def draw(labels):
    """Return unit vectors around the centers."""
    Z = centers[labels] + 0.1 * rng.normal(size=(len(labels), 32))
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)


is_new = np.arange(1000) < 10
X = draw(rng.integers(10, size=1000))
Y = draw(np.where(is_new, 10, rng.integers(10, size=1000)))
found = mercer.compare_samples(X, Y)
print(f"p-value of the MMD: {found.p_value:.3f}")

# %%
# Novelty of the rows of the second sample, in decreasing order.

order = np.argsort(-found.novelty)
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for mask, color, label in ((is_new, PALETTE[1], "planted"), (~is_new, PALETTE[0], "common")):
    shown = mask[order]
    ax.scatter(
        np.arange(1, 1001)[shown], found.novelty[order][shown], s=10, color=color, label=label
    )
ax.set(xscale="log", xlabel="rank", ylabel="novelty")
ax.legend()
plt.show()

# %%
# **Summary:** the first ten rows are the planted ones.
