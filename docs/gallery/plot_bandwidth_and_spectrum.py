"""
What does the bandwidth do to the spectrum?
===========================================

It decides how many directions the data have. With a narrow kernel every point is alone and all
eigenvalues are alike; with a wide one all points look the same and one eigenvalue takes it all.
Structure is visible in between, where the eigenvalues fall off but not at once.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.datasets import make_clusters
from mercer.information import vendi_score
from mercer.kernels import Gaussian
from mercer.plots import GramDisplay
from mercer.plots.style import MARKERS, PALETTE

X, y = make_clusters(random_state=0)
bandwidths = (0.02, 0.1, 0.5, 3.0)

# sphinx_gallery_thumbnail_number = 2

# %%
# Three clusters of 100 points. The kernel matrix, rows ordered by cluster: from a diagonal line
# over three blocks to one even square.

figure, axes = plt.subplots(1, 4, figsize=(11, 3.1), layout="constrained")
for ax, bandwidth in zip(axes, bandwidths, strict=True):
    gram = Gaussian(bandwidth)(X)
    display = GramDisplay.from_gram(gram, labels=y, ax=ax, colorbar=False)
    display.image_.set_clim(0, 1)
    ax.set_title(f"σ = {bandwidth:g}")
    ax.set_ylabel("")
axes[0].set_ylabel("row, by cluster")
figure.colorbar(display.image_, ax=axes, label="k(x, x′)", shrink=0.9)
plt.show()

# %%
# The eigenvalues tell the same story. The Vendi score, the exponential of their entropy, turns it
# into a number: how many different points there seem to be.

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for i, bandwidth in enumerate(bandwidths):
    kernel = Gaussian(bandwidth)
    values = np.linalg.eigvalsh(kernel(X))[::-1][:30] / len(X)
    score = vendi_score(X, kernel)
    ax.plot(
        np.arange(1, len(values) + 1),
        values,
        marker=MARKERS[i],
        markersize=4,
        color=PALETTE[i],
        label=f"σ = {bandwidth:g}: like {score:.3g} points",
    )
ax.set_yscale("log")
ax.set_ylim(1e-8, 2)
ax.set_xlabel("rank of the eigenvalue")
ax.set_ylabel("eigenvalue λ / n, log")
ax.legend(frameon=False)
ax.set_title("300 points in three clusters")
plt.show()

# %%
# **Summary:** a useful bandwidth lets the eigenvalues drop after as many as there are groups.
# Here σ = 0.5 does: three eigenvalues of about the same size, then a cliff.
