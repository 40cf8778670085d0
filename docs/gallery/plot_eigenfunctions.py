"""
Do eigenfunctions of a sample show the population or the sample?
================================================================

Mostly the population. The leading eigenfunctions of the kernel matrix of 400 points are close to
those of the operator to which the matrix converges. Where eigenvalues are close to each other, the
sample mixes the functions.
"""

import matplotlib.pyplot as plt

from mercer import KernelPCA
from mercer.kernels import Gaussian
from mercer.plots import EigenfunctionDisplay
from mercer.plots.style import MARKERS, PALETTE
from mercer.population import GaussianOperator, Uniform, compare

uniform = Uniform([0, 0], [3, 1])
operator = GaussianOperator(0.5, uniform, n_components=30)
X = uniform.sample(400, random_state=0)
pca = KernelPCA(10, kernel=Gaussian(0.5), center=False).fit(X)

# %%
# A uniform distribution on a rectangle. The upper row shows the eigenfunctions of the sample, the
# lower row those of the population. Functions 4 and 5, whose eigenvalues are close, are mixed.

EigenfunctionDisplay.from_operator(operator, X, estimator=pca, n_functions=5)
plt.show()

# %%
# Correlations between sample and population eigenfunctions, for the sample above and three others.
# They are low where eigenvalues are close to each other, and larger samples have larger ones.

comparison = compare(pca, uniform)
print(comparison)

figure, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
for i, n in enumerate((100, 400, 3000)):
    model = KernelPCA(10, kernel=Gaussian(0.5), center=False).fit(uniform.sample(n, random_state=1))
    result = compare(model, uniform)
    ax.plot(
        result.ranks, result.correlations, marker=MARKERS[i], color=PALETTE[i], label=f"n = {n}"
    )
ax.set_ylim(0, 1.05)
ax.set_xticks(result.ranks)
ax.set_xlabel("component")
ax.set_ylabel("|correlation| with the population")
ax.legend(frameon=False, loc="lower left")
plt.show()

# %%
# **Summary:** interpret a component only if its eigenvalue is well separated from its neighbors.
