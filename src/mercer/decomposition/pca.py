"""Kernel principal component analysis."""

from __future__ import annotations

from typing import Any, Self

from mercer.decomposition.base import SpectralTransformer
from mercer.decomposition.preimages import Preimage
from mercer.eigen.decompose import PlannedGram, decompose
from mercer.gram import Sample
from mercer.kernels import Kernel

__all__ = ["KernelPCA"]


class KernelPCA(SpectralTransformer):
    r"""Kernel principal component analysis: projections onto the leading eigenvectors of K.

    The score of a training point is :math:`\sqrt{\lambda_i} e_{ji}`, that of any point is
    :math:`\lambda_i^{-1/2} \sum_j e_{ji} k(x, x_j)` (Schölkopf et al. 1998; Jenssen 2010, eqs. 5
    and 7), with the centered kernel unless ``center=False``.

    Parameters
    ----------
    n_components : int, float in (0, 1) or None
        Number of components, fraction of the trace of K, or None for all with a positive
        eigenvalue.
    kernel : str or Kernel
        "gaussian" ("rbf"), "laplacian", "polynomial", "linear", "sigmoid", "cosine",
        "precomputed", or a kernel object; "table" for data frames with categories, dates, texts or
        missing values; "auto" for "table" with such a frame, and "gaussian" otherwise. The
        bandwidth "auto" is Silverman's rule for at most three columns, and the median distance
        divided by √2 for more.
    center : bool
        Remove the mean in feature space.
    solver : str or solver
        "auto", "dense", "lanczos", "fourier", "nystrom", or a solver object (see
        :mod:`mercer.solvers`).
    preimage : {"kwok-tsang", "mika", "ridge"}
        How ``inverse_transform`` finds points.
    random_state : int or None
        Seed of the iteration's random start; results do not depend on it beyond rounding error.
    verbose : bool
        Print the progress of long computations to standard error.

    Attributes
    ----------
    eigenvalues_ : array of shape (n_components_,)
        λ of K, largest first.
    explained_variance_ratio_ : array of shape (n_components_,)
        λ_i / trace.
    n_components_ : int
    kernel_ : Kernel
        The fitted kernel.
    spectrum_ : Spectrum
        Eigenvectors, entropy terms, method and other details.
    control_limits_ : dict
        Limits for ``hotelling`` and ``reconstruction_error``.

    Examples
    --------
    >>> from mercer import KernelPCA
    >>> from mercer.datasets import make_rings
    >>> X, y = make_rings(random_state=0)
    >>> KernelPCA(n_components=3).fit_transform(X).shape
    (315, 3)
    """

    def __init__(
        self,
        n_components: int | float | None = 2,
        *,
        kernel: str | Kernel = "gaussian",
        center: bool = True,
        solver: Any = "auto",
        preimage: Preimage = "kwok-tsang",
        random_state: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.center = center
        self.solver = solver
        self.preimage = preimage
        self.random_state = random_state
        self.verbose = verbose

    def _fit_sample(self, sample: Sample, planned: PlannedGram | None = None) -> Self:
        spectrum = decompose(
            sample,
            "variance",
            self.n_components,
            solver=self.solver,
            center=self.center,
            random_state=self.random_state,
            planned=planned,
        )
        self._set_spectrum(spectrum)
        self.explained_variance_ratio_ = spectrum.eigenvalues / spectrum.trace
        return self
