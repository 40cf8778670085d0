"""What the estimators say about a table: one step after the other, timed, with their warnings."""

from __future__ import annotations

from dataclasses import dataclass

from mercer import KernelECA, KernelPCA
from mercer.cluster_count import Counting, count_clusters
from mercer.kernels import Gaussian, Kernel
from mercer.report.clusters import Clusters, Sweep, find_clusters, sweep_widths
from mercer.report.columns import ColumnSummary, summarise_columns
from mercer.report.densities import Densities, estimate_densities
from mercer.report.labels import LabelFindings, study_labels
from mercer.report.novelty import Novelty, find_novel
from mercer.report.profiles import Trait, describe_clusters
from mercer.report.spectra import Spectra, fit_spectra, solver_for
from mercer.report.steps import Raised, Steps
from mercer.tables import Preparation, Table, prepare

__all__ = ["Analysis", "analyse"]

_STEPS = 10


@dataclass(frozen=True, eq=False)
class Analysis:
    """Everything a report tells.

    Parameters
    ----------
    model : Preparation
        The table, and how it is compared.
    bandwidth : float or str
        As it was asked for.
    columns : tuple of ColumnSummary
    spectra : Spectra
        Kernel ECA and kernel PCA.
    counting : Counting
        The number of clusters.
    sweep : Sweep or None
        Clusters at many bandwidths.
    clusters : Clusters
    traits : tuple of Trait
        What distinguishes them.
    densities : Densities
    novelty : Novelty
    labels : LabelFindings or None
        None without a label column.
    seconds : dict of str to float
        By step.
    raised : tuple of Raised
        Warnings.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.report import analyse
    >>> from mercer.tables import as_table
    >>> table = as_table(pd.DataFrame({"size": [1.0, 1.1, 1.2, 5.0, 5.1, 5.3]}))
    >>> analysis = analyse(table, n_clusters=2)
    >>> [cluster.size for cluster in analysis.clusters.each]
    [3, 3]
    """

    model: Preparation
    bandwidth: float | str
    columns: tuple[ColumnSummary, ...]
    spectra: Spectra
    counting: Counting
    sweep: Sweep | None
    clusters: Clusters
    traits: tuple[Trait, ...]
    densities: Densities
    novelty: Novelty
    labels: LabelFindings | None
    seconds: dict[str, float]
    raised: tuple[Raised, ...]

    @property
    def table(self) -> Table:
        """The table that is analysed."""
        return self.model.table

    @property
    def eca(self) -> KernelECA:
        """Kernel ECA of the table."""
        return self.spectra.eca

    @property
    def pca(self) -> KernelPCA:
        """Kernel PCA of the table."""
        return self.spectra.pca

    @property
    def sigma(self) -> float | None:
        """The bandwidth in use; None for a table's kernel, which has one width per column."""
        kernel = self.eca.kernel_
        return float(kernel.bandwidth) if isinstance(kernel, Gaussian) else None

    @property
    def factor(self) -> float | None:
        """What the widths of a table's kernel were multiplied by; None for a table of numbers."""
        if self.table.is_numeric:
            return None
        return _width(self.table, self.eca.kernel_, self.bandwidth)

    @property
    def share_kept(self) -> float:
        """Share of V that the kept components hold."""
        return self.spectra.share_kept


def analyse(
    table: Table,
    *,
    n_components: int | None = None,
    n_clusters: int | None = None,
    bandwidth: float | str = "auto",
    scale: bool = True,
    verbose: bool = False,
) -> Analysis:
    """Ask all estimators; the parameters are those of ``write_report``.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.report import analyse
    >>> from mercer.tables import as_table
    >>> table = as_table(pd.DataFrame({"size": [1.0, 1.1, 1.2, 5.0, 5.1, 5.3]}))
    >>> analyse(table, bandwidth=0.5).sigma
    0.5
    """
    if n_components is not None and n_components < 2:
        raise ValueError(f"n_components={n_components} must be at least 2: a picture needs two.")
    if n_clusters is not None and not 1 <= n_clusters <= table.n:
        raise ValueError(
            f"n_clusters={n_clusters} must be from 1 to the number of rows, {table.n}."
        )
    steps = Steps(_STEPS, verbose)
    model = prepare(table, bandwidth=bandwidth, scale=scale)
    data = model.data
    # what a sweep starts from, whatever bandwidth was asked for
    base = Gaussian("auto") if table.is_numeric else prepare(table).kernel
    spectra = fit_spectra(model, data, n_components, steps, verbose)
    kernel = spectra.eca.kernel_
    counting = steps.run("number of clusters", lambda: count_clusters(data, base, n_clusters))
    sweep = steps.run("sweep of bandwidths", lambda: sweep_widths(data, base, counting.chosen))
    # clusters have a bandwidth of their own; a single one needs none
    own = sweep if bandwidth == "auto" and counting.chosen > 1 else None
    used = kernel if own is None else own.kernel
    width = _width(table, kernel, bandwidth) if own is None else own.chosen
    solver = "auto" if solver_for(model) == "dense" else solver_for(model)
    clusters = steps.run(
        "clusters",
        lambda: find_clusters(data, used, counting.chosen, width=width, sweep=sweep, solver=solver),
    )
    traits = steps.run(
        "what distinguishes the clusters", lambda: describe_clusters(table, clusters.numbers)
    )
    densities = steps.run(
        "densities", lambda: estimate_densities(model, kernel, clusters.numbers, traits)
    )
    # Silverman's window is made for densities of a few columns; where the kernel is much wider,
    # rows of a small group would all look novel, so that of the clusters serves
    local = len(clusters.each) > 1 and not (table.is_numeric and len(table.columns) <= 3)
    novelty = steps.run(
        "novelty of every row", lambda: find_novel(model, data, used if local else kernel)
    )
    labels = None
    if table.labels is not None:
        labels = steps.run("labels and kernel LDA", lambda: study_labels(model, clusters.numbers))
    columns = summarise_columns(table, kernel, model.scaled)
    steps.close()
    return Analysis(
        model=model,
        bandwidth=bandwidth,
        columns=columns,
        spectra=spectra,
        counting=counting,
        sweep=sweep,
        clusters=clusters,
        traits=traits,
        densities=densities,
        novelty=novelty,
        labels=labels,
        seconds=steps.seconds,
        raised=tuple(steps.raised),
    )


def _width(table: Table, kernel: Kernel, asked: float | str) -> float:
    """Bandwidth of a table of numbers, or the factor for the widths of another's columns."""
    if table.is_numeric:
        return float(kernel.bandwidth)  # type: ignore[attr-defined]
    return 1.0 if isinstance(asked, str) else float(asked)
