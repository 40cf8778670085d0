"""
Can weighted rows replace many rows?
====================================

Exactly, if the rows are equal; approximately, if they are close. Weights act as multiplicities,
so copies and weights give the same components up to rounding error. Points counted in cells of a
quarter of the bandwidth give the information potential with an error below one percent.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelECA
from mercer.datasets import make_wheel
from mercer.kernels import Gaussian
from mercer.plots.style import PALETTE

# %%
# Equal rows: twenty distinct points, each several times, or once with a weight.

rng = np.random.default_rng(0)
points, weights = rng.normal(size=(20, 2)), rng.integers(1, 9, size=20)
copies = KernelECA(3, kernel=Gaussian(1.0)).fit(np.repeat(points, weights, axis=0))
weighted = KernelECA(3, kernel=Gaussian(1.0)).fit(points, sample_weight=weights)
difference = np.abs(copies.entropy_terms_ - weighted.entropy_terms_).max()
print("largest difference of entropy terms:", difference)

# %%
# 200,000 points, counted on a grid. Smaller cells give smaller errors.

X, _ = make_wheel(60_000, 140_000, random_state=0)
kernel = Gaussian(1.0)
exact = KernelECA(2, kernel=kernel).fit(X)


def count_in_cells(cell):
    """Return the centers of the occupied cells and the number of points in each."""
    indices = np.round(X / cell).astype(np.int64)
    codes, counts = np.unique(indices[:, 0] * 10_000 + indices[:, 1], return_counts=True)
    rows = np.round(codes / 10_000)
    return cell * np.column_stack([rows, codes - 10_000 * rows]), counts


cells = np.array([1.0, 0.7, 0.5, 0.35, 0.25, 0.18])
sizes, errors = [], []
for cell in cells:
    centers, counts = count_in_cells(cell)
    weighted = KernelECA(2, kernel=kernel).fit(centers, sample_weight=counts)
    sizes.append(len(centers))
    errors.append(abs(weighted.information_potential_ / exact.information_potential_ - 1))

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
centers, counts = count_in_cells(0.5)
left.scatter(*centers.T, s=counts / 30, color=PALETTE[0], alpha=0.8, linewidths=0)
left.set_aspect("equal")
left.set_xlabel("x₁")
left.set_ylabel("x₂")
left.set_title(f"200,000 points in {len(centers)} cells")
right.loglog(cells, errors, "o-", color=PALETTE[1])
for cell, error, size in zip(cells, errors, sizes, strict=True):
    right.annotate(f"{size:,} cells", (cell, error), (6, -10), textcoords="offset points")
right.set_xticks(cells, [f"{cell:g}" for cell in cells])
right.set_yticks([0.002, 0.005, 0.01, 0.02, 0.05], ["0.2 %", "0.5 %", "1 %", "2 %", "5 %"])
right.minorticks_off()
right.set_xlim(0.16, 1.6)
right.set_xlabel("width of a cell, in bandwidths")
right.set_ylabel("relative error of V, log")
right.set_title("error of the weighted fit")
plt.show()
print({size: f"{error:.2%}" for size, error in zip(sizes, errors, strict=True)})

# %%
# **Summary:** estimators accept ``sample_weight``. Zero weights equal absent rows.
