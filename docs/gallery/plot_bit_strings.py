"""
How do I estimate a probability distribution of bit strings?
============================================================

A Gaussian mixture in the feature space of the Hamming kernel induces a probability for each of the
128 strings of seven bits. Estimated from 60 strings it is closer to the true distribution than
smoothed frequencies, because similar strings get similar probabilities.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import MercerMixture
from mercer.datasets import make_bits
from mercer.domains import bit_strings
from mercer.kernels import Hamming
from mercer.plots.style import PALETTE

X, _ = make_bits(60, random_state=0)
space = bit_strings(7)
strings = np.asarray(space.objects)

# %%
# The true distribution: half of the strings are mostly zeros, half mostly ones.

ones = strings.sum(axis=1)
expected = 0.5 * (0.2**ones * 0.8 ** (7 - ones) + 0.8**ones * 0.2 ** (7 - ones))
code = strings @ 2 ** np.arange(7)
frequency = np.bincount((X @ 2 ** np.arange(7)).astype(int), minlength=128)[code.astype(int)] / 60

# %%
# One Gaussian in feature space, with its regularization chosen by leave-one-out likelihood.

mixture = MercerMixture(kernel=Hamming(0.7), domain=space, alpha="leave-one-out").fit(X)
estimate = np.exp(mixture.score_samples(strings))
print("sum of probabilities:", estimate.sum().round(12))


def divergence(q):
    """Return the Kullback-Leibler divergence from the true distribution, in nats."""
    with np.errstate(divide="ignore"):
        return float(np.sum(expected * np.log(expected / q)))


order = np.lexsort((-expected, ones))
figure, ax = plt.subplots(figsize=(9.5, 3.8), layout="constrained")
position = np.arange(128)
ax.bar(
    position,
    frequency[order],
    color=PALETTE[-1],
    alpha=0.45,
    width=1,
    label="frequency in 60 strings",
)
ax.step(
    position, expected[order], where="mid", color="black", linewidth=1.5, label="true probability"
)
ax.plot(position, estimate[order], ".", color=PALETTE[1], markersize=6, label="mixture")
borders = np.searchsorted(ones[order], np.arange(8))
centers = (borders + np.append(borders[1:], 128)) / 2 - 0.5
ax.set_xticks(centers, [str(k) for k in range(8)])
for border in borders[1:]:
    ax.axvline(border - 0.5, color=PALETTE[-1], linewidth=0.5)
ax.set_xlim(-1.5, 128.5)
ax.set_xlabel("the 128 strings, by number of ones")
ax.set_ylabel("probability")
ax.legend(frameon=False)
plt.show()

smoothed = (60 * frequency + 0.5) / (60 + 64)  # half a string added to each
print("divergence from the true distribution, nats:")
print(f"mixture {divergence(estimate):.3f}, smoothed frequencies {divergence(smoothed):.3f},")
print(f"uniform distribution {divergence(np.full(128, 1 / 128)):.3f}")

# %%
# **Summary:** pass a domain (``bit_strings``, ``FiniteSpace``, ``Box``) and the density is
# normalized over it. ``sample`` draws new strings.
