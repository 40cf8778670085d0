"""
Can kernel components denoise images of digits?
===============================================

Partly. A noisy image is projected onto a few components of clean digits, and the pre-image of the
projection is a prototype of its class: the mean squared error falls from 0.25 to 0.04. This is
not a filter: details of the handwriting are lost, and sometimes the class.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from mercer import KernelDenoiser
from mercer.kernels import Gaussian
from mercer.plots.style import MARKERS, PALETTE

digits, classes = load_digits(return_X_y=True)
digits = digits / 16
subset = np.isin(classes, (0, 1, 4, 6))
digits, classes = digits[subset], classes[subset]
train, test = np.arange(0, 400), np.arange(400, len(digits))
rng = np.random.default_rng(0)
noisy = digits[test] + rng.normal(0, 0.5, size=digits[test].shape)
kernel = Gaussian(bandwidth=1.3)

# %%
# The denoiser is fitted to clean digits. A noisy digit is projected onto their components, and the
# pre-image of the projection is computed from its neighbors.

denoiser = KernelDenoiser(n_components=8, kernel=kernel).fit(digits[train])
denoised = denoiser.transform(noisy)

shown = [int(np.flatnonzero(classes[test] == c)[i]) for c in (0, 1, 4, 6) for i in (0, 1)]
rows = {"original": digits[test], "noisy": noisy, "denoised": denoised}
figure, axes = plt.subplots(3, 8, figsize=(8.8, 3.6), layout="constrained")
for row, (name, images) in zip(axes, rows.items(), strict=True):
    for ax, i in zip(row, shown, strict=True):
        ax.imshow(images[i].reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        ax.set_xticks([])
        ax.set_yticks([])
    row[0].set_ylabel(name)
plt.show()

# %%
# How many denoised digits keep their class? A nearest-neighbor classifier trained on clean digits
# decides. With few components many digits change their class; with more components the fraction
# returns to that of the noisy digits. Here the order of variance needs fewer components.

classifier = KNeighborsClassifier(3).fit(digits[train], classes[train])
counts = (2, 3, 4, 6, 8, 12, 16, 24, 32)
figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for i, order in enumerate(("entropy", "variance")):
    accuracies = []
    for count in counts:
        model = KernelDenoiser(n_components=count, kernel=kernel, order=order).fit(digits[train])
        accuracies.append(100 * classifier.score(model.transform(noisy), classes[test]))
    ax.plot(counts, accuracies, marker=MARKERS[i], color=PALETTE[i], label=f"components by {order}")
    print(order, np.round(accuracies, 1))
baseline = 100 * classifier.score(noisy, classes[test])
ax.axhline(baseline, color=PALETTE[-1], linestyle="--", label="noisy digits")
ax.set_xlabel("components")
ax.set_ylabel("digits that keep their class, %")
ax.set_ylim(0, 102)
ax.legend(frameon=False, loc="lower right")
plt.show()

# %%
# **Summary:** with few components the result is a prototype. More components retain more of the
# image, and of its noise.
error = ((denoised - digits[test]) ** 2).mean(), ((noisy - digits[test]) ** 2).mean()
print(f"mean squared error: {error[0]:.3f} denoised, {error[1]:.3f} noisy")
