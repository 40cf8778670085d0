"""
Entropy or variance: which components does each criterion select?
=================================================================

On three rings the eigenvectors with the largest eigenvalues are 1, 2 and 3, and the third only
divides the middle ring in two. The eigenvectors with the largest entropy terms are 1, 2 and 9: one
for each ring.
"""

import matplotlib.pyplot as plt

from mercer import KernelECA, KernelPCA
from mercer.datasets import make_rings
from mercer.kernels import Gaussian
from mercer.plots.style import MARKERS, PALETTE

X, y = make_rings(random_state=0)
kernel = Gaussian(bandwidth=3.7)

# sphinx_gallery_thumbnail_number = 2

# %%
# An eigenvector assigns a number to every point. Its entropy term is large if these numbers have a
# large sum. An eigenvector that is constant on a ring and zero elsewhere has a large term; one that
# oscillates has a small term.

pca = KernelPCA(9, kernel=kernel, center=False).fit(X)
vectors, terms = pca.spectrum_.eigenvectors, pca.spectrum_.entropy_terms
ratio = terms / pca.spectrum_.potential

figure, axes = plt.subplots(1, 4, figsize=(11, 3.4), layout="constrained", sharey=True)
for ax, i in zip(axes, (0, 1, 2, 8), strict=True):
    top = abs(vectors[:, i]).max()
    drawn = ax.scatter(*X.T, c=vectors[:, i] / top, cmap="PuOr", vmin=-1, vmax=1, s=14)
    drawn.set_edgecolor("#6b7178")
    drawn.set_linewidth(0.3)
    ax.set_title(f"eigenvector {i + 1}\n{100 * ratio[i]:.2g} % of the entropy")
    ax.set_aspect("equal")
    ax.set_xlabel("x₁")
axes[0].set_ylabel("x₂")
figure.colorbar(drawn, ax=axes, label="entry, relative to the largest", shrink=0.9)
plt.show()

# %%
# Kernel PCA selects 1, 2 and 3: the outer ring is mapped to the origin and the middle one to an
# ellipse. Kernel ECA selects 1, 2 and 9, and each ring gets its own axis.

eca = KernelECA(3, kernel=kernel).fit(X)
views = {"kernel PCA": (pca, (1, 2, 3)), "kernel ECA": (eca, tuple(eca.component_ranks_))}

figure = plt.figure(figsize=(9.5, 4.4))
figure.subplots_adjust(left=0.01, right=0.97, bottom=0.08, top=0.9, wspace=0.08)
for place, (name, (model, ranks)) in enumerate(views.items(), 1):
    ax = figure.add_subplot(1, 2, place, projection="3d")
    Z = model.spectrum_.projections[:, :3]
    for ring, label in enumerate(("inner ring", "middle ring", "outer ring")):
        look = {"color": PALETTE[ring], "marker": MARKERS[ring], "label": label, "s": 18}
        ax.scatter(*Z[y == ring].T, depthshade=False, **look)
    ax.set_title(f"{name}: eigenvectors {', '.join(map(str, ranks))}")
    ax.set_xlabel(f"along {ranks[0]}")
    ax.set_ylabel(f"along {ranks[1]}")
    ax.set_zlabel(f"along {ranks[2]}")
    ax.view_init(elev=22, azim=38)
    ax.tick_params(labelsize=7)
figure.legend(*ax.get_legend_handles_labels(), loc="lower center", ncols=3, frameon=False)
plt.show()

# %%
# **Summary:** a large eigenvalue means large variance along a direction, a large entropy term that
# a group of points has similar values. ``KernelECA`` sorts by entropy terms.
