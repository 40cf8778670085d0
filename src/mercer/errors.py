"""Exceptions and warning categories."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = [
    "AbsentRowsError",
    "ApproximationWarning",
    "ColumnWarning",
    "ConvergenceError",
    "ConvergenceWarning",
    "IdentifiabilityWarning",
    "InvalidParameterError",
    "MemoryBudgetError",
    "MercerError",
    "NoDomainError",
    "RankError",
    "SaturationWarning",
    "VersionWarning",
    "WeightWarning",
    "WorkerError",
    "capture_warnings",
    "suppress_warnings",
    "suppressed",
    "warn",
]


class MercerError(Exception):
    """Base class of the exceptions defined by mercer.

    Examples
    --------
    >>> from mercer.errors import ConvergenceError, MercerError, RankError
    >>> issubclass(RankError, MercerError), issubclass(ConvergenceError, MercerError)
    (True, True)
    """


class MemoryBudgetError(MercerError, ValueError, MemoryError):
    """A request needs more memory than the budget allows. Nothing was allocated.

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


class InvalidParameterError(MercerError, ValueError, TypeError):
    """A parameter has a value or a type that is not allowed; the message gives the limits.

    It is both a ValueError and a TypeError, as in scikit-learn.

    Examples
    --------
    >>> from mercer import EntropyClustering
    >>> from mercer.errors import InvalidParameterError
    >>> try:
    ...     EntropyClustering(n_clusters=2.5).fit([[0.0], [1.0], [2.0]])
    ... except InvalidParameterError as error:
    ...     print(error)
    n_clusters=2.5 must be an integer of at least 1. ...
    """


class ConvergenceError(MercerError, RuntimeError):
    """A solver found fewer eigenpairs than requested; ``pairs`` holds those it found.

    Examples
    --------
    >>> from mercer.errors import ConvergenceError
    >>> ConvergenceError("2 of 3 pairs converged", pairs=("two pairs",)).pairs
    ('two pairs',)
    """

    def __init__(self, message: str, pairs: object = None) -> None:
        super().__init__(message)
        self.pairs = pairs


class RankError(MercerError, ValueError):
    """More components were requested than K has positive eigenvalues (``rank``).

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
    """A density has no normalizer because no domain was given.

    It is also an AttributeError, so that scikit-learn's searches see an estimator without
    ``score``.

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
    """An operation needs the training rows, which are not stored with a model fitted on Dask.

    Examples
    --------
    >>> from mercer.errors import AbsentRowsError, MercerError
    >>> issubclass(AbsentRowsError, MercerError)
    True
    """


class WorkerError(MercerError, RuntimeError):
    """A Dask task ran out of memory; the message names a remedy.

    Examples
    --------
    >>> from mercer.errors import MercerError, WorkerError
    >>> issubclass(WorkerError, MercerError)
    True
    """


class ConvergenceWarning(UserWarning):
    """An iteration stopped at its limit. The result is usable; the message gives its accuracy.

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
    """A result is approximate; the message gives the error.

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


class ColumnWarning(UserWarning):
    """A column of a table is left out, or should be transformed; the message names it.

    Examples
    --------
    >>> import warnings
    >>> import pandas as pd
    >>> from mercer.errors import ColumnWarning
    >>> from mercer.kernels import table_kernel
    >>> frame = pd.DataFrame({"customer_id": range(100, 130), "age": [31.5, 45.0, 22.5] * 10})
    >>> with warnings.catch_warnings(record=True) as raised:
    ...     warnings.simplefilter("always")
    ...     kernel = table_kernel(frame)
    >>> [warning.category.__name__ for warning in raised]
    ['ColumnWarning']
    """


class IdentifiabilityWarning(UserWarning):
    """The data do not determine the components or the number of clusters.

    Eigenvalues are tied, points are isolated, or clusters are not clearly separated.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from mercer import KernelECA
    >>> from mercer.errors import IdentifiabilityWarning
    >>> from mercer.kernels import Gaussian
    >>> X = 100.0 * np.arange(20.0).reshape(-1, 1)  # every point is isolated
    >>> with warnings.catch_warnings(record=True) as raised:
    ...     warnings.simplefilter("always")
    ...     eca = KernelECA(2, kernel=Gaussian(1.0)).fit(X)
    >>> any(warning.category is IdentifiabilityWarning for warning in raised)
    True
    """


class SaturationWarning(UserWarning):
    """A statistic does not increase with the distance of a row from the training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> from mercer.errors import SaturationWarning
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> pca = KernelPCA(3).fit(X)
    >>> with suppress_warnings(SaturationWarning):
    ...     bool(pca.hotelling([[100.0, 100.0]])[0] < np.median(pca.hotelling(X)))
    True
    """


class VersionWarning(UserWarning):
    """A model file was written by other versions of the libraries.

    Examples
    --------
    >>> import warnings
    >>> from mercer.errors import VersionWarning
    >>> warnings.simplefilter("error", VersionWarning)  # raise for such files
    """


class WeightWarning(UserWarning):
    """The sample weights sum to more than ten times the number of rows with positive weight.

    Weights are multiplicities, so the sample size of bandwidth rules and other rules is their sum.
    Divide weights that are not counts by their mean.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from mercer import ParzenDensity
    >>> from mercer.errors import WeightWarning
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> with warnings.catch_warnings(record=True) as raised:
    ...     warnings.simplefilter("always")
    ...     density = ParzenDensity().fit(X, sample_weight=np.full(60, 1000.0))
    >>> any(warning.category is WeightWarning for warning in raised)
    True
    """


#: Categories that :func:`suppress_warnings` suppresses in the current thread.
suppressed: ContextVar[tuple[type[Warning], ...]] = ContextVar("suppressed warnings", default=())
_captured: ContextVar[list[str] | None] = ContextVar("captured warnings", default=None)


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning that refers to the nearest caller outside of mercer, scikit-learn and NumPy.

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
    if issubclass(category, suppressed.get()):
        return
    messages = _captured.get()
    if messages is not None:
        if message not in messages:
            messages.append(message)
        return
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_internal(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def is_called_by_user() -> bool:
    """Return whether the calling method was called from outside of mercer.

    Wrappers of the method (``rowwise`` in :mod:`mercer.data.points`, NumPy's ``errstate``) are
    skipped.

    Examples
    --------
    >>> from mercer.errors import is_called_by_user
    >>> is_called_by_user()
    True
    """
    frame = sys._getframe(1).f_back
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name != "mercer.data.points" and not name.startswith(("numpy", "contextlib")):
            return not _is_internal(name)
        frame = frame.f_back
    return True


@contextmanager
def suppress_warnings(*categories: type[Warning]) -> Iterator[None]:
    """Suppress mercer's own warnings in a ``with`` block, such as those of trial fits.

    Without categories, all warnings of mercer are suppressed. Only the calling thread is affected,
    unlike with ``warnings.catch_warnings``.

    Examples
    --------
    >>> from mercer.errors import ApproximationWarning, suppress_warnings, warn
    >>> with suppress_warnings():
    ...     warn("good to 2 digits", ApproximationWarning)
    """
    before = suppressed.set((*suppressed.get(), *(categories or (Warning,))))
    try:
        yield
    finally:
        suppressed.reset(before)


@contextmanager
def capture_warnings() -> Iterator[list[str]]:
    """Collect the distinct messages of mercer's own warnings in a ``with`` block.

    Only the calling thread is affected, unlike with ``warnings.catch_warnings``.

    Examples
    --------
    >>> from mercer.errors import ApproximationWarning, capture_warnings, warn
    >>> with capture_warnings() as messages:
    ...     warn("good to 2 digits", ApproximationWarning)
    >>> messages
    ['good to 2 digits']
    """
    messages: list[str] = []
    before = _captured.set(messages)
    try:
        yield messages
    finally:
        _captured.reset(before)


def _is_internal(module: str) -> bool:
    return module.partition(".")[0] in ("mercer", "sklearn", "numpy")  # numpy: errstate
