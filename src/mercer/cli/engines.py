"""What a command asks of the place where its work is done: in memory, or in chunks.

An engine reads the table, fits a pipeline to it, applies one, and writes columns. All engines make
the same pipelines, so that a model of one is applied by the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mercer.cli.failing import UsageError
from mercer.cli.options import Reading

if TYPE_CHECKING:
    from mercer.cli.working import Task
    from mercer.tables.table import SelectedTable

__all__ = ["Engine", "beside", "numbered", "spread"]


class Engine(ABC):
    """Reads, fits, applies and writes.

    Parameters
    ----------
    data : str
    reading : Reading
    """

    def __init__(self, data: str, reading: Reading) -> None:
        self.data, self.reading = data, reading

    @abstractmethod
    def check_out(self, out: Path, keep: bool) -> None:
        """Refuse, before any work, a place where the columns cannot be written."""

    @contextmanager
    def running(self, verbose: bool) -> Iterator[None]:
        """Be ready for work."""
        yield

    @abstractmethod
    def read(self) -> None:
        """Read the table, or look at what there is to read."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Of the table."""

    @abstractmethod
    def table(self, task: Task) -> SelectedTable:
        """Decide what is learnt from."""

    @abstractmethod
    def fitted(self, pipeline: Any, table: Any, task: Task) -> Any:
        """Fit a pipeline to a table."""

    @abstractmethod
    def counted(self, model: Any) -> tuple[int, int]:
        """How many rows there are, and to how many of them the model can be applied."""

    @abstractmethod
    def applied(self, model: Any, task: Task) -> Any:
        """New columns; to be asked after the rows were counted."""

    @abstractmethod
    def judged(self, columns: Any, task: Task) -> tuple[int, int]:
        """How many rows have a known class, and how many of these are predicted right."""

    @abstractmethod
    def prepared(self, columns: Any, out: Path, keep: bool, task: Task) -> Callable[[], Any]:
        """What is left to be done to write the columns."""

    def need_label(self, label: str | None, task: Task) -> None:
        """Refuse to learn classes that nobody named."""
        if task.learns_classes and label is None:
            raise UsageError(f"{task.command} learns classes: name their column with --label.")

    def need_new_names(self, columns: Any, own: Any) -> None:
        """Refuse to write two columns of one name."""
        twice = [name for name in columns if name in own]
        if twice:
            raise ValueError(
                f"{self.name} has a column {twice[0]!r} already, and --keep would write another; "
                "rename it, or write the new columns alone."
            )


# --- new columns as data frames -------------------------------------------------------------------


def spread(columns: dict[str, Any], usable: Any) -> Any:
    """A data frame with a row for every row: those that are not usable have empty cells."""
    import numpy as np
    import pandas as pd

    frame = pd.DataFrame(columns, index=np.flatnonzero(usable))
    if not usable.all():
        whole = {name: "Int64" for name in frame if frame[name].dtype.kind == "i"}
        frame = frame.astype(whole)  # has empty cells; int64 would become float
    return frame.reindex(range(len(usable)))


def numbered(columns: Any, start: int) -> Any:
    """New columns beside the numbers of their rows, unless the rows' own column has that name."""
    if "row" in columns:
        return columns
    return columns.assign(row=range(start + 1, start + 1 + len(columns)))[["row", *columns]]


def beside(own: Any, columns: Any) -> Any:
    """New columns beside the table's own, or in their place."""
    import pandas as pd

    own = own.reset_index(drop=True)
    new = [name for name in columns if name not in own]
    replaced = own.assign(**{name: columns[name] for name in columns if name in own})
    return pd.concat([replaced, columns[new]], axis=1)
