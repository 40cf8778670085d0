"""Kernel ECA and kernel PCA: scatter plots, and the entropy of each component."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from mercer import KernelECA, KernelPCA
from mercer.errors import RankError
from mercer.kernels import Gaussian
from mercer.plots import EmbeddingDisplay, SpectrumDisplay
from mercer.report.computation import Steps, computation
from mercer.report.section import MAX_POINTS, Figure, HtmlTable, Section, svg
from mercer.tables import Preparation
from mercer.utils.formatting import format_number, format_percent, join_words
from mercer.utils.types import Array

__all__ = [
    "DENSE_ROWS",
    "ECA_STEP",
    "ENTROPY_FRACTION",
    "EXACT_ROWS",
    "FEW_COLUMNS",
    "Component",
    "Embeddings",
    "Spectra",
    "fit_spectra",
    "rows_drawn",
]

#: Up to this many rows every eigenpair is computed, so that the full spectrum can be shown.
DENSE_ROWS = 2000
#: Up to this many rows eigenpairs are exact; larger tables use landmarks or Fourier features.
EXACT_ROWS = 5000
#: Fraction of V that the components should hold.
ENTROPY_FRACTION = 0.99
#: Numeric tables up to this width have Fourier sums for all rows, and a density to look at.
FEW_COLUMNS = 3
#: Name of the step that fits kernel ECA.
ECA_STEP = "kernel ECA"

# Reason for the number of components.
_Because = Literal["asked", "share", "picture", "most"]


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
class Spectra(Section):
    """Fitted kernel ECA and kernel PCA, and the table of components.

    Attributes
    ----------
    model : Preparation
    bandwidth : float or str
        As requested.
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

    name = "components"
    title = "Entropy by component"

    model: Preparation
    bandwidth: float | str
    eca: KernelECA
    pca: KernelPCA
    because: _Because
    ranks: Array | None
    solver: str

    @property
    def sigma(self) -> float | None:
        """Bandwidth of the Gaussian kernel; None for a mixed table (one bandwidth per column)."""
        kernel = self.eca.kernel_
        return float(kernel.bandwidth) if isinstance(kernel, Gaussian) else None

    @property
    def factor(self) -> float | None:
        """Multiplier of a mixed table's bandwidths; None for a numeric table."""
        if self.model.table.is_numeric:
            return None
        return 1.0 if isinstance(self.bandwidth, str) else float(self.bandwidth)

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
                if len(values) >= 10:
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

    def to_json(self) -> dict[str, Any]:
        """Return the results of kernel ECA and kernel PCA."""
        eca, pca = self.eca, self.pca
        return {
            "kernel_eca": {
                "information_potential": eca.information_potential_,
                "renyi_entropy": eca.renyi_entropy_,
                "residual_potential": eca.residual_potential_,
                "entropy_kept": self.entropy_fraction,
                "entropy_of_leading_eigenvalues": self.leading_fraction,
                "components": self.components(),
                **computation(eca),
            },
            "kernel_pca": {
                "eigenvalues": pca.eigenvalues_,
                "explained_variance_ratio": pca.explained_variance_ratio_,
                **computation(pca),
            },
        }

    def row_columns(self) -> dict[str, Array]:
        """Return the projections of kernel ECA."""
        projections = self.eca.spectrum_.projections.T
        return {f"component_{i}": z.astype(np.float32) for i, z in enumerate(projections, start=1)}

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Return the table of components."""
        return {"components": [asdict(one) for one in self.components()]}

    def context(self) -> dict[str, Any]:
        """Return the figure and the table of eigenvalues and entropy terms."""
        found = "" if self.is_complete else " Only converged eigenpairs are shown."
        caption = (
            "Top: eigenvalues λ of the kernel matrix K. Bottom: fraction ψ / V that each eigenpair "
            "adds to the information potential. Filled and numbered: the components selected by "
            f"kernel ECA, by decreasing entropy term.{found}"
        )
        components = self.components()
        rows = [
            [
                str(c.order),
                "unknown" if c.rank is None else str(c.rank),
                format_number(c.eigenvalue),
                format_number(c.entropy_term),
                format_percent(c.share),
                "yes" if c.kept else "no",
            ]
            for c in components
        ]
        heads = ["No.", "Rank of\u00a0λ", "Eigen\u00advalue\u00a0λ", "Entropy term\u00a0ψ"]
        table = HtmlTable(
            "Components by decreasing entropy term",
            [*heads, "Fraction ψ\u00a0/\u00a0V", "Selected"],
            rows,
            marked_rows=[i for i, c in enumerate(components) if c.kept],
        )
        return {"spectrum": Figure(self._figure(), caption, "wide"), "components": table}

    def _figure(self) -> str:
        eca = self.eca
        fractions = join_words([format_percent(ratio) for ratio in eca.entropy_ratio_])
        which = "" if self.ranks is None else f" Their eigenvalue ranks: {join_words(self.ranks)}."
        alt = (
            "Two charts of the eigenpairs, largest eigenvalue first. Top: eigenvalues of the "
            "kernel matrix. Bottom: fraction of the information potential in each eigenpair. "
            f"Highlighted: the {eca.n_components_} selected components, with fractions "
            f"{fractions}.{which}"
        )
        return svg(
            "spectrum",
            alt,
            (5.4, 4.8),
            lambda figure: SpectrumDisplay.from_estimator(
                eca, axes=figure.subplots(2, 1, sharex=True, gridspec_kw={"hspace": 0.08})
            ),
        )


@dataclass(frozen=True, eq=False)
class Embeddings(Section):
    """Scatter plots of the first two components, colored by labels.

    ``label_name`` is the column of the labels or "cluster"; None if there are no colors.
    """

    name = "embeddings"
    title = "Kernel ECA and kernel PCA"

    spectra: Spectra
    labels: Array | None
    label_name: str | None

    def context(self) -> dict[str, Any]:
        """Return the two figures."""
        eca, pca, ranks = self.spectra.eca, self.spectra.pca, self.spectra.ranks
        k = eca.n_components_
        more = f" (of {k} selected)" if k > 2 else ""
        near_origin = " Rows near the origin lie along the other components." if k > 2 else ""
        eca_caption = (
            f"The two components with the largest entropy terms{more}. The kernel is not centered: "
            "groups differ by their direction from the origin, where the thin lines cross."
            f"{near_origin}"
        )
        pca_caption = (
            "The two components with the largest variance, after centering: the origin is the mean."
        )
        if self.spectra.model.table.label is not None:
            pca_caption += f" Colors in both figures: “{self.label_name}”."
        elif self.labels is not None:
            pca_caption += " Colors in both figures: clusters."
        eca_axes = [
            f"component {i + 1}: {'' if ranks is None else f'λ rank {ranks[i]}, '}"
            f"{format_percent(eca.entropy_ratio_[i])} of V"
            for i in (0, 1)
        ]
        points = pca.spectrum_.projections
        ratios = [*pca.explained_variance_ratio_, 0.0]  # two different rows have one component
        if pca.n_components_ == 1:
            points = np.column_stack([points, np.zeros(len(points))])
        pca_axes = [f"component {i + 1}: {format_percent(ratios[i])} of variance" for i in (0, 1)]
        projections = eca.spectrum_.projections
        return {
            "eca": Figure(self._plot("eca", "Kernel ECA", projections, eca_axes), eca_caption),
            "pca": Figure(self._plot("pca", "Kernel PCA", points, pca_axes), pca_caption),
        }

    def _plot(self, name: str, title: str, projections: Array, axis_labels: list[str]) -> str:
        colors = "" if self.labels is None else f", colored by {self.label_name}"
        rows = rows_drawn(len(projections))
        return svg(
            name,
            f"Scatter plot of {rows} on the first two components of {title}{colors}.",
            (4.8, 4.8),
            lambda figure: EmbeddingDisplay(
                points=projections[:, :2],
                labels=self.labels,
                axis_labels=(axis_labels[0], axis_labels[1]),
            ).plot(figure.subplots(), title=title, max_points=MAX_POINTS),
        )


def rows_drawn(n: int) -> str:
    """Return the number of rows that a scatter plot shows."""
    return f"{n:,} rows" if n <= MAX_POINTS else f"{MAX_POINTS:,} of {n:,} rows"


# --- fits ------------------------------------------------------------------------------------


def fit_spectra(
    model: Preparation,
    bandwidth: float | str,
    n_components: int | None,
    steps: Steps,
    verbose: bool = False,
) -> Spectra:
    """Fit kernel ECA, and kernel PCA with two components.

    Without ``n_components``, kernel ECA has the fewest, from 2 to 10, that hold 99 % of V.
    """
    data, table = model.data, model.table
    has_fourier = table.is_numeric and len(table.columns) <= FEW_COLUMNS
    if table.n <= DENSE_ROWS:
        solver = "dense"
    else:
        solver = "auto" if has_fourier or table.n <= EXACT_ROWS else "nystrom"
    eca, because = steps.run(
        ECA_STEP, lambda: _fit_eca(data, model.kernel, solver, n_components, verbose)
    )
    ranks = eca.spectrum_.known_ranks
    if ranks is not None or table.n <= 20_000:  # counting eigenvalues of more rows takes minutes
        ranks = steps.run("ranks of the selected eigenvalues", lambda: eca.component_ranks_)
    # The scatter plot of kernel PCA needs no full decomposition.
    pca_solver = "auto" if solver == "dense" else solver
    pca = steps.run("kernel PCA", lambda: _fit_pca(data, eca.kernel_, pca_solver, verbose))
    return Spectra(model, bandwidth, eca, pca, because, ranks, solver)


def _fit_eca(
    data: Any, kernel: Any, solver: str, n_components: int | None, verbose: bool
) -> tuple[KernelECA, _Because]:
    def fit(count: int | float) -> KernelECA:
        return KernelECA(count, kernel=kernel, solver=solver, verbose=verbose).fit(data)

    if n_components is not None:
        return fit(n_components), "asked"
    try:
        eca = fit(ENTROPY_FRACTION)
        if eca.n_components_ < 2:
            return fit(2), "picture"
        if eca.n_components_ > 10:
            return fit(10), "most"
        return eca, "share"
    except RankError as error:
        raise RankError(
            f"The kernel matrix has rank {error.rank} at this bandwidth, but the scatter plots "
            "need 2 components. All rows are nearly identical under the kernel. "
            "Use a smaller bandwidth.",
            error.rank,
        ) from error


def _fit_pca(data: Any, kernel: Any, solver: str, verbose: bool) -> KernelPCA:
    """Fit kernel PCA with two components, or with one if the centered K has rank 1."""
    try:
        return KernelPCA(2, kernel=kernel, solver=solver, verbose=verbose).fit(data)
    except RankError:
        return KernelPCA(1, kernel=kernel, solver=solver, verbose=verbose).fit(data)
