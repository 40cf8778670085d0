"""
How many kernels does a Parzen density need?
============================================

Few, if their weights are learned. Parzen's estimate puts a kernel on every point. Maximum
likelihood weights are 0 for most of them; the remaining ones describe new points about as well
and are many times faster to evaluate.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import ParzenDensity
from mercer.kernels import Gaussian
from mercer.plots import DensityDisplay
from mercer.plots.style import PALETTE

rng = np.random.default_rng(0)


def crescent(n):
    """Return n points on a curved band."""
    angle = rng.uniform(0.1, np.pi - 0.1, n)
    radius = 3 + 0.35 * rng.standard_normal(n)
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


X, new = crescent(1000), crescent(5000)
plain = ParzenDensity(kernel=Gaussian(0.35)).fit(X)
learned = ParzenDensity(kernel=Gaussian(0.35), weights="learned").fit(X)

# %%
# Both densities with the points that have nonzero weight; the size of a marker shows the weight.

figure, axes = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained", sharey=True)
models = {"equal weights": plain, "learned weights": learned}
for ax, (name, model) in zip(axes, models.items(), strict=True):
    count = len(model.support_)
    DensityDisplay.from_estimator(model, X, ax=ax, show_points=False)
    size = 3000 * model.weights_ / max(1, 0.004 * count)
    ax.scatter(*X[model.support_].T, s=size, color=PALETTE[1], alpha=0.7, linewidths=0)
    ax.set_title(f"{name}: {count} kernels\nnew points: {model.score(new):.3f} nats")
    ax.set_aspect("equal")
axes[1].set_ylabel("")
plt.show()

selected = ParzenDensity(kernel=Gaussian("leave-one-out")).fit(X)
print(
    f"equal weights, σ = {selected.kernel_.bandwidth:.2f} (leave-one-out): "
    f"{selected.score(new):.3f} nats"
)
print(f"optimality gap of the learned weights: {learned.likelihood_gap_:.1e} nats per point")

# %%
# **Summary:** learned weights reduce size and evaluation time. They compensate for a bandwidth that
# is too large, as here; compared with a good bandwidth they are better about as often as worse.
