"""Draw rings.png, the figure of the README: ``.venv/bin/python docs/images/rings.py``."""

from pathlib import Path

import matplotlib.pyplot as plt

from mercer import KernelECA, KernelPCA
from mercer.datasets import make_rings
from mercer.kernels import Gaussian
from mercer.plots.style import MARKERS, PALETTE

X, y = make_rings(random_state=0)
kernel = Gaussian(3.7)
pca = KernelPCA(3, kernel=kernel, center=False)
eca = KernelECA(3, kernel=kernel)
scores = {"kernel PCA": pca.fit_transform(X), "kernel ECA": eca.fit_transform(X)}
ranks = {"kernel PCA": (1, 2, 3), "kernel ECA": tuple(map(int, eca.component_ranks_))}

figure = plt.figure(figsize=(12.5, 4.6))
figure.subplots_adjust(left=0.05, right=0.96, bottom=0.12, top=0.9, wspace=0.12)
flat = figure.add_subplot(1, 3, 1)
for ring in range(3):
    look = {"color": PALETTE[ring], "marker": MARKERS[ring], "s": 14}
    flat.scatter(*X[y == ring].T, **look)
flat.set_aspect("equal")
flat.set_title("three rings")
flat.set_xlabel("x₁")
flat.set_ylabel("x₂")
for ring, height in enumerate((3.2, 11.5, 17.5)):
    flat.text(0, height, f"ring {ring + 1}", color=PALETTE[ring], ha="center", va="center")

for place, (name, Z) in enumerate(scores.items(), 2):
    solid = figure.add_subplot(1, 3, place, projection="3d")
    for ring in range(3):
        look = {"color": PALETTE[ring], "marker": MARKERS[ring], "s": 14, "depthshade": False}
        solid.scatter(*Z[y == ring].T, **look)
    reach = abs(Z).max()
    for axis in range(3):
        line = [[0, 0], [0, 0], [0, 0]]
        line[axis] = [min(0, Z[:, axis].min()), reach]
        solid.plot(*line, color="#6b7178", linewidth=0.8)
    solid.set_title(f"{name}: eigenvectors {', '.join(map(str, ranks[name]))}")
    solid.set_xlabel(f"e{ranks[name][0]}")
    solid.set_ylabel(f"e{ranks[name][1]}")
    solid.text(0, 0, 1.08 * reach, f"e{ranks[name][2]}", ha="center")  # clear of the ticks
    solid.set_box_aspect(None, zoom=1.05)
    solid.view_init(elev=22, azim=38)
    solid.tick_params(labelsize=7)

figure.savefig(Path(__file__).with_name("rings.png"), dpi=110)
