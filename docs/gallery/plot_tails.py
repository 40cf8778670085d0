"""
Are log densities accurate far from the data?
=============================================

Yes. A density computed as a plain sum of exponentials underflows to 0 from about 38 bandwidths on,
and its logarithm is minus infinity. ``score_samples`` computes in logarithms and stays accurate.
Densities with heavy-tailed kernels decrease more slowly.
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
# The plain sum, followed by the logarithm.

with np.errstate(divide="ignore"):
    plain = np.log(Gaussian(bandwidth)(far, X).mean(axis=1) / Gaussian(bandwidth).normalizer(1))
underflow = far[np.isneginf(plain)].min()
print(f"the plain sum is 0 from x = {underflow:.1f} on")

# %%
# Three kernels with the same bandwidth. All are accurate over the whole range.

figure, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
kernels = (Gaussian(bandwidth), Matern(bandwidth, nu=1.5), Laplacian(bandwidth))
for i, kernel in enumerate(kernels):
    logs = ParzenDensity(kernel=kernel).fit(X).score_samples(far)
    name = type(kernel).__name__
    look = {"color": PALETTE[i], "marker": MARKERS[i], "markevery": 20, "markersize": 5}
    ax.plot(far[:, 0], logs, label=f"{name} kernel", **look)
visible = ~np.isneginf(plain)
ax.plot(far[visible, 0], plain[visible], color="black", linewidth=4, alpha=0.35)
ax.plot(far[visible, 0][-1], plain[visible][-1], "kx", markersize=10, markeredgewidth=2)
ax.annotate(
    "the plain sum underflows",
    (far[visible, 0][-1], plain[visible][-1]),
    (10, -2),
    textcoords="offset points",
)
ax.set_ylim(-3000, 150)
ax.set_xlabel("x (the data are between -3 and 3)")
ax.set_ylabel("log density, nats")
ax.legend(frameon=False, loc="lower left")
plt.show()

# %%
# **Summary:** use ``score_samples`` rather than ``np.log(pdf(…))``. The kernel
# determines the tails: at x = 20 the three differ by more than a thousand nats.
at = [ParzenDensity(kernel=k).fit(X).score_samples([[20.0]])[0] for k in kernels]
print(np.round(at))
