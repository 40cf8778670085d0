"""Kernel principal component analysis of a sample with outliers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.special import gammaincinv, ndtri

from mercer.data.points import Points, Sample
from mercer.decomposition.base import SpectralTransformer
from mercer.decomposition.preimages import Preimage
from mercer.decomposition.statistics import FeatureDistance
from mercer.eigen.decompose import PlannedGram, Spectrum, decompose
from mercer.gram.expansion import cross_gram
from mercer.kernels import Kernel
from mercer.utils.quantiles import weighted_median
from mercer.utils.types import Array
from mercer.utils.validation import check_real

__all__ = ["RobustKernelPCA", "outlyingness"]

_LEVEL = 0.975  # fraction of regular rows that a cutoff keeps
_MAD_FACTOR = 1.4826  # makes the median absolute deviation consistent for normal data


class RobustKernelPCA(SpectralTransformer):
    r"""Kernel PCA of the regular rows of a sample with outliers.

    Outliers dominate the components of a polynomial kernel, because their images are far out, and
    a group of outliers becomes a component of a local kernel. This is the method of Hubert et al.
    (ROBPCA) [1]_ in feature space [2]_:

    1. The outlyingness of a row is its largest deviation from the median, in units of the median
       absolute deviation, over directions that join pairs of images (Stahel-Donoho).
    2. Kernel PCA of the ``support_fraction`` of the rows with the smallest outlyingness.
    3. Rows whose distance from these components, or within them, exceeds a cutoff at the 97.5 %
       level are outliers. The final components are those of all other rows.

    Regular rows are excluded too: of normal samples without outliers 3 to 5 % with a linear kernel,
    and up to 1 - ``support_fraction`` with polynomial kernels, whose features are skewed.
    :func:`mercer.population.bounding_weights` is a milder remedy for polynomial kernels.

    Parameters
    ----------
    n_components : int, float in (0, 1) or None
    kernel : str or Kernel
        A kernel on vectors, not "precomputed". The bandwidth "auto" as in :class:`KernelPCA`.
    support_fraction : float in [0.5, 1]
        A lower bound on the fraction of regular rows.
    center, solver, preimage, random_state, verbose
        As in :class:`KernelPCA`.

    Attributes
    ----------
    support_ : int array
        Indices of the regular rows, whose components these are.
    outlyingness_ : array of shape (n,)
        Of all rows with a positive weight.
    eigenvalues_, explained_variance_ratio_, n_components_, kernel_, spectrum_
        As in :class:`KernelPCA`, for the regular rows.

    References
    ----------
    .. [1] M. Hubert, P. Rousseeuw, K. Vanden Branden, "ROBPCA: a new approach to robust principal
       component analysis", Technometrics 47(1):64-79, 2005.
    .. [2] M. Debruyne, T. Verdonck, "Robust kernel principal component analysis and
       classification", Advances in Data Analysis and Classification 4:151-167, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import RobustKernelPCA
    >>> from mercer.kernels import Polynomial
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> X[:5] += 20  # outliers
    >>> robust = RobustKernelPCA(2, kernel=Polynomial(2)).fit(X)
    >>> int(robust.support_.min()), len(robust.support_) >= 75
    (5, True)
    """

    _table: ClassVar[Literal["sum", "product"] | None] = None

    def __init__(
        self,
        n_components: int | float | None = 2,
        *,
        kernel: str | Kernel = "gaussian",
        support_fraction: float = 0.75,
        center: bool = True,
        solver: Any = "auto",
        preimage: Preimage = "kwok-tsang",
        random_state: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.support_fraction = support_fraction
        self.center = center
        self.solver = solver
        self.preimage = preimage
        self.random_state = random_state
        self.verbose = verbose

    @property
    def partial_fit(self) -> Any:
        """Not available: outliers can only be found in the whole sample."""
        raise AttributeError("RobustKernelPCA has no partial_fit; it needs all rows at once.")

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit and project the same points, outliers included."""
        return np.asarray(self.fit(X, sample_weight=sample_weight).transform(X))

    def _fit_sample(self, sample: Sample, planned: PlannedGram | None = None) -> Self:
        check_real(self.support_fraction, "support_fraction", low=0.5, high=1)
        self._check_data(sample)
        X, inverse = np.unique(sample.points.data, axis=0, return_inverse=True)
        counts = np.bincount(inverse.ravel(), sample.weights, len(X))
        distinct = Sample(sample.kernel, Points(X), counts)
        outlying = _outlyingness_of_images(distinct)
        start = _smallest(outlying, counts, self.support_fraction)
        needed = self.n_components if isinstance(self.n_components, Integral) else 1
        if len(start) <= needed:  # too few rows to tell outliers from others
            regular = np.arange(len(X))
        else:
            regular = _regular_rows(distinct, self._components(distinct.take(start)))
            regular = regular if counts[regular].sum() >= counts[start].sum() else start
        rows = np.flatnonzero(np.isin(inverse.ravel(), regular))
        spectrum = self._components(sample.take(rows))
        self._set_spectrum(spectrum)
        self.explained_variance_ratio_ = spectrum.eigenvalues / spectrum.trace
        self.outlyingness_ = outlying[inverse.ravel()]
        self.support_ = rows if sample.indices is None else sample.indices[rows]
        return self

    def _components(self, sample: Sample) -> Spectrum:
        return decompose(
            sample,
            "variance",
            self.n_components,
            solver=self.solver,
            center=self.center,
            random_state=self.random_state,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def _check_data(self, sample: Sample) -> None:
        if sample.points.is_chunked:
            raise TypeError(
                "RobustKernelPCA does not accept Dask collections: it needs all rows in memory. "
                "Fit a subsample; the fitted model accepts Dask collections."
            )
        sample.points.require_dense("RobustKernelPCA")
        if sample.points.kind != "vectors":
            raise ValueError(
                f"RobustKernelPCA needs a kernel on vectors; {sample.kernel!r} compares "
                f"{sample.points.kind}. Use KernelPCA, or KernelNovelty to find unusual rows."
            )


def _outlyingness_of_images(sample: Sample) -> Array:
    """Return the outlyingness of the images, over directions between pairs of some of them."""
    counts = sample.multiplicities
    # quantiles of the sorted rows
    levels = (np.arange(16) + 0.5) / 16 * counts.sum()
    typical = np.unique(np.searchsorted(np.cumsum(counts), levels))
    columns = cross_gram(sample.kernel, sample.points, sample.points.take(typical))
    # squared distance from the mean of the typical images, up to a constant
    distances = sample.kernel.diagonal(sample.points.data) - 2 * columns.mean(axis=1)
    far = np.setdiff1d(np.argsort(-distances, kind="stable")[:8], typical)
    if len(far):
        others = cross_gram(sample.kernel, sample.points, sample.points.take(far))
        columns = np.hstack([columns, others])

    def projections() -> Iterator[Array]:
        for i, j in combinations(range(columns.shape[1]), 2):
            yield columns[:, i] - columns[:, j]

    return outlyingness(projections(), counts)


def outlyingness(projections: Iterable[Array], weights: Array) -> Array:
    r"""Return the Stahel-Donoho outlyingness, the largest deviation over all directions.

    .. math:: o_i = \max_v |v'x_i - \mathrm{med}_j\, v'x_j| / \mathrm{MAD}_j(v'x_j)

    ``projections``: the points projected onto each direction. Directions in which more than half of
    the points coincide have no scale and are skipped.
    """
    worst = np.zeros(len(weights))
    for values in projections:
        deviations = np.abs(values - weighted_median(values, weights))
        spread = _MAD_FACTOR * float(weighted_median(deviations, weights))
        if spread > 1e-12 * float(np.abs(values).max(initial=0.0)):
            np.maximum(worst, deviations / spread, out=worst)
    return worst


def _smallest(values: Array, counts: Array, fraction: float) -> Array:
    """Return the indices of the smallest values that make up a fraction of the total weight."""
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(counts[order])
    size = int(np.searchsorted(cumulative, fraction * cumulative[-1] * (1 - 1e-12))) + 1
    return np.sort(order[:size])


def _regular_rows(sample: Sample, spectrum: Spectrum) -> Array:
    """Return the rows whose distances from and within the components are below the cutoffs."""
    norms = spectrum.squared_norms(sample.points)
    outside = np.sqrt(FeatureDistance.spe(spectrum)(sample.points))
    within = FeatureDistance.hotelling(spectrum)(sample.points)
    # distances to the power 2/3 are nearly normal (Wilson and Hilferty)
    roots = np.cbrt(outside**2)
    middle = float(weighted_median(roots, sample.multiplicities))
    spread = _MAD_FACTOR * float(weighted_median(np.abs(roots - middle), sample.multiplicities))
    # smaller distances than the second are rounding error
    cutoff = max((middle + ndtri(_LEVEL) * spread) ** 1.5, 1e-7 * np.sqrt(norms.max()))
    k = spectrum.n_components
    # quantile of χ²_k, divided by its median
    ratio = gammaincinv(k / 2, _LEVEL) / gammaincinv(k / 2, 0.5)
    limit = ratio * float(weighted_median(within, sample.multiplicities))
    return np.flatnonzero((outside <= cutoff) & (within <= limit))
