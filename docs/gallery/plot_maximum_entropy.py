"""
Which projection has the largest entropy?
=========================================

A nonlinear one that spreads the points evenly. A small neural network is trained to maximize the
Renyi entropy of its output at unit variance. The first kernel principal component has the largest
entropy of all directions of norm 1 in feature space (Paiva, Xu and Príncipe 2006), with the same
kernel for the mapping and the entropy. Scaled to unit variance, and with a small bandwidth for the
entropy, it has less than a linear projection.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelPCA, MaximumEntropyProjection
from mercer.datasets import make_two_gaussians
from mercer.information import information_potential
from mercer.kernels import Gaussian
from mercer.plots.style import PALETTE

X, y = make_two_gaussians(random_state=0)
projection = MaximumEntropyProjection(hidden_units=2, output="standardized", random_state=0).fit(X)

# %%
# The learned function, and the information potential V during training. The minimum of V over all
# distributions of variance 1 is 0.2657.

side = np.linspace(-4.2, 2.8, 120), np.linspace(-2.6, 4.2, 120)
nodes = np.stack(np.meshgrid(*side), axis=-1).reshape(-1, 2)
values = projection.transform(nodes).reshape(120, 120)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
levels = np.linspace(-2, 2, 9)
contours = left.contour(
    *side, values, levels=levels, cmap="PuOr", vmin=-2.2, vmax=2.2, linewidths=1.8
)
left.scatter(*X.T, s=10, color=PALETTE[-1])
figure.colorbar(contours, ax=left, label="output")
left.set_xlabel("x₁")
left.set_ylabel("x₂")
left.set_title("output of the network")

right.plot(projection.loss_curve_, color=PALETTE[0])
right.axhline(0.2657, color=PALETTE[-1], linestyle="--")
right.text(
    len(projection.loss_curve_) - 1, 0.265, "minimum over all distributions", ha="right", va="top"
)
right.set_ylim(0.24, None)
right.set_xlabel("iteration")
right.set_ylabel("information potential V")
right.set_title("training (entropy: -log V)")
plt.show()

# %%
# The outputs of three projections, each scaled to variance 1. A more even spread has a larger
# entropy.

outputs = {
    "network": projection.transform(X)[:, 0],
    "linear PCA": KernelPCA(1, kernel="linear").fit_transform(X)[:, 0],
    "kernel PCA, σ = 1": KernelPCA(1, kernel=Gaussian(1.0)).fit_transform(X)[:, 0],
}
figure, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained", sharey=True, sharex=True)
for i, (ax, (name, z)) in enumerate(zip(axes, outputs.items(), strict=True)):
    z = ((z - z.mean()) / z.std())[:, None]
    entropy = -np.log(information_potential(z, Gaussian(0.2), normalize=True))
    ax.hist(z[:, 0], np.linspace(-2.4, 2.4, 25), color=PALETTE[i])
    ax.set_title(f"{name}\nentropy {entropy:.2f} nats")
    ax.set_xlabel("output")
axes[0].set_ylabel("points")
plt.show()

# %%
# **Summary:** at unit variance and with a small bandwidth, the first kernel principal component of
# these data has less entropy than the first linear one. ``MaximumEntropyProjection`` maximizes
# entropy directly.
