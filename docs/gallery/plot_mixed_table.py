"""
Can I analyze a table with labels, numbers and gaps?
====================================================

Yes, in one line: ``table_kernel`` chooses a kernel for each column and multiplies them. A missing
cell is compared as an average one, so rows need not be thrown away. With a tenth of all cells
missing nearly all rows still fall into the right group; complete rows would be few.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from mercer import KernelPCA
from mercer.kernels import table_kernel
from mercer.plots import EmbeddingDisplay
from mercer.plots.style import PALETTE

# %%
# Three sorts of households, described by two numbers, two labels and a scale.


def households(n, rng):
    """Return a table and the sort of each row."""
    sort = rng.integers(3, size=n)
    home = np.array([["flat", "house", "farm"][s] for s in sort])
    moved = rng.random(n) < 0.15
    home[moved] = rng.choice(["flat", "house", "farm"], moved.sum())
    frame = pd.DataFrame(
        {
            "home": home,
            "persons": np.array([1.5, 4.0, 3.0])[sort] + rng.normal(0, 0.6, n),
            "km to work": np.array([4.0, 15.0, 2.0])[sort] + rng.normal(0, 3.0, n),
            "heating": np.where(sort == 2, "wood", rng.choice(["gas", "district"], n)),
            "garden": pd.Categorical.from_codes(
                np.clip(sort + rng.integers(-1, 2, n), 0, 2),
                ["none", "small", "large"],
                ordered=True,
            ),
        }
    )
    return frame, sort


def with_gaps(frame, share, rng):
    """Return a copy in which this share of all cells is missing."""
    return frame.mask(rng.random(frame.shape) < share)


rng = np.random.default_rng(0)
frame, sort = households(300, rng)
gaps = with_gaps(frame, 0.1, rng)
print(gaps.head(6))
print(f"complete rows: {len(gaps.dropna())} of {len(gaps)}")
print(table_kernel(gaps))

# %%
# The same rows with all cells and with one in ten missing, colored by the truth.

names = np.array(["town", "suburb", "country"])[sort]
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.5), layout="constrained")
for ax, table, title in zip(axes, (frame, gaps), ("all cells", "10 % missing"), strict=True):
    pca = KernelPCA(2, kernel=table_kernel(table)).fit(table)
    EmbeddingDisplay.from_estimator(pca, labels=names, ax=ax, title=title)
plt.show()

# %%
# How much may be missing? Agreement of k-means on these two components with the truth, beside the
# share of rows that would be left if incomplete ones were dropped.

shares = np.array([0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5])
agreement, complete = [], []
for share in shares:
    table = with_gaps(frame, share, np.random.default_rng(1))
    Z = KernelPCA(2, kernel=table_kernel(table)).fit_transform(table)
    labels = KMeans(3, n_init=5, random_state=0).fit_predict(Z)
    agreement.append(adjusted_rand_score(sort, labels))
    complete.append(len(table.dropna()) / len(table))

figure, ax = plt.subplots(figsize=(6.8, 3.6), layout="constrained")
ax.plot(100 * shares, agreement, "o-", color=PALETTE[0], label="agreement with the truth (ARI)")
ax.plot(100 * shares, complete, "s--", color=PALETTE[-1], label="share of complete rows")
ax.set_xlabel("missing cells, %")
ax.set_ylim(0, 1.03)
ax.legend(frameon=False)
plt.show()
print(np.round(agreement, 2), np.round(complete, 2))

# %%
# **Summary:** fit ``table_kernel`` to training rows. New rows may come with gaps, labels never
# seen and columns in another order.
