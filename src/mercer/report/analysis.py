"""The analysis behind a report: the sections, computed step by step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mercer import KernelECA, KernelPCA
from mercer.errors import ColumnWarning, suppress_warnings
from mercer.kernels import Gaussian
from mercer.report.clusters import Clusters, Counting, find_clusters
from mercer.report.components import FEW_COLUMNS, Embeddings, Spectra, fit_spectra
from mercer.report.computation import Computation, Raised, Steps, describe_spectrum
from mercer.report.data import Data, summarize_columns
from mercer.report.densities import Densities, estimate_densities
from mercer.report.labels import Labels, study_labels
from mercer.report.overview import Warnings, cautions
from mercer.report.scores import RowScores, score_rows
from mercer.report.section import Section, plain
from mercer.report.settings import Settings, sweep_widths
from mercer.tables import Preparation, Table, prepare
from mercer.utils.validation import check_integer

__all__ = ["Analysis", "analyze", "numbers"]


@dataclass(frozen=True, eq=False)
class Analysis:
    """Results of :func:`analyze`: everything that a report shows.

    Parameters
    ----------
    data : Data
        The table and a summary of each column.
    spectra : Spectra
        Kernel ECA and kernel PCA.
    clusters : Clusters
        Clusters, their profiles, and the certainty of their number.
    settings : Settings
        Settings, and entropy clusters at many bandwidths.
    densities : Densities
    row_scores : RowScores
        Leave-one-out scores.
    labels : Labels or None
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

    data: Data
    spectra: Spectra
    clusters: Clusters
    settings: Settings
    densities: Densities
    row_scores: RowScores
    labels: Labels | None
    seconds: dict[str, float]
    raised: tuple[Raised, ...]

    @property
    def table(self) -> Table:
        """The analyzed table."""
        return self.data.model.table

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
        return self.spectra.sigma

    @property
    def counting(self) -> Counting:
        """The number of clusters in use, ``chosen``, and the one that the data suggest."""
        return self.clusters.counting

    @property
    def sections(self) -> list[Section]:
        """The sections in the order of the page."""
        return [
            Warnings(tuple(cautions(self)), self.raised),
            self.clusters,
            self._embeddings(),
            *([] if self.labels is None else [self.labels]),
            self.densities,
            self.row_scores,
            self.spectra,
            self.data,
            self.settings,
            Computation(tuple(self._methods()), self.seconds, len(self.raised)),
        ]

    def _embeddings(self) -> Embeddings:
        labels, name = self.table.labels, self.table.label
        if labels is None and len(self.clusters.each) > 1:
            labels, name = self.clusters.numbers.astype(str), "cluster"
        return Embeddings(self.spectra, labels, name)

    def _methods(self) -> list[tuple[str, str]]:
        """Return the method of each part and its accuracy."""
        reference, n = self.row_scores.reference, self.table.n
        compared = "all other rows" if reference >= n else f"{reference:,} rows"
        methods = [
            ("Kernel ECA", describe_spectrum(self.eca.spectrum_)),
            ("Kernel PCA", describe_spectrum(self.pca.spectrum_)),
            ("Clusters", describe_spectrum(self.clusters.estimator.spectrum_)),
            (
                "Leave-one-out scores",
                f"Each row compared with {compared}; exact up to rounding error.",
            ),
        ]
        prediction = None if self.labels is None else self.labels.prediction
        if prediction is not None:
            text = (
                f"{prediction.rank} coordinates, {prediction.folds}-fold cross-validation on "
                f"{prediction.rows:,} rows."
            )
            methods.append(("Kernel LDA", text))
        return methods


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
    steps = Steps(10, verbose)
    # The sweep starts from the default bandwidths, even if a bandwidth was requested.
    with suppress_warnings(ColumnWarning):  # the page has a caution
        default = prepare(table, scale=scale)
    model = _with_bandwidth(default, bandwidth)
    spectra = fit_spectra(model, bandwidth, n_components, steps, verbose)
    kernel = spectra.eca.kernel_
    clusters = find_clusters(default, spectra, n_clusters, steps)
    sweep = steps.run("bandwidth sweep", lambda: sweep_widths(default, clusters.counting.chosen))
    densities = steps.run(
        "densities", lambda: estimate_densities(spectra, clusters.numbers, clusters.traits)
    )
    # Silverman's bandwidth suits the density of a few columns. A much larger one would give all
    # rows of a small cluster high scores, so the bandwidth of the sweep is used instead.
    is_density = table.is_numeric and len(table.columns) <= FEW_COLUMNS
    is_local = len(clusters.each) > 1 and not is_density and bandwidth == "auto"
    local_kernel = kernel if sweep is None or not is_local else sweep.kernel
    row_scores = steps.run(
        "leave-one-out scores", lambda: score_rows(model, model.data, local_kernel)
    )
    labels = None
    if table.labels is not None:
        labels = steps.run("labels and kernel LDA", lambda: study_labels(model, clusters.numbers))
    columns = summarize_columns(table, kernel, model.scaled)
    steps.close()
    return Analysis(
        data=Data(model, columns),
        spectra=spectra,
        clusters=clusters,
        settings=Settings(spectra, clusters, sweep),
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


def numbers(analysis: Analysis) -> dict[str, Any]:
    """Return all numbers of the report, except those of single rows (see the table of rows).

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.report import analyze, numbers
    >>> from mercer.tables import as_table
    >>> table = as_table(pd.DataFrame({"size": [1.0, 1.1, 1.2, 5.0, 5.1, 5.3]}))
    >>> numbers(analyze(table))["data"]["rows"]
    6
    """
    found: dict[str, Any] = {"labels": None}
    for section in analysis.sections:
        found |= plain(section.to_json())
    return found
