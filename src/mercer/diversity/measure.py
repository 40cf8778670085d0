"""Diversity of a sample with numerical bounds, sampling errors and modes."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, Literal

import numpy as np

from mercer.data.points import Points, Sample
from mercer.diversity.sampling import SamplingError, sampling_error, take_rows
from mercer.eigen.base import Target
from mercer.eigen.decompose import Spectrum, decompose
from mercer.errors import IdentifiabilityWarning, suppress_warnings
from mercer.information import EntropyBounds, MatrixEntropies
from mercer.information.samples import fitted_sample
from mercer.kernels import Kernel
from mercer.utils.estimators import ignore_underflow
from mercer.utils.formatting import Result, Summary, format_number, format_order
from mercer.utils.types import Array
from mercer.utils.validation import check_choice, check_integer

__all__ = [
    "Diversity",
    "Mode",
    "leading_modes",
    "measure_diversity",
]


@dataclass(frozen=True, eq=False)
class Mode(Result):
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


def leading_modes(
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
        top = np.argsort(-projections, axis=0, kind="stable")[:8]
        representatives = list(top.T)
        if sample.indices is not None:  # rows with zero weight were dropped
            representatives = [sample.indices[rows] for rows in representatives]
    modes = [
        Mode(
            float(spectrum.operator_eigenvalues[i]),
            float(spectrum.entropy_terms[i]),
            float(spectrum.entropy_terms[i] / (spectrum.potential or np.nan)),
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
    half = min(n // 2, 2000)
    if half < 4 or sample.matrix is not None:
        return np.full(spectrum.n_components, np.nan)
    rng = np.random.default_rng(random_state)
    rows = rng.choice(n, 2 * half, replace=False)
    compared = sample.points.take(np.sort(rows[:1000]))
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


@dataclass(frozen=True, eq=False, repr=False)
class Diversity(Result):
    """Result of :func:`mercer.measure_diversity`; arrays have one entry per order.

    Attributes
    ----------
    orders : array
    scores : array
        Effective numbers of the sample, ``exp S_q``.
    lower, upper : array
        Numerical bounds on the scores.
    standard_errors : array
        Sampling errors of the scores.
    corrected : array
        Scores with the estimated bias removed.
    corrected_errors : array
        Standard errors of ``corrected``.
    intervals : array of shape (n_orders, 2)
        Confidence intervals of the population's scores, from the corrected entropies.
    confidence : float
    modes : list of Mode
        By eigenvalue (or by entropy term), largest first.
    assignments : array of int or None
        Index of the mode of each row with a positive weight; None for Dask collections.
    curves : list of lists of (size, score, standard error)
        Mean scores of subsamples, and the score of the sample, per order.
    bounds : list of EntropyBounds
        Bounds with route and probability.
    n_rows : int
    kernel : Kernel
        The fitted kernel.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.repeat(np.eye(3), [60, 30, 10], axis=0)
    >>> result = mercer.measure_diversity(X)
    >>> result.to_frame()[["order", "score"]].round(3).to_numpy().tolist()
    [[1.0, 2.455], [2.0, 2.174], [inf, 1.667]]
    """

    orders: Array
    scores: Array
    lower: Array
    upper: Array
    standard_errors: Array
    corrected: Array
    corrected_errors: Array
    intervals: Array
    confidence: float
    modes: list[Mode]
    assignments: Array | None
    curves: list[list[tuple[int, float, float]]]
    bounds: list[EntropyBounds]
    n_rows: int
    kernel: Kernel

    @property
    def is_converged(self) -> Array:
        """Whether the estimated bias of each score is smaller than its standard error."""
        return np.asarray(np.abs(self.corrected - self.scores) <= self.standard_errors)

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row per order."""
        import pandas as pd

        return pd.DataFrame(
            {
                "order": self.orders,
                "score": self.scores,
                "lower": self.lower,
                "upper": self.upper,
                "standard_error": self.standard_errors,
                "corrected": self.corrected,
                "corrected_error": self.corrected_errors,
                "interval_low": self.intervals[:, 0],
                "interval_high": self.intervals[:, 1],
                "route": [bound.route for bound in self.bounds],
            }
        )

    def modes_to_frame(self) -> Any:
        """Return a pandas data frame with one row per mode."""
        import pandas as pd

        names = ("eigenvalue", "entropy_term", "share", "size", "stability")
        return pd.DataFrame({name: [getattr(m, name) for m in self.modes] for name in names})

    def _summary(self) -> Summary:
        rows = []
        for i, order in enumerate(self.orders):
            error = format_number(self.corrected_errors[i], 2)
            rows.append(
                [
                    format_order(order),
                    format_number(self.scores[i]),
                    f"{format_number(self.lower[i])} to {format_number(self.upper[i])}",
                    f"{format_number(self.corrected[i])} ± {error}",
                    " to ".join(format_number(x) for x in self.intervals[i]),
                ]
            )
        head = ("order", "score", "numerical bounds", "corrected", "confidence interval")
        note = (
            f"Confidence {100 * self.confidence:g} %; the score is an effective number of points."
        )
        return Summary(f"Diversity of {self.n_rows} rows, {self.kernel!r}", head, rows, note)


@ignore_underflow
def measure_diversity(
    X: Any,
    kernel: str | Kernel = "cosine",
    *,
    orders: Any = (1, 2, inf),
    n_modes: int = 10,
    confidence: float = 0.95,
    mode_order: Literal["eigenvalue", "entropy"] = "eigenvalue",
    sample_weight: Any = None,
    solver: Any = "auto",
    tol: float = 0.01,
    random_state: int | None = 0,
) -> Diversity:
    r"""Measure how diverse a sample is: effective numbers, their errors, and the modes.

    The score of order q is the Vendi score :math:`\exp S_q` (see
    :func:`mercer.information.vendi_score`); order 2 is the RKE score. It has two kinds of error:
    numerical bounds on the score of *this* sample, and the sampling error with respect to the
    population. The score of a sample is too small on average. The bias is estimated from
    subsamples of a half and a quarter of the rows, at order 2 from pairs of different rows;
    the logarithm of the score plus and minus quantiles of Student's distribution times its standard
    error gives the interval. If other eigenvalues are within two standard errors of the largest,
    the interval of order ∞ extends to their mean.

    Parameters
    ----------
    X : array-like of shape (n, d), Dask array, or data that the kernel compares
        Embeddings, for example.
    kernel : str or Kernel
        With k(x, x) = 1. "table" for data frames with categories, dates, texts or missing values.
    orders : sequence of float
        Orders q ≥ 0. Order 0 has no standard error.
    n_modes : int
        Number of modes; 0 for none.
    confidence : float
        Of the intervals.
    mode_order : {"eigenvalue", "entropy"}
        Rank of the modes. By entropy term, one mode has almost all of V if the rows have a common
        mean direction under the cosine kernel, as embeddings do.
    sample_weight : array-like of shape (n,) or None
        A weight of 2 is equivalent to two copies of a row.
    solver, tol
        As in :func:`mercer.information.matrix_renyi_entropy`.
    random_state : int or None
        Seed of subsamples and quadrature.

    Returns
    -------
    Diversity

    Notes
    -----
    Standard errors combine the influence function (delta method) with the excess variance between
    disjoint subsamples. For evenly spread points the influence function is constant; errors and
    intervals of finite orders then follow from the second-order term and a noncentral chi-square
    distribution. Intervals assume independent rows.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(np.eye(4), 50, axis=0) + 0.1 * rng.normal(size=(200, 4))
    >>> result = mercer.measure_diversity(X)
    >>> result.scores.round(1).tolist(), len(result.modes)
    ([4.0, 4.0, 3.9], 4)
    """
    orders = _checked_orders(orders)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence!r} must be between 0 and 1.")
    check_integer(n_modes, "n_modes", low=0)
    check_choice(mode_order, "mode_order", ("eigenvalue", "entropy"))
    sample = fitted_sample(X, kernel, sample_weight)
    entropies = MatrixEntropies(sample, solver=solver, tol=tol, random_state=random_state)
    found = [entropies.of_order(order) for order in orders]
    values = np.array([one.value for one in found])
    gram = None if set(orders) == {2.0} else entropies.gram
    errors = sampling_error(sample, orders, values, random_state, gram)
    targets: dict[str, Target] = {"entropy": "entropy", "eigenvalue": "variance"}
    modes, assignments = leading_modes(sample, n_modes, targets[mode_order], random_state)
    bounds = [one.exp() for one in found]
    lower, upper = np.array([(one.lower, one.upper) for one in bounds]).T
    plain, corrected, deviation = np.array([error[:3] for error in errors]).T
    scores = np.exp(values)
    # means of exp and of 1/x exceed these functions of the mean (Jensen); at order 2 the corrected
    # entropy is the logarithm of an unbiased mean
    convexity = deviation**2 * np.where(np.array(orders) == 2, 1.0, 0.5)
    estimates = np.exp(corrected - np.nan_to_num(convexity))
    return Diversity(
        orders=np.array(orders),
        scores=scores,
        lower=lower,
        upper=upper,
        standard_errors=scores * plain,
        corrected=estimates,
        corrected_errors=estimates * deviation,
        intervals=np.exp([error.interval(confidence) for error in errors]),
        confidence=confidence,
        modes=modes,
        assignments=assignments,
        curves=[_score_curve(error) for error in errors],
        bounds=bounds,
        n_rows=sample.points.n,
        kernel=sample.kernel,
    )


def _checked_orders(orders: Any) -> tuple[float, ...]:
    checked = tuple(np.atleast_1d(np.asarray(orders, dtype=float)).tolist())
    if not all(order >= 0 for order in checked):
        raise ValueError(f"orders={checked!r} must be at least 0 (1: Shannon, inf: largest).")
    return checked


def _score_curve(error: SamplingError) -> list[tuple[int, float, float]]:
    return [(size, float(np.exp(s)), float(np.exp(s) * e)) for size, s, e in error.curve]
