"""
Do eigenfunctions of a sample show the law, or the sample?
==========================================================

The leading ones show the law. Eigenfunctions of the kernel matrix of 400 points, drawn over the
plane, look like those of the operator that the matrix converges to; the further down the spectrum,
the more of them is chance.
"""

import matplotlib.pyplot as plt

from mercer import KernelPCA
from mercer.kernels import Gaussian
from mercer.plots import EigenfunctionDisplay
from mercer.plots.style import MARKERS, PALETTE
from mercer.population import GaussianOperator, Uniform, compare

law = Uniform([0, 0], [3, 1])
operator = GaussianOperator(0.5, law, n_components=30)
X = law.sample(400, random_state=0)
pca = KernelPCA(10, kernel=Gaussian(0.5), center=False).fit(X)

# %%
# A rectangle, evenly filled. Above the sample's eigenfunctions, below the law's. They are the
# standing waves of the rectangle. Functions 4 and 5, whose eigenvalues are close, come out mixed.

EigenfunctionDisplay.from_operator(operator, X, estimator=pca, n_functions=5)
plt.show()

# %%
# Correlations under the law, of the sample above and of three others: near 1 for the first ones,
# and for ever more of them the larger the sample.

comparison = compare(pca, law)
print(comparison)

figure, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
for i, n in enumerate((100, 400, 3000)):
    model = KernelPCA(10, kernel=Gaussian(0.5), center=False).fit(law.sample(n, random_state=1))
    found = compare(model, law)
    ax.plot(found.ranks, found.correlations, marker=MARKERS[i], color=PALETTE[i], label=f"n = {n}")
ax.set_ylim(0, 1.05)
ax.set_xticks(found.ranks)
ax.set_xlabel("component")
ax.set_ylabel("|correlation| with the law's")
ax.legend(frameon=False, loc="lower left")
plt.show()

# %%
# **Summary:** interpret a component only if its eigenvalue stands clear of its neighbors.
