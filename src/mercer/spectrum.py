"""The result that every estimator shares: eigenpairs bound to a kernel and its points."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer.config import memory_budget
from mercer.data import Points, validate_points
from mercer.errors import MemoryBudgetError
from mercer.kernels import Kernel
from mercer.maths.entropy import entropy_terms
from mercer.maths.types import Array
from mercer.notebook import bar, table
from mercer.operators import Expansion

__all__ = ["Spectrum"]

_COMPONENTS_SHOWN = 10


@dataclass(frozen=True, repr=False)
class Spectrum:
    r"""Eigenpairs of a Gram matrix, in the order in which they were asked for. Immutable.

    Dictionary: :math:`\lambda_i` eigenvalues of K (with weights of :math:`W^{1/2} K W^{1/2}`),
    :math:`e_i` unit eigenvectors with :math:`1'e_i \ge 0`, n the total weight,
    :math:`\psi_i = \lambda_i (1'e_i)^2 / n^2` entropy terms, :math:`V = \sum_i \psi_i`.

    Attributes
    ----------
    eigenvalues : array of shape (k,)
        λ of K; ``operator_eigenvalues`` are λ/n.
    overlaps : array of shape (k,)
        1'e_i.
    total_weight : float
        n.
    potential : float
        V over all eigenpairs, kept or not; 0 where K is centred.
    trace : float
        Sum of all eigenvalues.
    target : {"variance", "entropy"}
        What the order follows.
    centered : bool
    method : str
        Operator and solver, in words.
    error_bound : float
        Bound on the error of every eigenvalue due to approximating K (0: only rounding).
    certified : bool
        Whether the selection is proven complete.
    certificate : str
        The proof, or how far it got.
    known_eigenvalues, known_entropy_terms : arrays
        Of all pairs the solver came to know, largest eigenvalue first: everything after a dense
        solve, the converged ones after an iteration.
    multiplicities : array of int or None
        How many eigenvalues are tied with each kept one, itself included, where known.
    lowest : float
        Smallest eigenvalue seen if it is negative beyond rounding (an indefinite K), else 0.
    products : int
        Matrix-vector products that were spent.
    known_ranks : array of int or None
        1-based places of the kept eigenvalues among all, where the solver knows them.

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

    eigenvalues: Array
    overlaps: Array
    total_weight: float
    potential: float
    trace: float
    target: str
    centered: bool
    method: str
    error_bound: float
    certified: bool
    certificate: str
    known_eigenvalues: Array
    known_entropy_terms: Array
    multiplicities: Array | None
    lowest: float
    products: int
    expansion: Expansion = field(repr=False)
    weights: Array | None = field(repr=False, default=None)
    known_ranks: Array | None = field(repr=False, default=None)

    @property
    def kernel(self) -> Kernel:
        """The kernel, with its numbers."""
        return self.expansion.kernel

    @property
    def points(self) -> Points:
        """The training points (those with a positive weight)."""
        return self.expansion.points

    @property
    def counts(self) -> Array:
        """How often each training point counts: the weights, or 1."""
        return self.points.ones() if self.weights is None else self.weights

    @property
    def n_components(self) -> int:
        """How many pairs were kept."""
        return len(self.eigenvalues)

    @property
    def operator_eigenvalues(self) -> Array:
        """``λ_i / n``, which estimate the eigenvalues of the kernel operator."""
        return self.eigenvalues / self.total_weight

    @cached_property
    def entropy_terms(self) -> Array:
        """``ψ_i = λ_i (1'e_i)² / n²``."""
        return entropy_terms(self.eigenvalues, self.overlaps, self.total_weight)

    def without_points(self) -> Spectrum:
        """The same functions of new points, less the training points where they are not needed."""
        return replace(self, expansion=self.expansion.without_points(), weights=None)

    # --- functions of points ------------------------------------------------------------------

    def project(self, X: Any) -> Array:
        """Projections of any points, ``λ_i^(-1/2) Σ_j √w_j e_ji k(x, x_j)`` (Jenssen, eq. 7)."""
        return self.expansion(self._admit(X))

    def eigenfunctions(self, X: Any) -> Array:
        """``φ_i(x) = √n/λ_i Σ_j e_ji k(x, x_j)``: of unit L2 norm under the sample."""
        return self.project(X) * np.sqrt(self.total_weight / self.eigenvalues)

    def squared_norms(self, X: Any) -> Array:
        """``k(x, x)`` of the (centred) kernel: what all projections together could explain."""
        return self.expansion.squared_norms(self._admit(X))

    def _admit(self, X: Any) -> Points:
        return validate_points(X, self.kernel.compares, reset=False)

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
        """Reconstruction of K from the kept pairs, ``Σ_i λ_i e_i e_i'`` (K_eca, Jenssen eq. 14)."""
        n = self.points.n
        if 8 * n * n > memory_budget():
            raise MemoryBudgetError(
                f"The reconstructed Gram matrix of {n} points needs {8e-9 * n * n:.3g} GB; the "
                f"memory budget is {memory_budget() / 1e9:.3g} GB. Use projections instead: the "
                "matrix is projections @ projections.T."
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
        heads = ["component", "λ", "λ / n", "share of trace"]
        if not self.centered:
            heads += ["ψ", "share of V"]
        shown = [self._cells(i) for i in range(min(self.n_components, _COMPONENTS_SHOWN))]
        if self.n_components > _COMPONENTS_SHOWN:
            more = f"… {self.n_components - _COMPONENTS_SHOWN} more"
            shown.append([more, *[""] * (len(heads) - 1)])
        proof = "certified" if self.certified else "not certified"
        title = f"{self.n_components} components by {by} of {self.points.n:,} points"
        note = f"{self.kernel!r}; {self.method}; {proof}: {self.certificate}"
        return table(title, heads, shown, note)

    def _cells(self, i: int) -> list[str]:
        """A line of the table that notebooks show."""
        value, term = float(self.eigenvalues[i]), float(self.entropy_terms[i])
        cells = [str(i + 1), f"{value:.4g}", f"{value / self.total_weight:.4g}"]
        cells.append(bar(value / self.trace) if self.trace > 0 else "")
        if not self.centered:
            cells += [f"{term:.4g}", bar(term / self.potential) if self.potential > 0 else ""]
        return cells
