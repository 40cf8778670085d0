"""
Has the diversity score converged?
==================================

The Vendi score of a sample grows with the number of rows, because a small sample misses rare
modes. The curve over subsamples shows the growth, and the corrected estimate with its interval
extrapolates it. Orders above 1 depend less on rare modes and converge earlier.
"""

import matplotlib.pyplot as plt
import numpy as np

import mercer
from mercer.plots import DiversityDisplay
from mercer.plots.style import PALETTE

# %%
# Eighty directions with unequal probabilities. The effective numbers of the population are known.

rng = np.random.default_rng(0)
p = 0.95 ** np.arange(80)
p /= p.sum()
X = np.eye(80)[rng.choice(80, size=400, p=p)]
truth = [np.exp(-(p @ np.log(p))), 1 / (p @ p), 1 / p.max()]
result = mercer.measure_diversity(X)
display = DiversityDisplay.from_result(result)
for value, color in zip(truth, PALETTE, strict=False):
    display.axes_[0].axhline(value, color=color, linewidth=1, linestyle=":")
plt.show()

# %%
# **Summary:** the score of order 1 still grows at 400 rows. The user guide has the measured
# coverage of the intervals; the value of the population (dotted) may lie outside in one sample.

print(result)
print("population:", np.round(truth, 2))
