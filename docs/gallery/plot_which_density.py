"""
Which density estimator?
========================

It depends on the shape of the data. One bandwidth is enough for compact data; long tails need
bandwidths that grow; bounds need a support; round clusters are described best by a mixture. If you
do not know, combine several estimators by cross-validated likelihood.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import beta, expon, lognorm, norm

from mercer import ParzenDensity, StackedDensity
from mercer.kernels import Gaussian
from mercer.plots import DensityDisplay
from mercer.plots.style import PALETTE

# %%
# Four distributions of one column, and samples of 300 points.


class TwoNormals:
    """Mixture of a wide and a narrow normal distribution."""

    def rvs(self, size, random_state):
        wide = random_state.random(size) < 0.7
        return np.where(wide, random_state.normal(0, 1, size), random_state.normal(3, 0.15, size))

    def pdf(self, x):
        return 0.7 * norm.pdf(x) + 0.3 * norm.pdf(x, 3, 0.15)


shapes = {
    "two scales": (TwoNormals(), None, (-4, 4)),
    "long tail": (lognorm(1.0), "positive", (-1, 8)),
    "high at a bound": (expon(), "positive", (-1, 5)),
    "two bounds": (beta(0.9, 2.0), (0, 1), (-0.2, 1.2)),
}
samples = {
    name: shape.rvs(size=300, random_state=np.random.default_rng(1))[:, None]
    for name, (shape, _, _) in shapes.items()
}

# %%
# Estimators: one bandwidth, a bandwidth per point, a known support with reflection or
# transformation, and a stacked density, of which a Gaussian mixture is one member. Numbers are mean
# log densities of 5000 new points, relative to the true density: 0 is perfect.

fixed = Gaussian("leave-one-out")


def estimators(support):
    """Return the estimators to compare."""
    found = {
        "fixed": ParzenDensity(kernel=fixed),
        "adaptive": ParzenDensity(adaptive=True),
        "stacked": StackedDensity(),
    }
    if support is not None:
        found["reflection"] = ParzenDensity(support=support)
        found["transformation"] = ParzenDensity(
            kernel=fixed, support=support, boundary="transformation"
        )
    return found


fitted, losses = {}, {}
for name, (shape, support, _) in shapes.items():
    new = shape.rvs(size=5000, random_state=np.random.default_rng(2))[:, None]
    truth = np.log(shape.pdf(new)).mean()
    fitted[name] = {key: one.fit(samples[name]) for key, one in estimators(support).items()}
    losses[name] = {key: one.score(new) - truth for key, one in fitted[name].items()}
    print(name, {key: round(float(loss), 3) for key, loss in losses[name].items()})

# %%
# Mean log densities of all estimators, relative to the true density.

names = ["fixed", "adaptive", "stacked", "reflection", "transformation"]
figure, axes = plt.subplots(1, 4, figsize=(10, 2.8), layout="constrained", sharey=True)
for ax, (name, found) in zip(axes, losses.items(), strict=True):
    best = max(found, key=found.get)
    colors = [PALETTE[0] if key == best else "#9db4c8" for key in names]
    ax.barh(names, [found.get(key, 0.0) for key in names], color=colors)
    ax.set_title(name)
    ax.set_xlabel("nats per point")
axes[0].invert_yaxis()
plt.show()

# %%
# The true density (gray), the fixed bandwidth, and the best estimator for each shape.

figure, axes = plt.subplots(2, 2, figsize=(10, 6.4), layout="constrained")
for ax, (name, (shape, _, limits)) in zip(axes.ravel(), shapes.items(), strict=True):
    best = max(losses[name], key=losses[name].get)
    x = np.linspace(*limits, 1200)
    ax.plot(x, shape.pdf(x), color="black", linewidth=4, alpha=0.25, label="truth")
    for key, color in (("fixed", PALETTE[1]), (best, PALETTE[0])):
        label = f"{key} ({losses[name][key]:.3f} nats)"
        ax.plot(x, fitted[name][key].pdf(x[:, None]), color=color, label=label)
    ax.set_ylim(0, 1.25 * np.nanmax(np.minimum(shape.pdf(x), 3)))
    ax.set_title(name)
    ax.set_ylabel("density")
    ax.legend(frameon=False)
plt.show()

# %%
# Highest-density regions of the same sample with and without a support. Without it, a part of the
# region lies where no value can be.

figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained", sharey=True)
for ax, key in zip(axes, ("fixed", "reflection"), strict=True):
    X = samples["high at a bound"]
    DensityDisplay.from_estimator(
        fitted["high at a bound"][key], X, ax=ax, title=key, coverages=(0.5, 0.9)
    )
plt.show()

# %%
# **Summary:** state the support if there is one; reflection suits densities that are high at the
# bound, the transformation long tails. Without bounds, adaptive bandwidths are the better default
# for tails and different scales, and the stacked density is close to the best of its members.
