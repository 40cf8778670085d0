"""
Which components carry the entropy, and can I be sure that none was missed?
===========================================================================

Yes, without computing all eigenvectors. ``KernelECA`` iterates until it can *prove* that no
component it has not seen could have a larger entropy term, and says so in
``spectrum_.certificate``. For 1797 handwritten digits 39 products with K are enough, and the full
decomposition finds the same components.
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
# The iteration starts at the vector of ones, and so meets only eigenvectors that carry entropy.

fast = KernelECA(5, kernel=kernel, solver="lanczos").fit(X)
print(fast.spectrum_.certificate)
print("products with K:", fast.spectrum_.products, "of", len(X))

# %%
# The full decomposition knows every eigenvalue. The five components with the largest entropy terms
# are not the five with the largest eigenvalues.

full = KernelECA(5, kernel=kernel, solver="dense").fit(X)
SpectrumDisplay.from_estimator(full)
plt.show()

# %%
# Both ways agree to rounding. The gray bars are all other components of the full decomposition,
# the largest first: none reaches the fifth.

known = np.sort(full.spectrum_.known_entropy_terms)[::-1] / full.information_potential_
figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
places = np.arange(1, 16)
ax.bar(places, known[:15], color=[PALETTE[1]] * 5 + [PALETTE[-1]] * 10, label="full decomposition")
ax.plot(places[:5], fast.entropy_ratio_, "k_", markersize=22, markeredgewidth=2, label="iteration")
ax.set_yscale("log")
ax.set_xticks(places)
ax.set_xlabel("component, by entropy")
ax.set_ylabel("share of the entropy ψ / V, log")
ax.legend(frameon=False)
ax.set_title("Proven: no other component reaches the five that are kept")
plt.show()

print("largest difference:", np.abs(fast.entropy_ratio_ - known[:5]).max())

# %%
# **Summary:** look at ``certified_``. It is True after a full decomposition and after an
# iteration that found its proof; if it is False, a warning says how far the proof got.
