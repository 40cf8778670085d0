"""
Is the selection of entropy components complete?
================================================

``KernelECA`` iterates until it can *prove* that no other component has a larger entropy term, and
describes the proof in ``spectrum_.certificate``. For 1797 handwritten digits 39 products with K are
enough, and the full decomposition finds the same components.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer import KernelECA
from mercer.kernels import Gaussian
from mercer.plots import SpectrumDisplay
from mercer.plots.style import PALETTE

X, y = load_digits(return_X_y=True)
kernel = Gaussian(bandwidth=15.0)

# %%
# The iteration starts at the vector of ones, so it finds only eigenvectors that carry entropy.

fast = KernelECA(5, kernel=kernel, solver="lanczos").fit(X)
print(fast.spectrum_.certificate)
print("products with K:", fast.spectrum_.products, "of", len(X))

# %%
# The full decomposition computes every eigenvalue. The five components with the largest entropy
# terms are not the five with the largest eigenvalues.

full = KernelECA(5, kernel=kernel, solver="dense").fit(X)
SpectrumDisplay.from_estimator(full)
plt.show()

# %%
# Both methods agree up to rounding error. The gray bars are the other components of the full
# decomposition, the largest first: all are smaller than the fifth.

known = np.sort(full.spectrum_.known_entropy_terms)[::-1] / full.information_potential_
figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
positions = np.arange(1, 16)
ax.bar(
    positions, known[:15], color=[PALETTE[1]] * 5 + [PALETTE[-1]] * 10, label="full decomposition"
)
ax.plot(
    positions[:5], fast.entropy_ratio_, "k_", markersize=22, markeredgewidth=2, label="iteration"
)
ax.set_yscale("log")
ax.set_xticks(positions)
ax.set_xlabel("component, by entropy")
ax.set_ylabel("entropy ratio ψ / V, log")
ax.legend(frameon=False)
ax.set_title("The five selected components, and the next ten")
plt.show()

print("largest difference:", np.abs(fast.entropy_ratio_ - known[:5]).max())

# %%
# **Summary:** check ``certified_``. It is True after a full decomposition and after an
# iteration that proved its selection; if it is False, a warning reports the remaining bound.
