"""Row-wise methods of fitted estimators that accept Dask collections."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.data.dask import passes_for
from mercer.utils.types import Array

__all__ = ["rowwise"]

Method = TypeVar("Method", bound=Callable[..., Any])


def rowwise(method: Method) -> Method:
    """Decorate a method with one result per row, ``method(self, X)``, to accept Dask collections.

    For a Dask collection the result is a lazy ``dask.array`` with the chunks of X. Each chunk is
    one task; the fitted model is sent to the workers once, without its training rows.
    """

    @wraps(method)
    def wrapper(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        check_is_fitted(self)
        if isinstance(X, np.ndarray) or not (passes := passes_for(X)).is_chunked:
            return method(self, X, *args, **kwargs)
        from mercer.data.dask.validation import validate_dask_rows

        rows = validate_dask_rows(X, self.kernel_.compares, estimator=self, reset=False)
        call = partial(_call_method, self._for_workers(), method.__name__, args, kwargs)
        return passes.map(call, rows)

    return wrapper  # type: ignore[return-value]


def _call_method(model: Any, name: str, args: Any, kwargs: Any, X: Array) -> Array:
    found: Array = getattr(model, name)(X, *args, **kwargs)
    return found
