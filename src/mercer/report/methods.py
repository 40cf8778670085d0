"""Methods, technical warnings, computing time and memory, and kernel ECA of the table."""

from __future__ import annotations

import platform
import re
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, TypeVar

import mercer
from mercer import KernelECA
from mercer.cluster.table_clustering import describe_kernel
from mercer.data.subsampling import random_rows
from mercer.errors import RankError
from mercer.kernels import Gaussian, Linear
from mercer.plots import SpectrumDisplay
from mercer.report.section import Figure, HtmlTable, Section, svg
from mercer.tables import Preparation
from mercer.utils.formatting import format_count, format_number, format_percent
from mercer.utils.frames import rows_of
from mercer.utils.resources import ProgressBar

__all__ = ["Methods", "Raised", "Steps", "describe_spectrum", "fit_eca", "format_versions"]

T = TypeVar("T")

_ECA_ROWS = 2000
_PACKAGES = ("numpy", "scipy", "scikit-learn", "matplotlib", "pandas")


@dataclass(frozen=True)
class Raised:
    """A warning and the step that raised it."""

    step: str
    category: str
    message: str


@dataclass
class Steps:
    """Run steps one by one, record their times and warnings, and show a progress bar.

    Without ``verbose`` the bar is only shown on a terminal, if the work takes long.
    """

    total: int
    verbose: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
    raised: list[Raised] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._bar = ProgressBar(self.total, "steps", always=self.verbose)

    def run(self, step: str, work: Callable[[], T]) -> T:
        """Run a step and return its result; warnings that differ in numbers only appear once."""
        self._bar.what = f"steps: {step}"
        self._bar.step(len(self.seconds))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            start = time.perf_counter()
            result = work()
            self.seconds[step] = time.perf_counter() - start
        known = {_without_numbers(one.message) for one in self.raised}
        for warning in caught:
            text = str(warning.message)
            if _without_numbers(text) not in known:
                self.raised.append(Raised(step, warning.category.__name__, text))
                known.add(_without_numbers(text))
        return result

    def close(self) -> None:
        """End the line of the progress bar."""
        self._bar.what = "steps"
        self._bar.step(self._bar.total)
        self._bar.close()


def _without_numbers(text: str) -> str:
    """Return a text without numbers and parentheses."""
    return " ".join(re.sub(r"\([^)]*\)|[\d.,]+", "", text).split())


@dataclass(frozen=True, eq=False)
class Methods(Section):
    """Methods of all sections, warnings, time and memory.

    ``eca`` is None if the kernel matrix of the rows has no two components.
    """

    name = "methods"
    title = "Methods"

    model: Preparation
    clustering: Any
    has_scores: bool
    eca: KernelECA | None
    seconds: dict[str, float]
    raised: tuple[Raised, ...]
    peak: int | None

    @property
    def answer(self) -> str:
        """Return time, memory and the number of warnings."""
        total = format_number(sum(self.seconds.values()), 2)
        memory = "" if self.peak is None else f" and {self.peak / 2**20:,.0f} MB of memory"
        count = len(self.raised)
        warned = {0: "no technical warnings", 1: "one technical warning"}
        there = warned.get(count, f"{count} technical warnings")
        return f"The analysis took {total} s{memory}, with {there}."

    def to_json(self) -> dict[str, Any]:
        """Return times, memory, warnings, versions and kernel ECA."""
        eca = self.eca
        return {
            "seconds": self.seconds,
            "peak_memory": self.peak,
            "warnings": self.raised,
            "versions": _versions(),
            "kernel_eca": None
            if eca is None
            else {
                "rows": len(eca.spectrum_.eigenvectors),
                "bandwidth": self._sigma(),
                "information_potential": eca.information_potential_,
                "renyi_entropy": eca.renyi_entropy_,
                "eigenvalues": eca.eigenvalues_,
                "entropy_terms": eca.entropy_terms_,
                "entropy_ratio": eca.entropy_ratio_,
                "ranks": eca.component_ranks_,
            },
        }

    def _sigma(self) -> float | None:
        kernel = None if self.eca is None else self.eca.kernel_
        return float(kernel.bandwidth) if isinstance(kernel, Gaussian) else None

    def context(self) -> dict[str, Any]:
        """Return the methods, the warnings, the table of times, and the spectrum."""
        times = [[step, f"{seconds:.2f}"] for step, seconds in self.seconds.items()]
        return {
            "warnings": [(one.category, one.step, one.message) for one in self.raised],
            "items": self._items(),
            "times": HtmlTable("Time by step", ["Step", "Seconds"], times, [0]),
            "spectrum": self._spectrum(),
        }

    def _items(self) -> list[tuple[str, str]]:
        spectrum = self.clustering.spectrum_
        rows = len(spectrum.eigenvectors)
        kernel = self.clustering.kernel_
        method = f"Spectral clustering with a {describe_kernel(kernel)}"
        if isinstance(kernel, Linear):
            method = "K-means"
        items = [
            (
                "Groups",
                f"{method}, of {rows:,} distinct or representative rows; other rows get the group "
                "of their nearest neighbors. The number is that of the clusters of a density tree "
                "(HDBSCAN) with at least 2 % of the rows. The groups were found in the same "
                "columns that describe them, so the descriptions are not tests.",
            ),
            (
                "Differences of groups",
                "Numbers and dates: difference of medians in robust standard deviations. "
                "Categories and words: Cohen’s h of their proportions. Differences from 0.5 are "
                "named, from 0.2 listed.",
            ),
            (
                "Columns that belong together",
                "Ridge regression of every column on smooth functions of the others (cosines of "
                "ranks, indicators of categories, similarities of texts); fractions of variation "
                "are corrected by generalized cross-validation.",
            ),
        ]
        if self.has_scores:
            items.append(
                (
                    "Unusual rows",
                    "Score: for every column the squared Mahalanobis distance from what the other "
                    "columns predict, in the same features, added up over the columns; from fits "
                    "without the row (5-fold cross-validation, up to 10,000 rows), and without the "
                    "tenth of the rows that is farthest from its neighbors, to at most 22,000 "
                    "rows. A row stands out if its score is 2.5 times as far above the 90 % "
                    "quantile as the largest of an exponential tail through the 90 % and 99 % "
                    "quantiles would be. Cells are listed one after another, each after the "
                    "previous ones were replaced by their expectations. Texts are not used.",
                )
            )
        items.append(
            (
                "Distributions",
                "Parzen densities with Silverman’s bandwidth within groups, reflected at 0 for "
                "columns without negative numbers; at most 20,000 rows.",
            )
        )
        if self.model.table.label is not None:
            items.append(
                (
                    "Prediction",
                    "Kernel LDA, stratified cross-validation on at most 2,000 rows; kernel and "
                    "bandwidths were chosen without labels, the regularization within each fold.",
                )
            )
        if self.eca is not None:
            items.append(("Kernel ECA", self._describe_eca(self.eca)))
        return items

    def _describe_eca(self, eca: KernelECA) -> str:
        sigma, n = self._sigma(), len(eca.spectrum_.eigenvectors)
        width = "one bandwidth per column" if sigma is None else f"σ = {format_number(sigma)}"
        total = f"{n:,} of {self.model.table.n:,}" if n < self.model.table.n else f"{n:,}"
        components = format_count(eca.n_components_, "component")
        return (
            f"Of {total} rows with the kernel of the table ({width}): information potential V = "
            f"{format_number(eca.information_potential_)}, Renyi entropy "
            f"{format_number(eca.renyi_entropy_)} nats; "
            f"{components} with {format_percent(float(eca.entropy_ratio_.sum()))} of V. Solver: "
            f"{describe_spectrum(eca.spectrum_)}"
        )

    def _spectrum(self) -> Figure | None:
        """Draw the eigenpairs; None if there are too few for a picture."""
        eca = self.eca
        if eca is None or len(eca.spectrum_.eigenvalues) < 3:
            return None
        return Figure(
            svg(
                "spectrum",
                "Two charts of the eigenpairs, largest eigenvalue first: eigenvalues of the kernel "
                "matrix, and the fraction of the information potential in each.",
                (5.4, 4.2),
                lambda figure: SpectrumDisplay.from_estimator(
                    eca, axes=figure.subplots(2, 1, sharex=True, gridspec_kw={"hspace": 0.08})
                ),
            ),
            "Eigenvalues λ of the kernel matrix, and the fraction ψ / V that each eigenpair adds "
            "to the information potential; components of kernel ECA are filled and numbered.",
            "mid",
        )


def describe_spectrum(spectrum: Any) -> str:
    """Return the method, the accuracy and the proof of a spectrum."""
    accuracy = "exact up to rounding error"
    if spectrum.error_bound > 0:
        largest = format_number(float(spectrum.eigenvalues.max()))
        accuracy = f"eigenvalues exact to {format_number(spectrum.error_bound)} of {largest}"
    method, proof = (text[0].upper() + text[1:] for text in (spectrum.method, spectrum.proof))
    return f"{method}; {accuracy}. {proof}: {spectrum.certificate}."


def fit_eca(model: Preparation) -> KernelECA | None:
    """Fit kernel ECA with the fewest components that hold 99 % of V, to at most 2000 rows."""
    data = rows_of(model.data, random_rows(model.table.n, _ECA_ROWS))
    try:
        return KernelECA(0.99, kernel=model.kernel).fit(data)
    except RankError:
        return None


def _versions() -> dict[str, str]:
    """Return the versions of mercer, Python and the packages used."""
    own = {"mercer": mercer.__version__, "python": platform.python_version()}
    return own | {package: version(package) for package in _PACKAGES}


def format_versions() -> str:
    """Return the names and versions of the software."""
    return ", ".join(f"{name} {number}" for name, number in _versions().items())
