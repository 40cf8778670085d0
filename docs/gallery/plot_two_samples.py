"""
Do two samples have the same distribution?
==========================================

Compare their mean embeddings. The Cauchy-Schwarz divergence is -log of the cosine of the angle
between them: 0 if the two Parzen densities are proportional. A permutation test shows how large it
is by chance. Unlike a comparison of means it detects every kind of difference.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.information import cauchy_schwarz_divergence
from mercer.kernels import Gaussian
from mercer.plots.style import PALETTE

rng = np.random.default_rng(0)
n, kernel = 200, Gaussian(0.5)

# %%
# Four pairs of samples. In the last two pairs all columns have the same means and variances. The
# lower row shows the divergence (line) and its permutation distribution.

first = rng.normal(size=(n, 2))
ring = rng.normal(size=(n, 2))
ring = np.sqrt(2) * ring / np.linalg.norm(ring, axis=1, keepdims=True)
pairs = {
    "same distribution": rng.normal(size=(n, 2)),
    "shifted by 0.5": rng.normal((0.5, 0), size=(n, 2)),
    "correlated": rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], size=n),
    "ring": ring + 0.1 * rng.normal(size=(n, 2)),
}


def permuted_divergences(X, Y, times=200):
    """Return divergences after random permutations of the pooled rows."""
    pooled = np.concatenate([X, Y])
    orders = (rng.permutation(len(pooled)) for _ in range(times))
    return [cauchy_schwarz_divergence(pooled[o[:n]], pooled[o[n:]], kernel) for o in orders]


figure, axes = plt.subplots(2, 4, figsize=(11, 5), layout="constrained")
for (name, second), (above, below) in zip(pairs.items(), axes.T, strict=True):
    above.scatter(*first.T, s=8, color=PALETTE[0], alpha=0.6, linewidths=0)
    above.scatter(*second.T, s=8, color=PALETTE[1], alpha=0.6, linewidths=0, marker="^")
    above.set_title(name)
    above.set(xlim=(-3.6, 3.6), ylim=(-3.6, 3.6), xticks=[], yticks=[], aspect="equal")
    divergence = cauchy_schwarz_divergence(first, second, kernel)
    permuted = permuted_divergences(first, second)
    larger = sum(value >= divergence for value in permuted)
    below.hist(permuted, 20, color=PALETTE[-1])
    below.axvline(divergence, color=PALETTE[1], linewidth=2)
    below.set_yticks([])
    below.set_xlim(left=0)
    below.locator_params(axis="x", nbins=4)
    below.set_xlabel("divergence, nats")
    below.set_title(
        f"{divergence:.3f}; larger in {larger} of 200", color=PALETTE[1], fontsize="medium"
    )
axes[1, 0].set_ylabel("200 permutations")
plt.show()

# %%
# **Summary:** the divergence depends on the bandwidth and on n, so compare it with its
# permutation distribution. For a million points in two dimensions it takes half a second.
