"""Which data each estimator and function accepts, found by trying.

python -m tools.accepted_data           print the table
python -m tools.accepted_data --update  write it to docs/any-data.md
"""

from __future__ import annotations

import argparse
import inspect
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import mercer
from mercer import information
from mercer.kernels import Gaussian, NGram
from tools import generated_section

NAME = "accepted data"
PAGE = generated_section.PAGE.with_name("any-data.md")
NOT_ACCEPTED = "–"
ROWS = 60  # ProcessMonitor needs 50

#: estimators and functions that do not take rows of data
OTHERS = {
    *("load", "save", "get_config", "set_config", "config_context", "Spectrum"),
    *("ColumnDependence", "DensityDistance", "EntropyBounds", "MatrixEntropies", "log_normalizer"),
    *("integrated_squared_error", "kullback_leibler"),
}

#: arguments of functions after X that are not Y
_ARGUMENTS = {
    "describe_clusters": (np.arange(ROWS) % 2,),
    "maximum_entropy_direction": (Gaussian(1.0),),
}


class Attempt(NamedTuple):
    """One kind of data: how X is made, and the kernels to try, None for the default."""

    header: str
    make: Callable[[], Any]
    kernels: tuple[Any, ...] = (None,)
    weighted: bool = False
    method: str = "fit"


def _numbers() -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(ROWS, 4)) + 4 * (np.arange(ROWS) % 2)[:, None]


def _frame() -> Any:
    import pandas as pd

    return pd.DataFrame(_numbers(), columns=["a", "b", "c", "d"])


def _mixed() -> Any:
    import pandas as pd

    frame = _frame()
    rows = np.arange(ROWS)
    frame["color"] = pd.Series(np.where(rows % 2 == 1, "red", "blue")).where(rows % 7 > 0, None)
    frame["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rows % 11, "D")
    return frame


def _sparse() -> Any:
    from scipy.sparse import csr_array

    return csr_array(np.maximum(_numbers(), 0.0) + 0.01)


def _texts() -> list[str]:
    words = [["goal", "team"], ["bank", "rate"]]
    return [f"{words[i % 2][i % 3 % 2]} {words[i % 2][i % 5 % 2]} {i % 4}" for i in range(ROWS)]


def _dask_array() -> Any:
    import dask.array as da

    return da.from_array(_numbers(), chunks=(ROWS // 2, 4))


def _dask_frame() -> Any:
    import dask.dataframe as dd

    return dd.from_pandas(_frame(), npartitions=2)


_NUMBERS = (_numbers, _frame, _dask_array, _dask_frame)

ATTEMPTS = (
    Attempt("arrays", _numbers),
    Attempt("frames of numbers", _frame),
    Attempt("mixed frames", _mixed, (None, "table")),
    Attempt("sparse", _sparse, (None, "cosine")),
    Attempt("texts, other objects", _texts, (None, NGram(2, normalize=True))),
    Attempt("Dask arrays", _dask_array),
    Attempt("Dask frames", _dask_frame),
    Attempt("weights", _numbers, weighted=True),
    Attempt("`partial_fit`", _numbers, method="partial_fit"),
)


def names() -> list[str]:
    """Return the names of estimators and functions, estimators first."""
    of_package = [name for name in mercer.__all__ if name not in mercer._MODULES]
    found = [n for n in [*of_package, *information.__all__] if n not in OTHERS]
    found = [name for name in found if not name.startswith("__")]
    return sorted(dict.fromkeys(found), key=lambda name: not inspect.isclass(_object(name)))


def _object(name: str) -> Any:
    return getattr(mercer, name) if hasattr(mercer, name) else getattr(information, name)


def _call(name: str, attempt: Attempt, kernel: Any) -> None:
    """Fit or call; raises an exception if the data are not accepted."""
    made, X = _object(name), attempt.make()
    if name == "OrthogonalSeries" and attempt.make in _NUMBERS:  # of one column
        X = X[["a"]] if hasattr(X, "columns") else X[:, :1]
    parameters = inspect.signature(made).parameters
    options = {} if kernel is None else {"kernel": kernel}
    if inspect.isclass(made):
        estimator = made(**options)
        if not hasattr(estimator, attempt.method):
            raise TypeError(f"{name} has no {attempt.method}")
        method = getattr(estimator, attempt.method)
        if attempt.weighted:
            weights = np.arange(ROWS) % 3 + 1.0
            method(X, *_targets(method, X), sample_weight=weights)
        else:
            method(X, *_targets(method, X))
        return
    if attempt.method == "partial_fit":
        raise TypeError("functions have no partial_fit")
    others: tuple[Any, ...] = (attempt.make(),) if "Y" in parameters else ()
    if name in _ARGUMENTS:
        others = _ARGUMENTS[name]
    if attempt.weighted:
        weights = np.arange(ROWS) % 3 + 1.0
        options["sample_weight"] = (weights, weights) if "Y" in parameters else weights
    made(X, *others, **options)


def _targets(method: Any, X: Any) -> tuple[Any, ...]:
    y = inspect.signature(method).parameters.get("y")
    if y is None or y.default is not inspect.Parameter.empty:
        return ()
    labels = np.arange(ROWS) % 2
    if hasattr(X, "dask"):
        import dask.array as da

        return (da.from_array(labels, chunks=ROWS // 2),)
    return (labels,)


def cell(name: str, attempt: Attempt) -> str:
    """Return how one estimator or function accepts one kind of data."""
    for kernel in attempt.kernels:
        if kernel is not None and "kernel" not in inspect.signature(_object(name)).parameters:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _call(name, attempt, kernel)
        except (TypeError, ValueError):
            continue
        if kernel is None:
            return "yes"
        return f'"{kernel}"' if isinstance(kernel, str) else "`NGram`, …"
    return NOT_ACCEPTED


def section() -> str:
    """Return the table in Markdown."""
    alike: dict[tuple[bool, str], list[str]] = {}  # names by their cells
    for name in names():
        cells = " | ".join(cell(name, attempt) for attempt in ATTEMPTS)
        alike.setdefault((inspect.isclass(_object(name)), cells), []).append(f"`{name}`")
    lines = ["| | " + " | ".join(attempt.header for attempt in ATTEMPTS) + " |"]
    lines.append("|" + "---|" * (len(ATTEMPTS) + 1))
    lines += [f"| {', '.join(listed)} | {cells} |" for (_, cells), listed in alike.items()]
    return "\n".join(lines)


def main() -> None:
    """Print the table or update the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help=f"write to docs/{PAGE.name}")
    if parser.parse_args().update:
        generated_section.update(NAME, section(), PAGE)
    else:
        print(section())


if __name__ == "__main__":
    main()
