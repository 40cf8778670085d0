"""What the estimators say about a table: fits, timings, warnings; all of it as plain numbers."""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

import numpy as np

import mercer
from mercer import KernelECA, KernelPCA
from mercer.tables import Table, modelling

__all__ = ["DENSE_ROWS", "SHARE", "Analysis", "Component", "Raised", "analyse", "numbers"]

#: Up to this many rows every eigenpair is computed, so that the whole spectrum can be shown.
DENSE_ROWS = 2000
#: Share of V that the components should hold, and how many of them a page can bear.
SHARE = 0.99
_FEWEST, _MOST = 2, 10
_LISTED = 10
_PACKAGES = ("numpy", "scipy", "scikit-learn", "matplotlib", "pandas")

#: Why there are as many components as there are.
Because = Literal["asked", "share", "picture", "most"]


@dataclass(frozen=True)
class Raised:
    """A warning, and the step that raised it."""

    step: str
    category: str
    message: str


@dataclass(frozen=True)
class Component:
    """A line of the table of components."""

    order: int
    rank: int | None
    eigenvalue: float
    entropy_term: float
    share: float
    kept: bool


@dataclass(frozen=True)
class Analysis:
    """Everything a report tells.

    Parameters
    ----------
    table : Table
    scaled : bool
        Whether the columns were standardised.
    bandwidth : float or str
        As it was asked for; the number is in ``eca.kernel_``.
    because : str
        Why kernel ECA keeps as many components as it does.
    eca : KernelECA
    pca : KernelPCA
        Centred, with the same kernel.
    seconds : dict of str to float
        By step.
    raised : tuple of Raised

    Examples
    --------
    >>> from mercer.report import analyse
    >>> from mercer.tables import read_table
    >>> analyse(read_table("rings")).eca.n_components_
    3
    """

    table: Table
    scaled: bool
    bandwidth: float | str
    because: Because
    eca: KernelECA
    pca: KernelPCA
    seconds: dict[str, float]
    raised: tuple[Raised, ...]

    @property
    def sigma(self) -> float:
        """The bandwidth in use."""
        return float(getattr(self.eca.kernel_, "bandwidth", 1.0))

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
        ranks = eca.component_ranks_
        values, terms = list(eca.eigenvalues_), list(eca.entropy_terms_)
        places: list[int | None] = [None] * len(values)
        if ranks is not None:
            places = [int(rank) for rank in ranks]
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


class _Log:
    """Runs steps one by one, timed, and remembers what they warned of."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.raised: list[Raised] = []

    def run(self, step: str, work: Callable[[], Any]) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            start = time.perf_counter()
            result = work()
            self.seconds[step] = time.perf_counter() - start
        known = {one.message for one in self.raised}
        for warning in caught:
            text = str(warning.message)
            if text not in known:
                self.raised.append(Raised(step, warning.category.__name__, text))
                known.add(text)
        return result


def analyse(
    table: Table,
    *,
    n_components: int | None = None,
    bandwidth: float | str = "auto",
    scale: bool = True,
    verbose: bool = False,
) -> Analysis:
    """Fit kernel ECA and kernel PCA; the parameters are those of ``write_report``.

    Examples
    --------
    >>> from mercer.report import analyse
    >>> from mercer.tables import read_table
    >>> round(analyse(read_table("rings"), bandwidth=3.7).eca.kernel_.bandwidth, 1)
    3.7
    """
    if n_components is not None and n_components < _FEWEST:
        raise ValueError(f"n_components={n_components} must be at least 2: a picture needs two.")
    model = modelling(table, bandwidth=bandwidth, scale=scale)
    X, kernel = model.data, model.kernel
    solver = "dense" if table.n <= DENSE_ROWS else "auto"
    log = _Log()

    def eca(count: int | float, solver: str) -> KernelECA:
        return KernelECA(count, kernel=kernel, solver=solver, verbose=verbose).fit(X)

    count = n_components
    because: Because = "asked"
    fitted: KernelECA | None = None
    if count is None:
        look = log.run(f"kernel ECA for {SHARE:.0%} of V", lambda: eca(SHARE, "auto"))
        count, because = _within_bounds(look.n_components_)
        if solver == "auto" and count == look.n_components_:
            fitted = look
    if fitted is None:
        fitted = log.run(f"kernel ECA with {count} components", lambda: eca(count, solver))
    if fitted.spectrum_.known_ranks is None:
        log.run("ranks of the kept eigenvalues", lambda: fitted.component_ranks_)
    pca = log.run("kernel PCA", lambda: KernelPCA(2, kernel=fitted.kernel_, verbose=verbose).fit(X))
    return Analysis(table, scale, bandwidth, because, fitted, pca, log.seconds, tuple(log.raised))


def _within_bounds(count: int) -> tuple[int, Because]:
    if count < _FEWEST:
        return _FEWEST, "picture"
    return (count, "share") if count <= _MOST else (_MOST, "most")


def numbers(analysis: Analysis) -> dict[str, Any]:
    """Return the report as plain data, ready for JSON.

    Examples
    --------
    >>> from mercer.report import analyse, numbers
    >>> from mercer.tables import read_table
    >>> isinstance(numbers(analyse(read_table("rings"))), dict)
    True
    """
    table, eca, pca = analysis.table, analysis.eca, analysis.pca
    return {
        "data": {
            "name": table.name,
            "rows_read": table.rows_read,
            "rows": table.n,
            "columns": list(table.columns),
            "label": table.label,
            "omitted_columns": {o.column: o.reason for o in table.omissions},
        },
        "choices": {
            "scaled": analysis.scaled,
            "kernel": "gaussian",
            "bandwidth_asked": analysis.bandwidth,
            "bandwidth": analysis.sigma,
            "n_components": eca.n_components_,
            "n_components_because": analysis.because,
        },
        "kernel_eca": {
            "information_potential": eca.information_potential_,
            "renyi_entropy": eca.renyi_entropy_,
            "residual_potential": eca.residual_potential_,
            "entropy_kept": analysis.share_kept,
            "entropy_of_leading_eigenvalues": analysis.share_of_leading,
            "components": [vars(component) for component in analysis.components()],
            **_computation(eca),
        },
        "kernel_pca": {
            "eigenvalues": pca.eigenvalues_.tolist(),
            "explained_variance_ratio": pca.explained_variance_ratio_.tolist(),
            **_computation(pca),
        },
        "seconds": analysis.seconds,
        "warnings": [vars(one) for one in analysis.raised],
        "versions": _versions(),
    }


def _computation(estimator: Any) -> dict[str, Any]:
    spectrum = estimator.spectrum_
    return {
        "method": spectrum.method,
        "certified": bool(spectrum.certified),
        "certificate": spectrum.certificate,
        "error_bound": float(spectrum.error_bound),
        "products": int(spectrum.products),
    }


def _versions() -> dict[str, str]:
    found = {"mercer": mercer.__version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # pandas may be absent
            continue
    return found
