"""Pre-images: points whose projections are close to given scores.

A projection ``f = m + Σ_i z_i u_i`` (m = 0 without centering) lies in feature space and is rarely
the image φ(x) of a point. A pre-image is a point whose image is close to f.

=============  ====================================================================================
"kwok-tsang"   distances from f to the images of its nearest training points, converted to input
               distances, determine a point in the span of these (Kwok and Tsang 2004)
"mika"         fixed-point iteration ``x = Σ γ_j k(x,x_j) x_j / Σ γ_j k(x,x_j)`` for the Gaussian
               kernel (Mika et al. 1999), starting from the training point nearest to f
"ridge"        kernel ridge regression from scores to points (Bakır et al. 2004), for any kernel on
               vectors
=============  ====================================================================================

"kwok-tsang" can convert distances for radial kernels, odd dot-product kernels and their positive
multiples. A custom kernel may define ``squared_distances(products, norms, other_norms)`` and
``length_scales(d)`` (see :func:`input_distances` and :func:`length_scales`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer.bandwidth import median_distance
from mercer.data.subsampling import distinct_rows, representative_rows
from mercer.eigen.decompose import Spectrum
from mercer.kernels import Gaussian, Kernel, Scaled, Stationary
from mercer.kernels.dot import DotProduct
from mercer.kernels.stationary import Radial
from mercer.utils.types import Array
from mercer.utils.validation import check_choice, check_integer

__all__ = [
    "METHODS",
    "Preimage",
    "check_preimage",
    "input_distances",
    "length_scales",
    "points_at_distances",
    "preimages",
]

_ENTRIES_PER_CHUNK = 2**22

Preimage = Literal["kwok-tsang", "mika", "ridge"]


def preimages(
    spectrum: Spectrum, scores: Array, method: Preimage = "kwok-tsang", n_neighbors: int = 10
) -> Array:
    """Return points whose projections are close to these scores.

    ``spectrum``: of vectors. ``scores``: as :meth:`Spectrum.project` returns them. ``n_neighbors``:
    number of training points that "kwok-tsang" uses; all if there are fewer.
    """
    check_preimage(spectrum.kernel, method, n_neighbors)
    spectrum.points.require_dense("inverse_transform")
    return METHODS[method](spectrum, np.asarray(scores, dtype=np.float64), int(n_neighbors))


def check_preimage(kernel: Kernel, method: str, n_neighbors: Any) -> None:
    """Raise ValueError if a method does not support a kernel, before any computation."""
    check_choice(method, "preimage", tuple(METHODS))
    if kernel.compares != "vectors":
        raise ValueError(
            f"Pre-images are vectors, but {kernel!r} compares {kernel.compares}. Use a kernel on "
            "vectors, and numeric columns only."
        )
    check_integer(n_neighbors, "n_neighbors")
    if method == "mika" and not isinstance(kernel, Gaussian):
        raise ValueError(
            f"preimage='mika' needs a Gaussian kernel, not {kernel!r}. Use preimage='kwok-tsang' "
            "or 'ridge'."
        )
    if method == "kwok-tsang":
        one = np.ones((1, 1))
        input_distances(kernel, one, one, one)  # raises for kernels without a formula


def input_distances(kernel: Kernel, products: Array, norms: Array, other_norms: Array) -> Array:
    """Convert inner products in feature space to squared distances in input space.

    Returns the squared distance, in units of :func:`length_scales`, at which the images of two
    points would have these products and norms.

    ``products``: ``⟨f, φ(y)⟩`` for elements f of feature space, which need not be images of points.
    ``norms``, ``other_norms``: ``|f|²`` and ``k(y, y)``.
    """
    if hasattr(kernel, "squared_distances"):
        return np.asarray(kernel.squared_distances(products, norms, other_norms))
    if isinstance(kernel, Scaled) and kernel.factor > 0:
        scaled = (part / kernel.factor for part in (products, norms, other_norms))
        return input_distances(kernel.kernel, *scaled)
    if isinstance(kernel, Radial):
        # k = 1 - |f - φ(y)|²/2, clipped to (0, 1]: f need not be the image of a point, so the value
        # may be outside this range
        values = 1 - 0.5 * (norms + other_norms) + products
        return kernel.inverse_profile(np.clip(values, np.finfo(np.float64).tiny, 1))
    if isinstance(kernel, DotProduct):
        parts = [kernel.inverse_profile(values) for values in (products, norms, other_norms)]
        if all(part is not None for part in parts):
            inner, own, other = parts
            return np.maximum(own + other - 2 * inner, 0)  # type: ignore[operator]
    raise ValueError(
        f"{kernel!r} cannot convert distances in feature space to distances in input space, which "
        "preimage='kwok-tsang' needs. Use preimage='ridge', or a Gaussian, Matern, Epanechnikov, "
        "linear or odd polynomial kernel."
    )


def length_scales(kernel: Kernel, d: int) -> Array:
    """Return the units of the d columns for :func:`input_distances`, such as bandwidths."""
    if hasattr(kernel, "length_scales"):
        return np.asarray(kernel.length_scales(d))
    if isinstance(kernel, Scaled):
        return length_scales(kernel.kernel, d)
    return kernel.bandwidth_vector(d) if isinstance(kernel, Stationary) else np.ones(d)


def unit_steps(kernel: Kernel, d: int) -> Array:
    """Return the steps of one unit of :func:`input_distances` along the axes.

    They are the length scales, of shape (d,), or for a kernel with a metric the rows of a (d, d)
    matrix.
    """
    if isinstance(kernel, Scaled):
        return unit_steps(kernel.kernel, d)
    if isinstance(kernel, Gaussian) and kernel.metric is not None:
        return kernel.from_units(np.eye(d))
    return length_scales(kernel, d)


def _inverse_steps(steps: Array) -> Array:
    return 1 / steps if steps.ndim == 1 else np.linalg.inv(steps)


def _apply_steps(X: Array, steps: Array) -> Array:
    return X * steps if steps.ndim == 1 else np.asarray(X @ steps)


class _Similarity:
    """Products of projections with the images of the (distinct) training points."""

    def __init__(self, spectrum: Spectrum) -> None:
        expansion = spectrum.expansion
        data = spectrum.points.data
        rows, _ = distinct_rows(data, np.ones(len(data)))  # copies count as one neighbor
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
        """Return ``⟨f, φ(x_j)⟩``, of shape (m, n)."""
        return np.asarray(scores @ self.known.T + self.mean)

    def own_norms(self, scores: Array) -> Array:
        """Return ``|f|²``."""
        norms = np.einsum("ij,ij->i", scores, scores) + self.mean_norm
        return norms if self.shift is None else norms + 2 * scores @ self.shift

    def nearest(self, products: Array, count: int) -> Array:
        """Return the indices of the training points nearest to each f, nearest first.

        They are ordered by ``⟨f, φ⟩ - k(x,x)/2``; squared distances include a constant, which costs
        digits. Distant points are tied up to rounding error. Ties are broken by the lexicographic
        order of rows, so that the result does not depend on the order of the training data.
        """
        similarity = products - 0.5 * (self.norms - self.norms.min())
        # smaller differences of similarities are rounding errors: ties
        unit = 4e-15 * np.abs(similarity).max(axis=1, keepdims=True)
        rounded = np.divide(similarity, unit, out=np.zeros_like(similarity), where=unit > 0)
        distance = -np.round(rounded)
        last = np.partition(distance, count - 1, axis=1)[:, count - 1 : count]
        nearer, tied = distance < last, distance == last
        tied &= np.cumsum(tied, axis=1) <= count - nearer.sum(axis=1, keepdims=True)
        few = np.nonzero(nearer | tied)[1].reshape(len(products), count)
        order = np.argsort(np.take_along_axis(distance, few, axis=1), axis=1, kind="stable")
        return np.take_along_axis(few, order, axis=1)


def _chunks(rows: int, columns: int) -> list[slice]:
    size = max(1, _ENTRIES_PER_CHUNK // max(columns, 1))
    return [slice(i, i + size) for i in range(0, rows, size)]


def _kwok_tsang(spectrum: Spectrum, scores: Array, n_neighbors: int) -> Array:
    similarity = _Similarity(spectrum)
    data, kernel = similarity.data, spectrum.kernel
    steps = unit_steps(kernel, data.shape[1])
    largest_scale = float(np.abs(steps).max())
    relative = steps / largest_scale
    inverse = _inverse_steps(relative)
    count = min(n_neighbors, len(data))
    found = np.empty((len(scores), data.shape[1]))
    for rows in _chunks(len(scores), max(len(data), count * data.shape[1])):
        products = similarity.products(scores[rows])
        near = similarity.nearest(products, count)
        squared = input_distances(
            kernel,
            np.take_along_axis(products, near, axis=1),
            similarity.own_norms(scores[rows])[:, None],
            similarity.norms[near],
        )
        # coordinates from the neighbors' mean in units of their extent, because bandwidths may be
        # far smaller
        neighbors = data[near].astype(np.float64, copy=False)
        middle = neighbors.mean(axis=1)
        offsets = _apply_steps(neighbors - middle[:, None], inverse)
        extent = float(np.abs(offsets).max()) or largest_scale
        if largest_scale / extent > 1e150:  # equal kernel values of all neighbors
            found[rows] = middle
            continue
        located = points_at_distances(offsets / extent, squared * (largest_scale / extent) ** 2)
        found[rows] = middle + extent * _apply_steps(located, relative)
    return found


def points_at_distances(neighbors: Array, squared_distances: Array) -> Array:
    r"""Return points with given distances to their neighbors, in the least-squares sense.

    Each point lies in the affine span of its neighbors. With centered neighbors ``U Z`` (U
    orthonormal, Z coordinates, ``c_i² = |z_i|²``) it is

    .. math:: \hat x = \tfrac12 U (ZZ')^{-1} Z\,(c^2 - d^2) + \bar x,

    the least-squares solution of the distance equations (Kwok and Tsang 2004; Jenssen 2010, where
    the inverse is missing).

    ``neighbors``: shape (m, q, d). ``squared_distances``: shape (m, q).
    """
    mean = neighbors.mean(axis=1, keepdims=True)
    # Neighbors are rows, so the right singular vectors are the directions U of the docstring.
    left, scale, directions = np.linalg.svd(neighbors - mean, full_matrices=False)
    coordinates = left * scale[:, None, :]
    centered = np.einsum("mqr,mqr->mq", coordinates, coordinates) - squared_distances
    centered -= centered.mean(axis=1, keepdims=True)
    # singular values below this fraction of the largest are treated as zero
    floor = 1e-10 * scale[:, :1]
    inverse = np.divide(1, scale, out=np.zeros_like(scale), where=scale > floor)
    steps = np.einsum("mqr,mq->mr", left, centered) * inverse
    return np.asarray(mean[:, 0] + 0.5 * np.einsum("mr,mrd->md", steps, directions))


def _mika(spectrum: Spectrum, scores: Array, n_neighbors: int) -> Array:
    """Return the iterate with the largest ``Σ_j γ_j k(x, x_j)`` for each row of scores."""
    kernel = spectrum.kernel
    similarity = _Similarity(spectrum)
    data = spectrum.points.data.astype(np.float64, copy=False)
    weights = spectrum.counts
    coefficients = weights[:, None] * spectrum.projections / spectrum.eigenvalues
    inverse = _inverse_steps(unit_steps(kernel, data.shape[1]))
    found = np.empty((len(scores), data.shape[1]))
    for rows in _chunks(len(scores), len(data)):
        gamma = scores[rows] @ coefficients.T
        if similarity.shift is not None:  # eigenvectors sum to 0, so only the mean is added
            gamma += weights / weights.sum()
        nearest = similarity.nearest(similarity.products(scores[rows]), 1)[:, 0]
        x = similarity.data[nearest].astype(np.float64)
        best = np.full(len(x), -np.inf)
        for _ in range(100):
            terms = gamma * kernel(x, data)
            total = terms.sum(axis=1)
            # near the maximum smaller decreases are rounding errors
            better = total > best - 1e-13 * np.abs(best)
            best[better] = np.maximum(best, total)[better]
            found[rows][better] = x[better]
            usable = better & (total > np.finfo(np.float64).tiny)
            step = (terms[usable] @ data) / total[usable, None] - x[usable]
            x[usable] += step
            if not np.abs(_apply_steps(step, inverse)).max(initial=0) > 1e-11:
                break
    return found


def _ridge(spectrum: Spectrum, scores: Array, n_neighbors: int) -> Array:
    """Predict points by ridge regression on at most 2000 distinct training points."""
    rows, _ = representative_rows(spectrum.points.data, np.ones(spectrum.points.n))
    known = spectrum.projections[rows]
    targets = spectrum.points.data[rows].astype(np.float64)
    scale = np.abs(targets).max() or 1.0  # sums must not overflow
    targets /= scale
    if len(rows) == 1 or (known == known[0]).all():
        return np.tile(scale * targets.mean(axis=0), (len(scores), 1))
    kernel = Gaussian(median_distance(known))
    K = kernel(known)
    K[np.diag_indices_from(K)] += 1e-3
    mean = targets.mean(axis=0)
    coefficients = cho_solve(cho_factor(K, overwrite_a=True), targets - mean)
    return np.asarray(scale * (kernel(scores, known) @ coefficients + mean))


METHODS: dict[str, Callable[[Spectrum, Array, int], Array]] = {
    "kwok-tsang": _kwok_tsang,
    "mika": _mika,
    "ridge": _ridge,
}
