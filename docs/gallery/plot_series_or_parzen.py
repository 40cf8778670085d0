"""
Is a series of eigenfunctions as good as Parzen's estimate?
===========================================================

Sometimes, with far fewer terms. With all terms the series equals Parzen's estimate; truncation
smooths it. For three separated clusters three terms describe new points slightly better than
Parzen's estimate with the same bandwidth, and clearly worse than with a better bandwidth.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import ParzenDensity, SeriesDensity
from mercer.datasets import make_clusters
from mercer.kernels import Gaussian
from mercer.plots import DensityDisplay
from mercer.plots.style import PALETTE

X, _ = make_clusters((50, 50, 50), spread=0.15, random_state=0)
new, _ = make_clusters((2000, 2000, 2000), spread=0.15, random_state=1)
kernel = Gaussian(bandwidth=0.2)

# %%
# Two estimates with the same bandwidth, and one with a bandwidth selected by leave-one-out.
# Contours enclose 10, 30, 50, 70, 90 and 99 % of the mass.

figure, axes = plt.subplots(1, 3, figsize=(11, 4.4), layout="constrained", sharey=True)
selected = ParzenDensity(kernel=Gaussian("leave-one-out")).fit(X)
bandwidth = f"{selected.kernel_.bandwidth:.2f}"
models = {
    "Parzen, σ = 0.2": ParzenDensity(kernel=kernel).fit(X),
    "series of 3 terms, σ = 0.2": SeriesDensity(kernel=kernel, terms=3).fit(X),
    f"Parzen, σ = {bandwidth}": selected,
}
for ax, (title, model) in zip(axes, models.items(), strict=True):
    DensityDisplay.from_estimator(model, X, ax=ax, title=title)
    ax.set_aspect("equal")
for ax in axes[1:]:
    ax.set_ylabel("")
plt.show()

# %%
# The mean log density of 6000 new points. A series with too few terms misses clusters; one with all
# terms equals Parzen's estimate.

counts = np.array([1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50])
scores = [SeriesDensity(kernel=kernel, terms=int(k)).fit(X).score(new) for k in counts]
parzen = ParzenDensity(kernel=kernel).fit(X).score(new)

figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
ax.plot(counts, scores, "o-", color=PALETTE[0], label="series, σ = 0.2")
ax.axhline(parzen, color=PALETTE[1], linestyle="--", label="Parzen, σ = 0.2")
ax.axhline(
    selected.score(new),
    color=PALETTE[2],
    linestyle=":",
    linewidth=2,
    label=f"Parzen, σ = {bandwidth} by leave-one-out",
)
ax.set_xscale("log")
ax.set_xticks([1, 2, 3, 5, 10, 20, 50], ["1", "2", "3", "5", "10", "20", "50"])
ax.minorticks_off()
ax.set_ylim(-2.6, 0)
ax.set_xlabel("terms of the series")
ax.set_ylabel("mean log density of new points, nats")
ax.legend(frameon=False, loc="lower right")
plt.show()
print(np.round(scores, 3), round(parzen, 3), round(selected.score(new), 3))

# %%
# **Summary:** a series is a compact description, not a better one. For a large held-out
# likelihood use Parzen's estimate with the bandwidth selected by leave-one-out.
