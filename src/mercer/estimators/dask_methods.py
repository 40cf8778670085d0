"""Methods with one result per row: at once for rows in memory, chunk by chunk on an engine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar

from sklearn.utils.validation import check_is_fitted

from mercer.chunked import lazy_rows
from mercer.chunks import is_dask, mapped
from mercer.maths.types import Array

__all__ = ["rowwise"]

Method = TypeVar("Method", bound=Callable[..., Any])


def rowwise(method: Method) -> Method:
    """Let a method of rows, ``method(self, X)``, take Dask collections too.

    The result is then a lazy ``dask.array`` with the chunks of X. Each chunk is one task, to which
    only the fitted model travels.
    """

    @wraps(method)
    def either(self: Any, X: Any, *args: Any, **settings: Any) -> Any:
        if not is_dask(X):
            return method(self, X, *args, **settings)
        check_is_fitted(self)
        rows = lazy_rows(X, self.kernel_.compares, self, reset=False)
        call = partial(_applied, self._travelling(), method.__name__, args, settings)
        return mapped(call, rows)

    return either  # type: ignore[return-value]


def _applied(model: Any, name: str, args: Any, settings: Any, X: Array) -> Array:
    found: Array = getattr(model, name)(X, *args, **settings)
    return found
