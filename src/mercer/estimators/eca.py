"""Kernel entropy component analysis."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.decompose import component_ranks, decompose
from mercer.errors import Tell, warn
from mercer.estimators.monitoring import MonitoredTransformer
from mercer.information import log_normalizer
from mercer.kernels import Kernel
from mercer.maths.types import Array
from mercer.operators import GramOperator, Sample
from mercer.preimages import Preimage

__all__ = ["KernelECA"]


class KernelECA(MonitoredTransformer):
    r"""Kernel entropy component analysis: the components that carry the Renyi entropy.

    Of all eigenpairs of the (never centred) Gram matrix, those with the largest entropy terms
    :math:`\psi_i = \lambda_i (1'e_i)^2 / n^2` are kept; together all terms make up the
    information potential V (Jenssen 2010, eqs. 10-16). They need not belong to the largest
    eigenvalues.

    Parameters
    ----------
    n_components : int, float in (0, 1) or None
        How many components, which fraction of V, or all with a positive eigenvalue.
    kernel : str or Kernel
        "gaussian" ("rbf"), "laplacian", "polynomial", "linear", "sigmoid", "cosine",
        "precomputed", or a kernel object.
    solver : str or solver
        "auto", "dense", "lanczos", or a solver object (see :mod:`mercer.solvers`).
    preimage : {"kwok-tsang", "mika", "ridge"}
        How ``inverse_transform`` finds points (see :mod:`mercer.preimages`).
    random_state : int or None
        Seed of the iteration's random start; results do not depend on it beyond rounding.
    verbose : bool
        Tell the progress of long work on standard error.

    Attributes
    ----------
    entropy_terms_ : array of shape (n_components_,)
        ψ_i, largest first.
    entropy_ratio_ : array of shape (n_components_,)
        ψ_i / V.
    eigenvalues_ : array of shape (n_components_,)
        λ_i of K, in the order of the terms.
    information_potential_ : float
        V = 1'K1/n² of K as it is. ``-log`` of it differs from ``renyi_entropy_`` by the logarithm
        of the kernel's normaliser.
    renyi_entropy_ : float
        ``-log V`` of the normalised window, in nats, where the kernel is a density window; of K
        as it is otherwise.
    residual_potential_ : float
        V less the kept terms.
    component_ranks_ : array of int or None
        1-based place of each kept eigenvalue among all. Known after a dense solve; otherwise found
        when it is first asked for, and None where that would cost too much.
    certified_ : bool
        Whether it is proven that no component left out has a larger term.
    n_components_ : int
    kernel_ : Kernel
        The kernel with its numbers.
    spectrum_ : Spectrum
        Everything else: eigenvectors, how they were found, the certificate.
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

    def _learn(
        self, sample: Sample, gram: GramOperator | None = None, *, tell: Tell = warn
    ) -> Self:
        spectrum = decompose(
            sample,
            "entropy",
            self.n_components,
            solver=self.solver,
            random_state=self.random_state,
            verbose=self.verbose,
            gram=gram,
            tell=tell,
        )
        self._set_spectrum(spectrum)
        self.entropy_terms_ = spectrum.entropy_terms
        self.information_potential_ = spectrum.potential
        self.entropy_ratio_ = self.entropy_terms_ / spectrum.potential
        self.residual_potential_ = spectrum.potential - float(self.entropy_terms_.sum())
        self.renyi_entropy_ = log_normalizer(self.kernel_, sample.points) - float(
            np.log(spectrum.potential)
        )
        self.certified_ = spectrum.certified
        self._component_ranks: Array | None = None  # found when first asked for
        return self

    @property
    def component_ranks_(self) -> Array | None:
        """1-based place of each kept eigenvalue among all, or None (see the class)."""
        check_is_fitted(self)
        if self._component_ranks is None:
            self._component_ranks = component_ranks(self.spectrum_)
        return self._component_ranks
