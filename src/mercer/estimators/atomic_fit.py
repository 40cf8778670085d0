"""A fit happens as a whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

__all__ = ["all_or_nothing"]

Me = TypeVar("Me")
Given = ParamSpec("Given")
Result = TypeVar("Result")


def all_or_nothing(
    fit: Callable[Concatenate[Me, Given], Result],
) -> Callable[Concatenate[Me, Given], Result]:
    """Decorate a method that fits: if it does not finish, the estimator is what it was before.

    Whatever ends it (bad data, a warning turned into an error, the user's Ctrl-C) must not leave
    the new sample's columns beside the old one's components.

    Examples
    --------
    >>> from mercer.estimators.atomic_fit import all_or_nothing
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
    def guarded(self: Me, /, *args: Given.args, **kwargs: Given.kwargs) -> Any:
        before = vars(self).copy()
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            self.__dict__ = before  # one step: nothing can come between
            raise

    return guarded
