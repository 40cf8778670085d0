"""
Can I analyze a million points?
===============================

In two dimensions, in seconds. The Gaussian kernel is a sum of Fourier features, so the
million-by-million matrix is never computed: a few thousand frequencies give the eigenvectors to ten
digits. The time grows at most in proportion to the number of points.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelECA
from mercer.information import entropy_terms
from mercer.kernels import Gaussian
from mercer.plots.style import PALETTE

# %%
# A million points on three noisy arcs.


def arcs(n, rng):
    """Return n points on three arcs, and the arc of each."""
    arc = rng.integers(3, size=n)
    angle = rng.uniform(0, 0.9 * np.pi, n) + 2 * np.pi / 3 * arc
    center = 1.2 * np.column_stack([np.cos(2 * np.pi / 3 * arc), np.sin(2 * np.pi / 3 * arc)])
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    return 1.6 * center + circle + 0.1 * rng.standard_normal((n, 2)), arc


X, arc = arcs(1_000_000, np.random.default_rng(0))
kernel = Gaussian(bandwidth=0.4)
start = time.perf_counter()
eca = KernelECA(3, kernel=kernel).fit(X)
seconds = time.perf_counter() - start
print(f"fitted in {seconds:.1f} s: {eca.spectrum_.method}")
print(eca.spectrum_.certificate)

# %%
# Each component belongs to one arc. The plot averages projections of every fifth point over
# hexagons.

figure, axes = plt.subplots(1, 3, figsize=(11, 4.4), layout="constrained", sharey=True)
subset = X[::5]
Z = eca.transform(subset)
for i, ax in enumerate(axes):
    drawn = ax.hexbin(
        *subset.T, C=Z[:, i], gridsize=90, cmap="PuOr", vmin=-0.8, vmax=0.8, linewidths=0
    )
    ax.set_title(f"component {i + 1}: {100 * eca.entropy_ratio_[i]:.0f} % of the entropy")
    ax.set_aspect("equal")
    ax.set_xlabel("x₁")
axes[0].set_ylabel("x₂")
figure.colorbar(drawn, ax=axes, label="mean projection", shrink=0.9)
plt.show()

# %%
# Time as a function of n, and the accuracy for a size where the full decomposition is feasible.

sizes = [10_000, 30_000, 100_000, 300_000]
times = []
for n in sizes:
    start = time.perf_counter()
    KernelECA(3, kernel=kernel, solver="fourier").fit(X[:n])
    times.append(time.perf_counter() - start)

figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
ax.loglog(
    [*sizes, 1_000_000], [*times, seconds], "o-", color=PALETTE[1], label="measured, this run"
)
line = seconds * np.array([*sizes, 1_000_000]) / 1_000_000
ax.loglog([*sizes, 1_000_000], line, "--", color=PALETTE[-1], label="proportional to n")
ax.set_xlabel("points")
ax.set_ylabel("seconds")
ax.legend(frameon=False)
plt.show()

subset = X[:1000]
dense = entropy_terms(subset, kernel, n_components=3, solver="dense")
fourier = entropy_terms(subset, kernel, n_components=3, solver="fourier")
print("largest relative difference:", np.abs(fourier / dense - 1).max())

# %%
# **Summary:** with a Gaussian or Matérn kernel and up to three columns no subsampling is needed.
# For more columns use landmarks (``Nystrom``).
