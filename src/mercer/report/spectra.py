"""Kernel ECA and kernel PCA of a table, and the table of components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mercer import KernelECA, KernelPCA
from mercer.errors import RankError
from mercer.maths.types import Array
from mercer.report.steps import Steps
from mercer.tables import Preparation

__all__ = ["DENSE_ROWS", "EXACT_ROWS", "SHARE", "Because", "Component", "Spectra", "fit_spectra"]

#: Up to this many rows every eigenpair is computed, so that the whole spectrum can be shown.
DENSE_ROWS = 2000
#: Up to this many rows eigenpairs are exact where plane waves do not serve; beyond, landmarks.
EXACT_ROWS = 5000
#: Share of V that the components should hold, and how many of them a page can bear.
SHARE = 0.99
_FEWEST, _MOST = 2, 10
_LISTED = 10
_RANKED_ROWS = 20_000
_WAVES = 3  # columns up to which plane waves serve

#: Why there are as many components as there are.
Because = Literal["asked", "share", "picture", "most"]


@dataclass(frozen=True)
class Component:
    """A line of the table of components."""

    order: int
    rank: int | None
    eigenvalue: float
    entropy_term: float
    share: float
    kept: bool


@dataclass(frozen=True, eq=False)
class Spectra:
    """The two fits.

    Attributes
    ----------
    eca : KernelECA
    pca : KernelPCA
        Centred, with the same kernel.
    because : str
        Why kernel ECA keeps as many components as it does.
    ranks : int array or None
        Places of the kept eigenvalues among all, where they are known or cheap to count.
    """

    eca: KernelECA
    pca: KernelPCA
    because: Because
    ranks: Array | None

    @property
    def is_complete(self) -> bool:
        """Whether every eigenpair is known."""
        return self.eca.spectrum_.known_ranks is not None

    @property
    def share_kept(self) -> float:
        """Share of V that the kept components hold."""
        return float(self.eca.entropy_ratio_.sum())

    @property
    def share_of_leading(self) -> float | None:
        """Share of V that as many leading eigenvalues would hold, where that is known."""
        if not self.is_complete:
            return None
        leading = self.eca.spectrum_.known_entropy_terms[: self.eca.n_components_]
        return float(leading.sum() / self.eca.information_potential_)

    def components(self) -> list[Component]:
        """Kept components, then (where all pairs are known) the next ones, ten lines in all."""
        eca, spectrum = self.eca, self.eca.spectrum_
        values, terms = list(eca.eigenvalues_), list(eca.entropy_terms_)
        places: list[int | None] = [None] * len(values)
        if self.ranks is not None:
            places = [int(rank) for rank in self.ranks]
        if self.is_complete:
            for i in np.argsort(-spectrum.known_entropy_terms, kind="stable"):
                if len(values) >= _LISTED:
                    break
                if i + 1 not in places:
                    values.append(spectrum.known_eigenvalues[i])
                    terms.append(spectrum.known_entropy_terms[i])
                    places.append(int(i) + 1)
        potential = eca.information_potential_
        return [
            Component(i + 1, rank, float(v), float(t), float(t / potential), i < eca.n_components_)
            for i, (rank, v, t) in enumerate(zip(places, values, terms, strict=True))
        ]


def solver_for(model: Preparation) -> str:
    """How eigenpairs of a table are found: see the constants above."""
    n = model.table.n
    if n <= DENSE_ROWS:
        return "dense"
    waves = model.table.is_numeric and len(model.table.columns) <= _WAVES
    return "auto" if waves or n <= EXACT_ROWS else "nystrom"


def fit_spectra(
    model: Preparation, data: Any, n_components: int | None, steps: Steps, verbose: bool = False
) -> Spectra:
    """Fit kernel ECA with as many components as it takes, and kernel PCA with two.

    Parameters
    ----------
    model : Preparation
    data : array or data frame
        ``model.data``.
    n_components : int or None
        None for the fewest, from 2 to 10, that hold 99 per cent of V.
    steps : Steps
    verbose : bool
    """
    solver = solver_for(model)

    def eca(count: int | float, solver: str) -> KernelECA:
        try:
            return KernelECA(count, kernel=model.kernel, solver=solver, verbose=verbose).fit(data)
        except RankError as few:
            if n_components is not None:
                raise
            raise RankError(
                f"K has {few.rank} positive eigenvalue at this bandwidth: all rows look alike, and "
                "a picture needs two components. Give a smaller bandwidth.",
                few.rank,
            ) from few

    count = n_components
    because: Because = "asked"
    fitted: KernelECA | None = None
    if count is None:
        quick = "auto" if solver == "dense" else solver
        look = steps.run(f"kernel ECA for {SHARE:.0%} of V", lambda: eca(SHARE, quick))
        count, because = _within_bounds(look.n_components_)
        if solver != "dense" and count == look.n_components_:
            fitted = look
    if fitted is None:
        fitted = steps.run(f"kernel ECA with {count} components", lambda: eca(count, solver))
    ranks = fitted.spectrum_.known_ranks
    if ranks is not None or model.table.n <= _RANKED_ROWS:
        ranks = steps.run("ranks of the kept eigenvalues", lambda: fitted.component_ranks_)
    pca = steps.run("kernel PCA", lambda: _pca(fitted.kernel_, data, _for_pca(solver), verbose))
    return Spectra(fitted, pca, because, ranks)


def _pca(kernel: Any, data: Any, solver: str, verbose: bool) -> KernelPCA:
    """Two components, or one where the rows span no more."""
    try:
        return KernelPCA(2, kernel=kernel, solver=solver, verbose=verbose).fit(data)
    except RankError:
        return KernelPCA(1, kernel=kernel, solver=solver, verbose=verbose).fit(data)


def _for_pca(solver: str) -> str:
    """Kernel PCA's picture needs no full decomposition."""
    return "auto" if solver == "dense" else solver


def _within_bounds(count: int) -> tuple[int, Because]:
    if count < _FEWEST:
        return _FEWEST, "picture"
    return (count, "share") if count <= _MOST else (_MOST, "most")
