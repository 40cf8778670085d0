"""
How do I analyze a table with categories, numbers and missing values?
=====================================================================

``table_kernel`` chooses a kernel for each column and multiplies them. Missing values are
represented by the column's mean embedding, so rows need not be dropped. With 10 % of all values
missing nearly all rows are still in the correct group.
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
# Three kinds of households, described by two numbers, two categories and an ordered category.


def households(n, rng):
    """Return a table and the kind of each row."""
    kind = rng.integers(3, size=n)
    home = np.array([["flat", "house", "farm"][k] for k in kind])
    moved = rng.random(n) < 0.15
    home[moved] = rng.choice(["flat", "house", "farm"], moved.sum())
    frame = pd.DataFrame(
        {
            "home": home,
            "persons": np.array([1.5, 4.0, 3.0])[kind] + rng.normal(0, 0.6, n),
            "km to work": np.array([4.0, 15.0, 2.0])[kind] + rng.normal(0, 3.0, n),
            "heating": np.where(kind == 2, "wood", rng.choice(["gas", "district"], n)),
            "garden": pd.Categorical.from_codes(
                np.clip(kind + rng.integers(-1, 2, n), 0, 2),
                ["none", "small", "large"],
                ordered=True,
            ),
        }
    )
    return frame, kind


def remove_values(frame, fraction, rng):
    """Return a copy in which this fraction of all values is missing."""
    return frame.mask(rng.random(frame.shape) < fraction)


rng = np.random.default_rng(0)
frame, kind = households(300, rng)
incomplete = remove_values(frame, 0.1, rng)
print(incomplete.head(6))
print(f"complete rows: {len(incomplete.dropna())} of {len(incomplete)}")
print(table_kernel(incomplete))

# %%
# The same rows with all values and with 10 % of them missing, colored by kind.

names = np.array(["town", "suburb", "country"])[kind]
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.5), layout="constrained")
for ax, table, title in zip(axes, (frame, incomplete), ("complete", "10 % missing"), strict=True):
    pca = KernelPCA(2, kernel=table_kernel(table)).fit(table)
    EmbeddingDisplay.from_estimator(pca, labels=names, ax=ax, title=title)
plt.show()

# %%
# Agreement of k-means on these two components with the true kinds, and the fraction of complete
# rows, as functions of the fraction of missing values.

fractions = np.array([0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5])
agreement, complete = [], []
for fraction in fractions:
    table = remove_values(frame, fraction, np.random.default_rng(1))
    Z = KernelPCA(2, kernel=table_kernel(table)).fit_transform(table)
    labels = KMeans(3, n_init=5, random_state=0).fit_predict(Z)
    agreement.append(adjusted_rand_score(kind, labels))
    complete.append(len(table.dropna()) / len(table))

figure, ax = plt.subplots(figsize=(6.8, 3.6), layout="constrained")
ax.plot(100 * fractions, agreement, "o-", color=PALETTE[0], label="adjusted Rand index")
ax.plot(100 * fractions, complete, "s--", color=PALETTE[-1], label="fraction of complete rows")
ax.set_xlabel("missing values, %")
ax.set_ylim(0, 1.03)
ax.legend(frameon=False)
plt.show()
print(np.round(agreement, 2), np.round(complete, 2))

# %%
# **Summary:** fit ``table_kernel`` to training rows. New rows may have missing values, unknown
# categories and columns in a different order.
