"""
How far is the spectrum of a sample from that of the population?
================================================================

For a Gaussian kernel and a normal distribution the population spectrum is known in closed form.
The standard error of the second eigenvalue is 10 % of it with 50 points, 3 % with 500 and 1 %
with 5000; small eigenvalues need many points to be estimated at all.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelPCA
from mercer.kernels import Gaussian
from mercer.plots.style import PALETTE
from mercer.population import GaussianOperator, Normal, compare

normal = Normal(0, 1)
operator = GaussianOperator(1.0, normal, n_components=12)
print(operator)
for n in (50, 500, 5000):
    print(n, operator.standard_errors(n, slice(4)) / operator.eigenvalues[:4])

# %%
# Three sample sizes, 20 samples each. Bars show two standard errors around the population
# eigenvalues.

count, sizes = 8, (50, 500, 5000)
positions = np.arange(1, count + 1)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained", sharey=True)
for i, (ax, n) in enumerate(zip(axes, sizes, strict=True)):
    for seed in range(20):
        X = normal.sample(n, random_state=seed)
        pca = KernelPCA(count, kernel=Gaussian(1.0), center=False).fit(X)
        values = pca.spectrum_.operator_eigenvalues
        label = "20 samples" if seed == 0 else None
        ax.plot(positions, values, ".", color=PALETTE[i], markersize=4, alpha=0.5, label=label)
    error = 2 * operator.standard_errors(n, slice(count))
    exact = operator.eigenvalues[:count]
    low = np.minimum(error, 0.9 * exact)
    ax.errorbar(
        positions + 0.25,
        exact,
        [low, error],
        fmt="_",
        color="black",
        capsize=3,
        label="population, ±2 s.e.",
    )
    ax.set_yscale("log")
    ax.set_title(f"n = {n}")
    ax.set_xlabel("rank of the eigenvalue")
axes[0].set_ylabel("eigenvalue λ / n, log")
axes[0].legend(frameon=False, loc="lower left")
plt.show()

# %%
# ``compare`` compares a sample with a population distribution and tests for a difference.

pca = KernelPCA(4, kernel=Gaussian(1.0), center=False).fit(normal.sample(500, random_state=0))
print(compare(pca, normal))

# %%
# It also detects a wrong distribution: this sample has heavier tails than a normal distribution.

heavy = np.random.default_rng(0).standard_t(3, size=(500, 1))
print(compare(KernelPCA(4, kernel=Gaussian(1.0), center=False).fit(heavy), normal))

# %%
# **Summary:** report eigenvalues with standard errors. Relative errors decrease like
# 1/√n, for every rank.
