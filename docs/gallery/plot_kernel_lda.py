"""
Are the probabilities of kernel LDA calibrated?
===============================================

Kernel LDA separates classes by curves in the input space. Its probabilities are calibrated by
leave-one-out scores, so they are not the overconfident values near 0 and 1 that a flexible
classifier gives on its training rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from sklearn.calibration import calibration_curve
from sklearn.datasets import make_moons

from mercer import KernelLDA
from mercer.plots.style import MARKERS, PALETTE

X, y = make_moons(200, noise=0.3, random_state=0)
new, y_new = make_moons(5000, noise=0.3, random_state=1)
model = KernelLDA().fit(X, y)
print(f"accuracy on new points: {model.score(new, y_new):.3f}")

# %%
# The probability of the second class, and the decision boundary.

side = np.linspace(-2, 3, 150), np.linspace(-1.6, 2, 150)
nodes = np.stack(np.meshgrid(*side), axis=-1)
probability = model.predict_proba(nodes.reshape(-1, 2))[:, 1].reshape(150, 150)
colors = LinearSegmentedColormap.from_list("classes", (PALETTE[0], "white", PALETTE[1]))

figure, ax = plt.subplots(figsize=(6.6, 4.4), layout="constrained")
filled = ax.contourf(*side, probability, levels=np.linspace(0, 1, 11), cmap=colors, alpha=0.5)
ax.contour(*side, probability, levels=[0.5], colors="black", linewidths=1.5)
for c in (0, 1):
    ax.scatter(*X[y == c].T, color=PALETTE[c], marker=MARKERS[c], s=22, label=f"class {c}")
figure.colorbar(filled, ax=ax, label="probability of class 1")
ax.set_xlabel("x₁")
ax.set_ylabel("x₂")
ax.legend(frameon=False, loc="lower left")
plt.show()

# %%
# Calibration: of new points with a predicted probability of 70 %, about 70 % should be in class 1.

fraction, predicted = calibration_curve(y_new, model.predict_proba(new)[:, 1], n_bins=10)
figure, ax = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
ax.plot([0, 1], [0, 1], color=PALETTE[-1], linestyle="--", label="perfect calibration")
ax.plot(predicted, fraction, "o-", color=PALETTE[1], label="5000 new points")
ax.set_xlabel("predicted probability")
ax.set_ylabel("fraction in class 1")
ax.set_aspect("equal")
ax.legend(frameon=False)
plt.show()

# %%
# **Summary:** ``confidence_`` is the exponent that calibrates the posterior. Without it the
# probabilities would be overconfident.
print(f"confidence {model.confidence_:.2f}")
