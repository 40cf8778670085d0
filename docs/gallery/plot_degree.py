"""
Which degree should a polynomial kernel have?
=============================================

A low one, even or odd depending on the location of the groups. Even degrees do not distinguish x
from -x, so they separate groups that differ in their distance from the origin; odd degrees separate
groups that differ in direction. Components of high degrees are dominated by a few extreme points.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelPCA
from mercer.datasets import make_wheel
from mercer.kernels import Polynomial
from mercer.plots import EffectDisplay, EmbeddingDisplay
from mercer.population import degree_effect

X, y = make_wheel(random_state=0)
names = np.array(["hub", "rim"])[y]

# %%
# A disk (hub) inside a ring (rim). Of the degrees 1, 2 and 3 only degree 2 separates them in the
# first two components.

figure, axes = plt.subplots(1, 3, figsize=(11, 4.2), layout="constrained")
for ax, degree in zip(axes, (1, 2, 3), strict=True):
    pca = KernelPCA(2, kernel=Polynomial(degree), center=False, solver="dense").fit(X)
    EmbeddingDisplay.from_estimator(pca, labels=names, ax=ax, title=f"degree {degree}")
plt.show()

# %%
# All degrees up to six: separation of the classes by the first two components, their fraction of
# the trace, the contribution of the outermost 1 % of the points, and the standard error of the
# first eigenvalue.

effect = degree_effect(X, y)
EffectDisplay.from_effect(effect)
plt.show()
print(effect)

# %%
# **Summary:** print ``degree_effect(X, y)`` before choosing a degree; it ends with a conclusion.
