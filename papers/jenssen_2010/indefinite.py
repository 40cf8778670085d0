"""An open question of the paper: kernel matrices with negative eigenvalues (Epanechnikov)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer import KernelECA
from mercer.bandwidth import median_distance
from mercer.eigen.dense import entropy_terms
from mercer.kernels import Epanechnikov
from papers.comparison import Row, Table
from papers.jenssen_2010 import uci
from papers.jenssen_2010.segmentation import load_three_surfaces
from papers.jenssen_2010.sweeps import components_of, without_warnings
from papers.jenssen_2010.thyroid import load_normal_or_not
from papers.types import Array

__all__ = ["TABLES"]

_WIDTHS = (0.5, 0.75, 1.0, 1.5, 2.0)  # of the median distance
_SELECTED = 3


@dataclass(frozen=True)
class _Case:
    name: str  # data set and bandwidth
    negative_fraction: float  # of eigenvalues, in percent
    negative_entropy: float  # fraction of V, in percent
    largest: float  # the same for the largest term
    agree: bool  # signed, absolute and clipped terms select the same components
    signed: bool  # KernelECA selects the largest signed terms
    positive: bool  # KernelECA selects only positive eigenvalues


def _samples(quick: bool) -> dict[str, Array]:
    samples = {name: uci.load(name)[0] for name in uci.DATA if not (quick and name == "Pen")}
    return samples | {"thyroid": load_normal_or_not()[0], "segmentation": load_three_surfaces()[0]}


def _examine(name: str, X: Array, width: float) -> _Case:
    kernel = Epanechnikov(width * median_distance(X))
    values, vectors = np.linalg.eigh(kernel(X))
    values, vectors = values[::-1], vectors[:, ::-1]
    rounding = 1e-10 * values[0]
    terms = entropy_terms(values, vectors.sum(axis=0), len(X))
    criteria = (terms, np.abs(terms), np.where(values > 0, terms, 0))
    # Flipping the sign of negative eigenvalues gives |ψ|, the second criterion.
    chosen = [
        components_of(np.argsort(-criterion, kind="stable")[:_SELECTED] + 1)
        for criterion in criteria
    ]
    with without_warnings():
        eca = KernelECA(_SELECTED, kernel=kernel, solver="dense").fit(X)
    return _Case(
        f"{name} at {width}",
        negative_fraction=100 * float((values < -rounding).mean()),
        negative_entropy=-100 * float(terms[terms < 0].sum() / terms.sum()),
        largest=100 * float(terms.max() / terms.sum()),
        agree=len(set(chosen)) == 1,
        signed=chosen[0] == components_of(eca.component_ranks_),
        positive=bool((eca.eigenvalues_ > 0).all()),
    )


def _table(quick: bool) -> Table:
    """Effect of negative eigenvalues on the selection of components."""
    cases = [_examine(name, X, width) for name, X in _samples(quick).items() for width in _WIDTHS]
    unit = f" of {len(cases)}"
    differ = [
        f"{case.name} (largest term {case.largest:.3f} % of V)" for case in cases if not case.agree
    ]
    rows = (
        Row(
            "negative eigenvalues, largest fraction",
            "",
            max(case.negative_fraction for case in cases),
            " %",
        ),
        Row(
            "negative entropy terms, largest fraction of V",
            "",
            max(case.negative_entropy for case in cases),
            " %",
        ),
        Row(
            "same three by signed, absolute (or flipped) and clipped terms",
            "",
            sum(case.agree for case in cases),
            unit,
            remark=f"Others: {', '.join(differ)}. One component holds nearly all of V there, and a "
            "negative term is among the three largest in absolute value."
            if differ
            else "",
        ),
        Row("KernelECA selects the largest signed terms", "", sum(c.signed for c in cases), unit),
        Row("KernelECA selects λ > 0 only", "", sum(c.positive for c in cases), unit),
    )
    return Table(
        rows,
        note=f"{len(cases) // len(_WIDTHS)} data sets with bandwidths of "
        f"{', '.join(map(str, _WIDTHS))} median distances. The paper leaves indefinite kernels "
        "open.",
    )


TABLES = {"Indefinite kernels: the Epanechnikov kernel": _table}
