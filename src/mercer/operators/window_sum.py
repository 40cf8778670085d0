"""Sums ``f(x) = Σ_j c_j k(x, x_j)`` on the logarithmic scale, accurate far in the tails.

Where f is not small it is an ordinary sum, by tiles or by a frequency grid. Where it underflows or
is below the tolerance of the grid, it is summed from the logarithms of the kernel: over all points,
or over the near ones that dominate it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from math import log
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from mercer.data import Points
from mercer.kernels import Kernel, Matern, Stationary
from mercer.kernels.stationary import Gaussian
from mercer.maths.types import Array
from mercer.operators.expansion import Expansion
from mercer.operators.fourier import FourierExpansion
from mercer.operators.tiled import cross_product, log_cross_sums
from mercer.resources import thread_count

__all__ = ["WindowSum"]

# Grid sums have the error of their tolerance; this many times above it three digits are right.
_ABOVE_NOISE = 1e3
_NEGLIGIBLE = 1e-12  # fraction of a sum that far points may contribute
_MOST_QUESTIONS = 200_000  # rows that all chunks of an engine are asked about at a time
_PAIRS_PER_GROUP = 4_000_000  # of a point and its neighbor


@dataclass
class WindowSum:
    """``f(x) = Σ_j c_j k(x, x_j)`` with the unnormalized kernel.

    Parameters
    ----------
    kernel : Kernel
        Fitted.
    points : Points
        The x_j.
    coefficients : array of shape (n,)
        The c_j, of any sign; lazy for points in chunks.
    waves : Expansion or None
        The same function on a frequency grid, if there is one; used where f is well above the
        tolerance of the grid.
    """

    kernel: Kernel
    points: Points
    coefficients: Array
    waves: Expansion | None = None

    def __post_init__(self) -> None:
        if self.points.is_chunked:
            _ = self._facts  # known from now on: lazy coefficients are not saved with a model

    @cached_property
    def _facts(self) -> tuple[float, float, float]:
        """Sum of the coefficients, sum of their sizes, and the smallest."""
        return self.points.passes.sum(_facts_of, self.coefficients, combine=_joined_facts)

    @property
    def mass(self) -> float:
        """``Σ_j c_j``: the integral of f for a normalised kernel."""
        return self._facts[0]

    @property
    def lowest(self) -> float:
        """The smallest coefficient."""
        return self._facts[2]

    @property
    def _noise(self) -> float:
        """Size below which grid sums are noise; 0 without a grid."""
        if isinstance(self.waves, FourierExpansion):
            return self.waves.grid.tolerance * self._facts[1]
        return 0.0

    @property
    def needs_engine(self) -> bool:
        """Whether nothing can be computed without points that lie on an engine."""
        return self.points.is_chunked and self.waves is None

    def values(self, new: Points) -> Array:
        """Return f; 0 where it is below the tolerance of the grid, or underflows."""
        if isinstance(self.waves, FourierExpansion):
            return new.map_rows(partial(_wave_values, self.waves.without_points(), self._noise))
        if self.points.is_chunked:
            sign, logs = self.signed_log(new)
            return sign * np.exp(logs)
        return cross_product(self.kernel, new, self.points, self.coefficients[:, None])[:, 0]

    def signed_log(self, new: Points) -> tuple[Array, Array]:
        """Return sign and ``log |f|`` at every point; sign 0 and -inf where f is exactly 0.

        Both are lazy for new points in chunks.
        """
        if self.points.is_chunked:
            found = self._over_chunks(self.points, new)
        else:
            found = new.map_rows(self._signed_log)
        return found[:, 0], found[:, 1]

    def _signed_log(self, new: Points) -> Array:
        """Return sign and logarithm as columns."""
        found = self._rough(new)
        low = np.isnan(found[:, 1])
        if low.any():
            found[low] = np.column_stack(self._from_logarithms(new.take(np.flatnonzero(low))))
        return found

    def _rough(self, new: Points) -> Array:
        """Return sign and logarithm where an ordinary sum is accurate, NaN elsewhere."""
        if isinstance(self.waves, FourierExpansion):
            return _Rough(self.waves, self._noise)(new.data)
        precision = np.finfo(np.result_type(new.dtype, self.points.dtype))
        values = self.values(new)
        return _signed(values, np.abs(values) < float(precision.tiny / precision.eps))

    def _from_logarithms(self, new: Points) -> tuple[Array, Array]:
        if isinstance(self.waves, FourierExpansion):
            return self._near_sums(new)
        return log_cross_sums(self.kernel, new, self.points, self.coefficients)

    # --- over points on an engine ----------------------------------------------------------------

    def _over_chunks(self, points: Any, new: Any) -> Any:
        """Sign and logarithm as columns: what waves cannot tell is asked of all chunks."""
        waves = None if self.waves is None else self.waves.without_points()
        rough = _Rough(waves, self._noise)
        answer = partial(_answer, self.kernel, waves)
        if new.is_chunked:
            from mercer.chunks.tasks import answer_questions

            return answer_questions(
                new.rows,
                rough.questions,
                [points.rows, self.coefficients],
                answer,
                _joined_answers,
                rough.finished,
                np.empty((0, 2)),
            )
        questions = [rough.questions(new.data)]
        replies: Any = None
        if len(questions[0]):
            ask = partial(_with_questions, answer, questions)
            replies = points.passes.sum(
                ask, points.rows, self.coefficients, combine=_joined_answers
            )
        return rough.finished(new.data, 0, replies)

    # --- over near points only ------------------------------------------------------------------

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self._scaled(self.points))

    def _scaled(self, points: Points) -> Array:
        assert isinstance(self.kernel, Stationary)
        widths = self.kernel.bandwidth_vector(points.data.shape[1])
        return np.asarray(points.data.astype(np.float64) / widths)

    def _near_sums(self, new: Points) -> tuple[Array, Array]:
        """Sum over the points that are not negligible compared with the nearest one."""
        at = self._scaled(new)
        nearest, _ = self._tree.query(at, workers=thread_count())
        reach = self._reach(nearest)
        counts = self._tree.query_ball_point(at, reach, workers=thread_count(), return_length=True)
        if counts.mean() > self.points.n / 8:
            return log_cross_sums(self.kernel, new, self.points, self.coefficients)
        sign, logs = np.empty(new.n), np.empty(new.n)
        for rows in _groups(counts, _PAIRS_PER_GROUP):
            found = self._tree.query_ball_point(at[rows], reach[rows], workers=thread_count())
            sign[rows], logs[rows] = self._sum_over(at[rows], found)
        return sign, logs

    def _reach(self, nearest: Array) -> Array:
        """Return the distance beyond which n points are negligible compared with the nearest."""
        enough = self._log_profile(nearest) + log(_NEGLIGIBLE / self.points.n)
        low, high = nearest.copy(), nearest + 1
        while (far := self._log_profile(high) > enough).any():
            high[far] *= 2
        for _ in range(30):
            middle = 0.5 * (low + high)
            inside = self._log_profile(middle) > enough
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        return high

    def _log_profile(self, distance: Array) -> Array:
        assert isinstance(self.kernel, Gaussian | Matern)  # the kernels with a frequency grid
        return self.kernel.log_profile(-0.5 * distance**2)

    def _sum_over(self, at: Array, found: Array) -> tuple[Array, Array]:
        """Return one sum per row of ``at``, over the points with the indices in ``found``."""
        lengths = np.array([len(indices) for indices in found])
        near = np.concatenate(found).astype(int)
        starts = np.r_[0, np.cumsum(lengths)[:-1]]
        gaps = np.linalg.norm(np.repeat(at, lengths, axis=0) - self._tree.data[near], axis=1)
        logs = self._log_profile(gaps)
        top = np.maximum.reduceat(logs, starts)
        parts = self.coefficients[near] * np.exp(logs - np.repeat(top, lengths))
        sums = np.add.reduceat(parts, starts)
        with np.errstate(divide="ignore"):
            return np.sign(sums), top + np.log(np.abs(sums))


@dataclass(frozen=True)
class _Rough:
    """What plane waves alone can tell of a window sum, and what must be asked of its points.

    Attributes
    ----------
    waves : Expansion or None
        None: everything must be asked.
    noise : float
    """

    waves: Expansion | None
    noise: float

    def __call__(self, X: Array) -> Array:
        """Return sign and logarithm as columns, NaN where they are unknown."""
        if self.waves is None:
            return np.full((len(X), 2), np.nan)
        values = _wave_values(self.waves, self.noise, Points(X))
        return _signed(values, values < _ABOVE_NOISE * self.noise)

    def questions(self, X: Array) -> Array:
        """Rows that must be asked."""
        return X[np.isnan(self(X)[:, 1])]

    def finished(self, X: Array, place: int, replies: Sequence[Array]) -> Array:
        """All rows, with the replies to the questions of this chunk."""
        found = self(X)
        low = np.isnan(found[:, 1])
        if low.any():
            found[low] = replies[place]
        return found


def _signed(values: Array, unknown: Array) -> Array:
    """Return sign and logarithm as columns, NaN where they are unknown."""
    with np.errstate(divide="ignore"):
        found = np.column_stack([np.sign(values), np.log(np.abs(values))])
    found[unknown] = np.nan
    return found


def _answer(
    kernel: Kernel, waves: Expansion | None, X: Array, c: Array, questions: Sequence[Array]
) -> list[Array]:
    """Signs and logarithms of one chunk's sums at all questions."""
    asked = sum(map(len, questions))
    if asked > _MOST_QUESTIONS:
        raise ValueError(
            f"{asked} rows lie where plane waves cannot tell the density from 0 (or no waves "
            f"serve), and must be compared with every training row; the limit is "
            f"{_MOST_QUESTIONS} rows at a time. Evaluate fewer rows at a time, leave out those far "
            "from the data, or use a larger bandwidth."
        )
    if asked == 0 or len(X) == 0:
        nothing = np.array([[0.0, -np.inf]])
        return [np.repeat(nothing, len(part), axis=0) for part in questions]
    window = WindowSum(kernel, Points(X), c, waves)
    found = np.column_stack(window._from_logarithms(Points(np.concatenate(questions))))
    return np.split(found, np.cumsum([len(part) for part in questions])[:-1])


def _with_questions(answer: Any, questions: Sequence[Array], X: Array, c: Array) -> list[Array]:
    found: list[Array] = answer(X, c, questions)
    return found


def _joined_answers(parts: Sequence[list[Array]]) -> list[Array]:
    """Add numbers that are given by sign and logarithm."""
    return [_signed_sum(np.array(place)) for place in zip(*parts, strict=True)]


def _signed_sum(terms: Array) -> Array:
    """Return sums over the first axis of numbers with sign and logarithm along the last."""
    top = terms[..., 1].max(axis=0, initial=-np.inf)
    base = np.where(np.isneginf(top), 0.0, top)
    sums = (terms[..., 0] * np.exp(terms[..., 1] - base)).sum(axis=0)
    with np.errstate(divide="ignore"):
        return np.stack([np.sign(sums), base + np.log(np.abs(sums))], axis=-1)


def _wave_values(waves: Expansion, noise: float, points: Points) -> Array:
    values = waves(points)[:, 0]
    return np.where(np.abs(values) < noise, 0.0, values)


def _facts_of(coefficients: Array) -> tuple[float, float, float]:
    lowest = float(coefficients.min(initial=np.inf))
    return float(coefficients.sum()), float(np.abs(coefficients).sum()), lowest


def _joined_facts(parts: Sequence[tuple[float, float, float]]) -> tuple[float, float, float]:
    sums, sizes, lowest = zip(*parts, strict=True)
    return sum(sums), sum(sizes), min(lowest)


def _groups(counts: Array, limit: int) -> Iterator[slice]:
    """Yield ranges of rows whose counts sum to about ``limit``; single rows may exceed it."""
    group = np.cumsum(counts) // limit
    edges = np.r_[0, np.flatnonzero(np.diff(group)) + 1, len(counts)]
    for first, last in pairwise(edges):
        yield slice(int(first), int(last))
