"""
How do clusters look in the kernel matrix?
==========================================

If rows are ordered by cluster, blocks on the diagonal are clusters of similar rows. The matrix
reconstructed from the selected components shows how much of this structure the analysis uses.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from mercer import EntropyClustering
from mercer.kernels import Gaussian
from mercer.plots import GramDisplay

X = scale(load_wine().data)
X = X[np.random.default_rng(0).permutation(len(X))]  # the file is sorted by class

clustering = EntropyClustering(3, kernel=Gaussian(2.0)).fit(X)

# %%
# The same matrix three times: in the order of the rows, ordered by cluster, and reconstructed from
# three entropy components.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained")
gram = clustering.kernel_(X)
shown = [
    GramDisplay.from_gram(gram, ax=axes[0], colorbar=False, title="original order"),
    GramDisplay.from_gram(
        gram, labels=clustering.labels_, ax=axes[1], colorbar=False, title="ordered by cluster"
    ),
    GramDisplay.from_estimator(clustering, ax=axes[2], colorbar=False, title="three components"),
]
for display in shown:
    display.image_.set_clim(0, 0.4)
figure.colorbar(shown[-1].image_, ax=axes, label="k(x, x′)", extend="max", shrink=0.85)
plt.show()

# %%
# The diagonal is 1; the color scale ends at 0.4 so that the blocks are visible. Three components
# retain the blocks but not the diagonal.

ratio = clustering.eca_.entropy_ratio_.sum()
print(f"fraction of the information potential in three components: {ratio:.1%}")

# %%
# **Summary:** if no blocks appear when rows are ordered by cluster, there are no clusters at
# this bandwidth, even if the algorithm returns labels.
