r"""Domains of single columns: intervals, categories, counts and strings, with random moves.

An integral over a product of columns is estimated from draws near the training rows. Each column
therefore draws cells near a given cell, with one of three scales, and evaluates the density of
these draws with respect to its measure: Lebesgue measure for intervals, counting measure otherwise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from math import log, pi
from typing import Any, Self

import numpy as np

from mercer.utils.estimators import Storable
from mercer.utils.types import Array
from mercer.utils.validation import check_integer

__all__ = ["N_SCALES", "Categories", "ColumnDomain", "Counts", "Interval", "Strings"]

_STEPS = (1.0, 0.3, 0.1)  # of numbers, in standard deviations
_CHANGES = (0.5, 0.2, 0.05)  # probabilities that a category or a character changes
N_SCALES = len(_STEPS)
_MAX_LEVELS = 2000  # moves between levels are a matrix


class ColumnDomain(Storable, ABC):
    """The possible values of one column, with a measure.

    Examples
    --------
    >>> from mercer.mixture.domains import Categories, ColumnDomain, Interval
    >>> isinstance(Interval(0, 1), ColumnDomain), isinstance(Categories("ab"), ColumnDomain)
    (True, True)
    """

    def fit(self, cells: Array) -> Self:
        """Return the domain with the scales of its moves; the cells are in the domain."""
        return self

    @abstractmethod
    def contains(self, cells: Array) -> Array:
        """Return which cells are in the domain."""

    @abstractmethod
    def uniform(self, count: int, rng: np.random.Generator) -> Array:
        """Draw cells anywhere in the domain."""

    @abstractmethod
    def log_uniform(self, cells: Array) -> Array:
        """Return the log-density of :meth:`uniform` at cells of the domain."""

    @abstractmethod
    def move(self, cells: Array, scale: int, rng: np.random.Generator) -> Array:
        """Draw one cell near each cell; it may be outside the domain."""

    @abstractmethod
    def log_moves(self, cells: Array, origins: Array, scale: int) -> Array:
        """Return the log-density of moves, of shape (len(cells), len(origins))."""


class Interval(ColumnDomain):
    """Numbers from ``low`` to ``high``, with Lebesgue measure.

    Parameters
    ----------
    low, high : float

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.mixture.domains import Interval
    >>> Interval(0, 10).contains(np.array([3.0, 11.0]))
    array([ True, False])
    """

    def __init__(self, low: float, high: float) -> None:
        self.low = low
        self.high = high
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            raise ValueError(
                f"Interval({low!r}, {high!r}) must have finite ends with low < high. The density "
                "of a local kernel has no normalizer over the whole line."
            )

    def fit(self, cells: Array) -> Self:
        """Use the standard deviation of the cells; the length if they are equal."""
        fitted = copy(self)
        deviation = float(cells.astype(np.float64).std())
        fitted._unit = deviation if deviation > 0 else self.high - self.low
        return fitted

    _unit: float

    def contains(self, cells: Array) -> Array:
        """Return which numbers are between the ends."""
        numbers = cells.astype(np.float64)
        return np.asarray((numbers >= self.low) & (numbers <= self.high))

    def uniform(self, count: int, rng: np.random.Generator) -> Array:
        """Draw uniformly."""
        return rng.uniform(self.low, self.high, size=count)

    def log_uniform(self, cells: Array) -> Array:
        """Return minus the logarithm of the length."""
        return np.full(len(cells), -log(self.high - self.low))

    def move(self, cells: Array, scale: int, rng: np.random.Generator) -> Array:
        """Add Gaussian noise."""
        return cells.astype(np.float64) + self._unit * _STEPS[scale] * rng.normal(size=len(cells))

    def log_moves(self, cells: Array, origins: Array, scale: int) -> Array:
        """Return Gaussian log-densities."""
        step = self._unit * _STEPS[scale]
        steps = np.subtract.outer(cells.astype(np.float64), origins.astype(np.float64)) / step
        return np.asarray(-0.5 * steps**2 - log(step) - 0.5 * log(2 * pi))

    def __repr__(self) -> str:
        return f"Interval({self.low:g}, {self.high:g})"


class _Levels(ColumnDomain):
    """Finitely many values, with counting measure; moves follow a transition matrix."""

    values: Sequence[Any]

    def transitions(self, scale: int) -> Array:
        """Return probabilities of moves from each level (rows) to each level."""
        raise NotImplementedError

    def _codes(self, cells: Array) -> Array:
        """Return the positions of the cells in ``values``; -1 for other cells."""
        known = {value: code for code, value in enumerate(self.values)}
        return np.array([known.get(cell, -1) for cell in cells.tolist()], dtype=np.intp)

    def _cells(self, codes: Array) -> Array:
        values = np.empty(len(self.values), dtype=object)
        values[:] = list(self.values)
        return values[codes]

    def contains(self, cells: Array) -> Array:
        """Return which cells are among the values."""
        return self._codes(cells) >= 0

    def uniform(self, count: int, rng: np.random.Generator) -> Array:
        """Draw uniformly."""
        return self._cells(rng.integers(len(self.values), size=count))

    def log_uniform(self, cells: Array) -> Array:
        """Return minus the logarithm of the number of values."""
        return np.full(len(cells), -log(len(self.values)))

    def move(self, cells: Array, scale: int, rng: np.random.Generator) -> Array:
        """Draw from the rows of the transition matrix."""
        cumulative = np.cumsum(self.transitions(scale), axis=1)
        levels = (cumulative[self._codes(cells)] < rng.random((len(cells), 1))).sum(axis=1)
        return self._cells(np.minimum(levels, len(self.values) - 1))

    def log_moves(self, cells: Array, origins: Array, scale: int) -> Array:
        """Return logarithms of entries of the transition matrix."""
        logs = np.log(self.transitions(scale))
        return np.asarray(logs[np.ix_(self._codes(origins), self._codes(cells))].T)


class Categories(_Levels):
    """Finitely many labels.

    Parameters
    ----------
    values : sequence
        All labels, each once.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.mixture.domains import Categories
    >>> Categories(["red", "green"]).contains(np.array(["red", "blue"], dtype=object))
    array([ True, False])
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = list(values)
        if not self.values or len(set(self.values)) < len(self.values):
            raise ValueError(f"Categories({values!r:.80}) must list at least one value, each once.")
        check_integer(len(self.values), "number of categories", high=_MAX_LEVELS)

    def transitions(self, scale: int) -> Array:
        """Return a matrix that keeps a label or draws any of them."""
        change, count = _CHANGES[scale], len(self.values)
        return (1 - change) * np.eye(count) + change / count

    def __repr__(self) -> str:
        return f"Categories(<{len(self.values)} values>)"


class Counts(_Levels):
    """Integers from ``low`` to ``high``.

    Parameters
    ----------
    high : int
    low : int

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.mixture.domains import Counts
    >>> Counts(20).contains(np.array([0, 20, 21, 1.5]))
    array([ True,  True, False, False])
    """

    def __init__(self, high: int, low: int = 0) -> None:
        self.high = check_integer(high, "high", low=low)
        self.low = low
        remedy = "Use Interval for numbers with a larger range."
        check_integer(high - low + 1, "number of integers", high=_MAX_LEVELS, remedy=remedy)
        self.values = range(low, high + 1)

    def fit(self, cells: Array) -> Self:
        """Use the standard deviation of the cells, at least 1."""
        fitted = copy(self)
        fitted._unit = max(float(cells.astype(np.float64).std()), 1.0)
        return fitted

    _unit: float

    def transitions(self, scale: int) -> Array:
        """Return a matrix that decreases exponentially with the distance."""
        levels = np.arange(len(self.values))
        distances = np.abs(np.subtract.outer(levels, levels))
        weights = np.exp(-distances / (self._unit * _STEPS[scale]))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def __repr__(self) -> str:
        return f"Counts({self.high}, low={self.low})"


class Strings(ColumnDomain):
    """Strings over an alphabet, up to a length.

    Parameters
    ----------
    alphabet : str
        All characters, each once.
    max_length : int
    min_length : int

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.mixture.domains import Strings
    >>> Strings("ACGT", 3).contains(np.array(["", "GAT", "GATT", "x"], dtype=object))
    array([ True,  True, False, False])
    """

    def __init__(self, alphabet: str, max_length: int, min_length: int = 0) -> None:
        self.alphabet = alphabet
        self.min_length = check_integer(min_length, "min_length", low=0)
        self.max_length = check_integer(max_length, "max_length", low=max(min_length, 1))
        if not alphabet or len(set(alphabet)) < len(alphabet):
            raise ValueError(f"alphabet={alphabet!r:.80} must list at least one character, once.")

    def contains(self, cells: Array) -> Array:
        """Return which cells are strings of allowed length and characters."""
        allowed = set(self.alphabet)
        return np.array(
            [
                isinstance(cell, str)
                and self.min_length <= len(cell) <= self.max_length
                and set(cell) <= allowed
                for cell in cells.tolist()
            ],
            dtype=bool,
        )

    def uniform(self, count: int, rng: np.random.Generator) -> Array:
        """Draw a length, then each character, uniformly."""
        lengths = rng.integers(self.min_length, self.max_length + 1, size=count)
        codes = rng.integers(len(self.alphabet), size=(count, self.max_length))
        return self._strings(codes, lengths)

    def log_uniform(self, cells: Array) -> Array:
        """Return the log-probability of the length and the characters."""
        lengths = self._codes(cells)[1]
        return -log(self.max_length - self.min_length + 1) - lengths * log(len(self.alphabet))

    def move(self, cells: Array, scale: int, rng: np.random.Generator) -> Array:
        """Replace some characters, or the whole string."""
        codes, lengths = self._codes(cells)
        changed = rng.random(codes.shape) < _CHANGES[scale]
        new = rng.integers(len(self.alphabet), size=codes.shape)
        moved = self._strings(np.where(changed, new, codes), lengths)
        replaced = rng.random(len(cells)) < _CHANGES[scale]
        return np.where(replaced, self.uniform(len(cells), rng), moved)

    def log_moves(self, cells: Array, origins: Array, scale: int) -> Array:
        """Return log-probabilities of replaced characters, or of the whole string."""
        (x, x_lengths), (y, y_lengths) = self._codes(cells), self._codes(origins)
        change = _CHANGES[scale]
        new = change / len(self.alphabet)
        equal = np.zeros((len(x), len(y)))
        for one, other in zip(x.T, y.T, strict=True):  # the codes beyond the end are equal
            equal += np.equal.outer(one, other)
        equal -= self.max_length - x_lengths[:, None]
        logs = equal * log(1 - change + new) + (x_lengths[:, None] - equal) * log(new)
        same_length = np.equal.outer(x_lengths, y_lengths)
        kept = np.where(same_length, log(1 - change) + logs, -np.inf)
        return np.logaddexp(kept, log(change) + self.log_uniform(cells)[:, None])

    def _codes(self, cells: Array) -> tuple[Array, Array]:
        """Return codes of characters, -1 beyond the end, and lengths."""
        known = {character: code for code, character in enumerate(self.alphabet)}
        codes = np.full((len(cells), self.max_length), -1, dtype=np.intp)
        for row, cell in zip(codes, cells.tolist(), strict=True):
            row[: len(cell)] = [known[character] for character in cell]
        return codes, np.array([len(cell) for cell in cells.tolist()])

    def _strings(self, codes: Array, lengths: Array) -> Array:
        characters = np.array(list(self.alphabet))[codes]
        strings = np.empty(len(codes), dtype=object)
        rows = zip(characters.tolist(), lengths.tolist(), strict=True)
        strings[:] = ["".join(row[:length]) for row, length in rows]
        return strings

    def __repr__(self) -> str:
        return f"Strings({self.alphabet!r:.40}, {self.max_length})"
