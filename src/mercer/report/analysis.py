"""The analysis behind a report: all estimators, run step by step."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mercer import KernelECA, KernelPCA
from mercer.cluster.profiles import Trait, cluster_traits
from mercer.cluster.table_clusters import table_clustering
from mercer.errors import ColumnWarning, suppress_warnings
from mercer.kernels import Gaussian, Kernel
from mercer.report.clusters import (
    Clusters,
    Counting,
    Sweep,
    find_clusters,
    suggest_number,
    sweep_widths,
)
from mercer.report.columns import ColumnSummary, summarize_columns
from mercer.report.densities import Densities, estimate_densities
from mercer.report.labels import LabelFindings, study_labels
from mercer.report.scores import RowScores, score_rows
from mercer.report.spectra import Spectra, fit_spectra
from mercer.report.steps import Raised, Steps
from mercer.tables import Preparation, Table, prepare
from mercer.utils.validation import check_integer

__all__ = ["Analysis", "analyze"]

_STEPS = 10
_FEW_COLUMNS = 3


@dataclass(frozen=True, eq=False)
class Analysis:
    """Results of :func:`analyze`: everything that a report shows.

    Parameters
    ----------
    model : Preparation
        The table and its kernel.
    bandwidth : float or str
        As requested.
    columns : tuple of ColumnSummary
    spectra : Spectra
        Kernel ECA and kernel PCA.
    counting : Counting
        Counts of clusters by stability and by spectroscopy, for comparison; ``chosen`` is the
        number in use.
    sweep : Sweep or None
        Entropy clusters at many bandwidths.
    clusters : Clusters
    traits : tuple of Trait
        Differences between each cluster and all rows.
    densities : Densities
    row_scores : RowScores
        Leave-one-out scores.
    labels : LabelFindings or None
        None without a label column.
    seconds : dict of str to float
        By step.
    raised : tuple of Raised
        Warnings.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.report import analyze
    >>> from mercer.tables import as_table
    >>> table = as_table(pd.DataFrame({"size": [1.0, 1.1, 1.2, 5.0, 5.1, 5.3]}))
    >>> analysis = analyze(table, n_clusters=2)
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
    row_scores: RowScores
    labels: LabelFindings | None
    seconds: dict[str, float]
    raised: tuple[Raised, ...]

    @property
    def table(self) -> Table:
        """The analyzed table."""
        return self.model.table

    @property
    def eca(self) -> KernelECA:
        """Fitted kernel ECA."""
        return self.spectra.eca

    @property
    def pca(self) -> KernelPCA:
        """Fitted kernel PCA."""
        return self.spectra.pca

    @property
    def sigma(self) -> float | None:
        """Bandwidth of the Gaussian kernel; None for a mixed table (one bandwidth per column)."""
        kernel = self.eca.kernel_
        return float(kernel.bandwidth) if isinstance(kernel, Gaussian) else None

    @property
    def factor(self) -> float | None:
        """Multiplier of a mixed table's bandwidths; None for a numeric table."""
        if self.table.is_numeric:
            return None
        return _width(self.table, self.eca.kernel_, self.bandwidth)

    @property
    def entropy_fraction(self) -> float:
        """Fraction of V in the selected components."""
        return self.spectra.entropy_fraction


def analyze(
    table: Table,
    *,
    n_components: int | None = None,
    n_clusters: int | None = None,
    bandwidth: float | str = "auto",
    scale: bool = True,
    verbose: bool = False,
) -> Analysis:
    """Analyze a table with all estimators; parameters are those of :func:`write_report`.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.report import analyze
    >>> from mercer.tables import as_table
    >>> table = as_table(pd.DataFrame({"size": [1.0, 1.1, 1.2, 5.0, 5.1, 5.3]}))
    >>> analyze(table, bandwidth=0.5).sigma
    0.5
    """
    if n_components is not None:
        check_integer(n_components, "n_components", low=2, remedy="The scatter plots need two.")
    if n_clusters is not None:
        check_integer(n_clusters, "n_clusters", high=table.n)
    steps = Steps(_STEPS, verbose)
    # The sweep starts from the default bandwidths, even if a bandwidth was requested.
    with suppress_warnings(ColumnWarning):  # the page has a caution
        default = prepare(table, scale=scale)
    model = _with_bandwidth(default, bandwidth)
    data = model.data
    spectra = fit_spectra(model, data, n_components, steps, verbose)
    kernel = spectra.eca.kernel_
    clustering = table_clustering(default, n_clusters or "auto")
    clusters = steps.run("clusters", lambda: find_clusters(data, clustering))
    counting = steps.run(
        "number of clusters", lambda: suggest_number(data, clusters, table_clustering(default))
    )
    sweep = steps.run(
        "bandwidth sweep", lambda: sweep_widths(data, default.kernel, counting.chosen)
    )
    traits = steps.run("cluster profiles", lambda: cluster_traits(table, clusters.numbers))
    densities = steps.run(
        "densities", lambda: estimate_densities(model, kernel, clusters.numbers, traits)
    )
    # Silverman's bandwidth suits the density of a few columns. A much larger one would give all
    # rows of a small cluster high scores, so the bandwidth of the sweep is used instead.
    is_density = table.is_numeric and len(table.columns) <= _FEW_COLUMNS
    is_local = len(clusters.each) > 1 and not is_density and bandwidth == "auto"
    local_kernel = kernel if sweep is None or not is_local else sweep.kernel
    row_scores = steps.run("leave-one-out scores", lambda: score_rows(model, data, local_kernel))
    labels = None
    if table.labels is not None:
        labels = steps.run("labels and kernel LDA", lambda: study_labels(model, clusters.numbers))
    columns = summarize_columns(table, kernel, model.scaled)
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
        row_scores=row_scores,
        labels=labels,
        seconds=steps.seconds,
        raised=tuple(steps.raised),
    )


def _with_bandwidth(default: Preparation, bandwidth: float | str) -> Preparation:
    """Return the model with the requested bandwidth, or multiplier, in place of the default."""
    if bandwidth == "auto":
        return default
    if default.table.is_numeric:
        return replace(default, kernel=Gaussian(bandwidth))
    if isinstance(bandwidth, str):
        return prepare(default.table, bandwidth=bandwidth)  # raises: rules need a numeric table
    return replace(default, kernel=default.kernel.scale_bandwidths(bandwidth))


def _width(table: Table, kernel: Kernel, requested: float | str) -> float:
    """Return the bandwidth of a numeric table, or the multiplier of a mixed table's bandwidths."""
    if table.is_numeric:
        return float(kernel.bandwidth)  # type: ignore[attr-defined]
    return 1.0 if isinstance(requested, str) else float(requested)
