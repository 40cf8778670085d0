"""
Which rows of a mixed table are unusual?
========================================

Those whose cells do not fit together, and those far from all others. Numbers, categories and
missing values are allowed. Rows whose values are each common but form an unusual combination are
found, with the cell and the value that was expected there.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from mercer import KernelNovelty
from mercer.plots.style import PALETTE

# %%
# Orders of a shop. The weight depends on the kind of goods, the price on the weight; 5 % of the
# values are missing.


def orders(n, rng):
    """Return n normal orders."""
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

novelty = KernelNovelty(false_alarm_rate=0.02).fit(train)

# %%
# New orders: 200 normal ones, and four with an unusual combination of common values.

new = orders(200, rng)
unusual = pd.DataFrame(
    {
        "kind": ["book", "chair", "lamp", "book"],
        "log kg": [2.0, -0.7, 0.9, -0.7],
        "log price": [3.7, 2.1, 1.9, 4.0],
        "express": [False, False, True, False],
    }
)
unusual.index = [
    "a book as heavy as a chair",
    "a chair as light as a book",
    "a cheap lamp",
    "an expensive book",
]
normal_scores = novelty.decision_function(new)
unusual_scores = novelty.decision_function(unusual)
false_alarms = int((normal_scores < 0).sum())

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")
for i, kind in enumerate(("book", "lamp", "chair")):
    rows = new["kind"] == kind
    look = {"color": PALETTE[(0, 2, 3)[i]], "s": 16, "alpha": 0.7, "marker": "os^"[i]}
    left.scatter(new["log kg"][rows], new["log price"][rows], label=kind, **look)
    rows = unusual["kind"] == kind
    look = {"color": PALETTE[(0, 2, 3)[i]], "s": 130, "marker": "os^"[i], "edgecolor": PALETTE[1]}
    left.scatter(unusual["log kg"][rows], unusual["log price"][rows], linewidths=2.5, **look)
left.set_xlabel("log of the weight, kg")
left.set_ylabel("log of the price")
left.set_title("new orders; unusual ones outlined")
left.legend(frameon=False, loc="lower right")

names = ["200 normal orders", *unusual.index]
right.axvline(0, color="black", linestyle="--", linewidth=1)
heights = rng.uniform(-0.3, 0.3, len(new))
right.scatter(normal_scores, heights, color=PALETTE[-1], s=12, alpha=0.6, linewidths=0)
right.scatter(unusual_scores, range(1, 5), color=PALETTE[1], s=90, marker="D")
right.set_yticks(range(5), names)
right.set_ylim(4.6, -0.6)
right.grid(axis="y", alpha=0.3)
right.set_xlabel("score (below 0: outlier)")
right.set_title("scores of the detector")
plt.show()

print(f"outliers: {false_alarms} of 200 normal orders,")
print(f"{int((unusual_scores < 0).sum())} of 4 unusual ones")

# %%
# The most unusual cell of each, and what was expected there.

cells = novelty.explain(unusual).groupby("row", sort=False).head(1)
print(cells[["row", "column", "observed", "expected"]].to_string(index=False))

# %%
# **Summary:** pass the table and the fraction of normal rows that may be marked to
# ``KernelNovelty``. New rows may have missing values and unknown categories.
incomplete = pd.DataFrame(
    {"kind": ["sofa", "book"], "log kg": [2.0, None], "log price": [3.7, 1.9]}
)
incomplete["express"] = [False, True]
print(novelty.predict(incomplete))
