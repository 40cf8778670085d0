"""
What happens far from the data?
===============================

Log densities stay right, however far out. A density computed as a plain sum of exponentials is 0
from some 38 bandwidths on, and its logarithm is minus infinity. ``score_samples`` sums in
logarithms and falls like the window itself. Heavier windows fall more slowly.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import ParzenDensity
from mercer.kernels import Gaussian, Laplacian, Matern
from mercer.plots.style import MARKERS, PALETTE

X = np.random.default_rng(0).normal(size=(500, 1))
far = np.linspace(0, 40, 200)[:, None]
bandwidth = 0.3

# %%
# The plain way: sum first, take the logarithm afterwards.

with np.errstate(divide="ignore"):
    plain = np.log(Gaussian(bandwidth)(far, X).mean(axis=1) / Gaussian(bandwidth).normalizer(1))
lost = far[np.isneginf(plain)].min()
print(f"the plain sum is 0 from x = {lost:.1f} on")

# %%
# Three windows of the same width. All are exact to the right edge of the picture.

figure, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
windows = (Gaussian(bandwidth), Matern(bandwidth, nu=1.5), Laplacian(bandwidth))
for i, window in enumerate(windows):
    logs = ParzenDensity(kernel=window).fit(X).score_samples(far)
    name = type(window).__name__
    look = {"color": PALETTE[i], "marker": MARKERS[i], "markevery": 20, "markersize": 5}
    ax.plot(far[:, 0], logs, label=f"{name} window", **look)
visible = ~np.isneginf(plain)
ax.plot(far[visible, 0], plain[visible], color="black", linewidth=4, alpha=0.35)
ax.plot(far[visible, 0][-1], plain[visible][-1], "kx", markersize=10, markeredgewidth=2)
ax.annotate(
    "here the plain sum underflows",
    (far[visible, 0][-1], plain[visible][-1]),
    (10, -2),
    textcoords="offset points",
)
ax.set_ylim(-3000, 150)
ax.set_xlabel("x; the data lie between -3 and 3")
ax.set_ylabel("log density, nats")
ax.legend(frameon=False, loc="lower left")
plt.show()

# %%
# **Summary:** use ``score_samples`` rather than ``np.log(pdf(…))``. And choose the window with
# the tails in mind: at x = 20 the three differ by more than a thousand nats.
at = [ParzenDensity(kernel=w).fit(X).score_samples([[20.0]])[0] for w in windows]
print(np.round(at))
