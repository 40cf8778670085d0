"""What can go wrong, as types one can catch and filter."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = [
    "AbsentRowsError",
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
    "WorkerError",
    "check_memory",
    "silence",
    "warn",
]

#: Receives a warning's text and its category.
Tell = Callable[[str, type[Warning]], None]


class MercerError(Exception):
    """Base class of the errors that only mercer raises.

    Examples
    --------
    >>> from mercer.errors import ConvergenceError, MercerError, RankError
    >>> issubclass(RankError, MercerError), issubclass(ConvergenceError, MercerError)
    (True, True)
    """


class MemoryBudgetError(MercerError, ValueError, MemoryError):
    """A request that would need more memory than the budget allows; nothing was allocated.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> from mercer.errors import MemoryBudgetError
    >>> try:
    ...     with mercer.config_context(memory="1 KB"):
    ...         mercer.KernelPCA(solver="dense").fit(np.arange(200.0).reshape(-1, 1))
    ... except MemoryBudgetError as error:
    ...     print(error)
    A full decomposition of 200 points needs ... GB; the memory budget is 1e-06 GB. Use ...
    """


def check_memory(needed: float, budget: float, what: str, remedy: str) -> None:
    """Refuse what would need more bytes than the budget, and say what to do instead.

    Parameters
    ----------
    needed, budget : float
        Bytes.
    what : str
        What needs them: the start of the message.
    remedy : str
        What does not.

    Examples
    --------
    >>> from mercer.errors import check_memory
    >>> check_memory(8e9, 2e9, "A Gram matrix of 31623 points", "Use solver='nystrom'")
    Traceback (most recent call last):
    mercer.errors.MemoryBudgetError: A Gram matrix of 31623 points needs 8 GB; the memory budget is
    2 GB. Use solver='nystrom', or raise the budget with mercer.set_config(memory=…).
    """
    if needed > budget:
        raise MemoryBudgetError(
            f"{what} needs {needed / 1e9:.3g} GB; the memory budget is {budget / 1e9:.3g} GB. "
            f"{remedy}, or raise the budget with mercer.set_config(memory=…)."
        )


class ConvergenceError(MercerError, RuntimeError):
    """A solver found fewer eigenpairs than it was asked for; ``pairs`` holds what it found.

    Examples
    --------
    >>> from mercer.errors import ConvergenceError
    >>> ConvergenceError("2 of 3 pairs converged", pairs=("what was found",)).pairs
    ('what was found',)
    """

    def __init__(self, message: str, pairs: object = None) -> None:
        super().__init__(message)
        self.pairs = pairs


class RankError(MercerError, ValueError):
    """More components were asked for than K has positive eigenvalues; ``rank`` says how many.

    Examples
    --------
    >>> from mercer import KernelPCA
    >>> from mercer.errors import RankError
    >>> try:
    ...     KernelPCA(2, kernel="linear").fit([[0.0], [1.0], [2.0]])
    ... except RankError as error:
    ...     print(error.rank)
    1
    """

    def __init__(self, message: str, rank: int) -> None:
        super().__init__(message)
        self.rank = rank


class NoDomainError(MercerError, AttributeError, ValueError):
    """A density has no normaliser because no domain was named.

    An AttributeError too: to scikit-learn's searches the estimator then has no ``score``.

    Examples
    --------
    >>> from mercer import MercerMixture
    >>> from mercer.errors import NoDomainError
    >>> mixture = MercerMixture().fit([[0.0], [1.0], [2.0]])
    >>> try:
    ...     mixture.score([[1.0]])
    ... except NoDomainError:
    ...     print("a density without a domain has no score")
    a density without a domain has no score
    """


class AbsentRowsError(MercerError, TypeError):
    """Something needs the training rows, and these stayed on the engine that they were fitted on.

    Examples
    --------
    >>> from mercer.errors import AbsentRowsError, MercerError
    >>> issubclass(AbsentRowsError, MercerError)
    True
    """


class WorkerError(MercerError, RuntimeError):
    """Work on a chunk failed on the engine for want of memory; the text says what to change.

    Examples
    --------
    >>> from mercer.errors import MercerError, WorkerError
    >>> issubclass(WorkerError, MercerError)
    True
    """


class ConvergenceWarning(UserWarning):
    """An iteration stopped at its limit; the result is usable, and the text says how far it got.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from mercer import MercerMixture
    >>> from mercer.errors import ConvergenceWarning
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> with warnings.catch_warnings(record=True) as raised:
    ...     warnings.simplefilter("always", ConvergenceWarning)
    ...     mixture = MercerMixture(2, kernel="linear", max_iter=1, random_state=0).fit(X)
    >>> [warning.category.__name__ for warning in raised]
    ['ConvergenceWarning']
    """


class ApproximationWarning(UserWarning):
    """A result is less exact, or less certain, than its name suggests; the text says how much.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> from mercer.errors import ApproximationWarning
    >>> from mercer.solvers import Nystrom
    >>> X = np.random.default_rng(0).normal(size=(300, 5))
    >>> with warnings.catch_warnings(record=True) as raised:
    ...     warnings.simplefilter("always")
    ...     pca = KernelPCA(kernel="gaussian", solver=Nystrom(20)).fit(X)
    >>> [warning.category.__name__ for warning in raised]
    ['ApproximationWarning']
    """


class IdentifiabilityWarning(UserWarning):
    """The data do not determine the components: tied eigenvalues, or points without neighbours.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from mercer import KernelECA
    >>> from mercer.errors import IdentifiabilityWarning
    >>> from mercer.kernels import Gaussian
    >>> X = 100.0 * np.arange(20.0).reshape(-1, 1)  # no point has a neighbour
    >>> with warnings.catch_warnings(record=True) as raised:
    ...     warnings.simplefilter("always")
    ...     eca = KernelECA(2, kernel=Gaussian(1.0)).fit(X)
    >>> any(warning.category is IdentifiabilityWarning for warning in raised)
    True
    """


class VersionWarning(UserWarning):
    """A model file comes from other versions of the libraries than those that read it.

    Examples
    --------
    >>> import warnings
    >>> from mercer.errors import VersionWarning
    >>> warnings.simplefilter("error", VersionWarning)  # rather no model than an older one
    """


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the user's line: the nearest caller outside this library and scikit-learn.

    Examples
    --------
    >>> import warnings
    >>> from mercer.errors import ApproximationWarning, warn
    >>> with warnings.catch_warnings(record=True) as raised:
    ...     warnings.simplefilter("always")
    ...     warn("good to 2 digits", ApproximationWarning)
    >>> str(raised[0].message)
    'good to 2 digits'
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def silence() -> Iterator[None]:
    """Hold back the warnings of what is only tried: what is used speaks for itself.

    Examples
    --------
    >>> from mercer.errors import ApproximationWarning, silence, warn
    >>> with silence():
    ...     warn("good to 2 digits", ApproximationWarning)
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in ("mercer", "sklearn")
