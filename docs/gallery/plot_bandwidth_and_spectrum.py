"""
How does the bandwidth change the spectrum?
===========================================

With a small bandwidth every point is isolated and all eigenvalues are similar; with a large one all
points are similar and one eigenvalue dominates. Structure is visible in between, where the
eigenvalues decay gradually.
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
# Three clusters of 100 points. The kernel matrix, with rows ordered by cluster, changes from a
# diagonal to three blocks to a nearly constant matrix.

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
# The Vendi score, the exponential of the entropy of the eigenvalues, is the effective number of
# different points.

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
        label=f"σ = {bandwidth:g}: Vendi score {score:.3g}",
    )
ax.set_yscale("log")
ax.set_ylim(1e-8, 2)
ax.set_xlabel("rank of the eigenvalue")
ax.set_ylabel("eigenvalue λ / n, log")
ax.legend(frameon=False)
ax.set_title("300 points in three clusters")
plt.show()

# %%
# **Summary:** at a suitable bandwidth the number of large eigenvalues equals the number of
# clusters. Here this is σ = 0.5: three eigenvalues of about the same size, then a sharp drop.
