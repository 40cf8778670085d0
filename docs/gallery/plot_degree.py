"""
Which degree for a polynomial kernel?
=====================================

A low one, and even or odd by where the groups lie. Even degrees cannot tell x from -x, so they
separate what differs in distance from the origin; odd degrees separate what differs in direction.
High degrees give the components to a few extreme points.
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
# A hub inside a rim. The first two components at degrees 1, 2 and 3: only degree 2 pulls them
# apart.

figure, axes = plt.subplots(1, 3, figsize=(11, 4.2), layout="constrained")
for ax, degree in zip(axes, (1, 2, 3), strict=True):
    pca = KernelPCA(2, kernel=Polynomial(degree), center=False, solver="dense").fit(X)
    EmbeddingDisplay.from_estimator(pca, labels=names, ax=ax, title=f"degree {degree}")
plt.show()

# %%
# All degrees up to six in numbers: how well the first two components separate the classes, their
# share of the trace, what the outermost 1 % of the points own, and how uncertain the first
# eigenvalue is.

effect = degree_effect(X, y)
EffectDisplay.from_effect(effect)
plt.show()
print(effect)

# %%
# **Summary:** print ``degree_effect(X, y)`` before choosing a degree; it ends with a conclusion
# in words.
