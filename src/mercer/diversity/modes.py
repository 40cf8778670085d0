"""Modes of a sample: components ranked by their entropy term."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.data.points import Points, Sample
from mercer.diversity.sampling import take_rows
from mercer.eigen.base import Target
from mercer.eigen.decompose import decompose
from mercer.eigen.spectrum import Spectrum
from mercer.errors import IdentifiabilityWarning, suppress_warnings
from mercer.utils.types import Array

__all__ = ["Mode", "find_modes"]

_REPRESENTATIVES = 8
_LARGEST_HALF = 2000
_COMPARED_ROWS = 1000


@dataclass(frozen=True, eq=False)
class Mode:
    """One component of a sample.

    Attributes
    ----------
    eigenvalue : float
        ``λ_i / n``; all of them sum to 1.
    entropy_term : float
        ``ψ_i = λ_i (1'e_i)² / n²``.
    share : float
        ``ψ_i / V``, the fraction of the information potential.
    representatives : array of int
        Indices of the rows with the largest projections; empty for Dask collections.
    size : float
        Fraction of the rows that are assigned to this mode; nan for Dask collections.
    stability : float
        Mean absolute correlation with the most similar mode of each half of the rows; 1 if modes of
        half the data are the same, nan for fewer than 8 rows.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.repeat(np.eye(3), [60, 30, 10], axis=0)
    >>> [round(mode.share, 3) for mode in mercer.measure_diversity(X).modes]
    [0.783, 0.196, 0.022]
    """

    eigenvalue: float
    entropy_term: float
    share: float
    representatives: Array
    size: float
    stability: float


def find_modes(
    sample: Sample, count: int, order: Target, random_state: int | None
) -> tuple[list[Mode], Array | None]:
    """Return the modes with the largest entropy terms or eigenvalues, and the mode of each row.

    A row is assigned to the mode with the largest squared projection relative to its mean over the
    sample. Rows of a Dask collection are not assigned (None).
    """
    if count == 0:
        return [], None
    with suppress_warnings(IdentifiabilityWarning):
        spectrum = decompose(sample, order, min(count, sample.points.n), at_most=True)
        stabilities = _stabilities(sample, spectrum, order, random_state)
    k = spectrum.n_components
    assigned: Array | None = None
    representatives = [np.empty(0, dtype=int)] * k
    sizes = np.full(k, np.nan)
    if not sample.points.is_chunked:
        projections = spectrum.projections
        assigned = np.argmax(projections**2 / spectrum.operator_eigenvalues, axis=1)
        weights = np.ones(sample.points.n) if sample.weights is None else sample.weights
        sizes = np.bincount(assigned, weights, minlength=k) / weights.sum()
        top = np.argsort(-projections, axis=0, kind="stable")[:_REPRESENTATIVES]
        representatives = list(top.T)
        if sample.indices is not None:  # rows with zero weight were dropped
            representatives = [sample.indices[rows] for rows in representatives]
    modes = [
        Mode(
            float(spectrum.operator_eigenvalues[i]),
            float(spectrum.entropy_terms[i]),
            float(spectrum.entropy_terms[i] / spectrum.potential),
            representatives[i],
            float(sizes[i]),
            float(stabilities[i]),
        )
        for i in range(k)
    ]
    return modes, assigned


def _stabilities(
    sample: Sample, spectrum: Spectrum, order: Target, random_state: int | None
) -> Array:
    n = sample.points.n
    half = min(n // 2, _LARGEST_HALF)
    if half < 4 or sample.matrix is not None:
        return np.full(spectrum.n_components, np.nan)
    rng = np.random.default_rng(random_state)
    rows = rng.choice(n, 2 * half, replace=False)
    compared = sample.points.take(np.sort(rows[:_COMPARED_ROWS]))
    reference = _unit_columns(spectrum, compared)
    best = []
    for part in (rows[:half], rows[half:]):
        count = min(2 * spectrum.n_components, half)
        other = decompose(take_rows(sample, np.sort(part)), order, count, at_most=True)
        best.append(np.abs(reference.T @ _unit_columns(other, compared)).max(axis=1))
    return np.asarray(np.mean(best, axis=0))


def _unit_columns(spectrum: Spectrum, points: Points) -> Array:
    columns = spectrum.expansion(points)
    norms = np.linalg.norm(columns, axis=0)
    return np.asarray(columns / np.where(norms > 0, norms, 1))
