"""Kernels and pipelines for tables.

The kernel of a table of numbers is a Gaussian on standardized columns. The kernel of any other
table is :func:`mercer.kernels.table_kernel`, with one factor per column. Models are scikit-learn
pipelines whose first step selects and converts the columns, so that they accept rows as read from
a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from mercer.kernels import Gaussian, Kernel, table_kernel
from mercer.tables.columns import ColumnType, as_typed_frame
from mercer.tables.table import SelectedTable, Table
from mercer.utils.frames import as_frame, is_frame

__all__ = [
    "BANDWIDTH_FACTORS",
    "NamedColumns",
    "Preparation",
    "TypedColumns",
    "as_table_pipeline",
    "prepare",
]

#: Multipliers of the bandwidths of a table's kernel in a sweep. 1 is usually too large to
#: separate clusters, because the kernel divides one unit of distance among all columns.
BANDWIDTH_FACTORS = tuple(np.geomspace(0.35, 1.4, 9).tolist())


class TypedColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Select columns of a data frame by name and convert them to their types.

    Parameters
    ----------
    column_types : dict of str to str
        "number", "date", "category" or "text" for each column to select.
    categorical : tuple of str
        Columns that the user declared as categories. Readers of text files must not convert their
        cells; see :func:`mercer.tables.read_table`.

    Examples
    --------
    >>> import pandas as pd
    >>> columns = TypedColumns({"size": "number"}).fit(None)
    >>> columns.transform(pd.DataFrame({"color": ["red"], "size": ["1.5"]}))
       size
    0   1.5
    """

    def __init__(
        self, column_types: dict[str, ColumnType], categorical: tuple[str, ...] = ()
    ) -> None:
        self.column_types = column_types
        self.categorical = categorical

    @property
    def texts(self) -> list[str]:
        """Columns whose cells in a text file must not be converted to numbers."""
        return [name for name, kind in self.column_types.items() if kind in ("category", "text")]

    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the names of the columns; X is not used."""
        self.columns_ = list(self.column_types)
        return self

    def transform(self, X: Any) -> Any:
        """Return a data frame of the selected columns."""
        check_is_fitted(self)
        X = as_frame(X)
        if not is_frame(X):
            raise TypeError(
                f"X is a {type(X).__name__}, but columns are selected by name. Pass a data frame."
            )
        absent = [name for name in self.columns_ if name not in X.columns]
        if absent:
            raise ValueError(
                f"The table has no column {', '.join(map(repr, absent[:5]))}"
                f"{' …' if len(absent) > 5 else ''}, which the model requires."
            )
        return self._convert(X)

    def _convert(self, X: Any) -> Any:
        return as_typed_frame(X, self.column_types)


class NamedColumns(TypedColumns):
    """Select columns of a data frame by name, without conversion.

    Parameters
    ----------
    names : list of str

    Examples
    --------
    >>> import pandas as pd
    >>> columns = NamedColumns(["size"]).fit(None)
    >>> columns.transform(pd.DataFrame({"color": ["red"], "size": [1.5]}))
       size
    0   1.5
    """

    def __init__(self, names: list[str]) -> None:
        super().__init__({})
        self.names = names

    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the names of the columns; X is not used."""
        self.columns_ = list(self.names)
        return self

    def _convert(self, X: Any) -> Any:
        return X[self.columns_]


def as_table_pipeline(model: Any) -> Pipeline | None:
    """Return a fitted estimator or pipeline with the steps of :meth:`Preparation.pipeline`.

    The step "columns" selects the columns by the names that the model was fitted to. A single
    StandardScaler is the step "scale".

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted.

    Returns
    -------
    Pipeline or None
        None if the model was fitted without column names.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from mercer import KernelPCA
    >>> frame = pd.DataFrame({"x": [1.0, 2.0, 4.0], "y": [0.0, 1.0, 1.0]})
    >>> model = make_pipeline(StandardScaler(), KernelPCA(2)).fit(frame)
    >>> list(as_table_pipeline(model).named_steps)
    ['columns', 'scale', 'model']
    """
    steps = list(model.steps) if isinstance(model, Pipeline) else [("model", model)]
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return None
    others = [(f"step{i}", step) for i, (_, step) in enumerate(steps[:-1], start=1)]
    others = [(name, step) for name, step in others if step not in (None, "passthrough")]
    only = others[0][1] if len(others) == 1 else None
    if isinstance(only, StandardScaler) and only.scale_ is not None:
        others = [("scale", only)]
    columns = NamedColumns([str(name) for name in names]).fit(None)
    return Pipeline([("columns", columns), *others, ("model", steps[-1][1])])


@dataclass(frozen=True, eq=False)
class Preparation:
    """A table with the kernel and the scaling that its models use.

    Parameters
    ----------
    table : Table
    kernel : Kernel
        Kernel for the columns, after scaling.
    scaled : bool
        Whether the pipeline standardizes the columns.

    Examples
    --------
    >>> from mercer.tables import prepare, read_table
    >>> prepared = prepare(read_table("iris"))
    >>> prepared.kernel, prepared.scaled
    (Gaussian(bandwidth='auto'), True)
    """

    table: Any  # a Table or a ChunkedTable
    kernel: Kernel
    scaled: bool

    def pipeline(self, estimator: Any) -> Pipeline:
        """Return a pipeline of the steps "columns", "scale" (if scaled) and "model"."""
        scale = [("scale", StandardScaler())] if self.scaled else []
        columns = TypedColumns(self.table.column_types, self.table.categorical)
        return Pipeline([("columns", columns), *scale, ("model", estimator)])

    @property
    def data(self) -> Any:
        """Input of the estimator for a table in memory: an array of numbers, or a data frame."""
        assert isinstance(self.table, Table)
        if self.scaled:
            return StandardScaler().fit_transform(self.table.X)
        return self.table.X if self.table.is_numeric else self.table.frame


def prepare(
    table: SelectedTable, *, bandwidth: float | str = "auto", scale: bool = True
) -> Preparation:
    """Choose a kernel for a table.

    Parameters
    ----------
    table : Table
    bandwidth : float or str
        Bandwidth of the Gaussian kernel: a number (in standard deviations if columns are scaled) or
        the name of a rule. For mixed tables: multiplier of the bandwidths that
        :func:`mercer.kernels.table_kernel` chooses per column; 1 and "auto" leave them unchanged.
    scale : bool
        Standardize columns of numbers, so that results do not depend on units.

    Examples
    --------
    >>> from mercer.tables import prepare, read_table
    >>> prepare(read_table("wine"), bandwidth=2.0).kernel
    Gaussian(bandwidth=2.0)
    """
    if table.is_numeric:
        return Preparation(table, Gaussian(bandwidth), scale)
    assert isinstance(table, Table), "tables in chunks are numeric"
    kernel = table_kernel(table.frame, include=table.columns)
    if isinstance(bandwidth, str):
        if bandwidth != "auto":
            raise ValueError(
                f"bandwidth={bandwidth!r} is a rule for tables of numbers, but {table.name} has "
                "other columns or missing values. Pass a multiplier (1 leaves the bandwidths "
                "unchanged) or 'auto'."
            )
        return Preparation(table, kernel, False)
    return Preparation(table, kernel.scale_bandwidths(bandwidth), False)
