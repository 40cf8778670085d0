"""What can go wrong, as types one can catch and filter."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable

__all__ = [
    "ApproximationWarning",
    "ConvergenceError",
    "ConvergenceWarning",
    "IdentifiabilityWarning",
    "MemoryBudgetError",
    "MercerError",
    "NoDomainError",
    "RankError",
    "Tell",
    "VersionWarning",
    "warn",
]

#: Receives a warning's text and its category.
Tell = Callable[[str, type[Warning]], None]


class MercerError(Exception):
    """Base class of the errors that only mercer raises."""


class MemoryBudgetError(MercerError, ValueError, MemoryError):
    """A request that would need more memory than the budget allows; nothing was allocated."""


class ConvergenceError(MercerError, RuntimeError):
    """A solver found fewer eigenpairs than it was asked for; ``pairs`` holds what it found."""

    def __init__(self, message: str, pairs: object = None) -> None:
        super().__init__(message)
        self.pairs = pairs


class RankError(MercerError, ValueError):
    """More components were asked for than K has positive eigenvalues; ``rank`` says how many."""

    def __init__(self, message: str, rank: int) -> None:
        super().__init__(message)
        self.rank = rank


class NoDomainError(MercerError, AttributeError, ValueError):
    """A density has no normaliser because no domain was named.

    An AttributeError too: to scikit-learn's searches the estimator then has no ``score``.
    """


class ConvergenceWarning(UserWarning):
    """An iteration stopped at its limit; the result is usable, and the text says how far it got."""


class ApproximationWarning(UserWarning):
    """A result is less exact, or less certain, than its name suggests; the text says how much."""


class IdentifiabilityWarning(UserWarning):
    """The data do not determine the components: tied eigenvalues, or points without neighbours."""


class VersionWarning(UserWarning):
    """A model file comes from other versions of the libraries than those that read it."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the user's line: the nearest caller outside this library and scikit-learn."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in ("mercer", "sklearn")
