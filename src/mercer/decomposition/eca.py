"""Kernel entropy component analysis."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.decomposition.base import SpectralTransformer
from mercer.decomposition.preimages import Preimage
from mercer.eigen import Request
from mercer.eigen.decompose import PlannedGram, component_ranks, decompose
from mercer.gram import Sample
from mercer.kernels import Kernel
from mercer.utils.types import Array

__all__ = ["KernelECA", "fit_eca"]


class KernelECA(SpectralTransformer):
    r"""Kernel entropy component analysis: the components with the largest entropy terms.

    Of all eigenpairs of the (never centered) Gram matrix, those with the largest entropy terms
    :math:`\psi_i = \lambda_i (1'e_i)^2 / n^2` are selected; the sum of all terms is the
    information potential V (Jenssen 2010, eqs. 10-16). They need not belong to the largest
    eigenvalues.

    Parameters
    ----------
    n_components : int, float in (0, 1) or None
        Number of components, fraction of V, or None for all with a positive eigenvalue.
    kernel : str or Kernel
        "gaussian" ("rbf"), "laplacian", "polynomial", "linear", "sigmoid", "cosine",
        "precomputed", or a kernel object; "table" for data frames with categories, dates, texts or
        missing values; "auto" for "table" with such a frame, and "gaussian" otherwise. The
        bandwidth "auto" is Silverman's rule for at most three columns, and the median distance
        divided by √2 for more.
    solver : str or solver
        "auto", "dense", "lanczos", "fourier", "nystrom", or a solver object (see
        :mod:`mercer.solvers`).
    preimage : {"kwok-tsang", "mika", "ridge"}
        How ``inverse_transform`` finds points.
    random_state : int or None
        Seed of the iteration's random start; results do not depend on it beyond rounding error.
    verbose : bool
        Print the progress of long work to standard error.

    Attributes
    ----------
    entropy_terms_ : array of shape (n_components_,)
        ψ_i, largest first.
    entropy_ratio_ : array of shape (n_components_,)
        ψ_i / V.
    eigenvalues_ : array of shape (n_components_,)
        λ_i of K, in the order of the terms.
    information_potential_ : float
        V = 1'K1/n² of the unnormalized K. ``-log V`` differs from ``renyi_entropy_`` by the
        logarithm of the kernel's normalizer.
    renyi_entropy_ : float
        ``-log V`` in nats, of the normalized kernel if it is a density, else of K itself.
    residual_potential_ : float
        V minus the selected terms.
    component_ranks_ : array of int or None
        1-based rank of each selected eigenvalue among all. Known after a dense solve and for a
        precomputed K; otherwise computed on first access. None if that costs too much (more than
        4000 points and a rank beyond 256) or K is approximated.
    certified_ : bool
        Whether it is proven that no other component has a larger term.
    n_components_ : int
    kernel_ : Kernel
        The fitted kernel.
    spectrum_ : Spectrum
        Eigenvectors, method, certificate and other details.
    control_limits_ : dict
        Limits for ``hotelling`` and ``reconstruction_error``.

    Examples
    --------
    >>> from mercer import KernelECA
    >>> from mercer.datasets import make_rings
    >>> from mercer.kernels import Gaussian
    >>> X, y = make_rings(random_state=0)
    >>> eca = KernelECA(n_components=3, kernel=Gaussian(3.7)).fit(X)
    >>> eca.component_ranks_
    array([1, 2, 9])
    """

    _table: ClassVar[Literal["sum", "product"] | None] = "product"

    def __init__(
        self,
        n_components: int | float | None = 2,
        *,
        kernel: str | Kernel = "gaussian",
        solver: Any = "auto",
        preimage: Preimage = "kwok-tsang",
        random_state: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.solver = solver
        self.preimage = preimage
        self.random_state = random_state
        self.verbose = verbose

    def _fit_sample(self, sample: Sample, planned: PlannedGram | None = None) -> Self:
        spectrum = decompose(
            sample,
            "entropy",
            self.n_components,
            solver=self.solver,
            random_state=self.random_state,
            planned=planned,
        )
        self._set_spectrum(spectrum)
        self.entropy_terms_ = spectrum.entropy_terms
        self.information_potential_ = spectrum.potential
        self.entropy_ratio_ = self.entropy_terms_ / spectrum.potential
        self.residual_potential_ = spectrum.potential - float(self.entropy_terms_.sum())
        log_normalizer = self.kernel_.log_normalizer_or_zero(sample.points.dimension)
        self.renyi_entropy_ = log_normalizer - float(np.log(spectrum.potential))
        self.certified_ = spectrum.certified
        self._component_ranks: Array | None = None
        self._ranks_computed = False
        return self

    @property
    def component_ranks_(self) -> Array | None:
        """1-based rank of each selected eigenvalue among all, or None (see the class)."""
        check_is_fitted(self)
        if not self._ranks_computed:
            self._component_ranks = component_ranks(self.spectrum_)
            self._ranks_computed = True
        return self._component_ranks


def fit_eca(sample: Sample, planned: PlannedGram, request: Request, **settings: Any) -> KernelECA:
    """Return a KernelECA fitted to a validated sample with an operator that exists already."""
    eca = KernelECA(request.n_components, kernel=sample.kernel, solver=request.solver, **settings)
    return eca._fit_sample(sample, planned)
