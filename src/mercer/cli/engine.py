"""The interface of the engines: computation in memory or with Dask.

An engine reads a table, fits a pipeline, applies a fitted pipeline and writes the new columns. It
holds no state: each method receives the results of the earlier ones. Both engines build the same
pipelines, so that a model fitted by one can be applied by the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mercer.cli.errors import UsageError
from mercer.cli.options import Output, Reading

if TYPE_CHECKING:
    from mercer.cli.runner import Task
    from mercer.tables.table import SelectedTable

__all__ = [
    "Engine",
    "UsableRows",
    "add_row_numbers",
    "check_label",
    "check_new_names",
    "join_columns",
    "spread_rows",
]


@dataclass(frozen=True)
class UsableRows:
    """The number of rows of a table, and the number of rows to which a model can be applied."""

    n_rows: int
    n_usable: int


RowsType = TypeVar("RowsType")
UsableType = TypeVar("UsableType", bound=UsableRows)


class Engine(ABC, Generic[RowsType, UsableType]):
    """Read, fit, apply and write; the methods are listed in the order of their calls.

    Parameters
    ----------
    data : str
        Name of a data set, a file or a folder.
    reading : Reading
    """

    def __init__(self, data: str, reading: Reading) -> None:
        self.data, self.reading = data, reading

    @abstractmethod
    def check_output(self, output: Output) -> None:
        """Raise an error, before any work, if the columns cannot be written."""

    @contextmanager
    def session(self, verbose: bool) -> Iterator[None]:
        """Enter a context in which the other methods can be called."""
        yield

    @abstractmethod
    def read(self, model: Any = None) -> RowsType:
        """Return the table with all rows and columns; it has a ``name``.

        Parameters
        ----------
        model : Pipeline or None
            A fitted model, which knows columns of labels that look like numbers.
        """

    @abstractmethod
    def select(self, rows: RowsType, task: Task) -> SelectedTable:
        """Select the rows and columns to fit to."""

    @abstractmethod
    def fit(self, pipeline: Any, table: Any, task: Task) -> Any:
        """Fit a pipeline to a selection and return it."""

    @abstractmethod
    def find_usable(self, rows: RowsType, model: Any, table: Any = None) -> UsableType:
        """Find the rows to which a fitted pipeline can be applied.

        Parameters
        ----------
        rows
            From :meth:`read`.
        model : Pipeline
        table
            From :meth:`select`, if the model was fitted to it; saves a pass over the data.
        """

    @abstractmethod
    def apply(self, rows: RowsType, usable: UsableType, model: Any, task: Task) -> Any:
        """Return the task's new columns."""

    @abstractmethod
    def count_correct(
        self, rows: RowsType, usable: UsableType, columns: Any, task: Task
    ) -> tuple[int, int]:
        """Return the number of rows with a known class, and how many are predicted correctly."""

    @abstractmethod
    def prepare_output(
        self, rows: RowsType, usable: UsableType, columns: Any, output: Output, task: Task
    ) -> Callable[[], Any]:
        """Return a function that writes the columns."""

    @abstractmethod
    def map_rows(self, function: Callable[..., Any], *columns: Any) -> Any:
        """Apply a function of rows that returns one result per row; it must be picklable."""

    @abstractmethod
    def sum_rows(self, function: Callable[..., Any], *columns: Any) -> Any:
        """Apply a function that summarizes rows, and add up its results; it must be picklable."""


# --- checks that engines share ----------------------------------------------------------------


def check_label(label: str | None, task: Task) -> None:
    """Raise UsageError if a task learns classes and no label column is known."""
    if task.learns_classes and label is None:
        raise UsageError(f"{task.command} needs class labels. Name their column with --label.")


def check_new_names(name: str, columns: Any, own: Any) -> None:
    """Raise ValueError if a new column has the name of an input column."""
    duplicates = [column for column in columns if column in own]
    if duplicates:
        raise ValueError(
            f"{name} already has a column {duplicates[0]!r}. Rename it, or omit --keep."
        )


# --- new columns as data frames ---------------------------------------------------------------


def spread_rows(columns: dict[str, Any], usable: Any) -> Any:
    """Return a data frame with one row per input row; unusable rows have missing values."""
    import numpy as np
    import pandas as pd

    frame = pd.DataFrame(columns, index=np.flatnonzero(usable))
    if not usable.all():
        integers = {name: "Int64" for name in frame if frame[name].dtype.kind == "i"}
        frame = frame.astype(integers)  # int64 has no missing values and would become float
    return frame.reindex(range(len(usable)))


def add_row_numbers(columns: Any, start: int) -> Any:
    """Insert a first column of row numbers, from start + 1, unless a column is called "row"."""
    if "row" in columns:
        return columns
    return columns.assign(row=range(start + 1, start + 1 + len(columns)))[["row", *columns]]


def join_columns(own: Any, columns: Any) -> Any:
    """Append new columns to those of the input; columns of the same name are replaced."""
    import pandas as pd

    own = own.reset_index(drop=True)
    new = [name for name in columns if name not in own]
    replaced = own.assign(**{name: columns[name] for name in columns if name in own})
    return pd.concat([replaced, columns[new]], axis=1)
