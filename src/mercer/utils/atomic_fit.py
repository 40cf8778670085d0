"""Atomic fits: an estimator is unchanged if ``fit`` fails."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

__all__ = ["all_or_nothing"]

Estimator = TypeVar("Estimator")
Params = ParamSpec("Params")
Result = TypeVar("Result")


def all_or_nothing(
    fit: Callable[Concatenate[Estimator, Params], Result],
) -> Callable[Concatenate[Estimator, Params], Result]:
    """Decorate a ``fit`` method so that it restores the estimator's attributes if it raises.

    Otherwise an exception (invalid data, a warning turned into an error, Ctrl-C) could leave
    attributes of the new sample next to those of the previous fit.

    Examples
    --------
    >>> from mercer.utils.atomic_fit import all_or_nothing
    >>> class Model:
    ...     @all_or_nothing
    ...     def fit(self, x):
    ...         self.first_ = x[0]
    ...         self.second_ = x[1]
    >>> model = Model()
    >>> model.fit([1, 2])
    >>> model.fit([3])
    Traceback (most recent call last):
    IndexError: list index out of range
    >>> vars(model)
    {'first_': 1, 'second_': 2}
    """

    @wraps(fit)
    def guarded(self: Estimator, /, *args: Params.args, **kwargs: Params.kwargs) -> Any:
        before = vars(self).copy()
        try:
            # Kernel values of distant points underflow to 0, which is correct. The state of the
            # caller, such as np.errstate(all="raise"), must not turn this into an error.
            with np.errstate(under="ignore"):
                return fit(self, *args, **kwargs)
        except BaseException:
            self.__dict__ = before  # a single assignment, which an interrupt cannot split
            raise

    return guarded
