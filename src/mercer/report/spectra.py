"""Kernel ECA and kernel PCA of a table, and the table of components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mercer import KernelECA, KernelPCA
from mercer.errors import RankError
from mercer.report.steps import Steps
from mercer.tables import Preparation
from mercer.utils.types import Array

__all__ = [
    "DENSE_ROWS",
    "ECA_STEP",
    "ENTROPY_FRACTION",
    "EXACT_ROWS",
    "Because",
    "Component",
    "Spectra",
    "fit_spectra",
]

#: Up to this many rows every eigenpair is computed, so that the full spectrum can be shown.
DENSE_ROWS = 2000
#: Up to this many rows eigenpairs are exact; larger tables use landmarks or Fourier features.
EXACT_ROWS = 5000
#: Fraction of V that the components should hold.
ENTROPY_FRACTION = 0.99
#: Name of the step that fits kernel ECA.
ECA_STEP = "kernel ECA"
_MIN_COMPONENTS, _MAX_COMPONENTS = 2, 10
_LISTED = 10
_RANKED_ROWS = 20_000
_FOURIER_COLUMNS = 3

#: Reason for the number of components.
Because = Literal["asked", "share", "picture", "most"]


@dataclass(frozen=True)
class Component:
    """A row of the table of components; fields are named like the columns of components.csv.

    ``share`` is the fraction of V, ``kept`` whether the component was selected.
    """

    order: int
    rank: int | None
    eigenvalue: float
    entropy_term: float
    share: float
    kept: bool


@dataclass(frozen=True, eq=False)
class Spectra:
    """Fitted kernel ECA and kernel PCA.

    Attributes
    ----------
    eca : KernelECA
    pca : KernelPCA
        Centered, with the same kernel.
    because : str
        Reason for the number of components of kernel ECA: "asked" (by the user), "share" (the
        fewest that hold 99 % of V), "picture" (one is enough, but scatter plots need two) or
        "most" (the limit of the page).
    ranks : int array or None
        Ranks of the selected eigenvalues among all; None if counting them would take long.
    solver : str
        "dense", "auto" or "nystrom".
    """

    eca: KernelECA
    pca: KernelPCA
    because: Because
    ranks: Array | None
    solver: str

    @property
    def is_complete(self) -> bool:
        """Whether every eigenpair is known."""
        return self.eca.spectrum_.known_ranks is not None

    @property
    def entropy_fraction(self) -> float:
        """Fraction of V in the selected components."""
        return float(self.eca.entropy_ratio_.sum())

    @property
    def leading_fraction(self) -> float | None:
        """Fraction of V in the same number of leading eigenpairs; None if they are not known."""
        if not self.is_complete:
            return None
        leading = self.eca.spectrum_.known_entropy_terms[: self.eca.n_components_]
        return float(leading.sum() / self.eca.information_potential_)

    def components(self) -> list[Component]:
        """Return the selected components and, if known, the next ones, up to a total of ten."""
        eca, spectrum = self.eca, self.eca.spectrum_
        values, terms = list(eca.eigenvalues_), list(eca.entropy_terms_)
        ranks: list[int | None] = [None] * len(values)
        if self.ranks is not None:
            ranks = [int(rank) for rank in self.ranks]
        if self.is_complete:
            for i in np.argsort(-spectrum.known_entropy_terms, kind="stable"):
                if len(values) >= _LISTED:
                    break
                if i + 1 not in ranks:
                    values.append(spectrum.known_eigenvalues[i])
                    terms.append(spectrum.known_entropy_terms[i])
                    ranks.append(int(i) + 1)
        potential = eca.information_potential_
        return [
            Component(i + 1, rank, float(v), float(t), float(t / potential), i < eca.n_components_)
            for i, (rank, v, t) in enumerate(zip(ranks, values, terms, strict=True))
        ]


def fit_spectra(
    model: Preparation, data: Any, n_components: int | None, steps: Steps, verbose: bool = False
) -> Spectra:
    """Fit kernel ECA, and kernel PCA with two components.

    Parameters
    ----------
    model : Preparation
    data : array or data frame
        ``model.data``.
    n_components : int or None
        None for the fewest, from 2 to 10, that hold 99 % of V.
    steps : Steps
    verbose : bool
    """
    solver = _solver_for(model)
    eca, because = steps.run(
        ECA_STEP, lambda: _fit_eca(data, model.kernel, solver, n_components, verbose)
    )
    ranks = eca.spectrum_.known_ranks
    if ranks is not None or model.table.n <= _RANKED_ROWS:
        ranks = steps.run("ranks of the selected eigenvalues", lambda: eca.component_ranks_)
    # The scatter plot of kernel PCA needs no full decomposition.
    pca_solver = "auto" if solver == "dense" else solver
    pca = steps.run("kernel PCA", lambda: _fit_pca(data, eca.kernel_, pca_solver, verbose))
    return Spectra(eca, pca, because, ranks, solver)


def _solver_for(model: Preparation) -> str:
    n = model.table.n
    if n <= DENSE_ROWS:
        return "dense"
    has_fourier = model.table.is_numeric and len(model.table.columns) <= _FOURIER_COLUMNS
    return "auto" if has_fourier or n <= EXACT_ROWS else "nystrom"


def _fit_eca(
    data: Any, kernel: Any, solver: str, n_components: int | None, verbose: bool
) -> tuple[KernelECA, Because]:
    def fit(count: int | float) -> KernelECA:
        return KernelECA(count, kernel=kernel, solver=solver, verbose=verbose).fit(data)

    if n_components is not None:
        return fit(n_components), "asked"
    try:
        eca = fit(ENTROPY_FRACTION)
        if eca.n_components_ < _MIN_COMPONENTS:
            return fit(_MIN_COMPONENTS), "picture"
        if eca.n_components_ > _MAX_COMPONENTS:
            return fit(_MAX_COMPONENTS), "most"
        return eca, "share"
    except RankError as error:
        raise RankError(
            f"The kernel matrix has rank {error.rank} at this bandwidth, but the scatter plots "
            f"need {_MIN_COMPONENTS} components. All rows are nearly identical under the kernel. "
            "Use a smaller bandwidth.",
            error.rank,
        ) from error


def _fit_pca(data: Any, kernel: Any, solver: str, verbose: bool) -> KernelPCA:
    """Fit kernel PCA with two components, or with one if the centered K has rank 1."""
    try:
        return KernelPCA(2, kernel=kernel, solver=solver, verbose=verbose).fit(data)
    except RankError:
        return KernelPCA(1, kernel=kernel, solver=solver, verbose=verbose).fit(data)
