"""
Which sensor caused the alarm?
==============================

Kernel PCA of normal operation gives two statistics for process monitoring: T², the distance within
the normal pattern, and SPE, the distance from it. An alarm is a value above the control limit; the
contributions show which column caused it.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelNovelty, KernelPCA
from mercer.kernels import Gaussian
from mercer.plots.style import PALETTE

# %%
# A plant with four sensors: pressure and valve depend linearly on the flow, the temperature
# nonlinearly. At reading 120 the thermometer begins to drift.


def readings(n, rng):
    """Return n readings of normal operation, in standard units."""
    flow = rng.uniform(-1, 1, n)
    columns = [flow, 0.8 * flow, flow**2 - 0.4, -0.6 * flow]
    return np.column_stack(columns) + 0.05 * rng.standard_normal((n, 4))


sensors = ["flow", "pressure", "temperature", "valve"]
rng = np.random.default_rng(0)
normal = readings(400, rng)
new = readings(200, rng)
new[120:, 2] += np.linspace(0, 0.5, 80)

pca = KernelPCA(6, kernel=Gaussian(0.7)).fit(normal)
limits = pca.control_limits(0.99)

# %%
# Both statistics over time. Limits are the 99 % quantiles of held-out rows of normal operation.

statistics = {
    "hotelling": ("T²", pca.hotelling(new)),
    "reconstruction_error": ("SPE", pca.reconstruction_error(new)),
}
figure, axes = plt.subplots(2, 1, figsize=(8, 4.6), layout="constrained", sharex=True)
for ax, (name, (label, values)) in zip(axes, statistics.items(), strict=True):
    limit = limits[name]["quantile"]
    over = values > limit
    time = np.arange(len(values))
    ax.plot(time, values, color=PALETTE[-1], linewidth=0.8)
    ax.plot(time[over], values[over], "o", color=PALETTE[1], markersize=4, label="above the limit")
    ax.axhline(limit, color=PALETTE[0], linestyle="--", label="99 % limit")
    ax.axvline(120, color="black", linestyle=":", linewidth=1)
    ax.set_yscale("log")
    ax.set_ylabel(f"{label}, log")
    print(label, "alarms before the fault:", over[:120].sum(), "after it:", over[120:].sum())
axes[0].legend(frameon=False, ncols=2, loc="lower right", bbox_to_anchor=(1, 1))
axes[1].annotate("drift begins", (120, 2e-3), (6, 0), textcoords="offset points", va="center")
axes[1].set_xlabel("reading")
plt.show()

# %%
# Contributions to SPE: the statistic minus its value with that column at the training median. Only
# the contribution of the thermometer grows with the drift.

parts = pca.contributions(new[120:], "reconstruction_error")
figure, ax = plt.subplots(figsize=(8, 3.2), layout="constrained")
for j, sensor in enumerate(sensors):
    look = {"color": PALETTE[j], "marker": "o^sD"[j], "markevery": 8, "markersize": 5}
    smooth = np.convolve(parts[:, j], np.full(9, 1 / 9), mode="valid")
    ax.plot(np.arange(124, 124 + len(smooth)), smooth, label=sensor, **look)
ax.axhline(0, color=PALETTE[-1], linewidth=0.8)
ax.set_xlabel("reading")
ax.set_ylabel("contribution to SPE\n(mean of 9 readings)")
ax.legend(frameon=False, ncols=4, loc="lower right", bbox_to_anchor=(1, 1))
plt.show()

# %%
# T² of a Gaussian kernel must not be used alone. Far from all training rows all kernel values are
# 0, all projections are equal, and T² is small: the larger the fault, the more normal it looks. SPE
# approaches its maximum. :class:`mercer.KernelNovelty` has the combined index of both. Here the
# temperature of a normal reading is increased:

offsets = np.linspace(0, 4, 81)
faults = normal[0] + offsets[:, None] * np.array([0, 0, 1, 0])
combined = KernelNovelty(Gaussian(0.7), statistic="combined", n_components=6).fit(normal)
curves = {
    "T²": pca.hotelling(faults) / limits["hotelling"]["quantile"],
    "SPE": pca.reconstruction_error(faults) / limits["reconstruction_error"]["quantile"],
    "combined index": combined.score_samples(faults) / combined.offset_,
}
figure, ax = plt.subplots(figsize=(8, 3.2), layout="constrained")
for (label, values), color in zip(curves.items(), PALETTE, strict=False):
    ax.plot(offsets, values, color=color, label=label)
ax.axhline(1, color="black", linestyle=":", linewidth=1)
ax.annotate("limit", (4, 1), (0, 3), textcoords="offset points", va="bottom", ha="right")
ax.set_yscale("log")
ax.set_xlabel("error of the thermometer")
ax.set_ylabel("statistic / limit, log")
ax.legend(frameon=False, ncols=3, loc="lower right", bbox_to_anchor=(1, 1))
plt.show()

# %%
# **Summary:** SPE detects a broken relation between sensors, T² an unusual load, the combined index
# both.
# ``contributions`` identifies the sensor.
