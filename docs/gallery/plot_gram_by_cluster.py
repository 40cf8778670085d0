"""
What does the kernel see?
=========================

Order the rows of the kernel matrix by cluster and look. Blocks on the diagonal are groups whose
members resemble each other; what the kept components make of the matrix shows how much of that the
analysis uses.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from mercer import EntropyClustering
from mercer.kernels import Gaussian
from mercer.plots import GramDisplay

X = scale(load_wine().data)
X = X[np.random.default_rng(0).permutation(len(X))]  # the file is sorted by class: undo that

clustering = EntropyClustering(3, kernel=Gaussian(2.0)).fit(X)

# %%
# The same matrix three times: in the order of the rows, ordered by the clusters found, and rebuilt
# from three entropy components alone.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained")
gram = clustering.kernel_(X)
shown = [
    GramDisplay.from_gram(gram, ax=axes[0], colorbar=False, title="rows as they come"),
    GramDisplay.from_gram(
        gram, labels=clustering.labels_, ax=axes[1], colorbar=False, title="rows by cluster"
    ),
    GramDisplay.from_estimator(
        clustering, ax=axes[2], colorbar=False, title="three components of it"
    ),
]
for display in shown:
    display.image_.set_clim(0, 0.4)
figure.colorbar(shown[-1].image_, ax=axes, label="k(x, x′)", extend="max", shrink=0.85)
plt.show()

# %%
# The diagonal is 1 everywhere; the colors stop at 0.4 so that the blocks are visible. Three
# components keep the blocks and drop what is particular to single rows.

kept = clustering.eca_.entropy_ratio_.sum()
print(f"share of the information potential kept: {kept:.1%}")

# %%
# **Summary:** if no blocks appear when rows are ordered by cluster, there are no clusters at
# this bandwidth, whatever the labels say.
