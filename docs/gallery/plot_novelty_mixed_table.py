"""
Which rows of a mixed table are unusual?
========================================

Those where the density of a mixture in feature space is low. It needs nothing but a kernel for
rows, so labels, numbers and gaps may stand side by side. Rows whose values are each common but do
not go together are found too.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from mercer import MercerNovelty
from mercer.kernels import table_kernel
from mercer.plots.style import PALETTE

# %%
# A shop's orders. Weight goes with the kind of goods, the price with the weight; one cell in twenty
# is missing.


def orders(n, rng):
    """Return n ordinary orders."""
    kind = rng.choice(["book", "lamp", "chair"], size=n, p=[0.5, 0.3, 0.2])
    weight = np.exp(pd.Series(kind).map({"book": -0.7, "lamp": 0.9, "chair": 2.0}).to_numpy())
    weight = weight * np.exp(rng.normal(0, 0.15, n))
    price = 12 * weight**0.6 * np.exp(rng.normal(0, 0.15, n))
    frame = pd.DataFrame({"kind": kind, "log kg": np.log(weight), "log price": np.log(price)})
    frame["express"] = rng.random(n) < 0.2
    return frame


rng = np.random.default_rng(0)
train = orders(400, rng)
for column in ("kind", "log kg", "log price"):
    train.loc[rng.random(len(train)) < 0.05, column] = np.nan

novelty = MercerNovelty(kernel=table_kernel(train), contamination=0.02).fit(train)

# %%
# New orders: 200 ordinary ones, and four in which something does not fit. Each of their values
# alone is quite usual.

new = orders(200, rng)
strange = pd.DataFrame(
    {
        "kind": ["book", "chair", "lamp", "book"],
        "log kg": [2.0, -0.7, 0.9, -0.7],
        "log price": [3.7, 2.1, 1.9, 4.0],
        "express": [False, False, True, False],
    }
)
strange.index = ["a book as heavy as a chair", "a chair like a book", "a cheap lamp", "a dear book"]
usual_scores = novelty.decision_function(new)
strange_scores = novelty.decision_function(strange)
false_alarms = int((usual_scores < 0).sum())

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")
for i, kind in enumerate(("book", "lamp", "chair")):
    mine = new["kind"] == kind
    look = {"color": PALETTE[(0, 2, 3)[i]], "s": 16, "alpha": 0.7, "marker": "os^"[i]}
    left.scatter(new["log kg"][mine], new["log price"][mine], label=kind, **look)
    odd = strange["kind"] == kind
    look = {"color": PALETTE[(0, 2, 3)[i]], "s": 130, "marker": "os^"[i], "edgecolor": PALETTE[1]}
    left.scatter(strange["log kg"][odd], strange["log price"][odd], linewidths=2.5, **look)
left.set_xlabel("log of the weight, kg")
left.set_ylabel("log of the price")
left.set_title("new orders; the strange ones ringed")
left.legend(frameon=False, loc="lower right")

names = ["200 ordinary orders", *strange.index]
right.axvline(0, color="black", linestyle="--", linewidth=1)
heights = rng.uniform(-0.3, 0.3, len(new))
right.scatter(usual_scores, heights, color=PALETTE[-1], s=12, alpha=0.6, linewidths=0)
right.scatter(strange_scores, range(1, 5), color=PALETTE[1], s=90, marker="D")
right.set_yticks(range(5), names)
right.set_ylim(4.6, -0.6)
right.grid(axis="y", alpha=0.3)
right.set_xlabel("score; below 0 is called unusual")
right.set_title("what the detector says")
plt.show()

print(f"{false_alarms} of 200 ordinary orders are called unusual,")
print(f"{int((strange_scores < 0).sum())} of 4 strange ones")

# %%
# **Summary:** give ``MercerNovelty`` a kernel for your rows and a share of training rows to
# call unusual. New rows may have gaps and labels never seen before.
gaps = pd.DataFrame({"kind": ["sofa", "book"], "log kg": [2.0, None], "log price": [3.7, 1.9]})
gaps["express"] = [False, True]
print(novelty.predict(gaps))
