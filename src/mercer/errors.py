"""What can go wrong, as types one can catch and filter."""

from __future__ import annotations

__all__ = [
    "ApproximationWarning",
    "ConvergenceError",
    "ConvergenceWarning",
    "IdentifiabilityWarning",
    "MemoryBudgetError",
    "MercerError",
]


class MercerError(Exception):
    """Base class of the errors that only mercer raises."""


class MemoryBudgetError(MercerError, ValueError, MemoryError):
    """A request that would need more memory than the budget allows; nothing was allocated."""


class ConvergenceError(MercerError, RuntimeError):
    """A solver found fewer eigenpairs than it was asked for; ``pairs`` holds what it found."""

    def __init__(self, message: str, pairs: object = None) -> None:
        super().__init__(message)
        self.pairs = pairs


class ConvergenceWarning(UserWarning):
    """An iteration stopped at its limit; the result is usable, and the text says how far it got."""


class ApproximationWarning(UserWarning):
    """A result is less exact, or less certain, than its name suggests; the text says how much."""


class IdentifiabilityWarning(UserWarning):
    """The data do not determine the components: tied eigenvalues, or points without neighbours."""
