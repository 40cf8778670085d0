"""From scores back to points: pre-images of projections, three ways.

A projection ``f = m + Σ_i z_i u_i`` (m = 0 where nothing is centred) lies in feature space, and
hardly ever is the image φ(x) of a point. A pre-image is a point whose image comes close to it.

=============  ====================================================================================
"kwok-tsang"   distances from f to the images of its nearest training points, translated into
               input distances, fix a point in the span of these (Kwok and Tsang 2004)
"mika"         fixed-point iteration ``x = Σ γ_j k(x,x_j) x_j / Σ γ_j k(x,x_j)`` for the Gaussian
               kernel (Mika et al. 1999), from the training point nearest to f
"ridge"        kernel ridge regression from scores to points (Bakır et al. 2004): any kernel on
               vectors, no distances needed
=============  ====================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer.bandwidth import median_distance, representatives
from mercer.kernels import Gaussian, Kernel
from mercer.maths.preimages import points_at_distances
from mercer.maths.quantiles import distinct_rows
from mercer.maths.types import Array
from mercer.spectrum import Spectrum

__all__ = ["METHODS", "Preimage", "check_preimage", "preimages"]

Preimage = Literal["kwok-tsang", "mika", "ridge"]

_CHUNK = 2**22  # numbers held at a time
_MIKA_STEPS = 100
_MIKA_SETTLED = 1e-8
_TIED = 4e-15  # of the nearest: points whose nearness differs by less are equally near
_RIDGE = 1e-3  # beside the 1 on the diagonal of K


def preimages(
    spectrum: Spectrum, scores: Array, method: Preimage = "kwok-tsang", n_neighbors: int = 10
) -> Array:
    """Points whose projections are (nearly) these scores.

    Parameters
    ----------
    spectrum : Spectrum
        Of vectors.
    scores : array of shape (m, k)
        As :meth:`Spectrum.project` gives them.
    method : {"kwok-tsang", "mika", "ridge"}
    n_neighbors : int
        How many training points "kwok-tsang" leans on; all, if there are fewer.

    Returns
    -------
    array of shape (m, d)
    """
    check_preimage(spectrum.kernel, method, n_neighbors)
    return METHODS[method](spectrum, np.asarray(scores, dtype=np.float64), int(n_neighbors))


def check_preimage(kernel: Kernel, method: str, n_neighbors: Any) -> None:
    """Refuse what can be known to fail before any work is done."""
    if method not in METHODS:
        raise ValueError(f"preimage={method!r} must be one of {', '.join(map(repr, METHODS))}.")
    if kernel.compares != "vectors":
        raise ValueError(
            f"Pre-images are points, and {kernel!r} compares {kernel.compares}: there is no space "
            "to look for them in. Use a kernel on vectors."
        )
    whole = isinstance(n_neighbors, int | np.integer) and not isinstance(n_neighbors, bool)
    if not whole or n_neighbors < 1:
        raise ValueError(f"n_neighbors={n_neighbors!r} must be a whole number of at least 1.")
    if method == "mika" and not isinstance(kernel, Gaussian):
        raise ValueError(
            f"The fixed point of preimage='mika' is that of the Gaussian kernel, not of {kernel!r}."
            " Use preimage='kwok-tsang' or 'ridge'."
        )
    if method == "kwok-tsang":
        one = np.ones((1, 1))
        kernel.squared_distances(one, one, one)  # refuses where it cannot translate


class _Nearness:
    """Products of projections with the images of the (distinct) training points."""

    def __init__(self, spectrum: Spectrum) -> None:
        expansion = spectrum.expansion
        data = spectrum.points.data
        rows, _ = distinct_rows(data, np.ones(len(data)))  # a copy is not another neighbour
        points = spectrum.points.take(rows)
        self.data = points.data
        self.known = spectrum.projections[rows]
        self.norms = spectrum.kernel.diagonal(points.data).astype(np.float64)
        self.shift = expansion.mean_coordinates
        self.mean_norm = expansion.mean_squared_norm
        self.mean = np.zeros(len(rows))
        if self.shift is not None:
            self.mean = expansion.mean_products(points)
            self.known = self.known + self.shift

    def products(self, scores: Array) -> Array:
        """``⟨f, φ(x_j)⟩``, of shape (m, n)."""
        return np.asarray(scores @ self.known.T + self.mean)

    def own_norms(self, scores: Array) -> Array:
        """``|f|²``."""
        norms = np.einsum("ij,ij->i", scores, scores) + self.mean_norm
        return norms if self.shift is None else norms + 2 * scores @ self.shift

    def nearest(self, products: Array, count: int) -> Array:
        """Numbers of the training points nearest to each f, nearest first.

        By ``⟨f, φ⟩ - k(x,x)/2``: squared distances, which only add terms that are the same for all,
        would lose what is left of the products beside 1. Points out of reach are all equally near
        but for rounding: of such the first in lexicographic order comes first, whatever order the
        rows came in.
        """
        nearness = products - 0.5 * (self.norms - self.norms.min())
        unit = _TIED * np.abs(nearness).max(axis=1, keepdims=True)
        farness = -np.round(np.divide(nearness, unit, out=np.zeros_like(nearness), where=unit > 0))
        last = np.partition(farness, count - 1, axis=1)[:, count - 1 : count]
        nearer, tied = farness < last, farness == last
        tied &= np.cumsum(tied, axis=1) <= count - nearer.sum(axis=1, keepdims=True)
        few = np.nonzero(nearer | tied)[1].reshape(len(products), count)
        order = np.argsort(np.take_along_axis(farness, few, axis=1), axis=1, kind="stable")
        return np.take_along_axis(few, order, axis=1)


def _chunks(rows: int, width: int) -> list[slice]:
    size = max(1, _CHUNK // max(width, 1))
    return [slice(i, i + size) for i in range(0, rows, size)]


def _kwok_tsang(spectrum: Spectrum, scores: Array, n_neighbors: int) -> Array:
    nearness = _Nearness(spectrum)
    data, kernel = nearness.data, spectrum.kernel
    scales = kernel.length_scales(data.shape[1])
    widest = float(scales.max())
    relative = scales / widest
    count = min(n_neighbors, len(data))
    found = np.empty((len(scores), data.shape[1]))
    for rows in _chunks(len(scores), max(len(data), count * data.shape[1])):
        products = nearness.products(scores[rows])
        near = nearness.nearest(products, count)
        squared = kernel.squared_distances(
            np.take_along_axis(products, near, axis=1),
            nearness.own_norms(scores[rows])[:, None],
            nearness.norms[near],
        )
        # from the neighbours' mean, in units of their extent: bandwidths may be far smaller
        neighbors = data[near].astype(np.float64, copy=False)
        middle = neighbors.mean(axis=1)
        offsets = (neighbors - middle[:, None]) / relative
        extent = float(np.abs(offsets).max()) or widest
        steps = points_at_distances(offsets / extent, squared * (widest / extent) ** 2)
        found[rows] = middle + extent * relative * steps
    return found


def _mika(spectrum: Spectrum, scores: Array, n_neighbors: int) -> Array:
    """Each row keeps its best point: ``|f - φ(x)|²`` falls as ``Σ_j γ_j k(x, x_j)`` rises."""
    kernel = spectrum.kernel
    nearness = _Nearness(spectrum)
    data = spectrum.points.data.astype(np.float64, copy=False)
    weights = spectrum.counts
    coefficients = weights[:, None] * spectrum.projections / spectrum.eigenvalues
    scales = kernel.length_scales(data.shape[1])
    found = np.empty((len(scores), data.shape[1]))
    for rows in _chunks(len(scores), len(data)):
        gamma = scores[rows] @ coefficients.T
        if nearness.shift is not None:  # eigenvectors sum to 0, so only the mean itself is missing
            gamma += weights / weights.sum()
        x = nearness.data[nearness.nearest(nearness.products(scores[rows]), 1)[:, 0]].astype(
            np.float64
        )
        best = np.full(len(x), -np.inf)
        for _ in range(_MIKA_STEPS):
            pull = gamma * kernel(x, data)
            total = pull.sum(axis=1)
            better = total > best
            best[better] = total[better]
            found[rows][better] = x[better]
            usable = better & (total > np.finfo(np.float64).tiny)
            step = (pull[usable] @ data) / total[usable, None] - x[usable]
            x[usable] += step
            if not np.abs(step / scales).max(initial=0) > _MIKA_SETTLED:
                break
    return found


def _ridge(spectrum: Spectrum, scores: Array, n_neighbors: int) -> Array:
    """Fitted on the distinct training points, 2000 of them at most."""
    rows, _ = representatives(spectrum.points.data, np.ones(spectrum.points.n))
    known = spectrum.projections[rows]
    targets = spectrum.points.data[rows].astype(np.float64)
    if len(rows) == 1 or (known == known[0]).all():
        return np.tile(targets.mean(axis=0), (len(scores), 1))
    kernel = Gaussian(median_distance(known))
    K = kernel(known)
    K[np.diag_indices_from(K)] += _RIDGE
    mean = targets.mean(axis=0)
    coefficients = cho_solve(cho_factor(K, overwrite_a=True), targets - mean)
    return np.asarray(kernel(scores, known) @ coefficients + mean)


METHODS: dict[str, Callable[[Spectrum, Array, int], Array]] = {
    "kwok-tsang": _kwok_tsang,
    "mika": _mika,
    "ridge": _ridge,
}
