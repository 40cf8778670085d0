"""
Entropy or variance: which order of components for regression?
==============================================================

It depends on the target. Components with large entropy terms have a nonzero mean, so on symmetric
data the entropy order begins with even functions. An even target needs few of them; an odd target
is not represented until all even components are used.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import ComponentRegressor
from mercer.kernels import Gaussian
from mercer.plots.style import MARKERS, PALETTE

rng = np.random.default_rng(0)
half = rng.uniform(0, 3, size=150)
X = np.concatenate([half, -half])[:, None]  # symmetric about 0
grid = np.linspace(-3, 3, 301)[:, None]
targets = {
    "even: cos 2x": lambda x: np.cos(2 * x[:, 0]),
    "odd: sin 2x": lambda x: np.sin(2 * x[:, 0]),
    "both: sin 2x + cos 2x": lambda x: np.sin(2 * x[:, 0]) + np.cos(2 * x[:, 0]),
}

# sphinx_gallery_thumbnail_number = 2

# %%
# Error on the whole interval for every number of components, in both orders. ``path`` computes
# all of them from one fit.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained", sharey=True)
for ax, (name, function) in zip(axes, targets.items(), strict=True):
    y = function(X) + 0.1 * rng.standard_normal(len(X))
    for i, order in enumerate(("entropy", "variance")):
        model = ComponentRegressor(12, kernel=Gaussian(0.6), order=order).fit(X, y)
        errors = model.path(grid, function(grid))
        look = {"color": PALETTE[i], "marker": MARKERS[i]}
        ax.plot(np.arange(1, 13), errors, label=f"by {order}", **look)
    ax.set_yscale("log")
    ax.set_title(name)
    ax.set_xlabel("components")
axes[0].set_ylabel("mean squared error, log")
axes[2].legend(frameon=False, loc="lower left")
plt.show()

# %%
# The fit of the third target with six components.

y = targets["both: sin 2x + cos 2x"](X) + 0.1 * rng.standard_normal(len(X))
figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.plot(X[:, 0], y, ".", color=PALETTE[-1], markersize=4, alpha=0.6, label="data")
for i, order in enumerate(("entropy", "variance")):
    model = ComponentRegressor(6, kernel=Gaussian(0.6), order=order).fit(X, y)
    style = ("-", "--")[i]
    ax.plot(grid, model.predict(grid), style, color=PALETTE[i], linewidth=2, label=f"by {order}")
ax.set_xlabel("x")
ax.set_ylabel("y")
ax.legend(frameon=False, ncols=3, loc="lower right", bbox_to_anchor=(1, 1))
plt.show()

# %%
# **Summary:** for regression compare both orders, and select the number by ``n_components="cv"``.
# On symmetric data order by variance.
