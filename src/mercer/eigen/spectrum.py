"""The spectrum: eigenpairs of K as functions of points, shared by all estimators."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer.data.points import Points, validate_points
from mercer.eigen.base import Eigenpairs
from mercer.gram import Expansion
from mercer.kernels import Kernel
from mercer.utils.eigenpairs import entropy_terms
from mercer.utils.estimators import ignore_underflow
from mercer.utils.formatting import bar, table
from mercer.utils.resources import check_memory
from mercer.utils.types import Array
from mercer.utils.weights import multiplicities

__all__ = ["Spectrum"]

_COMPONENTS_SHOWN = 10


@dataclass(frozen=True, repr=False, eq=False)
class Spectrum:
    r"""Eigenpairs of a Gram matrix, in the requested order. Immutable.

    Notation: :math:`\lambda_i` eigenvalues of K (with weights of :math:`W^{1/2} K W^{1/2}`),
    :math:`e_i` unit eigenvectors with :math:`1'e_i \ge 0`, n the total weight,
    :math:`\psi_i = \lambda_i (1'e_i)^2 / n^2` entropy terms, :math:`V = \sum_i \psi_i`.

    Attributes
    ----------
    pairs : Eigenpairs
        What the solver found (without the eigenvectors, which the expansion determines); most of
        it is available as attributes of the spectrum: ``eigenvalues``, ``overlaps``,
        ``certified``, ``certificate``, …
    total_weight : float
        n.
    potential : float
        V over all eigenpairs, selected or not; 0 where K is centered.
    trace : float
        Sum of all eigenvalues.
    target : {"variance", "entropy"}
        What the order follows.
    centered : bool
    operator : str
        Short description of the Gram operator.
    error_bound : float
        Bound on the error of every eigenvalue due to approximating K (0: only rounding error).
    expansion : Expansion
        The projections as functions of new points.
    weights : array of shape (n,) or None

    Examples
    --------
    >>> from mercer import KernelECA
    >>> from mercer.datasets import make_rings
    >>> from mercer.kernels import Gaussian
    >>> X, _ = make_rings(random_state=0)
    >>> spectrum = KernelECA(3, kernel=Gaussian(3.7)).fit(X).spectrum_
    >>> (spectrum.entropy_terms / spectrum.potential).round(2)
    array([0.55, 0.29, 0.15])
    >>> spectrum.certified, spectrum.error_bound
    (True, 0.0)
    """

    pairs: Eigenpairs = field(repr=False)
    total_weight: float
    potential: float
    trace: float
    target: str
    centered: bool
    operator: str
    error_bound: float
    expansion: Expansion = field(repr=False)
    weights: Array | None = field(repr=False, default=None)

    @property
    def kernel(self) -> Kernel:
        """The fitted kernel."""
        return self.expansion.kernel

    @property
    def points(self) -> Points:
        """The training points with a positive weight."""
        return self.expansion.points

    @property
    def counts(self) -> Array:
        """The weights of the training points; ones without weights."""
        return self.points.ones() if self.weights is None else self.weights

    @property
    def multiplicities_of_rows(self) -> Array:
        """The weights of the training points with the sum ``n = max(Σw, (Σw)² / Σw²)``."""
        if self.weights is None:
            return self.points.ones()
        if self.points.is_chunked:
            factor: float = self.points.survey.totals.factor  # type: ignore[attr-defined]
            return self.weights * factor
        return multiplicities(self.weights)

    @property
    def n_components(self) -> int:
        """Number of selected pairs."""
        return len(self.pairs.values)

    @property
    def eigenvalues(self) -> Array:
        """``λ_i`` of K."""
        return self.pairs.values

    @property
    def operator_eigenvalues(self) -> Array:
        """``λ_i / n``, estimates of the eigenvalues of the kernel operator."""
        return self.eigenvalues / self.total_weight

    @property
    def overlaps(self) -> Array:
        """``1'e_i``."""
        return self.pairs.overlaps

    @cached_property
    def entropy_terms(self) -> Array:
        """``ψ_i = λ_i (1'e_i)² / n²``."""
        return entropy_terms(self.eigenvalues, self.overlaps, self.total_weight)

    @property
    def method(self) -> str:
        """Algorithm and operator, for display."""
        return f"{self.pairs.method}, {self.operator}"

    @property
    def certified(self) -> bool:
        """Whether it is proven that the selection is complete."""
        return self.pairs.certified

    @property
    def certificate(self) -> str:
        """The proof, or why there is none."""
        return self.pairs.certificate

    @property
    def known_eigenvalues(self) -> Array:
        """All eigenvalues that the solver computed, largest first (all of K after ``Dense``)."""
        return self.pairs.known_values

    @property
    def known_entropy_terms(self) -> Array:
        """Entropy terms of ``known_eigenvalues``."""
        return self.pairs.known_terms

    @property
    def known_ranks(self) -> Array | None:
        """1-based ranks of the selected eigenvalues among all, if the solver knows them."""
        return self.pairs.ranks

    @property
    def multiplicities(self) -> Array | None:
        """Number of eigenvalues tied with each selected one, itself included, where known."""
        return self.pairs.multiplicities

    @property
    def lowest(self) -> float:
        """Smallest eigenvalue if it is negative beyond rounding error (indefinite K), else 0."""
        return self.pairs.lowest

    @property
    def products(self) -> int:
        """Number of matrix-vector products."""
        return self.pairs.products

    def without_points(self) -> Spectrum:
        """Return the same functions without the training points, where these are not needed."""
        return replace(self, expansion=self.expansion.without_points(), weights=None)

    # --- functions of points ------------------------------------------------------------------

    @ignore_underflow
    def project(self, X: Any) -> Array:
        """Return the projections ``λ_i^(-1/2) Σ_j √w_j e_ji k(x, x_j)`` (Jenssen, eq. 7)."""
        return self.expansion(self._validate(X))

    @ignore_underflow
    def eigenfunctions(self, X: Any) -> Array:
        """Return ``φ_i(x) = √n/λ_i Σ_j e_ji k(x, x_j)``, of unit L2 norm under the sample."""
        return self.project(X) * np.sqrt(self.total_weight / self.eigenvalues)

    @ignore_underflow
    def squared_norms(self, X: Any) -> Array:
        """Return ``k(x, x)`` of the (centered) kernel, the squared norm of all projections."""
        return self.expansion.squared_norms(self._validate(X))

    def _validate(self, X: Any) -> Points:
        return X if isinstance(X, Points) else validate_points(X, self.kernel, reset=False)

    # --- at the training points ---------------------------------------------------------------

    @property
    def projections(self) -> Array:
        """Projections of the training points, ``√λ_i e_ji / √w_j``."""
        return self.expansion.at_training(self.eigenvalues)

    @property
    def eigenvectors(self) -> Array:
        """Unit eigenvectors e_i as columns."""
        vectors = self.projections / np.sqrt(self.eigenvalues)
        return vectors if self.weights is None else vectors * np.sqrt(self.weights)[:, None]

    def gram(self) -> Array:
        """Return ``Σ_i λ_i e_i e_i'``, K reconstructed from the pairs (K_eca, Jenssen eq. 14)."""
        n = self.points.n
        check_memory(
            8 * n * n,
            f"The reconstructed Gram matrix of {n} points",
            "Use projections: the matrix is projections @ projections.T",
        )
        Z = self.projections
        return np.asarray(Z @ Z.T)

    def __repr__(self) -> str:
        proof = "certified" if self.certified else "not certified"
        return (
            f"Spectrum({self.n_components} components by {self.target}, n={self.points.n}, "
            f"{self.kernel!r}, {self.method}, {proof})"
        )

    def _repr_html_(self) -> str:
        by = "entropy term ψ" if self.target == "entropy" else "eigenvalue λ"
        heads = ["component", "λ", "λ / n", "fraction of trace"]
        if not self.centered:
            heads += ["ψ", "fraction of V"]
        shown = [self._cells(i) for i in range(min(self.n_components, _COMPONENTS_SHOWN))]
        if self.n_components > _COMPONENTS_SHOWN:
            more = f"… {self.n_components - _COMPONENTS_SHOWN} more"
            shown.append([more, *[""] * (len(heads) - 1)])
        proof = "certified" if self.certified else "not certified"
        title = f"{self.n_components} components by {by} of {self.points.n:,} points"
        note = f"{self.kernel!r}; {self.method}; {proof}: {self.certificate}"
        return table(title, heads, shown, note)

    def _cells(self, i: int) -> list[str]:
        """Return a row of the table shown in notebooks."""
        value, term = float(self.eigenvalues[i]), float(self.entropy_terms[i])
        cells = [str(i + 1), f"{value:.4g}", f"{value / self.total_weight:.4g}"]
        cells.append(bar(value / self.trace) if self.trace > 0 else "")
        if not self.centered:
            cells += [f"{term:.4g}", bar(term / self.potential) if self.potential > 0 else ""]
        return cells
