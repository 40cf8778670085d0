"""
Can one row with a weight stand for many?
=========================================

Exactly, where the rows are equal; nearly, where they are close. Weights act as multiplicities
throughout: a million points counted in a few thousand cells give the same entropy components to four
digits, and copies give them to rounding.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelECA
from mercer.datasets import make_wheel
from mercer.kernels import Gaussian
from mercer.plots.style import KEPT, PALETTE

# %%
# Equal rows first: twenty distinct points, each a few times, or once with a weight.

rng = np.random.default_rng(0)
points, weights = rng.normal(size=(20, 2)), rng.integers(1, 9, size=20)
copies = KernelECA(3, kernel=Gaussian(1.0)).fit(np.repeat(points, weights, axis=0))
weighted = KernelECA(3, kernel=Gaussian(1.0)).fit(points, sample_weight=weights)
print("largest difference of entropy terms:", abs(copies.entropy_terms_ - weighted.entropy_terms_).max())

# %%
# Now a million points, counted on a grid. The finer the cells, the closer the result.

X, _ = make_wheel(300_000, 700_000, random_state=0)
kernel = Gaussian(1.0)
exact = KernelECA(4, kernel=kernel).fit(X)


def counted(cell):
    """Return centres of the occupied cells and how many points are in each."""
    places, counts = np.unique(np.round(X / cell), axis=0, return_counts=True)
    return cell * places, counts


cells = np.array([1.0, 0.7, 0.5, 0.35, 0.25, 0.18])
sizes, errors = [], []
for cell in cells:
    centres, counts = counted(cell)
    few = KernelECA(4, kernel=kernel).fit(centres, sample_weight=counts)
    sizes.append(len(centres))
    errors.append(np.abs(few.entropy_terms_ - exact.entropy_terms_).max())
relative = np.array(errors) / exact.information_potential_

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
centres, counts = counted(0.5)
left.scatter(*centres.T, s=counts / 150, color=PALETTE[0], alpha=0.8, linewidths=0)
left.set_aspect("equal")
left.set_xlabel("x₁")
left.set_ylabel("x₂")
left.set_title(f"a million points in {len(centres)} cells")
right.loglog(cells, relative, "o-", color=KEPT)
for cell, error, size in zip(cells, relative, sizes, strict=True):
    right.annotate(f"{size:,} cells", (cell, error), (6, -10), textcoords="offset points")
right.set_xticks(cells, [f"{cell:g}" for cell in cells])
right.minorticks_off()
right.set_xlim(0.16, 1.6)
right.set_xlabel("width of a cell, bandwidths")
right.set_ylabel("largest error of a term, share of V")
right.set_title("error of the entropy terms")
plt.show()
print(dict(zip(sizes, relative, strict=True)))

# %%
# **To remember:** every estimator takes ``sample_weight``. Zero weights equal absent rows.
